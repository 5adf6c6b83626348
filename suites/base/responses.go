package base

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// unmatchedReplyCase sends responses to requests that the server never sent. A client must not do
// that, so the case finds at most warnings. Clients of a restarted server, and clients that
// respond twice, do it nevertheless.
func unmatchedReplyCase() suite.Case {
	return suite.Case{
		ID:           "messages.stray-responses",
		Title:        "Sends results and errors for requests that the server never sent, each followed by a request",
		Requirements: []string{answered},
		Provokes:     []string{"base.response-unsolicited", "streamable-http.accepted-202-response"},
		Revisions:    spec.HandshakeRevisions(),
		Run: func(ctx context.Context, t *suite.T) {
			c := t.Start(ctx, client.Options{})
			for _, unmatched := range [][]byte{
				wire.NewResult(wire.StringID("mcp-conform/never-asked"), map[string]any{}),
				wire.NewResult(wire.IntID(7_000_021), map[string]any{"roots": []any{}}),
				wire.NewError(wire.StringID("mcp-conform/never-asked-either"), int64(spec.CodeMethodNotFound), "Method not found", nil),
				wire.NewError(wire.IntID(7_000_022), int64(spec.CodeInternal), "Internal error", nil),
			} {
				from := c.Record.Len()
				err := c.Send(ctx, unmatched)
				if err == nil {
					err = c.Fence(ctx)
				}
				switch {
				case ctx.Err() != nil:
					t.GiveUp("the case ran out of time")
				case err == nil:
					t.MarkKept(answered)
					continue
				case hasEnded(c, err):
					reportDeviation(t, c, from, "The server exits at a response to no request.", "the server ended the connection")
				default:
					reportDeviation(t, c, from, "The server stops answering after a response to no request.", "a request that followed was not answered")
				}
				return
			}
			_ = c.AwaitQuiet(ctx) // rules judge the reaction
		},
	}
}

func reportDeviation(t *suite.T, c *client.Conversation, from int, summary, seen string) {
	t.Report(c, verdict.Deviation{
		Requirement: answered, Weight: verdict.AtMostWarning, Summary: summary,
		Permitted: "no response, and later requests are served", Seen: seen, At: []int{firstSent(c, from)},
	})
}
