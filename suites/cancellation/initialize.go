package cancellation

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// initializeRaces returns races of a request that no client may cancel.
func initializeRaces() []suite.Race {
	return []suite.Race{
		{Name: "initialize, in the write that makes it (on stdio)", Cancelled: suite.Any, ClientForbidden: true},
		{Name: "initialize, when it was answered", Cancelled: suite.Answer, Others: suite.Answer, ClientForbidden: true},
	}
}

const atOnceEnds = "The server exits or stops answering when initialize is cancelled."

// cancelInitialize cancels initialize, and checks whether the server still responds. If
// initialize was cancelled in the same write, which only happens on stdio, and gets no result,
// the case sends initialize again.
func cancelInitialize(ctx context.Context, t *suite.T) {
	c := t.Open(ctx, client.Options{})
	id, ping := c.NewID(), c.NewID()
	frames := [][]byte{wire.NewRequest(id, spec.MethodInitialize, c.InitializeParams())}
	if t.Transport == spec.Stdio { // over HTTP the other requests need a session, which does not exist yet
		frames = append(frames, cancellationFrame(id), c.Request(ping, spec.MethodPing, nil))
	}
	from := c.Record.Len()
	if c.Send(ctx, frames...) != nil {
		t.GiveUp("mcp-conform could not send initialize")
	}
	r := awaitInitialize(ctx, c, from, id, ping)
	switch {
	case r.Succeeded():
	case len(frames) == 1 || ctx.Err() != nil:
		t.GiveUp("the server did not answer initialize with a result")
	default:
		if again := c.Initialize(ctx); !again.Answered() {
			reportMissingResponse(ctx, t, c, again, atOnceEnds)
			return
		}
		t.MarkKept(raceHandled)
		return
	}
	if len(frames) > 1 {
		if r := suite.AwaitExpected(ctx, c, from, ping); !r.Answered() {
			reportMissingResponse(ctx, t, c, r, atOnceEnds)
			return
		}
	}
	_ = c.Initialized(ctx)
	_ = c.Cancel(ctx, id, "too late")
	if r := c.Do(ctx, c.HarmlessMethod(), nil); !r.Answered() {
		reportMissingResponse(ctx, t, c, r, "The server exits or hangs when an answered initialize is cancelled.")
		return
	}
	t.MarkKept(raceHandled)
}

// awaitInitialize waits for the response to initialize, for as long as a server may take to start.
// If the response to the following ping comes first, it waits only for the grace after that.
func awaitInitialize(ctx context.Context, c *client.Conversation, from int, id, ping wire.ID) *client.Reply {
	_, err := c.Await(ctx, from, func(e *transcript.Event) bool {
		return e.ResponseTo(id) != nil || e.ResponseTo(ping) != nil
	}, client.WithinStart)
	if err != nil {
		return &client.Reply{Err: err}
	}
	return c.AwaitResponse(ctx, from, id, client.Within(c.Grace()))
}

// reportMissingResponse reports a missing response. The deviation is only a note, because a client
// must not cancel initialize.
func reportMissingResponse(ctx context.Context, t *suite.T, c *client.Conversation, r *client.Reply, summary string) {
	if ctx.Err() != nil {
		t.GiveUp("the case ran out of time")
	}
	t.Report(c, verdict.Deviation{
		Requirement: raceHandled,
		Summary:     summary,
		Permitted:   "any behavior, because clients must not cancel initialize; preferably the server continues",
		Seen:        suite.Describe(r),
		At:          transcript.Positions(r.Sent, r.Event),
		Weight:      verdict.OnlyNote,
	})
}
