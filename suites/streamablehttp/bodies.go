package streamablehttp

import (
	"context"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const contentType = "streamable-http.request-content-type"

func bodies() suite.Case {
	return suite.Case{
		ID:           "streamable-http.bodies",
		Title:        "Posts what is no JSON, what is owed no answer, and requests in chunks and of some length",
		Requirements: []string{contentType},
		Provokes: []string{
			"base.parse-error-http", "streamable-http.accepted-202", "streamable-http.accepted-202-response",
			"streamable-http.rejected-status", "streamable-http.rejected-body", "streamable-http.json-single-object",
		},
		Run: func(ctx context.Context, t *suite.T) {
			w := t.Web(t.Start(ctx, client.Options{}))
			for _, body := range []string{"this is not JSON", `{"jsonrpc":"2.0","id":`, `{"jsonrpc":"2.0","method":"ping","id":1}}`} {
				w.Hold(ctx, suite.WebRequest{Body: []byte(body)})
			}
			w.Tell(ctx)
			w.Hold(ctx, suite.WebRequest{Body: wire.NewResult(wire.StringID("mcp-conform/never-asked"), map[string]any{})})
			if suite.Served(w.Harmless(ctx)) {
				inForms(ctx, t, w)
			}
		},
	}
}

// longText is of a length that every server reads: some stop at 100 kB.
const longText = 40_000

// inForms posts requests in the forms that HTTP has for a body.
func inForms(ctx context.Context, t *suite.T, w *suite.Web) {
	long := w.C.Request(w.C.NewID(), w.C.Harmless(), map[string]any{"_meta": map[string]any{"com.example/long": strings.Repeat("x", longText)}})
	short := w.C.Request(w.C.NewID(), w.C.Harmless(), nil)
	again := w.C.Request(w.C.NewID(), w.C.Harmless(), nil)
	for _, form := range []struct {
		summary string
		r       suite.WebRequest
	}{
		{"A request with a body of some length is not served.", suite.WebRequest{Body: long}},
		{"A request whose body comes in chunks is not served.", suite.WebRequest{Body: short, Chunks: []int{1, len(short) / 2, len(short)}}},
		{"A request with blank space around its message is not served.", suite.WebRequest{Body: []byte("\r\n\t " + string(again) + "\r\n")}},
	} {
		x := w.Hold(ctx, form.r)
		if x == nil || x.Response == nil || mayRefuse(x.Status()) || x.Succeeded() && !hasError(x) {
			continue // rules judge the answers of servers that serve
		}
		t.Deviates(w.C, verdict.Deviation{
			Requirement: contentType, Summary: form.summary, Weight: verdict.AtMostWarning,
			Permitted: "what other requests of this method get: the form of a body is a matter of HTTP alone",
			Seen:      suite.DescribeExchange(x), At: suite.Shown(x),
		})
	}
}

// mayRefuse tells whether HTTP lets a server refuse a body by this status, or
// something before it may have done so.
func mayRefuse(status int) bool {
	switch status {
	case 401, 403, 404, 407, 408, 411, 413, 429, 431, 501, 502, 503, 504:
		return true
	}
	return false
}

func hasError(x *transcript.Exchange) bool {
	for _, m := range x.Messages() {
		if m.IsError() {
			return true
		}
	}
	return false
}
