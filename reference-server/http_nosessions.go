package refserver

import (
	"net/http"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Without sessions the server keeps nothing between POSTs. Each POST has a Session of its own,
// which knows only what the POST contains. So the server responds with JSON, and has no
// subscriptions, log levels, tasks, streams or requests to the client.

// postWithoutSession handles a POST in a Session of its own.
func (h *HTTPHandler) postWithoutSession(w http.ResponseWriter, r *http.Request, body []byte, f *wire.Frame) {
	s := newHTTPSession(h, "")
	defer s.close()
	if !isInitialize(f) {
		revision := spec.Revision(r.Header.Get(versionHeader))
		if revision == "" { // the specification's default
			revision = spec.V20250326
		}
		if !slices.Contains(h.options.handshakeRevisions(), revision) {
			refuseHTTP(w, http.StatusBadRequest, spec.CodeInvalidRequest, "the header MCP-Protocol-Version names an unsupported revision")
			return
		}
		s.session.revision = revision
	}
	s.post(w, r, body, f)
}

// methodsNeedingSession contains the methods whose effect lasts as long as the session.
var methodsNeedingSession = map[string]bool{
	spec.MethodSetLevel:             true,
	spec.MethodResourcesSubscribe:   true,
	spec.MethodResourcesUnsubscribe: true,
}

// markNeedsSession marks tools as unavailable without sessions, and returns them.
func markNeedsSession(tools []*tool) []*tool {
	for _, t := range tools {
		t.needsSession = true
	}
	return tools
}
