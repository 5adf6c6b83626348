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

// concurrentCases returns the cases that send many requests at once in one conversation: requests
// of every kind in one write, one request many times, responses of all sizes, calls that report
// progress, and subscriptions. Rules judge that each request gets one response with its id; the
// cases judge that each response belongs to its request.
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
			Run:                sendLargeWithSmall,
		},
		{
			ID:                 "concurrency.calls",
			Title:              "Calls tools concurrently, each with its own progress token",
			Requirements:       []string{idEcho, tokenEcho, requestAnswered},
			Provokes:           append(answers, "progress.", "base.message-utf8"),
			Needs:              []string{"tools"},
			SharesConversation: true,
			Run:                callConcurrently,
		},
		{
			ID:                 "concurrency.subscriptions",
			Title:              "Subscribes to several resources in one write, and unsubscribes in another",
			Provokes:           append(answers, "resources.subscribe.", "resources.unsubscribe.", "resources.updated."),
			Needs:              []string{"resources.subscribe"},
			SharesConversation: true,
			Run:                subscribeConcurrently,
		},
	}
}

// Limits on what the concurrentCases send: together at most about 160 requests, and fewer to most
// servers.
const (
	maxReads         = 3
	maxTools         = 3
	maxSubscriptions = 4
	copies           = 98 // concurrent copies of a request; one more is sent before, and one after
	copiesOverHTTP   = 38 // each is an exchange with its own connection
	maxBytes         = 4 << 20
	maxLarge         = 4
)

// aloneTime is how long a single request may take. A request that takes longer than quickLimit
// alone is not sent concurrently with others, because its duration may depend on code of the
// server's author.
const (
	aloneTime  = 2 * time.Second
	quickLimit = 500 * time.Millisecond
)

// slowRepeats is how often a slow request is repeated, to find out whether it is always slow or the
// machine was busy.
const slowRepeats = 3

// plainRequest is a request that a case sends. response is what it got when it was sent alone, or
// nil if it was not sent alone.
type plainRequest struct {
	method   string
	params   map[string]any
	response *client.Reply
}

func (a *plainRequest) frame(c *client.Conversation) []byte {
	return c.Request(c.NewID(), a.method, a.params)
}

// responseSize returns the size of the response.
func (a *plainRequest) responseSize() int { return len(a.response.Message.Raw) }

// findServedRequests returns requests for lists, resources and a prompt that the server answered
// quickly when they were sent one by one.
func findServedRequests(ctx context.Context, t *suite.T, c *client.Conversation) []plainRequest {
	var all []plainRequest
	for _, list := range []struct{ capability, method string }{
		{"tools", spec.MethodToolsList},
		{"prompts", spec.MethodPromptsList},
		{"resources", spec.MethodResourcesList},
		{"resources", spec.MethodResourcesTemplates},
	} {
		if c.Server().Declares(list.capability) && t.Inventory.Incomplete[list.method] != inventory.NoResult {
			all = append(all, plainRequest{method: list.method})
		}
	}
	all = append(all, resourceReads(t, maxReads)...)
	if bare := t.Inventory.BarePrompts; len(bare) > 0 {
		all = append(all, plainRequest{method: spec.MethodPromptsGet, params: map[string]any{"name": bare[0]}})
	}
	return keepServedRequests(ctx, c, all)
}

// resourceReads returns requests that read the first resources of the inventory; most limits their
// number.
func resourceReads(t *suite.T, most int) []plainRequest {
	var all []plainRequest
	for _, uri := range t.Inventory.Resources[:min(most, len(t.Inventory.Resources))] {
		all = append(all, plainRequest{method: spec.MethodResourcesRead, params: map[string]any{"uri": uri}})
	}
	return all
}

// keepServedRequests sends each request alone, and returns those with a quick result. It stops
// after a request without a response.
func keepServedRequests(ctx context.Context, c *client.Conversation, all []plainRequest) []plainRequest {
	var good []plainRequest
	for _, a := range all {
		a.response = c.Do(ctx, a.method, a.params, client.Within(aloneTime))
		if !a.response.Answered() {
			break
		}
		if a.response.Succeeded() && a.response.Event.At-a.response.Sent.At < quickLimit {
			good = append(good, a)
		}
	}
	return good
}

func pingFrame(c *client.Conversation) []byte { return c.Request(c.NewID(), c.HarmlessMethod(), nil) }
