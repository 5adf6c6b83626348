package streamablehttp

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	multipleClients = "streamable-http.multiple-clients"
	isolation       = "streamable-http.session-isolation"
	uniqueSession   = "streamable-http.session-id-unique-secure"
)

func sideBySideCase() suite.Case {
	return suite.Case{
		ID:           "streamable-http.side-by-side",
		Title:        "Uses three sessions at once, with equal ids, slow calls, subscriptions, cancellations, log levels and requests to the client, and ends one",
		Requirements: []string{multipleClients, isolation, uniqueSession},
		Provokes:     []string{"resources.subscribe.no-update-without-subscription"},
		Waits:        true,
		OwnServer:    true,
		OnlyOver:     spec.StreamableHTTP,
		Run: func(ctx context.Context, t *suite.T) {
			crowd := t.Crowd(ctx, multipleClients, isolation)
			if !hasSession(t.Web(crowd.First())) {
				crowd.Isolated = "" // without an isolated session it is unclear what belongs together
				crowd.Work(ctx)
				return
			}
			judgeSessionIDs(t, crowd)
			crowd.Work(ctx)
		},
	}
}

// judgeSessionIDs judges the session ids of several clients.
func judgeSessionIDs(t *suite.T, crowd *suite.Crowd) {
	seen := map[string]bool{}
	for _, c := range crowd.All() {
		w := t.Web(c)
		id := sessionID(w)
		if !seen[id] || id == "" {
			seen[id] = true
			continue
		}
		t.Deviates(c, verdict.Deviation{
			Requirement: uniqueSession,
			Summary:     "The server gives two clients the same session id.",
			Permitted:   "unique ids",
			Seen:        "the session id " + wire.Excerpt(id, 80), At: suite.PositionsOf(w.First()),
		})
		return
	}
	t.Kept(uniqueSession)
}
