package base

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// callTime is the time limit for all calls together. duration is how long each of the concurrent
// calls of a slow tool should take.
const (
	callTime = 3 * time.Second
	duration = 60 * time.Millisecond
)

// callConcurrently calls a tool that echoes its argument, and a tool that is known to report
// progress, so that the progress notifications of several calls interleave. If no tool is known to
// report progress, it calls tools that need no arguments. Their results may depend on what else
// runs, so they are not compared.
func callConcurrently(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	echoTool, echoes := findEchoTool(ctx, t, c)
	if echoes {
		compareEchoes(ctx, t, c, echoTool)
		for _, text := range []string{"größe ✓ 未知 🗝", "before\x00after"} { // rules judge how the results are written
			c.Do(ctx, spec.MethodToolsCall, echoTool.params(text), client.Within(aloneTime))
		}
	}
	if _, ok := t.Inventory.SlowCall(duration, 2); ok {
		compareProgress(ctx, t, c)
		callWithLookalikeIDs(ctx, t, c)
		return
	}
	var all []plainRequest
	for _, tool := range t.Inventory.CallsWithoutArguments(maxTools) {
		all = append(all, plainRequest{method: spec.MethodToolsCall, params: tool.Params()})
	}
	if len(all) == 0 && !echoes {
		t.Skip("none of the tools that may be called works without arguments or returns its argument")
	}
	good := keepServedRequests(ctx, c, all)
	var requests [][]byte
	for round := range 2 {
		for i, a := range good {
			params := inventory.KnownCall{Tool: a.params["name"].(string), Arguments: map[string]any{}}.ParamsWithToken("mcp-conform/beside-" + strconv.Itoa(2*i+round))
			requests = append(requests, c.Request(c.NewID(), spec.MethodToolsCall, params))
		}
	}
	if len(requests) > 0 {
		c.DoAll(ctx, requests, client.Within(callTime))
	}
}

// steppedCall is a call that reports a known number of steps.
type steppedCall struct {
	token string
	steps int
}

func (s steppedCall) frame(t *suite.T, c *client.Conversation) []byte {
	slow, _ := t.Inventory.SlowCall(duration, s.steps)
	return c.Request(c.NewID(), spec.MethodToolsCall, slow.ParamsWithToken(s.token))
}

// compareProgress makes concurrent calls with different numbers of steps, so that the total in a
// progress notification shows to which call it belongs.
func compareProgress(ctx context.Context, t *suite.T, c *client.Conversation) {
	var all []steppedCall
	var requests [][]byte
	for steps := 2; steps < 2+maxTools; steps++ {
		s := steppedCall{"mcp-conform/beside-" + strconv.Itoa(steps), steps}
		all = append(all, s)
		requests = append(requests, s.frame(t, c), pingFrame(c))
	}
	from := c.Record.Len()
	resume := c.BeginIdle()
	c.DoAll(ctx, requests, client.Within(callTime))
	resume()
	for _, s := range all {
		totals, events := progressTotals(c, from, s.token)
		i := slices.IndexFunc(totals, func(total string) bool {
			return total != strconv.Itoa(s.steps) && slices.ContainsFunc(all, func(other steppedCall) bool { return strconv.Itoa(other.steps) == total })
		})
		switch {
		case len(totals) == 0:
		case i < 0:
			t.MarkKept(tokenEcho)
		case callReportsSteps(ctx, t, c, s.steps):
			t.Report(c, verdict.Deviation{
				Requirement: tokenEcho,
				Summary:     "The server reports progress with the token of a concurrent call.",
				Permitted:   "progress of this call alone, whose total is " + strconv.Itoa(s.steps),
				Seen:        wire.Excerpt(string(events[i].Raw), 200), At: []int{events[i].Seq},
				Fix: "Keep the progressToken with its call, not in a variable that all calls share.",
			})
			return
		}
	}
}

// callReportsSteps makes a single call, and reports whether the server sends progress for it,
// always with the number of its steps as the total.
func callReportsSteps(ctx context.Context, t *suite.T, c *client.Conversation, steps int) bool {
	s, from := steppedCall{"mcp-conform/by-itself", steps}, c.Record.Len()
	c.DoAll(ctx, [][]byte{s.frame(t, c)}, client.Within(callTime))
	totals, _ := progressTotals(c, from, s.token)
	return len(totals) > 0 && !slices.ContainsFunc(totals, func(total string) bool { return total != strconv.Itoa(steps) })
}

// progressTotals returns the totals in progress notifications with the token, and their events.
func progressTotals(c *client.Conversation, from int, token string) (totals []string, events []*transcript.Event) {
	for e, m := range transcript.Messages(c.Record.From(from), transcript.Received) {
		named, _ := wire.Text(wire.At(m.Params(), "/progressToken"))
		if total := wire.At(m.Params(), "/total"); m.Method == spec.MethodProgress && named == token && total != nil {
			totals, events = append(totals, string(total)), append(events, e)
		}
	}
	return totals, events
}

// subscribeConcurrently subscribes to several resources at once. Rules judge the updates that
// follow.
func subscribeConcurrently(ctx context.Context, t *suite.T) {
	uris := t.Inventory.Resources[:min(maxSubscriptions, len(t.Inventory.Resources))]
	if len(uris) < 2 {
		t.Skip("the server lists fewer than two resources")
	}
	c := t.Conversation(ctx)
	answerAll := func(method string) bool {
		var requests [][]byte
		for _, uri := range uris {
			requests = append(requests, c.Request(c.NewID(), method, map[string]any{"uri": uri}))
		}
		for _, r := range c.DoAll(ctx, requests, client.Within(callTime)) {
			if !r.Answered() {
				return false
			}
		}
		return true
	}
	if answerAll(spec.MethodResourcesSubscribe) {
		answerAll(spec.MethodResourcesUnsubscribe)
	}
}
