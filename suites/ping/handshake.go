package ping

import (
	"context"
	"errors"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// earlyWait is how long initialize is held back for the answer to a ping sent
// before it. No verdict hangs on it: an answer that comes later counts too.
const earlyWait = 2 * time.Second

func duringHandshake(ctx context.Context, t *suite.T) {
	c := t.Open(ctx, client.Options{})
	init := pingBeforeInitialize(ctx, t, c)
	if !init.Succeeded() {
		// What an early ping did to the server must not hide what it does
		// with a ping at the proper time. Some servers tolerate no second
		// copy of themselves, so the first ends before.
		end(c)
		c = t.Open(ctx, client.Options{})
		init = c.Initialize(ctx)
	}
	if !init.Succeeded() {
		t.GiveUp("initialize was not answered with a result: " + suite.Describe(init))
	}
	pingBeforeInitialized(ctx, t, c)
}

// end closes a conversation; others may work while its server exits.
func end(c *client.Conversation) {
	defer c.Options().Idle()()
	c.Close()
}

// pingBeforeInitialize is the weak case: the text lets a client ping before
// the answer to initialize, and says nothing of the time before the request.
func pingBeforeInitialize(ctx context.Context, t *suite.T, c *client.Conversation) *client.Reply {
	if t.Transport == spec.StreamableHTTP {
		return c.Initialize(ctx) // before it there may be no session to ping in
	}
	id := c.NewID()
	from := c.Record.Len()
	if err := c.Send(ctx, wire.NewRequest(id, spec.MethodPing, nil)); err != nil {
		return &client.Reply{Err: err}
	}
	early := awaitEarly(ctx, c, from, id)
	if early.Answered() {
		// The server runs and reads: what it says in this silence, it says
		// before initialize.
		_ = c.Quiet(ctx)
	}
	init := c.Initialize(ctx)
	if !early.Answered() && init.Answered() {
		early = c.Settle(ctx, from, id)
	}
	early.Sent = sent(c, from, id)
	judgeHandshake(ctx, t, c, early, verdict.AtMostWarning, phrases{
		silent:  "a ping before initialize is not answered",
		refused: "a ping before initialize is answered with an error",
	})
	return init
}

func awaitEarly(ctx context.Context, c *client.Conversation, from int, id wire.ID) *client.Reply {
	wait, cancel := context.WithTimeoutCause(ctx, earlyWait, client.ErrUnanswered)
	defer cancel()
	return c.AwaitReply(wait, from, id)
}

// pingBeforeInitialized is the strong case, in the phase from which pings are
// expressly exempt.
func pingBeforeInitialized(ctx context.Context, t *suite.T, c *client.Conversation) {
	r := c.Ask(ctx, spec.MethodPing, nil)
	judgeHandshake(ctx, t, c, r, verdict.Full, phrases{
		silent:  "a ping before initialized is not answered",
		refused: "a ping before initialized is answered with an error",
	})
	if !r.Answered() {
		return // without a fence nothing can be said of what does not come
	}
	_ = c.Quiet(ctx)
	_ = c.Initialized(ctx)
}

// phrases are the sentences of the findings on a ping in one phase.
type phrases struct{ silent, refused string }

func judgeHandshake(ctx context.Context, t *suite.T, c *client.Conversation, r *client.Reply, weight verdict.Weight, say phrases) {
	switch {
	case r.Answered():
		t.Expect(c, r).Keeps(beforeInitialized, say.refused, suite.BeResult(), weight)
	case ctx.Err() == nil && r.Sent != nil && (errors.Is(r.Err, client.ErrUnanswered) || errors.Is(r.Err, client.ErrEnded)):
		t.Deviates(c, verdict.Deviation{
			Requirement: beforeInitialized,
			Summary:     say.silent,
			Permitted:   "a result",
			Seen:        suite.Describe(r),
			At:          positions(r.Sent),
			Weight:      weight,
		})
	default:
		t.NotObserved(beforeInitialized, "the ping could not be sent and waited for")
	}
}
