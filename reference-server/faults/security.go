package faults

import (
	"crypto/rand"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// withTwoUsers makes a server over Streamable HTTP accept the tokens that the run's
// authorization server issues to several users.
func withTwoUsers(f *Fault) *Fault { return withIssuedTokens(f).overTransports(spec.StreamableHTTP) }

func foreignSessionFaults() []*Fault {
	anyUser := refserver.ProtectionSeams{AnyUserSession: true}
	return []*Fault{
		withTwoUsers(newFault("security.token-passthrough/other", "tokens for another resource are accepted in 2025-03-26", &refserver.Seams{
			Protection: refserver.ProtectionSeams{Verify: func(v *refserver.Verification) { v.Audience = false }},
		})).inRevisions(spec.V20250326),
		withTwoUsers(newFault("security.session.bound-to-user/any-user", "a session can be used by every user", &refserver.Seams{Protection: anyUser})),
		withTwoUsers(newFaultWithState("security.session.bound-to-user/ends", "every user can end a session", func() *refserver.Seams {
			return &refserver.Seams{Protection: anyUser, HTTP: refuseForeign(http.MethodPost, http.MethodGet)}
		})),
		withTwoUsers(newFaultWithState("security.session.bound-to-user/listens", "every user can open the event stream of a session", func() *refserver.Seams {
			return &refserver.Seams{Protection: anyUser, HTTP: refuseForeign(http.MethodPost, http.MethodDelete)}
		})),
	}
}

// refuseForeign refuses a request with one of the HTTP methods if its token differs from that of
// the first request in the same session.
func refuseForeign(methods ...string) func(w http.ResponseWriter, r *http.Request, next http.Handler) {
	var mu sync.Mutex
	tokens := map[string]string{} // by session
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		id := r.Header.Get(sessionHeader)
		_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		mu.Lock()
		owner, known := tokens[id]
		if !known && id != "" {
			tokens[id] = token // the first request in a session is its owner's
		}
		mu.Unlock()
		if known && owner != token && slices.Contains(methods, r.Method) {
			http.Error(w, "this is the session of another user", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	}
}

func legalUsers() []*Fault {
	return []*Fault{
		withTwoUsers(newVariationWithState("users-forbidden", "a foreign session is refused with 403", func() *refserver.Seams {
			return &refserver.Seams{HTTP: refuseForeign(http.MethodPost)}
		})),
		withTwoUsers(newVariationWithState("users-own-namespaces", "a request with the id of another user's session gets a session of its own user", serveForeignSessions)),
	}
}

// serveForeignSessions uses the latest session of the requesting user if a POST names a session
// that this user does not have, as if ids were valid only per user. It does so only for ids that
// are as long as the server's own.
func serveForeignSessions() *refserver.Seams {
	var mu sync.Mutex
	given, latest := map[[2]string]bool{}, map[string]string{} // session ids by user, and the latest id of each user
	idLength := len(rand.Text())
	return editResponses(anyExchange, func(v *exchange, r *responseEditor) {
		user, id := v.r.Header.Get("Authorization"), v.r.Header.Get(sessionHeader)
		mu.Lock()
		defer mu.Unlock()
		if own := latest[user]; own != "" && len(id) == idLength && !given[[2]string{user, id}] && v.r.Method == http.MethodPost {
			v.r.Header.Set(sessionHeader, own)
		}
		r.editHead = func(status int, h http.Header, _ []byte) int {
			if id := h.Get(sessionHeader); id != "" {
				mu.Lock()
				defer mu.Unlock()
				given[[2]string{user, id}], latest[user] = true, id
			}
			return status
		}
	})
}
