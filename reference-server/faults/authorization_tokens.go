package faults

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// withIssuedTokens makes the server of a fault trust the authorization server of the run.
func withIssuedTokens(f *Fault) *Fault {
	f.Issued = true
	return f
}

// issuedTokenFaults returns the faults in the verification of issued tokens.
func issuedTokenFaults() []*Fault {
	without := func(id, title string, leave func(v *refserver.Verification)) *Fault {
		return withIssuedTokens(newFault("authorization."+id, title, &refserver.Seams{Protection: refserver.ProtectionSeams{Verify: leave}}))
	}
	scopes := func(id, title string, change func(f *refserver.Refusal)) *Fault {
		return withIssuedTokens(newFault("authorization.insufficient-scope."+id, title, editRefusals(func(_ *http.Request, f *refserver.Refusal) {
			if f.Status == http.StatusForbidden {
				change(f)
			}
		})))
	}
	replace := func(old, with string) func(f *refserver.Refusal) {
		return func(f *refserver.Refusal) { f.Challenges[0] = strings.Replace(f.Challenges[0], old, with, 1) }
	}
	return []*Fault{
		without("token.expired-401/served", "expired tokens are accepted", func(v *refserver.Verification) { v.Expiry = false }),
		without("token.audience-checked/other", "tokens for another resource are accepted", func(v *refserver.Verification) { v.Audience = false }),
		without("token.audience-checked/list", "an audience that is a list is not checked", func(v *refserver.Verification) { v.AnyList = true }),
		without("token.audience-checked/prefix", "only the beginning of the audience is compared", func(v *refserver.Verification) { v.Prefix = true }),
		without("token.other-issuer-refused/named", "the issuer in a token is not checked", func(v *refserver.Verification) { v.Issuer = false }),
		without("token.garbage-401/unverified", "the signature of a token is not verified", func(v *refserver.Verification) { v.Signature = false }),
		without("token.garbage-401/alg-none", "tokens with alg none are accepted", func(v *refserver.Verification) { v.Unsigned = true }),
		without("token.garbage-401/public-secret", "the public key is used as a shared secret", func(v *refserver.Verification) { v.PublicSecret = true }),
		without("token.garbage-401/early", "tokens are accepted before they are valid", func(v *refserver.Verification) { v.NotBefore = false }),
		scopes("403/401", "a token without the scope gets 401", func(f *refserver.Refusal) { f.Status = http.StatusUnauthorized }),
		scopes("challenge/missing", "the refusal for a missing scope has no challenge", func(f *refserver.Refusal) { f.Challenges = nil }),
		scopes("challenge/error", "the challenge for a missing scope reports another error", replace("insufficient_scope", "invalid_token")),
		scopes("scope-param/missing", "the challenge names no scope", replace(`, scope="mcp"`, "")),
		withIssuedTokens(newFault("authorization.insufficient-scope.all-at-once/one-by-one", "a token with the demanded scope is refused because another scope is missing", demandSecondScope(Scopes, func(*http.Request) bool { return true }))),
		withIssuedTokens(newFaultWithState("authorization.insufficient-scope.consistent/turns", "the same request is refused for the lack of a different scope each time", func() *refserver.Seams {
			var n atomic.Int64
			return editRefusals(func(_ *http.Request, f *refserver.Refusal) {
				if f.Status == http.StatusForbidden && n.Add(1)%2 == 0 {
					f.Challenges[0] = strings.Replace(f.Challenges[0], `scope="mcp"`, `scope="mcp:other"`, 1)
				}
			})
		})),
		scopes("resource-metadata/missing", "the challenge does not name the metadata", replace("resource_metadata=", "resource=")),
	}
}

// demandSecondScope refuses the matching requests whose token lacks the second scope. The argument
// challenged lists the scopes in the challenge to a request without a valid token.
func demandSecondScope(challenged string, when func(r *http.Request) bool) *refserver.Seams {
	const lacks = "Lacks-Scope" // tells Refuse why Accept did not accept the request
	has := func(r *http.Request, scope string) bool {
		_, rest, _ := strings.Cut(bearerToken(r), ".")
		payload, _, _ := strings.Cut(rest, ".")
		text, err := base64.RawURLEncoding.DecodeString(payload)
		var claims struct {
			Scope string `json:"scope"`
		}
		return err == nil && json.Unmarshal(text, &claims) == nil && slices.Contains(strings.Fields(claims.Scope), scope)
	}
	return &refserver.Seams{Protection: refserver.ProtectionSeams{
		Accept: func(r *http.Request, valid bool) bool {
			if valid && when(r) && !has(r, secondScope) {
				r.Header.Set(lacks, secondScope)
			}
			return valid && r.Header.Get(lacks) == ""
		},
		Refuse: func(r *http.Request, f *refserver.Refusal) {
			demanded := challenged
			switch {
			case f.Status == http.StatusForbidden:
				demanded = "mcp"
			case r.Header.Get(lacks) != "":
				demanded, f.Status = secondScope, http.StatusForbidden
				f.Challenges[0] = strings.Replace(f.Challenges[0], "invalid_token", "insufficient_scope", 1)
			}
			f.Challenges[0] = strings.Replace(f.Challenges[0], `scope="mcp"`, `scope="`+demanded+`"`, 1)
		},
	}}
}
