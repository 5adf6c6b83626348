// Package cancellation cancels requests that run, requests that have ended, and requests that
// were never sent.
package cancellation

import (
	"context"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

const (
	idType         = "cancellation.id-type-matters"
	raceHandled    = "cancellation.race-handled"
	unknownIgnored = "cancellation.unknown-ignored"
)

// Cases returns the cases of this area.
func Cases() []suite.Case {
	return []suite.Case{
		{
			ID:           "cancellation.running",
			Title:        "Cancels a slow call while it runs, another in the same write, and calls the tool again",
			Requirements: []string{raceHandled},
			Provokes: []string{
				"cancellation.stop-processing", "cancellation.no-response-after-cancel", "cancellation.race-handled",
				"progress.stops-after-cancel", "base.response-once", "base.notification-no-response", "cancellation.no-messages-after-cancel.stdio",
			},
			Needs: []string{"tools"},
			Waits: true,
			Races: []suite.Race{firstProgress, withCall},
			Run:   runSlowCall,
		},
		{
			ID:           "cancellation.several",
			Title:        "Cancels some of several concurrent slow calls, and ids that differ only in type",
			Requirements: []string{idType, raceHandled},
			Provokes:     []string{"cancellation.race-handled", "base.response-once", "base.notification-no-response"},
			Needs:        []string{"tools"},
			Waits:        true,
			Races:        describeRaces(slowRaces()),
			Run:          byNotification(runSlowRaces),
		},
		{
			ID:           "cancellation.other-client",
			Title:        "Closes the stream of a slow call while the call of another client with the same id runs",
			Requirements: []string{multipleClients},
			Provokes:     []string{"base.request-answered"},
			Needs:        []string{"tools"},
			Revisions:    spec.StatelessRevisions(),
			Waits:        true,
			OnlyOver:     spec.StreamableHTTP,
			Races: []suite.Race{
				{Name: "while a call of another client with the same id runs", Cancelled: suite.Any, Others: suite.Answer},
			},
			Servers: 2,
			Run:     cancelOfOtherClient,
		},
		{
			ID:           "cancellation.races",
			Title:        "Cancels pings and lists in the same write, after the response, and by ids that differ only in type; closes stdin right after a cancellation",
			Requirements: []string{raceHandled, unknownIgnored, idType, exit},
			Provokes: []string{
				"cancellation.race-handled", "cancellation.completed-ignored", "cancellation.unknown-ignored", "base.response-once", "base.notification-no-response",
			},
			Waits:        true,
			SpoilsServer: true,
			Reuses:       suite.ReuseNone,
			Races:        append(describeRaces(quickRaces()), closing),
			Run:          byNotification(runQuickRaces),
		},
		{
			ID:           "cancellation.initialize",
			Title:        "Cancels initialize, which clients must not do, and continues",
			Requirements: []string{raceHandled},
			Revisions:    spec.HandshakeRevisions(),
			Races:        initializeRaces(),
			SpoilsServer: true,
			Run:          cancelInitialize,
		},
		{
			ID:    "cancellation.pointless",
			Title: "Sends cancellations of finished and unknown requests, and malformed ones; reports progress for an unknown token",
			Provokes: []string{
				"cancellation.race-handled", "cancellation.unknown-ignored", "cancellation.completed-ignored", "cancellation.malformed-ignored",
				"progress.unsolicited-from-client-tolerated", "base.notification-no-response",
			},
			Waits: true,
			Races: []suite.Race{
				{Name: "when the request was answered", Cancelled: suite.Answer, Others: suite.Answer},
				{Name: "an id that was never used, a number or a string", Others: suite.Answer},
				{Name: "without params, without an id, and by what is not an id: null, a boolean, an object", Others: suite.Answer},
			},
			SpoilsServer: true, // by malformed notifications
			Run:          byNotification(cancelPointlessly),
		},
		{
			ID:           "cancellation.nested",
			Title:        "Calls tools that send requests to the client, cancels the calls, responds anyway, and calls again",
			Requirements: []string{raceHandled},
			Provokes: []string{
				"cancellation.server-cancels-own-requests", "cancellation.request-id-present", "cancellation.late-response-ignored",
				"cancellation.race-handled", "progress.server-token-unique", "base.response-once",
			},
			Needs:     []string{"tools"},
			Revisions: spec.HandshakeRevisions(),
			Waits:     true,
			Races: []suite.Race{
				{Name: "while the server waits for the client's answer to its request; the answer comes later", Cancelled: suite.Any, Others: suite.Answer},
			},
			Run: cancelAskingCall,
		},
	}
}

// byNotification wraps run. It skips the case if clients cancel by closing the response stream, not
// with notifications/cancelled.
func byNotification(run func(ctx context.Context, t *suite.T)) func(ctx context.Context, t *suite.T) {
	return func(ctx context.Context, t *suite.T) {
		if t.Revision.Era() == spec.Stateless && t.Transport != spec.Stdio {
			t.Skip("over Streamable HTTP a client cancels by closing the response stream")
		}
		run(ctx, t)
	}
}

// describeRaces describes the races, without their steps.
func describeRaces(races []race) []suite.Race {
	var out []suite.Race
	for _, r := range races {
		out = append(out, r.Race)
	}
	return out
}

// Duration and number of steps of a slow tool call that is cancelled.
const (
	duration = 300 * time.Millisecond
	steps    = 6
)
