// Package lifecycle checks how a server opens its dealings with a client, what
// it does with an opening that is odd, out of order or deficient, and that it
// serves what it declared.
package lifecycle

import (
	"context"
	"errors"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
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
			Run:                useDeclared,
		},
		{
			ID:                 "lifecycle.undeclared-capabilities",
			Title:              "Sends the list methods of undeclared capabilities",
			Requirements:       []string{undeclared},
			SharesConversation: true,
			Unchecked:          true,
			Run:                useUndeclared,
		},
		{
			ID:    "lifecycle.unknown-capabilities",
			Title: "Declares unknown capabilities, then leaves the server's requests without a response",
			Requirements: []string{
				unknownCapabilities, sameVersion, errorsPrepared,
				// Judged by rules, on the answer to this initialize too.
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
			Run:          sendOutOfOrder,
		},
		{
			ID:           "lifecycle.batched-initialize",
			Title:        "Sends initialize in a batch",
			Requirements: []string{batchInitialize},
			Revisions:    []spec.Revision{spec.V20250326},
			Run:          sendBatchedInitialize,
		},
	}
}

// closeConversation closes a conversation before the next is opened: some servers tolerate
// no second copy of themselves. Others may work while this one exits.
func closeConversation(c *client.Conversation) {
	defer c.BeginIdle()()
	c.Close()
}

// reportDeviation reports what the reply shows.
func reportDeviation(t *suite.T, c *client.Conversation, r *client.Reply, requirement, summary, permitted string) {
	t.Deviates(c, verdict.Deviation{
		Requirement: requirement,
		Summary:     summary,
		Permitted:   permitted,
		Seen:        suite.Describe(r),
		At:          transcript.Positions(r.Sent, r.Event),
	})
}

// endWait bounds the wait for the end of the stream of a server to which
// nothing could be written.
const endWait = time.Second

// hasEndedInstead reports whether the server ended instead of answering.
func hasEndedInstead(ctx context.Context, c *client.Conversation, r *client.Reply) bool {
	return !r.Answered() && hasEnded(ctx, c, r.Err)
}

// hasEnded reports whether the server has ended, err being the result of the last
// thing done with it. That nothing can be written to a server shows a little
// before the end of its output does.
func hasEnded(ctx context.Context, c *client.Conversation, err error) bool {
	if err == nil || errors.Is(err, client.ErrUnanswered) || errors.Is(err, client.ErrEnded) {
		return !c.Alive() || errors.Is(err, client.ErrEnded)
	}
	wait, cancel := context.WithTimeout(ctx, endWait)
	defer cancel()
	_, err = c.Await(wait, 0, func(*transcript.Event) bool { return false })
	return errors.Is(err, client.ErrEnded)
}
