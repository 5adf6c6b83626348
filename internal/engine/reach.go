package engine

import "context"

// Other commands than run tell of a server with which nothing can be done in the
// words of a run, and by its errors.

// Reach asks the server once for the newest of the revisions. The error is the
// one with which a run would end; nil says that there was an answer, whatever it
// was.
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

// Unspoken says why the server completes the handshake in none of the revisions;
// nil where it does in one.
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
