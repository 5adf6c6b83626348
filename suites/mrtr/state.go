package mrtr

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// changeState retries requests with changed states and with those of other requests. It uses only
// requests whose retry with the server's own state completes.
func changeState(ctx context.Context, t *suite.T) {
	c := t.Start(ctx, acceptingClientOptions(t))
	inputRequest := findAskingRequests(ctx, t, c)
	stated := 0
	for i, a := range inputRequest {
		next, ok := a.begin(ctx)
		state, hasState := stateOf(next)
		if !ok || !hasState {
			continue
		}
		own := a.send(ctx, next)
		if !isCompleteResult(own) {
			continue
		}
		stated++
		if tamperWithState(ctx, t, a, state, own) {
			continue // only a protected state has to name its request
		}
		for _, other := range inputRequest[i+1:] {
			if other.Method == a.Method {
				swapStates(ctx, t, a, other)
			}
		}
		for _, other := range a.withOtherArguments(t) {
			swapArguments(ctx, t, a, other, own)
		}
	}
	if stated == 0 {
		for _, id := range []string{stateTampered, stateBound} {
			t.MarkNotObserved(id, "the server completed no retry with a requestState")
		}
	}
	sendOddStates(ctx, t, inputRequest[0])
}

// stateOf returns the state in the params of a retry.
func stateOf(next map[string]any) (string, bool) {
	v, _ := next["requestState"].(jsontext.Value)
	return wire.Text(v)
}

// swapStates takes two requests, a and other, and retries other with the state of a. The caller has
// checked that a completes with its own state.
func swapStates(ctx context.Context, t *suite.T, a, other inputRequest) {
	if r, _ := retryWithStateOf(ctx, t, a, other); r != nil {
		t.Report(a.c, verdict.Deviation{
			Requirement: stateBound,
			Summary:     "The server accepts the requestState of another request.",
			Permitted:   "an error, or input_required once more",
			Seen:        fmt.Sprintf("a complete result of %v with the state of %v", wire.Excerpt(fmt.Sprint(other.Params["name"]), 60), wire.Excerpt(fmt.Sprint(a.Params["name"]), 60)),
			At:          r.Positions(),
		})
	}
}

// swapArguments is like swapStates for two calls of one tool that differ in their arguments; first is
// the reply to the retry of a with its own state. A server need not bind a state to arguments that do
// not matter. They matter if they change the result, or what the server asks.
func swapArguments(ctx context.Context, t *suite.T, a, other inputRequest, first *client.Reply) {
	asked := a.send(ctx, a.Params)
	otherAsked := other.send(ctx, other.Params)
	r, own := retryWithStateOf(ctx, t, a, other)
	if r == nil {
		return
	}
	d := verdict.Deviation{
		Requirement: stateBound,
		Summary:     "The server accepts the requestState of a call with other arguments.",
		Permitted:   "an error, or input_required once more",
		Seen:        fmt.Sprintf("a complete result for the arguments %s with the state for %s", excerptArguments(other), excerptArguments(a)),
		At:          r.Positions(),
		Fix:         "Put a digest of the arguments into the signed requestState, and compare it.",
	}
	changesQuestion := questionsIn(asked) == questionsIn(a.first) && questionsIn(asked) != questionsIn(otherAsked)
	changesResult := hasSameContent(r, own) && !hasSameContent(r, first) && a.repeats(ctx, first)
	if !changesQuestion && !changesResult {
		d.Permitted += "; anything if these arguments do not matter"
		d.Weight = verdict.OnlyNote
	}
	t.Report(a.c, d)
}

func excerptArguments(a inputRequest) string {
	return wire.Excerpt(string(wire.JSON(a.Params["arguments"])), 60)
}

// questionsIn returns the requests for input in a result, in their canonical form.
func questionsIn(r *client.Reply) string {
	return wire.Canonical(wire.At(responseResult(r), "/inputRequests"))
}

// withOtherArguments returns calls of the same tool that differ from a in their arguments, at most
// two. It returns none if a is no call of a tool.
func (a inputRequest) withOtherArguments(t *suite.T) []inputRequest {
	name, _ := a.Params["name"].(string)
	tool, ok := t.Inventory.Tool(name)
	if a.Method != spec.MethodToolsCall || !ok {
		return nil
	}
	all := tool.MoreArguments()
	if arguments, ok := tool.ArgumentsWithText("mcp-conform"); ok {
		all = append([]map[string]any{arguments}, all...)
	}
	var out []inputRequest
	for _, arguments := range all[:min(2, len(all))] {
		out = append(out, inputRequest{Request: suite.ValidCall(name, arguments), c: a.c})
	}
	return out
}

// retryWithStateOf retries other with the state of a. It returns the reply if that is a complete
// result, and the reply to a retry of other with its own state. The first is nil if the server
// refuses the state, or if nothing can be shown, because other does not complete with its own state.
func retryWithStateOf(ctx context.Context, t *suite.T, a, other inputRequest) (foreign, own *client.Reply) {
	next, ok := other.begin(ctx)
	if !ok {
		return nil, nil
	}
	if own = other.send(ctx, next); !isCompleteResult(own) {
		return nil, nil
	}
	theirs, ok := a.begin(ctx)
	if !ok {
		return nil, nil
	}
	next, ok = other.begin(ctx)
	ownState, hasOwn := stateOf(next)
	state, hasState := stateOf(theirs)
	if !ok || !hasOwn || !hasState || ownState == state {
		return nil, nil
	}
	r := other.send(ctx, withMember(next, "requestState", theirs["requestState"]))
	switch {
	case !r.Answered():
		return nil, nil
	case !isCompleteResult(r):
		t.MarkKept(stateBound)
		return nil, nil
	}
	return r, own
}

// oddStates are values that no server returns as a state. Some are not even strings.
var oddStates = []any{"", "\x00", "{", strings.Repeat("A", 64<<10), 5, nil, true, []any{}, map[string]any{"a": 1}}

// sendOddStates sends states that no server returned, with the request and with one that
// requires no input. Each must get a response of any kind.
func sendOddStates(ctx context.Context, t *suite.T, a inputRequest) {
	c := a.c
	for _, v := range oddStates {
		for _, r := range []suite.Request{a.Request, {Method: c.HarmlessMethod()}} {
			params := map[string]any{}
			maps.Copy(params, r.Params)
			params["requestState"] = v
			reply := c.Do(ctx, r.Method, params, client.OneRound)
			if reply.Answered() {
				t.MarkKept(attackerControlled)
				continue
			}
			if ctx.Err() != nil {
				return
			}
			if !c.Alive() {
				t.Report(c, verdict.Deviation{
					Requirement: attackerControlled,
					Summary:     "The server exits because of a strange requestState.",
					Permitted:   "any response",
					Seen:        "the server ended after the requestState " + wire.Excerpt(string(wire.JSON(v)), 60),
					At:          reply.Positions(),
				})
			}
			return // rules judge the missing response
		}
	}
}

// retryElsewhere has another client send the retry. If that fails, the first client retries, too,
// for comparison. Over stdio the other client has a process of its own, so a server that generates
// the key of its states when it starts gets only a note.
func retryElsewhere(ctx context.Context, t *suite.T) {
	c := t.Start(ctx, acceptingClientOptions(t))
	other := t.Start(ctx, acceptingClientOptions(t))
	judged := false
	for _, a := range findAskingRequests(ctx, t, c) {
		next, ok := a.begin(ctx)
		if !ok {
			continue
		}
		r := other.Do(ctx, a.Method, next, client.OneRound, client.Within(callTime))
		if r.Succeeded() {
			judged = true
			t.MarkKept(selfContained)
			continue
		}
		next, ok = a.begin(ctx)
		if !r.Answered() || !ok || !isCompleteResult(a.send(ctx, next)) {
			continue
		}
		judged = true
		d := verdict.Deviation{
			Requirement: selfContained,
			Summary:     "The server completes a retry only for the client that sent the first request.",
			Permitted:   "the result, or input_required once more",
			Seen:        suite.Describe(r),
			At:          r.Positions(),
		}
		if t.Transport == spec.Stdio {
			d.Summary, d.Weight = "The server completes a retry only in the process of the request.", verdict.OnlyNote
		}
		t.Report(other, d)
	}
	if !judged {
		t.MarkNotObserved(selfContained, "the server completed no retry")
	}
}

// maxAbandoned is how many requests are left without a retry.
const maxAbandoned = 12

// abandonRequests sends requests that require input, and never retries them with the input: each
// request twice, and one of them several times more. Each must still get a result, which may require
// input again. The server is fresh: no earlier case has left requests without a retry.
func abandonRequests(ctx context.Context, t *suite.T) {
	c := t.StartFresh(ctx, acceptingClientOptions(t))
	asking := findAskingRequests(ctx, t, c)
	for _, a := range asking {
		if !sendAgain(ctx, t, a) {
			return
		}
	}
	for range maxAbandoned {
		if r := asking[0].send(ctx, asking[0].Params); !r.Answered() || r.Busy() {
			break
		}
	}
	sendAgain(ctx, t, asking[0])
}

// sendAgain sends a request again that required input and was not retried, and reports whether the
// server serves it.
func sendAgain(ctx context.Context, t *suite.T, a inputRequest) bool {
	if !a.c.Alive() {
		return false // rules judge the end
	}
	r := a.send(ctx, a.Params)
	switch {
	case r.IsInputRequired() || r.Succeeded():
		t.MarkKept(noAssumption)
		return true
	case ctx.Err() != nil || r.Busy():
		t.MarkNotObserved(noAssumption, "the server was too busy for the requests")
	default:
		t.Report(a.c, verdict.Deviation{
			Requirement: noAssumption,
			Summary:     "The server does not serve a request after some that were not retried.",
			Permitted:   "the response that the first one got",
			Seen:        suite.Describe(r),
			At:          slices.Concat(a.first.Positions(), r.Positions()),
		})
	}
	return false
}
