package refserver

import (
	"net/http"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Without sessions the server forgets a client when it has answered: each POST
// has a Session to itself, which knows of the client only what the POST says.
// So the server can't ask, and keeps no subscriptions, levels, tasks or streams:
// it answers by JSON.

// once answers a POST that stands by itself.
func (h *HTTPHandler) once(w http.ResponseWriter, r *http.Request, body []byte, f *wire.Frame) {
	s := newHTTPSession(h, "")
	defer s.close()
	if !isInitialize(f) {
		revision := spec.Revision(r.Header.Get(versionHeader))
		if revision == "" { // as the specification wants it to be understood
			revision = spec.V20250326
		}
		if !slices.Contains(h.o.spoken(), revision) {
			refuseHTTP(w, http.StatusBadRequest, spec.CodeInvalidRequest, "the header MCP-Protocol-Version names none that is spoken here")
			return
		}
		s.session.revision = revision
	}
	s.post(w, r, body, f)
}

// spoken returns the revisions that the server agrees to. Streamable HTTP is
// younger than the oldest, which without a session can't even be remembered.
func (o *Options) spoken() []spec.Revision {
	all := spec.HandshakeRevisions()
	if o.NoSessions {
		return slices.DeleteFunc(slices.Clone(all), func(r spec.Revision) bool { return !r.AtLeast(spec.V20250326) })
	}
	return all
}

// inSession are the requests that make sense within a session only.
var inSession = map[string]bool{
	spec.MethodSetLevel:             true,
	spec.MethodResourcesSubscribe:   true,
	spec.MethodResourcesUnsubscribe: true,
}

// inSessions marks tools that need a session.
func inSessions(tools []*tool) []*tool {
	for _, t := range tools {
		t.session = true
	}
	return tools
}
