// Package fuzz has the laws by which the fuzzer judges the responses to its messages, except one:
// the law that the server keeps the passive rules (see RulesLaw in internal/fuzz). That law is
// judged before the laws of this package, and is the only stateful one: the rules share a session
// that models the subscriptions, the log level, the tasks and the requests in progress.
package fuzz

import (
	"github.com/mcp-conform/mcp-conform/internal/fuzz"
	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	badParams       = "base.invalid-params-2024-11-05"
	requestAnswered = "base.request-answered"
	parseError      = "base.parse-error"
	invalidRequest  = "base.invalid-request"
	validatesInputs = "tools.call.validates-inputs"
	freeResources   = "cancellation.free-resources"
	selfContained   = "stateless.no-prior-request-context"
)

// Laws returns all laws except that of the passive rules.
func Laws() []fuzz.Law {
	return []fuzz.Law{
		{
			ID:           "invalid-params-refused",
			Title:        "Params that provably violate a method's schema do not succeed",
			Requirements: []string{badParams},
			Judge:        invalidParams,
		},
		{
			ID:           "server-stays",
			Title:        "After any input the server still responds, unless its client ended it",
			Requirements: []string{requestAnswered, parseError, invalidRequest},
			Judge:        staysAlive,
		},
		{
			ID:           "requests-self-contained",
			Title:        "From 2026-07-28 on, a request that was served once is not refused later for what it lacks",
			Requirements: []string{selfContained},
			Judge:        dependsOnOthers,
			Observed:     hasEqualRequests,
		},
		{
			ID:           "answers-steady",
			Title:        "The same request gets the same response while nothing changes",
			Requirements: []string{requestAnswered},
			Unspecified:  true,
			Judge:        equalResponses,
		},
		{
			ID:           "valid-arguments-accepted",
			Title:        "A tool accepts arguments that fit its inputSchema",
			Requirements: []string{validatesInputs},
			Unspecified:  true,
			Judge:        validArguments,
		},
		{
			ID:           "invalid-arguments-refused",
			Title:        "A tool does not succeed with arguments that provably violate its inputSchema",
			Requirements: []string{validatesInputs},
			Unspecified:  true,
			Judge:        invalidArguments,
		},
		{
			ID:              "memory-steady",
			Title:           "Repeated or cancelled requests do not make the server grow without limit",
			Requirements:    []string{freeResources, requestAnswered},
			Unspecified:     true,
			RepeatsRequests: true,
			Judge:           growingMemory,
			Observed:        isMeasured,
		},
	}
}

// invalidParams reports results for requests whose params are provably invalid. It leaves cursors
// and levels to the rules. It skips failed tool results. It also skips list requests, because they
// need no params, so a server may ignore the params that it gets. An invalid _meta is only noted.
func invalidParams(execution *fuzz.Execution) []fuzz.Breach {
	var out []fuzz.Breach
	for n, t := range execution.Conversations {
		d := transcript.DialogueOf(t.Events)
		for e, m := range transcript.Messages(t.Events) {
			op := execution.OperationOf(t, m)
			if m.Kind != wire.Response || op == nil || op.Violates == "" || op.Method == "" || !m.Has("result") || m.IsError() {
				continue
			}
			if generate.ListMember(op.Method) != "" || op.At == "/level" || string(m.ResultAt("/isError")) == "true" {
				continue
			}
			found := verdict.Deviation{
				Requirement: badParams,
				Summary:     "The server serves a request with params of the wrong type.",
				Permitted:   "an error, preferably -32602",
				Seen:        "a result for " + op.Method + " whose params do not keep " + op.Violates + " at " + describePointer(op.At),
				At:          []int{e.Seq},
			}
			if r := d.RequestOf(m); r != nil {
				found.At = []int{r.Event.Seq, e.Seq}
			}
			if op.At == "/_meta" {
				found.Weight = verdict.OnlyNote
			}
			out = append(out, fuzz.Breach{Deviation: found, Conversation: n})
		}
	}
	return out
}

func describePointer(pointer string) string {
	if pointer == "" {
		return "the root"
	}
	return pointer
}

// callsTool reports whether a tool was called in a conversation.
func callsTool(t *script.Conversation) bool {
	for _, m := range transcript.Messages(t.Events) {
		if m.Method == spec.MethodToolsCall {
			return true
		}
	}
	return false
}

// hasListChanged reports whether the events in t.Events[from:to] announce a changed list.
func hasListChanged(t *script.Conversation, from, to int) bool {
	for _, m := range transcript.Messages(t.Events[from:min(to, len(t.Events))]) {
		switch m.Method {
		case spec.MethodToolsChanged, spec.MethodResourcesChanged, spec.MethodPromptsChanged:
			return true
		}
	}
	return false
}
