package lifecycle

import (
	"context"
	"fmt"
	"maps"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// sendUnknownCapabilities judges the response to initialize with capabilities that the server can't
// know, in a revision that it supports. It also judges whether the server continues after its own
// request got no response.
func sendUnknownCapabilities(ctx context.Context, t *suite.T) {
	caps := maps.Clone(client.AllCapabilities(t.Revision))
	caps["x-unknown"] = map[string]any{}
	caps["experimental"] = map[string]any{"com.example/x": map[string]any{}}
	c := t.Open(ctx, client.Options{
		Capabilities: caps,
		Answer:       func(*wire.Message) []byte { return nil },
	})
	r := c.Initialize(ctx)
	if !r.Succeeded() {
		if !r.Answered() && (ctx.Err() != nil || r.Sent == nil && !hasEndedInstead(ctx, c, r)) {
			t.GiveUp("mcp-conform could not send initialize or wait for its response")
		}
		// A missing response is judged here too, because the same initialize without these
		// capabilities is known to be answered.
		reportDeviation(t, c, r, unknownCapabilities, "The server refuses initialize with unknown client capabilities.", "a result, as capabilities are an open set")
		t.GiveUp("the server did not answer initialize with unknown client capabilities with a result")
	}
	t.MarkKept(unknownCapabilities)
	t.Expect(c, r).Keeps(sameVersion, "The server answers a version that it supports with another.", suite.Satisfy(
		"a result with protocolVersion "+string(t.Revision)+", which it accepted before",
		func(r *client.Reply) bool {
			version, ok := wire.Text(wire.At(r.Message.Result(), "/protocolVersion"))
			return ok && version == string(t.Revision)
		}))
	if err := c.Initialized(ctx); err != nil {
		t.GiveUp("mcp-conform could not send initialized: " + err.Error())
	}
	judgeAfterSilence(ctx, t, c)
}

// judgeAfterSilence judges whether a server still responds after its own request got no response.
// If the server sent no request, nothing is observed.
func judgeAfterSilence(ctx context.Context, t *suite.T, c *client.Conversation) {
	_ = c.AwaitQuiet(ctx)
	request := firstServerRequest(c)
	if request == nil {
		t.MarkNotObserved(errorsPrepared, "the server sent no request that mcp-conform could leave unanswered")
		return
	}
	r := c.Do(ctx, spec.MethodPing, nil)
	switch {
	case r.Answered():
		t.MarkKept(errorsPrepared)
	case ctx.Err() != nil || r.Sent == nil && !hasEndedInstead(ctx, c, r):
		t.MarkNotObserved(errorsPrepared, "mcp-conform could not send the ping or wait for its response")
	default:
		t.Report(c, verdict.Deviation{
			Requirement: errorsPrepared,
			Summary:     "The server stops answering after its own request got no response.",
			Permitted:   "a server that continues to serve",
			Seen:        suite.Describe(r),
			At:          transcript.Positions(request, r.Sent),
		})
	}
}

func firstServerRequest(c *client.Conversation) *transcript.Event {
	if all := c.Record.Dialogue().ServerRequests(); len(all) > 0 {
		return all[0].Event
	}
	return nil
}

// sendDeficientInitialize omits required params of initialize. Any response is permitted,
// including success, but the server must neither end nor stop responding. The case continues with
// a fresh server after a missing response, and after a success, because initialize can't be
// repeated.
func sendDeficientInitialize(ctx context.Context, t *suite.T) {
	c := t.Open(ctx, client.Options{})
	var invalid *transcript.Event // the last one that the server refused
	fresh := func() {
		c.CloseIdle()
		c, invalid = t.Open(ctx, client.Options{}), nil
	}
	for _, missing := range []string{"capabilities", "clientInfo"} {
		params := c.InitializeParams()
		delete(params, missing)
		from := c.Record.Len()
		r := c.Do(ctx, spec.MethodInitialize, params)
		if !r.Answered() && suite.IsRefused(c, from) {
			t.MarkKept(errorsPrepared)
			invalid = r.Sent
			continue
		}
		if !r.Answered() {
			if ctx.Err() != nil || r.Sent == nil && !hasEndedInstead(ctx, c, r) {
				t.GiveUp("mcp-conform could not send initialize or wait for its response")
			}
			reportDeviation(t, c, r, errorsPrepared, fmt.Sprintf("The server does not answer initialize without %s.", missing), "an error response, or a result")
			fresh()
			continue
		}
		t.MarkKept(errorsPrepared)
		if invalid = r.Sent; r.Succeeded() {
			fresh()
		}
	}
	if r := c.Initialize(ctx); r.Answered() {
		t.MarkKept(errorsPrepared)
	} else if ctx.Err() == nil {
		reportDeviation(t, c, r, errorsPrepared, "The server does not answer a valid initialize after an invalid one.", "any answer", invalid)
	}
}
