// Package sampling checks a server that sends sampling requests: whether it may, and whether it
// handles every response.
package sampling

import (
	"context"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

// Cases returns the cases of this area.
func Cases() []suite.Case {
	return []suite.Case{
		{
			ID:    "sampling.nothing-declared",
			Title: "Calls each tool once from a client without capabilities, and checks for requests to it",
			Provokes: []string{
				"sampling.requires-client-capability-2024-11-05", "sampling.requires-client-capability-2025-06-18",
				"elicitation.requires-client-capability-2025-06-18", "elicitation.mode.supported-only",
				"roots.requires-client-capability-2024-11-05", "roots.requires-client-capability-2025-06-18",
			},
			Waits: true,
			Run:   callWithoutCapability,
		},
		{
			ID:                 "sampling.asked",
			Title:              "Calls tools that sample, from a client without sampling.tools",
			Provokes:           []string{"sampling."},
			Needs:              []string{"tools"},
			SharesConversation: true,
			Run:                callSamplingTools,
		},
		{
			ID:           "sampling.answers",
			Title:        "Returns unusual, refused and invalid results to sampling requests",
			Requirements: []string{anyModel, anyStopReason, anyContent, rejectionHandled, contentValidated},
			Needs:        []string{"tools"},
			Run:          compareResponses,
		},
		{
			ID:           "sampling.other-order",
			Title:        "Responds to two concurrent sampling requests in reverse order",
			Requirements: []string{matchedByID},
			Needs:        []string{"tools"},
			Waits:        true,
			Run:          answerInOtherOrder,
		},
		{
			ID:       "sampling.tool-loop",
			Title:    "Returns tool calls to sampling requests: two at once, and without end",
			Provokes: []string{"sampling.tool-use.", "sampling.tool-result.", "sampling.tools.", "sampling.tool-choice.", "sampling.include-context."},
			Needs:    []string{"tools"},
			Run:      runToolLoop,
		},
	}
}

// Limits on what a case calls, because a server may have many tools or respond slowly.
const (
	maxTools      = 20 // called once each
	maxAskers     = 3  // tools that are called repeatedly
	maxConcurrent = 4
	callTime      = 2 * time.Second
	allTime       = 15 * time.Second
)

// callWithoutCapability calls tools from a client without capabilities, first those that seem to
// send requests. If the server has no tools, the case still shows whether it sends requests
// unprompted.
func callWithoutCapability(ctx context.Context, t *suite.T) {
	c := t.Start(ctx, client.Options{Capabilities: map[string]any{}})
	limit, cancel := c.Record.WithTimeout(ctx, allTime, client.ErrUnanswered)
	defer cancel()
	var wg sync.WaitGroup
	slots := make(chan struct{}, maxConcurrent)
	for _, tool := range likelyAskersFirst(t.Inventory) {
		if t.DisturbsOthers(tool) {
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			suite.Call(limit, c, tool, callTime)
		})
	}
	wg.Wait()
	t.AwaitQuiet(ctx, c)
}

// likelyAskersFirst returns the tools that may be called, at most maxTools, with those first that
// seem to send requests.
func likelyAskersFirst(v *inventory.Inventory) []inventory.Tool {
	var out []inventory.Tool
	have := map[string]bool{}
	add := func(tools []inventory.Tool) {
		for _, tool := range tools {
			if !have[tool.Name] && len(out) < maxTools {
				have[tool.Name] = true
				out = append(out, tool)
			}
		}
	}
	add(v.AskingTools(inventory.AsksSampling))
	add(v.AskingTools(inventory.AsksElicitation))
	add(v.AskingTools(inventory.AsksRoots))
	add(v.Callable())
	return out
}

func samplingTools(t *suite.T) []inventory.Tool {
	return suite.AskingTools(t, inventory.AsksSampling, maxAskers)
}

func callSamplingTools(ctx context.Context, t *suite.T) {
	tools := samplingTools(t)
	suite.CallEach(ctx, t.Conversation(ctx), tools, callTime)
}

// fullCapabilities returns the capabilities of a client that supports tools and context in
// sampling.
func fullCapabilities(r spec.Revision) map[string]any {
	caps := client.AllCapabilities(r)
	if r.HasSamplingTools() {
		caps["sampling"] = map[string]any{"tools": map[string]any{}, "context": map[string]any{}}
	}
	return caps
}
