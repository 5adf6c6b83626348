package contenttypes_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/suites/contenttypes"
)

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, m := range []suitetest.Misbehaviour{
		{Name: "a server that behaves", Case: "content-types.accept", Kept: []string{"streamable-http.accept-both"}},
		{Name: "JSON alone", Case: "content-types.accept", JSONOnly: true, Kept: []string{"streamable-http.accept-both"}},
		{
			Name: "the first type alone counts", Case: "content-types.accept",
			Seams: refuses(func(r *http.Request) bool { return strings.HasPrefix(r.Header.Get("Accept"), "text/event-stream,") }),
			Want:  []string{"streamable-http.accept-both: A client that lists both types in another order is not served. (warning)"},
		},
		{
			Name: "the first line alone counts", Case: "content-types.accept",
			Seams: refuses(func(r *http.Request) bool { return len(r.Header.Values("Accept")) > 1 }),
			Want:  []string{"streamable-http.accept-both: A client that lists both types in two header lines is not served. (warning)"},
		},
		{
			Name: "content types are compared as texts", Case: "content-types.content-type",
			Seams: refuses(func(r *http.Request) bool { return r.Header.Get("Content-Type") != "application/json" }),
			Want: []string{
				"streamable-http.request-content-type: A content type in capitals is not understood. (warning)",
				"streamable-http.request-content-type: A content type with a charset in quotes, without a blank, is not understood. (warning)",
				"streamable-http.request-content-type: A content type with a charset is not understood. (warning)",
			},
		},
	} {
		m.Transport = spec.StreamableHTTP
		m.Try(t, contenttypes.Cases())
	}
}

// refuses refuses the POSTs for which when is true.
func refuses(when func(r *http.Request) bool) func() refserver.Seams {
	return func() refserver.Seams {
		return refserver.Seams{HTTP: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Method == http.MethodPost && when(r) {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			next.ServeHTTP(w, r)
		}}
	}
}
