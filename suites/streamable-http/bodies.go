package streamablehttp

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

func bodyCase() suite.Case {
	return suite.Case{
		ID:           "streamable-http.bodies",
		Title:        "Posts invalid JSON, notifications, and requests that are long, chunked or slow, with header names in any case, and on a reused connection",
		Requirements: []string{contentType},
		Provokes: []string{
			"base.parse-error-http", "streamable-http.accepted-202", "streamable-http.accepted-202-response",
			"streamable-http.rejected-status", "streamable-http.rejected-body", "streamable-http.json-single-object",
		},
		Run: func(ctx context.Context, t *suite.T) {
			w := t.Web(t.Start(ctx, client.Options{}))
			for _, body := range []string{"this is not JSON", `{"jsonrpc":"2.0","id":`, `{"jsonrpc":"2.0","method":"ping","id":1}}`} {
				w.RoundTrip(ctx, suite.WebRequest{Body: []byte(body)})
			}
			w.SendNotification(ctx)
			w.RoundTrip(ctx, suite.WebRequest{Body: wire.NewResult(wire.StringID("mcp-conform/never-asked"), map[string]any{})})
			if suite.IsServed(w.SendHarmless(ctx)) {
				t.CheckForms(ctx, contentType, w, func(*transcript.Exchange) bool { return false })
			}
		},
	}
}
