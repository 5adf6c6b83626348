// Package elicitation checks a server that sends elicitation requests: whether it may, and
// whether it handles every response.
package elicitation

import (
	"context"
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
			ID:                 "elicitation.asked",
			Title:              "Calls tools that elicit input, from a client that supports forms and URLs",
			Provokes:           []string{"elicitation."},
			Needs:              []string{"tools"},
			SharesConversation: true,
			Run:                callElicitingTools,
		},
		{
			ID:        "elicitation.one-mode",
			Title:     "Calls tools that elicit input, from a client that supports only forms, and from one that supports only URLs",
			Provokes:  []string{"elicitation.mode.supported-only"},
			Needs:     []string{"tools"},
			Revisions: []spec.Revision{spec.V20251125},
			Run:       declareOneMode,
		},
		{
			ID:           "elicitation.answers",
			Title:        "Accepts, declines and cancels elicitations, submits invalid content, and returns errors",
			Requirements: []string{allActions, allActionsStateless, clientError, acceptWithoutContent, validated},
			Provokes:     []string{"elicitation.url.", "elicitation.complete.", "elicitation.required-error."},
			Needs:        []string{"tools"},
			Run:          compareResponses,
		},
		initiatorCase(),
	}
}

// Limits on what a case calls, because a server may have many tools or respond slowly.
const (
	maxAskers = 4 // tools that are called repeatedly
	callTime  = 3 * time.Second
)

func elicitingTools(t *suite.T) []inventory.Tool {
	return suite.AskingTools(t, inventory.AsksElicitation, maxAskers)
}

func callElicitingTools(ctx context.Context, t *suite.T) {
	tools := elicitingTools(t)
	suite.CallEach(ctx, t.Conversation(ctx), tools, callTime)
}

// declareOneMode calls eliciting tools from a client that declares elicitation without a mode,
// which means form mode, and then from one that declares only URL mode.
func declareOneMode(ctx context.Context, t *suite.T) {
	tools := elicitingTools(t)
	for _, modes := range []map[string]any{{}, {"url": map[string]any{}}} {
		caps := client.AllCapabilities(t.Revision)
		caps["elicitation"] = modes
		c := t.Start(ctx, client.Options{Capabilities: caps})
		suite.CallEach(ctx, c, tools, callTime)
	}
}
