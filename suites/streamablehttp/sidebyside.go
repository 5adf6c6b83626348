package streamablehttp

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

const (
	multipleClients = "streamable-http.multiple-clients"
	isolation       = "streamable-http.session-isolation"
	uniqueSession   = "streamable-http.session-id-unique-secure"
)

func sideBySide() suite.Case {
	return suite.Case{
		ID:           "streamable-http.side-by-side",
		Title:        "Holds three sessions at once, with equal ids, slow calls, subscriptions, cancellations, log levels and questions to the client, and ends one of them",
		Requirements: []string{multipleClients, isolation, uniqueSession},
		Provokes:     []string{"resources.subscribe.no-update-without-subscription"},
		Waits:        true,
		Run: suite.Over(spec.StreamableHTTP, func(ctx context.Context, t *suite.T) {
			crowd := t.Crowd(ctx, multipleClients, isolation)
			first := t.Web(crowd.First())
			if hasSession(first) {
				unlike(t, crowd)
			} else {
				crowd.Isolated = "" // what belongs together, nobody can tell
			}
			crowd.Work(ctx)
		}),
	}
}

// unlike judges the session ids of several clients.
func unlike(t *suite.T, crowd *suite.Crowd) {
	holder := map[string]bool{}
	for _, c := range crowd.All() {
		w := t.Web(c)
		id := sessionOf(w)
		if !holder[id] || id == "" {
			holder[id] = true
			continue
		}
		t.Deviates(c, verdict.Deviation{
			Requirement: uniqueSession,
			Summary:     "Two clients get the same session id.",
			Permitted:   "ids that are unlike any other",
			Seen:        "the session id " + suite.Excerpt(id, 80), At: suite.Shown(w.First()),
		})
		return
	}
	t.Kept(uniqueSession)
}
