package suite

import (
	"context"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// longText is the length of a long string, in bytes. Some servers refuse bodies over 100 kB.
const longText = 40_000

// noSession is a session id that no server assigns.
const noSession = "mcp-conform-00000000-0000-4000-8000-000000000000"

// CheckForms posts requests in unusual forms that HTTP permits: with a body that is long, in
// chunks, slow, or surrounded by white space; with header names in upper or lower case; and on a
// connection on which another request was refused. It reports nothing about an exchange for which
// isJudgedElsewhere returns true, because rules judge that refusal.
func (t *T) CheckForms(ctx context.Context, requirement string, w *Web, isJudgedElsewhere func(x *transcript.Exchange) bool) {
	params := map[string]any{"_meta": map[string]any{"com.example/long": strings.Repeat("x", longText)}}
	request := func(params map[string]any) []byte { return w.C.Request(w.C.NewID(), w.C.HarmlessMethod(), params) }
	long, chunked, slow, spaced := request(params), request(nil), request(nil), request(nil)
	const afterRefusal = "The server does not serve a connection after it refused a request."
	for _, form := range []struct {
		summary string
		r       WebRequest
		refused []Header // headers of an earlier request on the same connection, which may be refused
	}{
		{"The server does not serve a request with a long body.", WebRequest{Body: long}, nil},
		{"The server does not serve a request with a chunked body.", WebRequest{Body: chunked, Chunks: []int{1, len(chunked) / 2, len(chunked)}}, nil},
		{"The server does not serve a request whose body arrives slowly.", WebRequest{Body: slow, Pieces: []int{1, len(slow) / 2}}, nil},
		{"The server does not serve a request with space around its message.", WebRequest{Body: slices.Concat([]byte("\r\n\t "), spaced, []byte("\r\n"))}, nil},
		{afterRefusal, WebRequest{Body: request(nil), Keep: true}, []Header{WithHeader("Mcp-Session-Id", noSession)}},
		{afterRefusal, WebRequest{Body: request(nil), Keep: true}, []Header{WithHeader("Accept", "text/plain")}},
		{"The server does not serve header names in lower case.", WebRequest{Body: request(nil), Headers: []Header{RenameHeaders(strings.ToLower)}}, nil},
		{"The server does not serve header names in upper case.", WebRequest{Body: request(nil), Headers: []Header{RenameHeaders(strings.ToUpper)}}, nil},
	} {
		var refused *transcript.Exchange
		if form.refused != nil {
			refused = w.RoundTrip(ctx, WebRequest{Body: request(nil), Keep: true, Headers: form.refused})
		}
		x := t.sendIdle(ctx, w, form.r)
		switch {
		case x == nil || x.Response == nil || isInconclusiveRefusal(x.Status(), form.refused == nil) || isJudgedElsewhere(x):
		case x.Succeeded() && !hasError(x):
			t.MarkKept(requirement)
		default:
			d := verdict.Deviation{
				Requirement: requirement, Summary: form.summary, Weight: verdict.AtMostWarning,
				Permitted: "the same as for other requests of this method: the form of a body belongs to HTTP",
				Seen:      DescribeExchange(x), At: PositionsOf(x),
			}
			if refused != nil {
				d.At = slices.Concat(PositionsOf(refused), d.At)
			}
			t.Report(w.C, d)
		}
	}
}

// sendIdle makes the exchange. If the body is sent slowly, it releases the case's slot meanwhile,
// so that another case can run.
func (t *T) sendIdle(ctx context.Context, w *Web, r WebRequest) *transcript.Exchange {
	if r.Pieces != nil {
		resume := w.C.BeginIdle()
		defer resume()
	}
	return w.RoundTrip(ctx, r)
}

// isInconclusiveRefusal reports whether a refusal with this status shows nothing: an intermediary
// may have sent it or, if the form of the request is odd, HTTP permits it.
func isInconclusiveRefusal(status int, odd bool) bool {
	switch status {
	case 404, 408, 411, 413, 431, 501:
		return odd
	}
	return transcript.IsAmbiguousStatus(status)
}

func hasError(x *transcript.Exchange) bool {
	for _, m := range x.Messages() {
		if m.IsError() {
			return true
		}
	}
	return false
}
