package sse_test

import (
	"bytes"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/suites/sse"
)

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, m := range []suitetest.Misbehaviour{
		{
			Name: "a server that behaves", Case: "sse.side-by-side",
			Kept: []string{"sse.multiple-clients", "sse.response-on-own-stream"},
		},
		{Name: "names that lead here", Case: "sse.origin", Kept: []string{"sse.origin-validated"}},
		{
			Name: "two clients at most", Case: "sse.side-by-side",
			Seams: func() refserver.Seams {
				var open atomic.Int64
				return refserver.Seams{HTTP: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
					if r.Method == http.MethodGet {
						defer open.Add(-1)
						if open.Add(1) > 2 {
							w.WriteHeader(http.StatusServiceUnavailable)
							return
						}
					}
					next.ServeHTTP(w, r)
				}}
			},
			Want: []string{"sse.multiple-clients: The server refuses a second client while it serves the first. (warning)"},
		},
		{
			Name: "messages of one client go to another", Case: "sse.side-by-side",
			Seams: func() refserver.Seams {
				return refserver.Seams{Outgoing: func(o *refserver.Out) {
					for i, frame := range o.Frames {
						o.Frames[i] = bytes.ReplaceAll(frame, []byte("client-1-token"), []byte("client-0-token"))
					}
				}}
			},
			Want: []string{"sse.response-on-own-stream: The server sends a client a message for another. (warning)"},
		},
		{
			Name: "progress by the token alone", Case: "sse.side-by-side", Seams: suitetest.ProgressByToken,
			Want: []string{"sse.response-on-own-stream: The server sends a client another's progress for its token. (warning)"},
		},
		{
			Name: "the host is not looked at", Case: "sse.origin",
			Seams: func() refserver.Seams {
				return refserver.Seams{HTTP: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
					if r.Header.Get("Origin") == "http://"+r.Host {
						r.Host = "localhost"
						r.Header.Del("Origin")
					}
					next.ServeHTTP(w, r)
				}}
			},
			Want: []string{"sse.origin-validated: The server accepts a request after DNS rebinding. (warning)"},
		},
	} {
		m.Transport, m.Revision = spec.SSE, spec.V20241105
		m.Try(t, sse.Cases())
	}
}
