package engine

import "context"

// Commands other than run report a server that serves nothing with the words
// and errors of a run.

// Reach sends the server one initialize for the newest of the revisions. It
// returns the error with which a run would end, or nil if there was any
// response.
func Reach(ctx context.Context, o Options) error {
	o = o.withDefaults()
	wanted := o.wanted()
	if len(wanted) == 0 {
		return &NothingJudgedError{o.explainUnsupported()}
	}
	r := newProber(newSession(o))
	defer r.gate.drain()
	pass := r.gate.enter(false)
	first, err := r.askFirst(ctx, wanted[0])
	r.closeAll([]*probed{first})
	pass.finishWork()
	pass.leave()
	return err
}

// Unspoken returns why the server completes the handshake in none of the
// revisions, or nil if it does in one.
func Unspoken(ctx context.Context, o Options) error {
	o = o.withDefaults()
	if len(o.wanted()) == 0 {
		return &NothingJudgedError{o.explainUnsupported()}
	}
	r := newProber(newSession(o))
	defer r.gate.drain()
	if err := r.probe(ctx); err != nil {
		return err
	}
	r.closeShared()
	if r.handshakeFails == "" {
		return nil
	}
	return &UnreachableError{Reason: r.handshakeFails, Advice: "mcp-conform run judges the attempt"}
}
