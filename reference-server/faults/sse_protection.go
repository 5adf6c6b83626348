package faults

import (
	"net/http"

	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// sseProtectionFaults returns a fault in the protection of POSTs over HTTP+SSE, and legal ways to protect
// a server.
func sseProtectionFaults() []*Fault {
	out := []*Fault{
		newFault("sse.authentication/posts", "a stream needs a token, and POSTs need none", alsoAccept(isPostRequest)),
		newVariation("sse-protected", "streams and POSTs need a token", &refserver.Seams{}),
		newVariation("sse-protected-hidden", "a POST without a token gets 404", editRefusals(func(r *http.Request, f *refserver.Refusal) {
			if isPostRequest(r) {
				f.Status, f.Challenges = http.StatusNotFound, nil
			}
		})),
		newVariation("sse-protected-posts", "POSTs need a token, and streams need none", alsoAccept(func(r *http.Request) bool { return !isPostRequest(r) })),
	}
	for _, f := range out {
		f.Protected = true
	}
	return out
}

func isPostRequest(r *http.Request) bool { return r.Method == http.MethodPost }
