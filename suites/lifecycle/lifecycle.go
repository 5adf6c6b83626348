// Package lifecycle checks how a server handles initialization that is ordinary, unusual, out of
// order or incomplete. It also checks that the server serves what it declared.
package lifecycle

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

const (
	serves              = "lifecycle.serves-after-initialized"
	undeclared          = "lifecycle.undeclared-capability-error"
	unknownCapabilities = "lifecycle.unknown-client-capabilities"
	sameVersion         = "versioning.initialize-same-version"
	errorsPrepared      = "lifecycle.error-cases-prepared"
	beforeInitialize    = "lifecycle.request-before-initialize"
	reinitialize        = "lifecycle.reinitialize-undefined"
	noShutdown          = "lifecycle.no-shutdown-message"
	batchInitialize     = "lifecycle.batch-initialize"
)

// Cases returns the cases of this area.
func Cases() []suite.Case {
	return []suite.Case{
		{
			ID:                 "lifecycle.serves",
			Title:              "Sends ping and the list method of each declared capability after initialized",
			Requirements:       []string{serves},
			SharesConversation: true,
			Unchecked:          true,
			Run:                useDeclaredLists,
		},
		{
			ID:                 "lifecycle.undeclared-capabilities",
			Title:              "Sends the list methods of undeclared capabilities",
			Requirements:       []string{undeclared},
			SharesConversation: true,
			Unchecked:          true,
			Run:                useUndeclaredLists,
		},
		{
			ID:    "lifecycle.unknown-capabilities",
			Title: "Declares unknown capabilities, then leaves the server's requests without a response",
			Requirements: []string{
				unknownCapabilities, sameVersion, errorsPrepared,
				// Rules judge these requirements, also by the response to this initialize.
				"lifecycle.initialize-response", "lifecycle.initialize-result-schema",
			},
			Run: sendUnknownCapabilities,
		},
		{
			ID:           "lifecycle.deficient-initialize",
			Title:        "Sends initialize without capabilities, then without clientInfo, then a valid one",
			Requirements: []string{errorsPrepared},
			Run:          sendDeficientInitialize,
		},
		{
			ID:           "lifecycle.unregulated",
			Title:        "Sends a request before initialize, one before initialized, shutdown requests, and a second initialize",
			Requirements: []string{beforeInitialize, serves, noShutdown, reinitialize},
			SpoilsServer: true,
			Waits:        true,
			Run:          sendOutOfOrder,
		},
		{
			ID:           "lifecycle.batched-initialize",
			Title:        "Sends initialize in a batch",
			Requirements: []string{batchInitialize},
			Run:          sendBatchedInitialize,
		},
	}
}

// reportDeviation reports a deviation with the reply as evidence, and with the earlier messages that
// provoked it.
func reportDeviation(t *suite.T, c *client.Conversation, r *client.Reply, requirement, summary, permitted string, earlier ...*transcript.Event) {
	t.Report(c, verdict.Deviation{
		Requirement: requirement,
		Summary:     summary,
		Permitted:   permitted,
		Seen:        suite.Describe(r),
		At:          transcript.Positions(append(earlier, r.Sent, r.Event)...),
	})
}

// hasEndedInstead reports whether the server ended instead of answering.
func hasEndedInstead(ctx context.Context, c *client.Conversation, r *client.Reply) bool {
	return !r.Answered() && suite.HasEnded(ctx, c, r.Err)
}
