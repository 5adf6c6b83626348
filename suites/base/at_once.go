package base

import (
	"context"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

const (
	idEcho    = "base.response-id-echo"
	tokenEcho = "progress.token-echo"
)

// concurrentCases are the cases that ask for many things at once, in one conversation:
// requests of every kind in one write, one request many times over, answers of
// all sizes, calls that report progress, subscriptions. That each is answeredAlone
// once, and with its id, is judged by rules; that the answers are those of the
// requests is judged here.
func concurrentCases() []suite.Case {
	answers := []string{"base.request-answered", "base.response-once", "base.response-unsolicited"}
	return []suite.Case{
		{
			ID:                 "concurrency.pipelined",
			Title:              "Requests lists, resources and prompts one by one, then all of them twice in one write, with pings in between",
			Requirements:       []string{idEcho},
			Provokes:           append(answers, "stdio.interleaving", "pagination.walk.complete", "ping.responds"),
			SharesConversation: true,
			Run:                pipelineRequests,
		},
		{
			ID:                 "concurrency.same",
			Title:              "Reads one resource, or requests one list, a hundred times at once",
			Provokes:           append(answers, "pagination.walk.complete"),
			SharesConversation: true,
			Run:                repeatRequest,
		},
		{
			ID:                 "concurrency.big-and-small",
			Title:              "Requests the longest and the shortest known response alternately",
			Provokes:           append(answers, "stdio.stdout-only-messages", "stdio.no-embedded-newlines", "ping.responds"),
			SharesConversation: true,
			Run:                sendLargeBesideSmall,
		},
		{
			ID:                 "concurrency.calls",
			Title:              "Calls tools concurrently, each with its own progress token",
			Requirements:       []string{idEcho, tokenEcho},
			Provokes:           append(answers, "progress."),
			Needs:              []string{"tools"},
			SharesConversation: true,
			Run:                callConcurrently,
		},
		{
			ID:                 "concurrency.subscriptions",
			Title:              "subscribes to several resources in one write, and unsubscribes in another",
			Provokes:           append(answers, "resources.subscribe.", "resources.unsubscribe.", "resources.updated."),
			Needs:              []string{"resources.subscribe"},
			SharesConversation: true,
			Run:                subscribeConcurrently,
		},
	}
}

// What is asked of a real server has to stay in bounds: all cases together make
// about 160 requests, most servers get fewer.
const (
	maxReads         = 3
	maxTools         = 3
	maxSubscriptions = 4
	crowd            = 98 // the same request at once, after one and before another
	crowdOverHTTP    = 38 // each is an exchange with a connection of its own
	maxBytes         = 4 << 20
	bigOnes          = 4
)

// aloneTime is how long a request may take that is made by itself, and quick
// how long one that is then made beside others: of it an answer is expected,
// so that it must not hang on the author's code.
const (
	aloneTime = 2 * time.Second
	quick     = 500 * time.Millisecond
)

// timesMore is how often what took long by itself is asked for once more: it is
// known then whether it always does, or the machine was busy.
const timesMore = 3

// knownRequest is a request whose answer is known, as it was made by itself before.
type knownRequest struct {
	method   string
	params   map[string]any
	response *client.Reply
}

func (a *knownRequest) frame(c *client.Conversation) []byte {
	return c.Request(c.NewID(), a.method, a.params)
}

// responseSize is that of the answer.
func (a *knownRequest) responseSize() int { return len(a.response.Message.Raw) }

// knownRequests are lists and resources, and a prompt, that the server gave at once
// when it was asked for them one by one.
func knownRequests(ctx context.Context, t *suite.T, c *client.Conversation) []knownRequest {
	var all []knownRequest
	for _, list := range []struct{ capability, method string }{
		{"tools", spec.MethodToolsList},
		{"prompts", spec.MethodPromptsList},
		{"resources", spec.MethodResourcesList},
		{"resources", spec.MethodResourcesTemplates},
	} {
		if c.Server().Declares(list.capability) && t.Inventory.Incomplete[list.method] != inventory.NoResult {
			all = append(all, knownRequest{method: list.method})
		}
	}
	all = append(all, resourceReads(t, maxReads)...)
	if bare := t.Inventory.BarePrompts; len(bare) > 0 {
		all = append(all, knownRequest{method: spec.MethodPromptsGet, params: map[string]any{"name": bare[0]}})
	}
	return requestsWithResult(ctx, c, all)
}

// resourceReads are reads of the first resources.
func resourceReads(t *suite.T, most int) []knownRequest {
	var all []knownRequest
	for _, uri := range t.Inventory.Resources[:min(most, len(t.Inventory.Resources))] {
		all = append(all, knownRequest{method: spec.MethodResourcesRead, params: map[string]any{"uri": uri}})
	}
	return all
}

// requestsWithResult makes each request by itself, and returns those that got a result
// in a moment. After one that got no answer no more are made.
func requestsWithResult(ctx context.Context, c *client.Conversation, all []knownRequest) []knownRequest {
	var good []knownRequest
	for _, a := range all {
		a.response = c.Do(ctx, a.method, a.params, client.Within(aloneTime))
		if !a.response.Answered() {
			break
		}
		if a.response.Succeeded() && a.response.Event.At-a.response.Sent.At < quick {
			good = append(good, a)
		}
	}
	return good
}

func pingFrame(c *client.Conversation) []byte { return c.Request(c.NewID(), c.HarmlessMethod(), nil) }
