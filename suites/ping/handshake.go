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

// earlyWait is how long the client, once the server has started, waits for the response to an early
// ping before it sends initialize. No verdict depends on it, because a later response counts too.
const earlyWait = 2 * time.Second

func pingDuringHandshake(ctx context.Context, t *suite.T) {
	c := t.Open(ctx, client.Options{})
	init := pingBeforeInitialize(ctx, t, c)
	if !init.Succeeded() {
		// The effect of an early ping must not hide the response to a ping at the proper time. Some
		// servers tolerate no second instance of themselves, so the first one ends before the
		// second starts.
		c.CloseIdle()
		c = t.Open(ctx, client.Options{})
		init = c.Initialize(ctx)
	}
	if !init.Succeeded() {
		t.GiveUp("the server did not answer initialize with a result: " + suite.Describe(init))
	}
	pingBeforeInitialized(ctx, t, c)
}

// pingBeforeInitialize pings before it sends initialize, and returns the reply to initialize. A
// deviation is at most a warning here, because the specification permits a ping before the response
// to initialize, and does not mention the time before the initialize request.
func pingBeforeInitialize(ctx context.Context, t *suite.T, c *client.Conversation) *client.Reply {
	if t.Transport == spec.StreamableHTTP {
		return c.Initialize(ctx) // before that there may be no session to ping in
	}
	id := c.NewID()
	from := c.Record.Len()
	if err := c.Send(ctx, wire.NewRequest(id, spec.MethodPing, nil)); err != nil {
		return &client.Reply{Err: err}
	}
	early := c.AwaitResponse(ctx, from, id, client.Within(earlyWait))
	if early.Answered() {
		// The server runs and reads, so anything that it sends in this silence is sent before
		// initialize.
		_ = c.AwaitQuiet(ctx)
	}
	init := c.Initialize(ctx)
	if !early.Answered() && init.Answered() {
		early = c.AwaitResponse(ctx, from, id, client.MayIgnore)
	}
	early.Sent = c.RequestSent(from, id)
	judgeEarly(ctx, t, c, early)
	return init
}

// asksForMetadata reports whether a response may be the refusal of a request without metadata, as
// in 2026-07-28. A server of both eras cannot know before initialize that the ping belongs to the
// handshake era.
func asksForMetadata(m *wire.Message) bool {
	code, ok := m.ErrorCode()
	return ok && spec.Code(code) == spec.CodeInvalidParams
}

func judgeEarly(ctx context.Context, t *suite.T, c *client.Conversation, r *client.Reply) {
	switch {
	case r.Answered() && asksForMetadata(r.Message):
		t.MarkNotObserved(beforeInitialized, "the server may speak 2026-07-28 too, in which a request without metadata gets -32602")
	case r.Answered():
		t.Expect(c, r).Keeps(beforeInitialized, "The server answers a ping before initialize with an error.", suite.BeResult(), verdict.AtMostWarning)
	case ctx.Err() == nil && r.Sent != nil && !errors.Is(r.Err, client.ErrNoFence):
		d := unansweredPing(beforeInitialized, "The server does not answer a ping before initialize.", r)
		d.Weight = verdict.AtMostWarning
		t.Report(c, d)
	default:
		t.MarkNotObserved(beforeInitialized, "mcp-conform could not send the ping or wait for its response")
	}
}

// pingBeforeInitialized pings between the response to initialize and initialized. A deviation has
// its full weight here, because the specification expressly permits pings in this phase. A rule
// judges the content of the response, and servers that have answered no ping yet.
func pingBeforeInitialized(ctx context.Context, t *suite.T, c *client.Conversation) {
	r := c.Do(ctx, spec.MethodPing, nil)
	switch {
	case r.Succeeded():
		t.MarkKept(beforeInitialized)
	case !r.Answered() && ctx.Err() == nil && r.Sent != nil && hasAnsweredPing(c):
		t.Report(c, unansweredPing(beforeInitialized, "The server does not answer a ping before initialized.", r))
	}
	if !r.Answered() {
		return // without a fence, a missing response shows nothing
	}
	_ = c.AwaitQuiet(ctx)
	_ = c.Initialized(ctx)
}
