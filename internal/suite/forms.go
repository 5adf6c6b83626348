package suite

import (
	"context"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// longText is a length that every server reads: some stop at 100 kB.
const longText = 40_000

// noSession is a session id that no server assigns.
const noSession = "mcp-conform-00000000-0000-4000-8000-000000000000"

// CheckForms posts requests in the forms that HTTP has for a body: long, in
// chunks, slow, with white space around it, with header names in upper or lower
// case, on a connection on which another request was refused. It reports
// nothing about an exchange for which elsewhere returns true: rules judge that
// refusal.
func (t *T) CheckForms(ctx context.Context, requirement string, w *Web, elsewhere func(x *transcript.Exchange) bool) {
	params := map[string]any{"_meta": map[string]any{"com.example/long": strings.Repeat("x", longText)}}
	request := func(params map[string]any) []byte { return w.C.Request(w.C.NewID(), w.C.HarmlessMethod(), params) }
	long, chunked, slow, spaced := request(params), request(nil), request(nil), request(nil)
	w.RoundTrip(ctx, WebRequest{Body: request(nil), Keep: true, Headers: []Header{WithHeader("Mcp-Session-Id", noSession)}})
	for _, form := range []struct {
		summary string
		r       WebRequest
	}{
		{"The server does not serve a request with a long body.", WebRequest{Body: long}},
		{"The server does not serve a request with a chunked body.", WebRequest{Body: chunked, Chunks: []int{1, len(chunked) / 2, len(chunked)}}},
		{"The server does not serve a request whose body arrives slowly.", WebRequest{Body: slow, Pieces: []int{1, len(slow) / 2}}},
		{"The server does not serve a request with space around its message.", WebRequest{Body: slices.Concat([]byte("\r\n\t "), spaced, []byte("\r\n"))}},
		{"The server does not serve a connection after it refused a request.", WebRequest{Body: request(nil), Keep: true}},
		{"The server does not serve header names in lower case.", WebRequest{Body: request(nil), Headers: []Header{RenameHeaders(strings.ToLower)}}},
		{"The server does not serve header names in upper case.", WebRequest{Body: request(nil), Headers: []Header{RenameHeaders(strings.ToUpper)}}},
	} {
		x := t.sendIdle(ctx, w, form.r)
		switch {
		case x == nil || x.Response == nil || mayRefuse(x.Status()) || elsewhere(x):
		case x.Succeeded() && !hasError(x):
			t.Kept(requirement)
		default:
			t.Deviates(w.C, verdict.Deviation{
				Requirement: requirement, Summary: form.summary, Weight: verdict.AtMostWarning,
				Permitted: "the same as for other requests of this method: the form of a body belongs to HTTP",
				Seen:      DescribeExchange(x), At: PositionsOf(x),
			})
		}
	}
}

// sendIdle releases the case's slot while a body is sent slowly.
func (t *T) sendIdle(ctx context.Context, w *Web, r WebRequest) *transcript.Exchange {
	if r.Pieces != nil {
		resume := w.C.BeginIdle()
		defer resume()
	}
	return w.RoundTrip(ctx, r)
}

// mayRefuse reports whether HTTP lets a server refuse a body with this status,
// or something in front of it may have done so.
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
