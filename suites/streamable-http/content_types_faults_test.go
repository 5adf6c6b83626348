package streamablehttp_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	streamablehttp "github.com/mcp-conform/mcp-conform/suites/streamable-http"
)

func TestContentTypes(t *testing.T) {
	t.Parallel()
	for _, m := range []suitetest.Misbehaviour{
		{Name: "a server that behaves", Case: "content-types.accept", Kept: []string{"streamable-http.accept-both"}},
		{Name: "JSON alone", Case: "content-types.accept", JSONOnly: true, Kept: []string{"streamable-http.accept-both"}},
		{
			Name: "the first type alone counts", Case: "content-types.accept",
			Seams: refuses(func(r *http.Request) bool { return strings.HasPrefix(r.Header.Get("Accept"), "text/event-stream,") }),
			Want:  []string{"streamable-http.accept-both: The server refuses an Accept with both types in another order. (warning)"},
		},
		{
			Name: "the first line alone counts", Case: "content-types.accept",
			Seams: refuses(func(r *http.Request) bool { return len(r.Header.Values("Accept")) > 1 }),
			Want:  []string{"streamable-http.accept-both: The server refuses an Accept in two header lines. (warning)"},
		},
		{
			Name: "the server stalls, then refuses */*", Case: "content-types.accept",
			Seams: stalls(3500*time.Millisecond, func(r *http.Request) bool { return r.Header.Get("Accept") == "*/*" }),
			Want:  []string{"streamable-http.accept-both: The server refuses Accept: */*. (note)"},
		},
		{Name: "the session ends in between", Case: "content-types.accept", Seams: expires(3)},
		{
			Name: "the server fails at what it does not know", Case: "content-types.content-type",
			Seams: fails(func(r *http.Request) bool {
				return !strings.Contains(strings.ToLower(r.Header.Get("Content-Type")), "json")
			}),
			Want: []string{"streamable-http.request-content-type: The server fails on a request whose content type is not JSON. (note)"},
		},
		{
			Name: "the server fails without Accept", Case: "content-types.accept",
			Seams: fails(func(r *http.Request) bool { return r.Header.Get("Accept") == "" }),
			Want:  []string{"streamable-http.accept-both: The server fails on a request whose Accept lacks one type. (note)"},
		},
	} {
		m.Transport = spec.StreamableHTTP
		m.Try(t, streamablehttp.Cases())
	}
}

// expires ends each session after so many requests with an unusual Accept.
func expires(after int) func() refserver.Seams {
	return func() refserver.Seams {
		var mu sync.Mutex
		odd := map[string]int{}
		return refserver.Seams{HTTP: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			mu.Lock()
			session := r.Header.Get("Mcp-Session-Id")
			if r.Method == http.MethodPost && r.Header.Get("Accept") != "application/json, text/event-stream" {
				odd[session]++
			}
			over := odd[session] > after
			mu.Unlock()
			if over {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			next.ServeHTTP(w, r)
		}}
	}
}

// stalls responds to nothing for a time once a POST comes for which when is true, as on a busy machine,
// and then refuses that POST.
func stalls(long time.Duration, when func(r *http.Request) bool) func() refserver.Seams {
	return func() refserver.Seams {
		var mu sync.Mutex
		var until time.Time
		return refserver.Seams{HTTP: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			refused := r.Method == http.MethodPost && when(r)
			mu.Lock()
			if refused && until.IsZero() {
				until = time.Now().Add(long)
			}
			left := time.Until(until)
			mu.Unlock()
			if left > 0 {
				<-time.After(left)
			}
			if refused {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			next.ServeHTTP(w, r)
		}}
	}
}

// refuses refuses the POSTs for which when is true.
func refuses(when func(r *http.Request) bool) func() refserver.Seams {
	return ends(when, http.StatusBadRequest)
}

// fails returns status 500 for the POSTs for which when is true.
func fails(when func(r *http.Request) bool) func() refserver.Seams {
	return ends(when, http.StatusInternalServerError)
}

func ends(when func(r *http.Request) bool, status int) func() refserver.Seams {
	return func() refserver.Seams {
		return refserver.Seams{HTTP: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Method == http.MethodPost && when(r) {
				w.WriteHeader(status)
				return
			}
			next.ServeHTTP(w, r)
		}}
	}
}
