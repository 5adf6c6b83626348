package roots_test

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/suites/roots"
)

// TestServerMayEndSession checks that a server may end a session at any time, also when the roots
// change, and that missing responses afterwards do not count as an exit.
func TestServerMayEndSession(t *testing.T) {
	suitetest.TryWithRulesOver(t, spec.StreamableHTTP, roots.Cases(), "with the change", "roots.change", spec.V20250618, endsWithChange, nil)
}

// endsWithChange ends each session in which the client announces changed roots.
func endsWithChange() refserver.Seams {
	var mu sync.Mutex
	over := map[string]bool{}
	return refserver.Seams{HTTP: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		id := r.Header.Get("Mcp-Session-Id")
		mu.Lock()
		gone := over[id]
		over[id] = gone || id != "" && bytes.Contains(body, []byte(spec.MethodRootsChanged))
		mu.Unlock()
		if gone {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		next.ServeHTTP(w, r)
	}}
}
