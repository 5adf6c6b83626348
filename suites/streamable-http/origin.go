package streamablehttp

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

const originValidated = "streamable-http.origin-validated"

func originCase() suite.Case {
	return suite.Case{
		ID:           "streamable-http.origin",
		Title:        "Sends requests with foreign, local and rebound Origin headers",
		Requirements: []string{originValidated},
		Provokes: []string{
			originValidated, "streamable-http.origin-invalid-403", "streamable-http.origin-absent-allowed", "streamable-http.origin-403-body",
		},
		Run: func(ctx context.Context, t *suite.T) {
			w := t.Web(t.Start(ctx, client.Options{}))
			t.CheckOrigins(ctx, originValidated, w)
			evil := suite.WithHeader("Origin", suite.ForeignOrigin)
			w.SendNotification(ctx, evil)
			w.Get(ctx, evil)
			if id := openSession(ctx, w, evil); id != "" {
				endSession(ctx, w, id)
			}
			w.RoundTrip(ctx, suite.WebRequest{Method: "DELETE", Headers: []suite.Header{evil}})
		},
	}
}
