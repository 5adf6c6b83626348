package streamablehttp

import (
	"context"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

const mismatch = "streamable-http.version-header-mismatch"

func versionHeaderCase() suite.Case {
	return suite.Case{
		ID:           "streamable-http.version-header",
		Title:        "Sends requests without a version header, with an invalid one, and with another revision's",
		Requirements: []string{mismatch},
		Provokes:     []string{"streamable-http.version-header-default", "streamable-http.version-header-invalid-400"},
		Run: func(ctx context.Context, t *suite.T) {
			w := t.Web(t.Start(ctx, client.Options{}))
			w.SendHarmless(ctx, suite.WithHeader(versionName))
			for _, version := range []string{"1900-01-01", "not-a-version"} {
				w.SendHarmless(ctx, suite.WithHeader(versionName, version))
			}
			w.SendHarmless(ctx, suite.WithHeader(versionName, "1900-01-01"), suite.RenameHeaders(strings.ToLower))
			w.SendNotification(ctx, suite.WithHeader(versionName, "1900-01-01"))
			w.Get(ctx, suite.WithHeader(versionName, "1900-01-01"))
			judgeOtherVersion(ctx, t, w)
			w.SendHarmless(ctx) // if the session continues, a refusal was due to the header
		},
	}
}

// judgeOtherVersion records the response to a version that the server supports but the session did
// not negotiate. The specification does not regulate that response.
func judgeOtherVersion(ctx context.Context, t *suite.T, w *suite.Web) {
	for _, r := range t.KnownRevisions {
		if r == t.Revision {
			continue
		}
		x := w.SendHarmless(ctx, suite.WithHeader(versionName, string(r)))
		switch {
		case x == nil || x.Response == nil:
		case x.Succeeded() || x.Status() == 400:
			t.MarkKept(mismatch)
		default:
			t.Report(w.C, verdict.Deviation{
				Requirement: mismatch,
				Summary:     "The server refuses another version header, but not with 400.",
				Permitted:   "anything; an unsupported version is refused with 400",
				Seen:        suite.DescribeExchange(x), At: suite.PositionsOf(x),
			})
		}
		return
	}
	t.MarkNotObserved(mismatch, "mcp-conform saw the server speak no other revision")
}
