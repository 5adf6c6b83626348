package faults

import (
	"bytes"
	"encoding/base64"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// Token is the token that servers with a fault of the area authorization accept, unless they
// trust an authorization server. It has the form of a JWT with empty claims.
const Token = "eyJhbGciOiJSUzI1NiJ9.e30.bWNwLWNvbmZvcm0tcmVmZXJlbmNlLXRva2Vu" //nolint:gosec // of the reference server

// Scopes lists, separated by spaces, the scopes that servers with a fault of the area authorization
// may demand.
const Scopes = "mcp " + secondScope

const secondScope = "mcp:more"

// editRefusals changes the refusals of a protected server.
func editRefusals(change func(r *http.Request, f *refserver.Refusal)) *refserver.Seams {
	return &refserver.Seams{Protection: refserver.ProtectionSeams{Refuse: change}}
}

// editRefusalsWithoutToken changes the refusals of requests without a token.
func editRefusalsWithoutToken(change func(f *refserver.Refusal)) *refserver.Seams {
	return editRefusals(func(r *http.Request, f *refserver.Refusal) {
		if r.Header.Get("Authorization") == "" {
			change(f)
		}
	})
}

// replaceInChallenges replaces a string in the challenges of refusals with another one.
func replaceInChallenges(old, with string) *refserver.Seams {
	return editRefusals(func(_ *http.Request, f *refserver.Refusal) {
		for i := range f.Challenges {
			f.Challenges[i] = strings.ReplaceAll(f.Challenges[i], old, with)
		}
	})
}

// alsoAccept makes the server also serve the matching requests without a valid token.
func alsoAccept(also func(r *http.Request) bool) *refserver.Seams {
	return &refserver.Seams{Protection: refserver.ProtectionSeams{Accept: func(r *http.Request, valid bool) bool { return valid || also(r) }}}
}

// editResourceMetadata changes the metadata document of the resource.
func editResourceMetadata(change func(d *refserver.Document)) *refserver.Seams {
	return &refserver.Seams{Protection: refserver.ProtectionSeams{Documents: func(all map[string]*refserver.Document) {
		change(all[refserver.ResourceMetadataPath+"/mcp"])
	}}}
}

// editServerMetadata changes the metadata document of the authorization server.
func editServerMetadata(change func(members map[string]any)) *refserver.Seams {
	return &refserver.Seams{Protection: refserver.ProtectionSeams{Documents: func(all map[string]*refserver.Document) {
		change(all[refserver.ServerMetadataPath].Members)
	}}}
}

// replaceMember sets a member of a document, or removes it if the value is nil.
func replaceMember(members map[string]any, name string, value any) {
	if members[name] = value; value == nil {
		delete(members, name)
	}
}

// movePaths replaces the prefix of the paths of metadata documents. If the new prefix is empty, it
// removes the documents that have the old prefix.
func movePaths(from, to string) func(all map[string]*refserver.Document) {
	return func(all map[string]*refserver.Document) {
		for path, d := range all {
			if rest, ok := strings.CutPrefix(path, from); ok && path != to+rest {
				delete(all, path)
				if to != "" {
					all[to+rest] = d
				}
			}
		}
	}
}

func editDocuments(change func(all map[string]*refserver.Document)) *refserver.Seams {
	return &refserver.Seams{Protection: refserver.ProtectionSeams{Documents: change}}
}

func bearerToken(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

func refusalFaults() []*Fault {
	status := func(n int) *refserver.Seams {
		return editRefusalsWithoutToken(func(f *refserver.Refusal) { f.Status = n })
	}
	return []*Fault{
		newFault("authorization.no-token.401/403", "a request without a token gets 403", status(http.StatusForbidden)),
		newFault("authorization.no-token.401/400", "a request without a token gets 400", status(http.StatusBadRequest)),
		newFault("authorization.no-token.401/redirect", "a request without a token is redirected to a login page", editRefusalsWithoutToken(func(f *refserver.Refusal) {
			f.Status = http.StatusFound
			f.Header.Set("Location", "/login")
		})),
		newFault("authorization.no-token.401/slash", "no token is needed at the path with a slash at its end", alsoAccept(func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/") })),
		newFault("authorization.no-token.401-on-get/stream", "a GET without a token opens the event stream", &refserver.Seams{
			HTTP: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if r.Method == http.MethodGet && r.Header.Get("Authorization") == "" {
					w.Header().Set("Content-Type", streamType)
					w.WriteHeader(http.StatusOK)
					return
				}
				next.ServeHTTP(w, r)
			},
			Protection: refserver.ProtectionSeams{Accept: func(r *http.Request, valid bool) bool { return valid || r.Method == http.MethodGet }},
		}),
		newFault("authorization.token.checked-before-processing/result", "the refusal carries the result", editRefusalsWithoutToken(func(f *refserver.Refusal) {
			f.Body = `{"jsonrpc":"2.0","id":1,"result":{}}`
		})),
		newFault("authorization.token.checked-before-processing/session", "the refusal opens a session", editRefusalsWithoutToken(func(f *refserver.Refusal) {
			f.Header.Set(sessionHeader, "a-session")
		})).inRevisions(spec.V20250618, spec.V20251125),
		newFault("authorization.www-authenticate.present/missing", "the refusal has no challenge", editRefusals(func(_ *http.Request, f *refserver.Refusal) { f.Challenges = nil })),
		newFault("authorization.www-authenticate.syntax/quote", "a quoted string in the challenge does not end", replaceInChallenges(`scope="mcp"`, `scope="mcp`)),
		newFault("authorization.www-authenticate.syntax/commas", "the parameters of the challenge are separated by spaces", replaceInChallenges(", ", " ")),
		newFault("authorization.www-authenticate.syntax/basic", "the challenge is Basic", replaceInChallenges("Bearer ", "Basic ")),
		newFault("authorization.www-authenticate.resource-metadata-2025-06-18/missing", "the challenge does not name the metadata", editRefusals(func(_ *http.Request, f *refserver.Refusal) {
			f.Challenges = []string{`Bearer scope="mcp"`}
		})),
		newFault("authorization.www-authenticate.resource-metadata-2025-06-18/relative", "the challenge names a relative URL", replaceInChallenges(`resource_metadata="http://`, `resource_metadata="//`)),
		newFault("authorization.www-authenticate.scope/missing", "the challenge names no scope", replaceInChallenges(`, scope="mcp"`, "")),
		newFault("authorization.www-authenticate.scope/commas", "the scopes in the challenge are separated by two spaces", replaceInChallenges(`scope="mcp"`, `scope="mcp  admin"`)),
		newFaultWithState("authorization.www-authenticate.scope-consistent/turns", "the challenges name different scopes in turn", func() *refserver.Seams {
			n := 0
			return editRefusals(func(_ *http.Request, f *refserver.Refusal) {
				if n++; n%3 == 0 { // a GET is refused between two POSTs
					f.Challenges[0] = strings.Replace(f.Challenges[0], `scope="mcp"`, `scope="mcp admin"`, 1)
				}
			})
		}),
		newFault("authorization.www-authenticate.no-error-without-token/invalid", `the challenge to a request without a token has error="invalid_token"`, editRefusalsWithoutToken(func(f *refserver.Refusal) {
			f.Challenges[0] += `, error="invalid_token"`
		})),
		newFault("authorization.www-authenticate.no-offline-access/asked", "the challenge asks for offline_access", replaceInChallenges(`scope="mcp"`, `scope="mcp offline_access"`)),
	}
}

func wrongTokenFaults() []*Fault {
	wrong := func(change func(f *refserver.Refusal)) *refserver.Seams {
		return editRefusals(func(r *http.Request, f *refserver.Refusal) {
			if bearerToken(r) != "" && f.Status == http.StatusUnauthorized {
				change(f)
			}
		})
	}
	return []*Fault{
		newFault("authorization.token.garbage-401/any", "any token is accepted", alsoAccept(func(r *http.Request) bool {
			return len(bearerToken(r)) > len("Bearer") && len(r.Header.Values("Authorization")) == 1
		})),
		newFault("authorization.token.garbage-401/none", "a token without a signature is accepted", alsoAccept(func(r *http.Request) bool { return strings.HasSuffix(bearerToken(r), ".") })),
		newFault("authorization.token.garbage-401/prefix", "only the beginning of a token is compared", alsoAccept(func(r *http.Request) bool { return strings.HasPrefix(bearerToken(r), Token[:len(Token)-8]) })),
		newFault("authorization.token.garbage-401/own-issuer", "a signed token in the name of the server's issuer is accepted", alsoAccept(func(r *http.Request) bool {
			parts := strings.Split(bearerToken(r), ".")
			if len(parts) != 3 || parts[2] == "" {
				return false
			}
			claims, err := base64.RawURLEncoding.DecodeString(parts[1])
			return err == nil && bytes.Contains(claims, []byte("http://"+r.Host+`"`))
		})),
		newFault("authorization.token.garbage-401/open-beginning", "the first request needs no token, and later ones accept any token", alsoAccept(func(r *http.Request) bool {
			return r.Header.Get(sessionHeader) == "" || bearerToken(r) != ""
		})).inRevisions(spec.V20250618, spec.V20251125),
		newFault("authorization.token.garbage-401/signature", "the signature of a token is not checked", alsoAccept(func(r *http.Request) bool {
			return strings.HasPrefix(bearerToken(r), Token[:strings.LastIndexByte(Token, '.')])
		})),
		newFault("authorization.token.garbage-401/500", "a wrong token gets 500", wrong(func(f *refserver.Refusal) { f.Status = http.StatusInternalServerError })),
		newFault("authorization.token.garbage-401/cut", "a JWT without its signature gets 500", editRefusals(func(r *http.Request, f *refserver.Refusal) {
			if strings.Count(bearerToken(r), ".") == 1 {
				f.Status = http.StatusInternalServerError
			}
		})),
		newFault("authorization.token.garbage-401/half", "the first half of a token suffices", alsoAccept(func(r *http.Request) bool {
			return len(bearerToken(r)) >= len(Token)/2 && len(bearerToken(r)) < len(Token) && strings.HasPrefix(Token, bearerToken(r))
		})),
		newFault("authorization.token.garbage-401/403", "a wrong token gets 403", wrong(func(f *refserver.Refusal) { f.Status = http.StatusForbidden })),
		newFault("authorization.token.other-issuer-refused/any", "a signed token of any issuer is accepted", alsoAccept(func(r *http.Request) bool {
			return strings.Count(bearerToken(r), ".") == 2 && !strings.HasSuffix(bearerToken(r), ".")
		})),
		newFault("authorization.malformed-request.400/served", "a request with two Authorization headers is served", alsoAccept(func(r *http.Request) bool { return len(r.Header.Values("Authorization")) > 1 })),
		newFault("authorization.malformed-request.400/500", "a malformed Authorization header gets 500", editRefusals(func(_ *http.Request, f *refserver.Refusal) {
			if f.Status == http.StatusBadRequest {
				f.Status = http.StatusInternalServerError
			}
		})),
		newFault("authorization.www-authenticate.invalid-token-error/missing", "the challenge after a wrong token reports no error", replaceInChallenges(`error="invalid_token"`, `hint="none"`)),
	}
}

func resourceMetadataFaults() []*Fault {
	member := func(name string, value any) *refserver.Seams {
		return editResourceMetadata(func(d *refserver.Document) {
			replaceMember(d.Members, name, value)
		})
	}
	needsToken := editResourceMetadata(func(d *refserver.Document) { d.Status = http.StatusUnauthorized })
	return []*Fault{
		newFault("authorization.prm.discoverable-2025-11-25/nowhere", "there is no metadata document of the resource", editDocuments(movePaths(refserver.ResourceMetadataPath, ""))),
		newFault("authorization.prm.served/nowhere", "there is no metadata document of the resource", editDocuments(movePaths(refserver.ResourceMetadataPath, ""))),
		newFault("authorization.prm.public/token", "the metadata document needs a token", needsToken),
		newFault("authorization.prm.json/text", "the metadata document is text", editResourceMetadata(func(d *refserver.Document) { d.Type = "text/plain" })),
		newFault("authorization.www-authenticate.resource-metadata-resolves/elsewhere", "the challenge names a URL without a document", replaceInChallenges(`/mcp", scope`, `/other", scope`)),
		newFault("authorization.prm.authorization-servers/missing", "the metadata names no authorization server", member("authorization_servers", nil)),
		newFault("authorization.prm.authorization-servers/empty", "the list of authorization servers is empty", member("authorization_servers", []any{})),
		newFault("authorization.prm.authorization-servers/text", "authorization_servers is a string, not a list", member("authorization_servers", "https://auth.example")),
		newFault("authorization.prm.authorization-server-urls/name", "the URL of an authorization server has no scheme", member("authorization_servers", []any{"auth.example"})),
		newFault("authorization.https/issuer", "an authorization server on another host has an http URL", member("authorization_servers", []any{"http://auth.example"})),
		newFault("authorization.prm.resource/other", "the metadata names another resource", member("resource", "https://other.example/mcp")),
		newFault("authorization.prm.resource-canonical/missing", "the metadata has no resource", member("resource", nil)),
		newFault("authorization.prm.resource-canonical/fragment", "the resource has a fragment", editResourceMetadata(func(d *refserver.Document) { d.Members["resource"] = d.Members["resource"].(string) + "#x" })),
		newFault("authorization.prm.resource-no-trailing-slash/slash", "the resource is the URL of the host, with a trailing slash", editResourceMetadata(func(d *refserver.Document) {
			d.Members["resource"] = strings.TrimSuffix(d.Members["resource"].(string), "mcp")
		})),
		newFault("authorization.prm.no-query-method/query", "the metadata advertises tokens in the query", member("bearer_methods_supported", []any{"header", "query"})),
		newFault("authorization.prm.no-offline-access/listed", "the metadata lists offline_access", member("scopes_supported", []any{"mcp", "offline_access"})),
	}
}

func serverMetadataFaults() []*Fault {
	setServerMetadata := func(name string, value any) *refserver.Seams {
		return editServerMetadata(func(members map[string]any) {
			replaceMember(members, name, value)
		})
	}
	return []*Fault{
		newFault("authorization.as.metadata-2025-06-18/issuer", "the metadata of the authorization server names another issuer", setServerMetadata("issuer", "https://other.example")),
		newFault("authorization.as.metadata-2025-11-25/nowhere", "the authorization server has no metadata", editDocuments(movePaths(refserver.ServerMetadataPath, ""))),
		newFault("authorization.as.pkce-advertised-2025-11-25/missing", "the authorization server lists no PKCE methods", setServerMetadata("code_challenge_methods_supported", nil)),
		newFault("authorization.as.https-2025-06-18/token", "the token endpoint has no https", setServerMetadata("token_endpoint", "http://auth.example/token")),
		newFault("authorization.as.dynamic-registration-2025-06-18/missing", "clients can't register", setServerMetadata("registration_endpoint", nil)),
		newFault("authorization.as.client-id-metadata-2025-11-25/missing", "client id metadata documents are not accepted", setServerMetadata("client_id_metadata_document_supported", nil)),
		newFault("authorization.as.iss-parameter-2026-07-28/missing", "authorization responses have no iss", setServerMetadata("authorization_response_iss_parameter_supported", nil)),
		newFault("authorization.as.metadata-2025-03-26/nowhere", "there is no metadata of the authorization server", editDocuments(movePaths(refserver.ServerMetadataPath, ""))),
		newFault("authorization.as.metadata-at-origin-2025-03-26/path", "the metadata of the authorization server is not at the origin, but at a path below it", editDocuments(movePaths(refserver.ServerMetadataPath, refserver.ServerMetadataPath+"/mcp"))),
		newFault("authorization.as.https-2025-03-26/token", "the token endpoint has no https", setServerMetadata("token_endpoint", "http://auth.example/token")),
		newFault("authorization.as.dynamic-registration-2025-03-26/missing", "clients can't register", setServerMetadata("registration_endpoint", nil)),
	}
}

// bodyContains reports whether the body of a request contains text. The body can be read again.
func bodyContains(r *http.Request, text string) bool {
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return err == nil && bytes.Contains(body, []byte(text))
}

func protectedSessionFaults() []*Fault {
	inSession := func(r *http.Request) bool { return r.Header.Get(sessionHeader) != "" }
	return []*Fault{
		newFault("authorization.every-request/session", "the token is checked only when a session opens", alsoAccept(inSession)).inRevisions(spec.V20250618, spec.V20251125),
		newFault("authorization.every-request/any", "in a session any token is accepted", alsoAccept(func(r *http.Request) bool { return inSession(r) && bearerToken(r) != "" })).inRevisions(spec.V20250618, spec.V20251125),
		newFault("authorization.every-request/calls", "only server/discover needs a valid token", alsoAccept(func(r *http.Request) bool { return r.Header.Get("Mcp-Method") != spec.MethodDiscover })).inRevisions(spec.V20260728),
		newFault("authorization.every-request/calls-in-session", "in a session every request but tools/call needs a valid token", alsoAccept(func(r *http.Request) bool { return inSession(r) && bodyContains(r, `"tools/call"`) })).inRevisions(spec.V20250618, spec.V20251125),
		newFault("authorization.every-request/stream", "the event stream of a session opens without a token", alsoAccept(func(r *http.Request) bool { return inSession(r) && r.Method == http.MethodGet })).inRevisions(spec.V20250618, spec.V20251125),
		newFault("authorization.token.checked-before-processing/wrong-token", "the refusal of a wrong token carries a result", editRefusals(func(r *http.Request, f *refserver.Refusal) {
			if bearerToken(r) != "" {
				f.Body = `{"jsonrpc":"2.0","id":1,"result":{}}`
			}
		})),
		newFault("authorization.no-token.401-on-delete/any", "a session can be ended with any token", alsoAccept(func(r *http.Request) bool { return r.Method == http.MethodDelete && bearerToken(r) != "" })),
		newFault("authorization.no-token.401-on-delete/ends", "a session can be ended without a token", alsoAccept(func(r *http.Request) bool { return r.Method == http.MethodDelete })),
		newFault("authorization.token.query-not-used/accepted", "a token in the query is accepted", alsoAccept(func(r *http.Request) bool { return r.URL.Query().Get("access_token") == Token })),
		newFault("authorization.token.cookie-not-used/accepted", "a token in a cookie is accepted", alsoAccept(func(r *http.Request) bool {
			cookie, err := r.Cookie("access_token")
			return err == nil && cookie.Value == Token
		})),
		newFaultWithState("authorization.token.bearer-header-accepted/sometimes", "every third ping gets 401, although its token is valid", func() *refserver.Seams {
			var n atomic.Int64
			return &refserver.Seams{Protection: refserver.ProtectionSeams{Accept: func(r *http.Request, valid bool) bool {
				return valid && !(bodyContains(r, `"ping"`) && n.Add(1)%3 == 0)
			}}}
		}),
		newFault("authorization.token.bearer-header-accepted/case", "the name of the scheme is case-sensitive: only Bearer is accepted", &refserver.Seams{Protection: refserver.ProtectionSeams{
			Accept: func(r *http.Request, valid bool) bool {
				return valid && strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ")
			},
		}}),
	}
}

// upstreamFaults returns the faults that pass the client's token on to an upstream service, and a
// variation that calls that service with the server's own key.
func upstreamFaults() []*Fault {
	fault := func(id, title string, change func(r *http.Request, token string)) *Fault {
		f := newFault("authorization.token.no-passthrough/"+id, title, &refserver.Seams{Protection: refserver.ProtectionSeams{Upstream: change}})
		f.Upstream = true
		return f
	}
	own := newVariation("protected-upstream", "the server calls a service with its own key", &refserver.Seams{})
	own.Upstream = true
	return []*Fault{
		fault("header", "the client's token is sent to the service that the server calls", func(r *http.Request, token string) {
			r.Header.Set("Authorization", "Bearer "+token)
		}),
		fault("query", "the client's token is in the query of a request to the service that the server calls", func(r *http.Request, token string) {
			r.URL.RawQuery = "access_token=" + url.QueryEscape(token)
		}),
		own,
	}
}

func legalProtection() []*Fault {
	return []*Fault{
		newVariation("protected-addresses", "the metadata of a server on this machine names private addresses, and its logo is a data: URL", editResourceMetadata(func(d *refserver.Document) {
			d.Members["jwks_uri"], d.Members["resource_policy_uri"] = "http://10.0.0.1/keys", "http://localhost:8080/policy"
			d.Members["logo_uri"] = "data:image/png;base64,iVBORw0KGgo="
		})),
		newVariation("protected", "all requests need a token", &refserver.Seams{}),
		newVariation("protected-schemes", "the refusals offer other schemes in addition to Bearer", editRefusals(func(_ *http.Request, f *refserver.Refusal) {
			f.Challenges = append([]string{`Negotiate, DPoP algs="ES256 PS256"`}, f.Challenges...)
		})),
		newVariation("protected-root", "the metadata is at the root, and the challenge names it", &refserver.Seams{Protection: refserver.ProtectionSeams{
			Documents: func(all map[string]*refserver.Document) {
				all[refserver.ResourceMetadataPath] = all[refserver.ResourceMetadataPath+"/mcp"]
				delete(all, refserver.ResourceMetadataPath+"/mcp")
			},
			Refuse: func(_ *http.Request, f *refserver.Refusal) {
				f.Challenges[0] = strings.Replace(f.Challenges[0], refserver.ResourceMetadataPath+"/mcp", refserver.ResourceMetadataPath, 1)
			},
		}}),
		newVariation("protected-own-path", "the challenge names a document at a path of the server's own", &refserver.Seams{Protection: refserver.ProtectionSeams{
			Documents: func(all map[string]*refserver.Document) {
				all["/meta/resource.json"] = all[refserver.ResourceMetadataPath+"/mcp"]
				delete(all, refserver.ResourceMetadataPath+"/mcp")
			},
			Refuse: func(_ *http.Request, f *refserver.Refusal) {
				f.Challenges[0] = strings.Replace(f.Challenges[0], refserver.ResourceMetadataPath+"/mcp", "/meta/resource.json", 1)
			},
		}}),
		newVariation("protected-servers", "the resource metadata lists an authorization server twice, has own members and lacks optional ones", editResourceMetadata(func(d *refserver.Document) {
			d.Members["authorization_servers"] = append(d.Members["authorization_servers"].([]any), d.Members["authorization_servers"].([]any)[0])
			d.Members["resource_name"], d.Members["x_own"] = "Reference", map[string]any{"a": 1}
			delete(d.Members, "bearer_methods_supported")
			delete(d.Members, "scopes_supported")
		})),
		newVariation("protected-two-servers", "there are two authorization servers, and the issuer of the second has a path", editDocuments(func(all map[string]*refserver.Document) {
			first := all[refserver.ServerMetadataPath]
			second := &refserver.Document{Status: first.Status, Type: first.Type, Members: maps.Clone(first.Members)}
			issuer := first.Members["issuer"].(string) + "/tenant"
			second.Members["issuer"] = issuer
			all[refserver.ServerMetadataPath+"/tenant"] = second
			members := all[refserver.ResourceMetadataPath+"/mcp"].Members
			members["authorization_servers"] = append(members["authorization_servers"].([]any), issuer)
		})),
		newVariation("protected-plain", "refusals have no body, and the content type of the resource metadata has a charset", &refserver.Seams{Protection: refserver.ProtectionSeams{
			Refuse: func(_ *http.Request, f *refserver.Refusal) { f.Body = ""; f.Header.Del("Content-Type") },
			Documents: func(all map[string]*refserver.Document) {
				all[refserver.ResourceMetadataPath+"/mcp"].Type = "application/json; charset=utf-8"
			},
		}}),
		newVariation("protected-own-way", "the challenge has no parameters, and there are no metadata documents", &refserver.Seams{Protection: refserver.ProtectionSeams{
			Refuse: func(_ *http.Request, f *refserver.Refusal) {
				f.Challenges, f.Status = []string{"Bearer"}, http.StatusUnauthorized
			},
			Documents: func(all map[string]*refserver.Document) { clear(all) },
		}}),
		newVariation("protected-two-challenges", "two Bearer challenges share the parameters", editRefusals(func(_ *http.Request, f *refserver.Refusal) {
			first, rest, _ := strings.Cut(f.Challenges[0], ", ")
			f.Challenges = []string{"Bearer " + rest, first}
		})),
		newVariation("protected-lists", "in a session the lists need no token, and all other requests do", alsoAccept(func(r *http.Request) bool {
			return r.Header.Get(sessionHeader) != "" && bodyContains(r, `/list"`)
		})).inRevisions(spec.V20251125),
		newVariation("protected-other-scopes", "the challenge names a scope that the metadata does not list", replaceInChallenges(`scope="mcp"`, `scope="mcp:own"`)),
		withIssuedTokens(newVariation("protected-issued", "tokens are issued by an authorization server", &refserver.Seams{})),
		withIssuedTokens(newVariation("protected-call-scope", "calls of tools need a further scope", demandSecondScope("mcp", func(r *http.Request) bool {
			return bodyContains(r, `"tools/call"`)
		}))),
		withIssuedTokens(newVariation("protected-any-scope", "no scope is needed", &refserver.Seams{Protection: refserver.ProtectionSeams{
			Verify: func(v *refserver.Verification) { v.Scope = false },
		}})),
		newVariation("protected-malformed-401", "malformed Authorization headers get 401", editRefusals(func(_ *http.Request, f *refserver.Refusal) { f.Status = http.StatusUnauthorized })),
		newVariation("protected-sessions", "only requests of a session need a token", alsoAccept(func(r *http.Request) bool { return r.Header.Get(sessionHeader) == "" })).inRevisions(spec.V20251125),
	}
}
