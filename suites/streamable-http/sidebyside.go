package streamablehttp

import (
	"context"
	"strconv"

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
			clients := t.OpenClients(ctx, multipleClients, isolation)
			if !hasSession(t.Web(clients.First())) {
				clients.Isolation = "" // without session ids it is unclear what belongs together
				clients.CheckAll(ctx)
				return
			}
			judgeSessionIDs(t, clients)
			clients.CheckAll(ctx)
		},
	}
}

// judgeSessionIDs judges whether several clients have different session ids.
func judgeSessionIDs(t *suite.T, clients *suite.ConcurrentClients) {
	seen := map[string]bool{}
	for _, c := range clients.All() {
		w := t.Web(c)
		id := sessionID(w)
		if !seen[id] || id == "" {
			seen[id] = true
			continue
		}
		t.Report(c, verdict.Deviation{
			Requirement: uniqueSession,
			Summary:     "The server gives two clients the same session id.",
			Permitted:   "unique ids",
			Seen:        "the session id " + wire.Excerpt(strconv.Quote(id), 80), At: suite.PositionsOf(w.FirstExchange()),
		})
		return
	}
	t.MarkKept(uniqueSession)
}
