// Package cancellation cancels what runs, what has ended and what never was.
package cancellation

import (
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

const idType = "cancellation.id-type-matters"

// Cases returns the cases of this area.
func Cases() []suite.Case {
	return []suite.Case{
		{
			ID:           "cancellation.running",
			Title:        "Cancels a slow tool that runs, one by an id of another type, and one in the write that calls it",
			Requirements: []string{idType},
			Provokes: []string{
				"cancellation.stop-processing", "cancellation.no-response-after-cancel", "cancellation.race-handled",
				"progress.stops-after-cancel",
			},
			Needs:     []string{"tools"},
			Revisions: spec.HandshakeRevisions(),
			Run:       running,
		},
		{
			ID:    "cancellation.pointless",
			Title: "Cancels what was answered, what was never asked, and nothing at all; reports progress that nobody asked for",
			Provokes: []string{
				"cancellation.race-handled", "cancellation.unknown-ignored", "cancellation.completed-ignored", "cancellation.malformed-ignored",
				"progress.unsolicited-from-client-tolerated",
			},
			Revisions: spec.HandshakeRevisions(),
			Waits:     true,
			Run:       pointless,
		},
		{
			ID:    "cancellation.nested",
			Title: "Calls a tool that asks the client, cancels it and answers the question nevertheless",
			Provokes: []string{
				"cancellation.server-cancels-own-requests", "cancellation.request-id-present", "cancellation.late-response-ignored",
				"progress.server-token-unique",
			},
			Needs:     []string{"tools"},
			Revisions: spec.HandshakeRevisions(),
			Run:       nested,
		},
	}
}

// How long a slow tool takes that is to be cancelled, and in how many steps.
const (
	duration = 300 * time.Millisecond
	steps    = 6
)
