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
			ID:           "lifecycle.serves",
			Title:        "after initialized, ping and the list method of each declared capability",
			Requirements: []string{serves},
			Asks:         true,
			Unchecked:    true,
			Run:          servesDeclared,
		},
		{
			ID:           "lifecycle.undeclared-capabilities",
			Title:        "the list methods of capabilities that the server did not declare",
			Requirements: []string{undeclared},
			Asks:         true,
			Unchecked:    true,
			Run:          refusesUndeclared,
		},
		{
			ID:    "lifecycle.unknown-capabilities",
			Title: "initialize with capabilities that no one knows, then leave the server's own requests unanswered",
			Requirements: []string{
				unknownCapabilities, sameVersion, errorsPrepared,
				// Judged by rules, on the answer to this initialize too.
				"lifecycle.initialize-response", "lifecycle.initialize-result-schema",
			},
			Run: openCapabilities,
		},
		{
			ID:           "lifecycle.deficient-initialize",
			Title:        "initialize without capabilities, then without clientInfo, then as it should be",
			Requirements: []string{errorsPrepared},
			Run:          deficientInitialize,
		},
		{
			ID:           "lifecycle.unregulated",
			Title:        "a request before initialize, one before initialized, requests to shut down, and a second initialize",
			Requirements: []string{beforeInitialize, serves, noShutdown, reinitialize},
			Run:          unregulated,
		},
		{
			ID:           "lifecycle.batched-initialize",
			Title:        "initialize as part of a batch",
			Requirements: []string{batchInitialize},
			Revisions:    []spec.Revision{spec.V20250326},
			Run:          batchedInitialize,
		},
	}
}

// end closes a conversation before the next is opened: some servers tolerate
// no second copy of themselves. Others may work while this one exits.
func end(c *client.Conversation) {
	defer c.Idle()()
	c.Close()
}

// deviates reports what the reply shows.
func deviates(t *suite.T, c *client.Conversation, r *client.Reply, requirement, summary, permitted string) {
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

// ended reports whether the server ended instead of answering.
func ended(ctx context.Context, c *client.Conversation, r *client.Reply) bool {
	return !r.Answered() && gone(ctx, c, r.Err)
}

// gone reports whether the server has ended, err being what came of the last
// thing done with it. That nothing can be written to a server shows a little
// before the end of its output does.
func gone(ctx context.Context, c *client.Conversation, err error) bool {
	if err == nil || errors.Is(err, client.ErrUnanswered) || errors.Is(err, client.ErrEnded) {
		return !c.Alive() || errors.Is(err, client.ErrEnded)
	}
	wait, cancel := context.WithTimeout(ctx, endWait)
	defer cancel()
	_, err = c.Await(wait, 0, func(*transcript.Event) bool { return false })
	return errors.Is(err, client.ErrEnded)
}
