package streamablehttp_test

import (
	"bytes"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	streamablehttp "github.com/mcp-conform/mcp-conform/suites/streamable-http"
)

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, m := range []suitetest.Misbehaviour{
		{
			Name: "a server that behaves", Case: "streamable-http.side-by-side",
			Kept: []string{"streamable-http.multiple-clients", "streamable-http.session-isolation", "streamable-http.session-id-unique-secure"},
		},
		{
			Name: "streams that go on", Case: "streamable-http.resumption",
			Kept: []string{"streamable-http.disconnect-not-cancel", "streamable-http.last-event-id-replay"},
		},
		{Name: "JSON alone", Case: "streamable-http.resumption", JSONOnly: true},
		{Name: "streams that are not taken up again", Case: "streamable-http.resumption", Seams: notTakenUp},
		{
			Name: "progress by the token alone", Case: "streamable-http.side-by-side", Seams: suitetest.ProgressByToken,
			Want: []string{"streamable-http.session-isolation: The server sends a client another's progress for its token. (warning)"},
		},
		{Name: "names that lead here", Case: "streamable-http.origin", Kept: []string{"streamable-http.origin-validated"}},
		{
			Name: "chunks are not read", Case: "streamable-http.bodies",
			Seams: wraps(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if r.Method == http.MethodPost && r.ContentLength < 0 {
					w.WriteHeader(http.StatusBadRequest)
					return
				}
				next.ServeHTTP(w, r)
			}),
			Want: []string{"streamable-http.request-content-type: The server does not serve a request with a chunked body. (warning)"},
		},
		{
			Name: "the host is not looked at", Case: "streamable-http.origin",
			Seams: wraps(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if r.Header.Get("Origin") == "http://"+r.Host {
					r.Host = "localhost"
					r.Header.Del("Origin")
				}
				next.ServeHTTP(w, r)
			}),
			Want: []string{"streamable-http.origin-validated: The server accepts a request after DNS rebinding. (warning)"},
		},
		{
			Name: "two clients at most", Case: "streamable-http.side-by-side", Seams: atMost(2),
			Want: []string{"streamable-http.multiple-clients: The server refuses a second client while it serves the first. (warning)"},
		},
		{
			Name: "messages of one client go to another", Case: "streamable-http.side-by-side",
			Seams: func() refserver.Seams {
				return refserver.Seams{Event: func(e *refserver.Event) []byte {
					e.Data = bytes.ReplaceAll(e.Data, []byte("client-1-"), []byte("client-0-"))
					return e.Bytes()
				}}
			},
			Want: []string{
				"streamable-http.session-isolation: The server sends a client a message for another. (warning)",
				"streamable-http.session-isolation: The server uses one client's response in another's result. (warning)",
			},
		},
		{
			Name: "a connection that breaks cancels", Case: "streamable-http.resumption", Seams: disconnectCancels,
			Want: []string{"streamable-http.disconnect-not-cancel: The server answers a request with an error after a lost connection. (warning)"},
		},
	} {
		m.Transport = spec.StreamableHTTP
		m.Try(t, streamablehttp.Cases())
	}
}

func wraps(f func(w http.ResponseWriter, r *http.Request, next http.Handler)) func() refserver.Seams {
	return func() refserver.Seams { return refserver.Seams{HTTP: f} }
}

// atMost refuses further sessions while n are open.
func atMost(n int64) func() refserver.Seams {
	return func() refserver.Seams {
		var open atomic.Int64
		return refserver.Seams{HTTP: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			switch {
			case r.Method == http.MethodDelete:
				open.Add(-1)
			case r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") == "":
				if open.Add(1) > n {
					open.Add(-1)
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				}
			}
			next.ServeHTTP(w, r)
		}}
	}
}

// disconnectCancels answers one call with an error for each connection that broke while it waited
// for a response.
func disconnectCancels() refserver.Seams {
	var broken atomic.Int64
	return refserver.Seams{
		HTTP: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			next.ServeHTTP(w, r)
			if r.Method == http.MethodPost && r.Context().Err() != nil {
				broken.Add(1)
			}
		},
		Handle: func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
			result, err := next(c)
			if strings.HasPrefix(c.Method, "tools/call") && broken.Add(-1) >= 0 {
				return nil, &refserver.Error{Code: spec.CodeInternal, Message: "the client is gone"}
			}
			return result, err
		},
	}
}
