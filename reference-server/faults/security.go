package faults

import (
	"net/http"
	"strings"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// twoUsers makes the server one that several users can use.
func twoUsers(f Fault) Fault { return issued(f).overTransports(spec.StreamableHTTP) }

func foreignSessionFaults() []Fault {
	anyUser := refserver.ProtectionSeams{AnyUserSession: true}
	return []Fault{
		twoUsers(newFault("security.token-passthrough/other", "tokens for another resource are accepted in 2025-03-26", refserver.Seams{
			Protection: refserver.ProtectionSeams{Verify: func(v *refserver.Verification) { v.Audience = false }},
		})).inRevisions(spec.V20250326),
		twoUsers(newFault("security.session.bound-to-user/any-user", "a session serves every user", refserver.Seams{Protection: anyUser})),
		twoUsers(newStatefulFault("security.session.bound-to-user/ends", "every user can end a session", func() refserver.Seams {
			return refserver.Seams{Protection: anyUser, HTTP: refuseForeignPosts()}
		})),
	}
}

// refuseForeignPosts refuses POSTs in a session with another token than the one that opened it.
func refuseForeignPosts() func(w http.ResponseWriter, r *http.Request, next http.Handler) {
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
		if known && owner != token && r.Method == http.MethodPost {
			http.Error(w, "this is the session of another user", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	}
}

func legalUsers() []Fault {
	return []Fault{
		twoUsers(newStatefulVariation("users-forbidden", "a foreign session is refused with 403", func() refserver.Seams {
			return refserver.Seams{HTTP: refuseForeignPosts()}
		})),
	}
}
