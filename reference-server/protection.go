package refserver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// ProtectionSeams let a fault change how the HTTP server protects itself. A nil seam changes
// nothing.
type ProtectionSeams struct {
	// Accept decides whether a request is served; valid is true if the server would serve it.
	Accept func(r *http.Request, valid bool) bool
	// Refuse may change a refusal before it is sent.
	Refuse func(r *http.Request, f *Refusal)
	// Documents may change the metadata documents, which are keyed by path.
	Documents func(documents map[string]*Document)
	// Verify may leave out parts of the verification of issued tokens.
	Verify func(v *Verification)
	// AnyUserSession lets every user use every session. AnyUserState accepts a requestState that
	// was issued to another user.
	AnyUserSession, AnyUserState bool
	// AnyState accepts a retry with a requestState that the server did not issue for that request.
	// The server then uses only the responses of the retry.
	AnyState bool
	// Upstream may change a request to the upstream service; token is the client's token.
	Upstream func(r *http.Request, token string)
}

// A Refusal is the response to a request that lacks a valid token.
type Refusal struct {
	Status     int
	Header     http.Header
	Challenges []string // values of WWW-Authenticate
	Body       string
}

// A Document is the response to a request for a metadata document.
type Document struct {
	Status  int
	Type    string
	Members map[string]any
}

// The paths of the metadata documents (RFC 9728 and RFC 8414).
const (
	ResourceMetadataPath = "/.well-known/oauth-protected-resource"
	ServerMetadataPath   = "/.well-known/oauth-authorization-server"
)

// scope is the scope that a token needs.
const scope = "mcp"

// protect makes a handler a protected resource (basic/authorization): requests to the
// endpoint need a valid token, refusals carry a challenge, and metadata documents name the
// authorization server. Without Token and AuthServer it returns the handler unchanged.
func (o *Options) protect(endpoint string, next http.Handler) http.Handler {
	if o.Token == "" && o.AuthServer == "" {
		return next
	}
	keys := &keySet{issuer: o.AuthServer}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if doc := o.documents(r.Host, endpoint)[r.URL.Path]; doc != nil {
			w.Header().Set("Content-Type", doc.Type)
			w.WriteHeader(doc.Status)
			_, _ = w.Write(wire.JSON(doc.Members))
			return
		}
		f, user := o.checkToken(r, endpoint, keys)
		r = r.WithContext(context.WithValue(r.Context(), userKey{}, user))
		valid := f == nil
		if accept := o.Seams.Protection.Accept; accept != nil {
			valid = accept(r, valid)
		}
		if valid || !strings.HasPrefix(r.URL.Path, endpoint) {
			next.ServeHTTP(w, r)
			return
		}
		if f == nil {
			f = o.newRefusal(r.Host, endpoint, http.StatusUnauthorized, "invalid_token", "the token is not valid")
		}
		if o.Seams.Protection.Refuse != nil {
			o.Seams.Protection.Refuse(r, f)
		}
		maps.Copy(w.Header(), f.Header)
		for _, c := range f.Challenges {
			w.Header().Add("WWW-Authenticate", c)
		}
		w.WriteHeader(f.Status)
		_, _ = w.Write([]byte(f.Body))
	})
}

// A userKey is the key of the context value that names the user of a request.
type userKey struct{}

// userOf returns the user whose token a request has, or "" if the server is not protected or
// the token is not valid.
func userOf(r *http.Request) string {
	user, _ := r.Context().Value(userKey{}).(string)
	return user
}

// tokenOf returns the token after the scheme of a request's Authorization header, or "".
func tokenOf(r *http.Request) string {
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return token
}

// checkToken returns the user that the request's token names, or the refusal of a request without
// a valid token. For a token that equals Options.Token, the user is the token itself.
func (o *Options) checkToken(r *http.Request, endpoint string, keys *keySet) (f *Refusal, user string) {
	given := r.Header.Values("Authorization")
	if len(given) == 0 {
		return o.newRefusal(r.Host, endpoint, http.StatusUnauthorized, "", ""), ""
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	switch {
	case len(given) > 1 || token == "":
		return o.newRefusal(r.Host, endpoint, http.StatusBadRequest, "invalid_request", "the Authorization header is malformed"), ""
	case !strings.EqualFold(scheme, "Bearer"):
		return o.newRefusal(r.Host, endpoint, http.StatusUnauthorized, "", ""), ""
	case o.AuthServer != "":
		v := &Verification{Signature: true, Issuer: true, Audience: true, Expiry: true, NotBefore: true, Scope: true}
		if o.Seams.Protection.Verify != nil {
			o.Seams.Protection.Verify(v)
		}
		user, err := v.verify(r.Context(), keys, token, "http://"+r.Host+endpoint)
		switch {
		case errors.Is(err, errInvalid):
			return o.newRefusal(r.Host, endpoint, http.StatusUnauthorized, "invalid_token", "the token is not valid"), ""
		case errors.Is(err, errScope):
			return o.newRefusal(r.Host, endpoint, http.StatusForbidden, "insufficient_scope", "the token lacks a scope"), ""
		}
		return nil, user
	case token != o.Token:
		return o.newRefusal(r.Host, endpoint, http.StatusUnauthorized, "invalid_token", "the token is not valid"), ""
	}
	return nil, token
}

// newRefusal returns a refusal with a challenge. code and description are the parameters error and
// error_description of the challenge. If code is empty, the challenge lacks both parameters.
func (o *Options) newRefusal(host, endpoint string, status int, code, description string) *Refusal {
	challenge := fmt.Sprintf(`Bearer resource_metadata="http://%s%s%s", scope="%s"`, host, ResourceMetadataPath, endpoint, scope)
	if code != "" {
		challenge += fmt.Sprintf(`, error="%s", error_description="%s"`, code, description)
	}
	return &Refusal{
		Status: status, Challenges: []string{challenge}, Header: http.Header{"Content-Type": {jsonType}},
		Body: string(errorFrame(spec.V20251125, wire.ID{}, &Error{Code: spec.CodeInvalidRequest, Message: "a bearer token is needed"})),
	}
}

// documents returns the metadata documents, by path: that of the resource, and that of an
// authorization server whose endpoints do not exist.
func (o *Options) documents(host, endpoint string) map[string]*Document {
	origin := "http://" + host
	issuer := origin
	if o.AuthServer != "" {
		issuer = o.AuthServer
	}
	documents := map[string]*Document{
		ResourceMetadataPath + endpoint: {http.StatusOK, jsonType, map[string]any{
			"resource": origin + endpoint, "authorization_servers": []any{issuer},
			"scopes_supported": []any{scope}, "bearer_methods_supported": []any{"header"},
		}},
		ServerMetadataPath: {http.StatusOK, jsonType, map[string]any{
			"issuer": origin, "authorization_endpoint": origin + "/authorize", "token_endpoint": origin + "/token",
			"registration_endpoint": origin + "/register", "response_types_supported": []any{"code"},
			"code_challenge_methods_supported": []any{"S256"}, "scopes_supported": []any{scope},
			"client_id_metadata_document_supported": true, "authorization_response_iss_parameter_supported": true,
		}},
	}
	if o.Seams.Protection.Documents != nil {
		o.Seams.Protection.Documents(documents)
	}
	return documents
}
