// Package mrtr sends requests that require input from the client, and retries them with all of the
// input, without some of it, with more, with invalid responses, and with another state.
package mrtr

import (
	"context"
	"maps"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	selfContained      = "mrtr.retry-self-contained"
	noAssumption       = "mrtr.no-assumption-of-retry"
	stateTampered      = "mrtr.request-state-tampered"
	attackerControlled = "mrtr.request-state-attacker-controlled"
	stateBound         = "mrtr.request-state-bound-to-request"
	statePrincipal     = "mrtr.request-state-principal"
)

// Cases returns the cases of this area.
func Cases() []suite.Case {
	return []suite.Case{
		{
			ID:    "mrtr.retries",
			Title: "Retries requests with all the required input, without some, with more, and with invalid responses",
			Provokes: []string{
				"mrtr.supported-requests-only", "mrtr.inputs-or-state", "mrtr.input-request-kinds", "mrtr.input-request-keys-unique", "mrtr.only-declared-capabilities",
				"mrtr.retry-completes", "mrtr.validate-input-responses", "mrtr.malformed-input-error", "mrtr.unexpected-input-ignored",
				"mrtr.missing-input-asked-again", "caching.hints.absent-on-input-required", "deprecated.sampling", "deprecated.roots",
			},
			Run: retryRequests,
		},
		{
			ID:       "mrtr.capabilities",
			Title:    "Sends requests that require input, and their second rounds, with no capability or one declared",
			Provokes: []string{"mrtr.only-declared-capabilities", "stateless.no-undeclared-capability", "stateless.missing-capability-error", "stateless.missing-capability-data"},
			Reuses:   suite.ReuseNone,
			Run:      declareLess,
		},
		{
			ID:           "mrtr.state",
			Title:        "Retries requests with a changed requestState, with that of another request, and with values that are not states",
			Requirements: []string{stateTampered, attackerControlled, stateBound},
			Run:          changeState,
		},
		{
			ID:           "mrtr.other-user",
			Title:        "Retries a request of one user, with its state, as another",
			Requirements: []string{statePrincipal},
			Run:          retryAsOtherUser,
		},
		{
			ID:           "mrtr.other-connection",
			Title:        "Retries a request on another connection, over stdio with another process",
			Requirements: []string{selfContained},
			Servers:      2,
			Run:          retryElsewhere,
		},
		{
			ID:           "mrtr.abandoned",
			Title:        "Leaves requests that require input without a retry, and sends one again",
			Requirements: []string{noAssumption},
			Reuses:       suite.ReuseNone,
			Run:          abandonRequests,
		},
	}
}

// Limits, because a server may offer hundreds of tools.
const (
	maxTools  = 6 // that are called
	maxOthers = 5 // prompts, and resources
	maxAsking = 4 // requests that are retried in all ways
	callTime  = 3 * time.Second
)

// likelyAskingRequests returns requests that may require input: calls of tools that seem to ask the
// client something, prompts without arguments, and resources.
func likelyAskingRequests(t *suite.T) []suite.Request {
	var out []suite.Request
	seen := map[string]bool{}
	for _, role := range []inventory.Role{inventory.AsksElicitation, inventory.AsksSampling, inventory.AsksRoots} {
		for _, tool := range t.Inventory.AskingTools(role) {
			arguments, err := tool.Arguments()
			if err != nil || seen[tool.Name] || len(out) == maxTools {
				continue
			}
			seen[tool.Name] = true
			out = append(out, suite.ValidCall(tool.Name, arguments))
		}
	}
	for _, name := range t.Inventory.BarePrompts[:min(maxOthers, len(t.Inventory.BarePrompts))] {
		out = append(out, suite.Request{Method: spec.MethodPromptsGet, Params: map[string]any{"name": name}})
	}
	for _, uri := range t.Inventory.Resources[:min(maxOthers, len(t.Inventory.Resources))] {
		out = append(out, suite.Request{Method: spec.MethodResourcesRead, Params: map[string]any{"uri": uri}})
	}
	return out
}

// acceptingClientOptions returns the options of a client that declares every capability and accepts
// every request for input.
func acceptingClientOptions(t *suite.T) client.Options {
	capabilities := client.AllCapabilities(t.Revision)
	answers := client.NewAnswers(capabilities)
	answers.Set(spec.MethodElicit, suite.Accept)
	return client.Options{Capabilities: capabilities, Answer: answers.Answer}
}

// An inputRequest is a request for which the server requires input.
type inputRequest struct {
	suite.Request
	c     *client.Conversation
	first *client.Reply // the response that showed that the request requires input
}

// send sends the request with the given params, and returns the first reply, which may require
// input.
func (a inputRequest) send(ctx context.Context, params map[string]any) *client.Reply {
	return a.c.Do(ctx, a.Method, params, client.OneRound, client.Within(callTime))
}

// begin sends the request and returns the params of its retry. It returns false if the result does
// not require input, or requires input that the client can't give.
func (a inputRequest) begin(ctx context.Context) (next map[string]any, ok bool) {
	r := a.send(ctx, a.Params)
	if !r.IsInputRequired() {
		return nil, false
	}
	return a.c.NextRoundParams(a.Params, r)
}

// isCompleteResult reports whether a response is a complete result in which nothing failed.
func isCompleteResult(r *client.Reply) bool {
	kind, _ := wire.Text(wire.At(responseResult(r), "/resultType"))
	return kind == "complete" && string(wire.At(responseResult(r), "/isError")) != "true"
}

func responseResult(r *client.Reply) []byte {
	if !r.Succeeded() {
		return nil
	}
	return r.Message.Result()
}

// findAskingRequests returns requests that require input, at most maxAsking, and ends the case if
// there is none.
func findAskingRequests(ctx context.Context, t *suite.T, c *client.Conversation) []inputRequest {
	var out []inputRequest
	for _, r := range likelyAskingRequests(t) {
		if len(out) == maxAsking || ctx.Err() != nil || !c.Alive() {
			break
		}
		a := inputRequest{Request: r, c: c}
		if a.first = a.send(ctx, r.Params); a.first.IsInputRequired() {
			out = append(out, a)
		}
	}
	if len(out) == 0 {
		t.KnowsTool(inventory.AsksElicitation)
		t.GiveUp("mcp-conform found no request for which the server requires input")
	}
	return out
}

func retryRequests(ctx context.Context, t *suite.T) {
	c := t.Start(ctx, acceptingClientOptions(t))
	for _, a := range findAskingRequests(ctx, t, c) {
		next, ok := a.begin(ctx)
		if !ok || !a.send(ctx, next).Answered() {
			continue
		}
		for _, change := range changesOfInput {
			next, ok := a.begin(ctx) // the state may be usable only once
			if !ok || ctx.Err() != nil || !c.Alive() {
				break
			}
			responses, _ := next["inputResponses"].(map[string]any)
			if next, ok = change(next, responses); ok {
				a.send(ctx, next)
			}
		}
	}
}

// changesOfInput change the params of a retry. They return false where there is nothing
// to change.
var changesOfInput = []func(next, responses map[string]any) (map[string]any, bool){
	func(next, responses map[string]any) (map[string]any, bool) { // no responses
		return withoutMember(next, "inputResponses"), len(responses) > 0
	},
	func(next, responses map[string]any) (map[string]any, bool) { // all but one
		some := maps.Clone(responses)
		for key := range responses {
			delete(some, key)
			break
		}
		return withMember(next, "inputResponses", some), len(responses) > 1
	},
	func(next, responses map[string]any) (map[string]any, bool) { // one more
		return withMember(next, "inputResponses", withMember(responses, "mcp-conform/extra", map[string]any{"action": "accept", "content": map[string]any{}})), len(responses) > 0
	},
	func(next, responses map[string]any) (map[string]any, bool) { // an array instead of an object
		return withMember(next, "inputResponses", []any{}), len(responses) > 0
	},
	func(next, responses map[string]any) (map[string]any, bool) {
		return withMember(next, "inputResponses", replaceResponses(responses, "yes")), len(responses) > 0
	},
	func(next, responses map[string]any) (map[string]any, bool) {
		return withMember(next, "inputResponses", replaceResponses(responses, map[string]any{"com.example/none": true})), len(responses) > 0
	},
	func(next, responses map[string]any) (map[string]any, bool) { // contents that no form permits
		return withMember(next, "inputResponses", replaceResponses(responses, map[string]any{"action": "accept", "content": map[string]any{}, "roots": 1})), len(responses) > 0
	},
}

func replaceResponses(responses map[string]any, value any) map[string]any {
	out := map[string]any{}
	for key := range responses {
		out[key] = value
	}
	return out
}

func withMember(m map[string]any, name string, value any) map[string]any {
	out := maps.Clone(m)
	out[name] = value
	return out
}

func withoutMember(m map[string]any, name string) map[string]any {
	out := maps.Clone(m)
	delete(out, name)
	return out
}

// declareLess sends the requests that may require input, first without capabilities and then with
// one at a time, and retries each with the same capabilities. Last, it sends each with all
// capabilities, and retries it without any capability and without the input. Rules judge whether
// the server requires only input that the client can give. The server is fresh, so that it knows
// no capability from an earlier request.
func declareLess(ctx context.Context, t *suite.T) {
	o := acceptingClientOptions(t)
	everything := o.Capabilities
	c := t.StartFresh(ctx, o)
	all := likelyAskingRequests(t)
	declare := func(params, capabilities map[string]any) map[string]any {
		return withMember(params, "_meta", map[string]any{spec.MetaClientCapabilities: capabilities})
	}
	send := func(r suite.Request, params map[string]any) (next map[string]any, ok bool) {
		reply := c.Do(ctx, r.Method, params, client.OneRound, client.Within(callTime))
		if !reply.IsInputRequired() || ctx.Err() != nil || !c.Alive() {
			return nil, false
		}
		return c.NextRoundParams(params, reply)
	}
	each := func(capabilities map[string]any) {
		for _, r := range all {
			if ctx.Err() != nil || !c.Alive() {
				return
			}
			if next, ok := send(r, declare(r.Params, capabilities)); ok {
				send(r, next)
			}
		}
	}
	each(map[string]any{})
	none := map[string]any{}
	for _, name := range []string{"roots", "sampling", "elicitation"} {
		each(map[string]any{name: none})
	}
	each(map[string]any{"elicitation": map[string]any{"url": none}})
	for _, r := range all {
		if next, ok := send(r, declare(r.Params, everything)); ok {
			send(r, declare(withoutMember(next, "inputResponses"), none))
		}
	}
}
