package fuzz

import (
	"context"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

// An Execution is the playback of a script, as laws judge it.
type Execution struct {
	*script.Playback
	// Offer is what the server offers, or nil if unknown.
	Offer *generate.Offer
}

// An executor plays scripts, and counts what it plays.
type executor struct {
	dialer         transport.Dialer
	timeout, start time.Duration         // the longest waits for a response and for a start
	pace           func(context.Context) // waits until one more request may be sent; nil without a limit
	finalWait      time.Duration         // how long to wait at the end of each script for notifications of changes
	counts         *counts
}

func newExecutor(o Options) *executor {
	return &executor{dialer: o.Dialer, timeout: o.Timeout, start: o.Start, pace: newLimiter(o.Rate), counts: &counts{}}
}

// newPlayer returns a player whose wait for a response is limited by the executor's timeout and by
// the given one.
func (s *executor) newPlayer(d transport.Dialer, server *ServerInfo, timeout time.Duration) script.Player {
	return script.Player{Dialer: d, Timeout: min(s.timeout, timeout), Start: s.start, Pace: s.pace, FinalWait: s.finalWait, Forbidden: server.Forbidden}
}

// countAndPace waits until one more request may be sent, and counts it.
func (s *executor) countAndPace(ctx context.Context) {
	if s.pace != nil {
		s.pace(ctx)
	}
	s.counts.requests.Add(1)
}

// play plays a script, and counts its conversations and messages.
func (s *executor) play(ctx context.Context, p script.Player, server *ServerInfo, sc script.Script) *Execution {
	x := &Execution{p.Play(ctx, sc), server.Offer}
	s.counts.servers.Add(int64(len(x.Conversations)))
	s.counts.messages.Add(int64(x.Messages))
	return x
}

// playFresh plays a script on a fresh server.
func (s *executor) playFresh(ctx context.Context, server *ServerInfo, sc script.Script, timeout time.Duration) *Execution {
	d, end := s.freshDialer()
	defer end()
	return s.play(ctx, s.newPlayer(d, server, timeout), server, sc)
}

// playPatiently plays the script on a fresh server and waits for all responses. But if the finding
// is about cancelled requests, it cancels the requests that are still pending at the end.
func (s *executor) playPatiently(ctx context.Context, server *ServerInfo, r *script.File) *Execution {
	d, end := s.freshDialer()
	defer end()
	p := s.newPlayer(d, server, s.timeout)
	p.Patient, p.CancelsOpen = true, spec.Requirements().Has(r.Expect.Requirement, spec.Cancels)
	return s.play(ctx, p, server, r.Script)
}

// freshDialer returns a dialer, and a function to call after its last use. If the program starts
// the server, the dialer has a server of its own, which end stops.
func (s *executor) freshDialer() (d transport.Dialer, end func()) {
	if sharer, ok := s.dialer.(transport.Sharer); ok && !sharer.IsLimitedToOne() {
		return sharer.FreshDialer()
	}
	return s.dialer, func() {}
}
