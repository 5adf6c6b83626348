// Package issuer is a small authorization server for tests: it grants every valid authorization
// request, and issues valid and invalid tokens (RFC 6749, RFC 7519, RFC 7591, RFC 7636, RFC 7662,
// RFC 8414). It protects nothing and must not be reachable from other machines.
package issuer

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// URLVariable is the environment variable in which a server under test finds the issuer.
const URLVariable = "MCP_CONFORM_AUTH_SERVER_URL"

// An Issuer is a running authorization server.
type Issuer struct {
	// URL is the issuer identifier, at which the issuer is reachable.
	URL string

	server  *http.Server
	mu      sync.Mutex
	codes   map[string]grant // by authorization code
	renewed map[string]grant // by refresh token
	revoked map[string]bool  // tokens
}

// A grant is what a code or a refresh token represents. Each client has one user.
type grant struct{ client, resource, scope, challenge string }

// keys returns the key that the issuer publishes, and another one that it does not publish. They
// are generated once, because that is slow.
var keys = sync.OnceValue(func() [2]*rsa.PrivateKey {
	var out [2]*rsa.PrivateKey
	for i := range out {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			panic(err) // no source of randomness
		}
		out[i] = key
	}
	return out
})

const (
	keyID   = "mcp-conform-1"
	noKeyID = "mcp-conform-unknown"
)

// Start starts an issuer on a free port of the loopback interface.
func Start(ctx context.Context) (*Issuer, error) { return StartAt(ctx, "127.0.0.1:0") }

// StartAt starts an issuer at an address of the loopback interface.
func StartAt(ctx context.Context, address string) (*Issuer, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if at, err := netip.ParseAddrPort(l.Addr().String()); err != nil || !at.Addr().IsLoopback() {
		_ = l.Close()
		return nil, fmt.Errorf("%s can be reached from other machines", l.Addr())
	}
	i := &Issuer{URL: "http://" + l.Addr().String(), codes: map[string]grant{}, renewed: map[string]grant{}, revoked: map[string]bool{}}
	mux := http.NewServeMux()
	for _, path := range []string{"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, i.metadata()) })
	}
	mux.HandleFunc("GET /jwks", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, keySet()) })
	mux.HandleFunc("GET /authorize", i.authorize)
	mux.HandleFunc("POST /token", i.token)
	mux.HandleFunc("POST /introspect", i.introspect)
	mux.HandleFunc("POST /revoke", i.revoke)
	mux.HandleFunc("POST /register", register)
	i.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = i.server.Serve(l) }() // ends with Close
	return i, nil
}

// Close stops the issuer.
func (i *Issuer) Close() { _ = i.server.Close() }

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func writeError(w http.ResponseWriter, code string) {
	writeJSON(w, http.StatusBadRequest, map[string]any{"error": code})
}

func (i *Issuer) metadata() map[string]any {
	return map[string]any{
		"issuer": i.URL, "jwks_uri": i.URL + "/jwks", "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token",
		"registration_endpoint": i.URL + "/register", "introspection_endpoint": i.URL + "/introspect", "revocation_endpoint": i.URL + "/revoke",
		"response_types_supported": []string{"code"}, "grant_types_supported": []string{"authorization_code", "refresh_token", "client_credentials"},
		"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none", "client_secret_post", "client_secret_basic"},
		"subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{"RS256"},
		"client_id_metadata_document_supported": true, "authorization_response_iss_parameter_supported": true,
	}
}

func keySet() jose.JSONWebKeySet {
	return jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: keys()[0].Public(), KeyID: keyID, Algorithm: "RS256", Use: "sig"}}}
}

// authorize grants the request without asking a user, and redirects with a code.
func (i *Issuer) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || back.Scheme == "" || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" {
		writeError(w, "invalid_request")
		return
	}
	code := rand.Text()
	i.mu.Lock()
	i.codes[code] = grant{q.Get("client_id"), q.Get("resource"), q.Get("scope"), q.Get("code_challenge")}
	i.mu.Unlock()
	answer := back.Query()
	answer.Set("code", code)
	answer.Set("iss", i.URL)
	if state := q.Get("state"); state != "" {
		answer.Set("state", state)
	}
	back.RawQuery = answer.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

// token issues a token in exchange for an authorization code or a refresh token, each of which can
// be used once, or for the credentials of any client.
func (i *Issuer) token(w http.ResponseWriter, r *http.Request) {
	if r.ParseForm() != nil {
		writeError(w, "invalid_request")
		return
	}
	g := grant{client: r.PostForm.Get("client_id"), resource: r.PostForm.Get("resource"), scope: r.PostForm.Get("scope")}
	if id, _, ok := r.BasicAuth(); ok {
		g.client = id
	}
	switch r.PostForm.Get("grant_type") {
	case "client_credentials":
	case "authorization_code":
		i.mu.Lock()
		granted, ok := i.codes[r.PostForm.Get("code")]
		delete(i.codes, r.PostForm.Get("code"))
		i.mu.Unlock()
		sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
		if !ok || base64.RawURLEncoding.EncodeToString(sum[:]) != granted.challenge {
			writeError(w, "invalid_grant")
			return
		}
		g = granted
	case "refresh_token":
		i.mu.Lock()
		granted, ok := i.renewed[r.PostForm.Get("refresh_token")]
		delete(i.renewed, r.PostForm.Get("refresh_token"))
		i.mu.Unlock()
		if !ok {
			writeError(w, "invalid_grant")
			return
		}
		g = granted
	default:
		writeError(w, "unsupported_grant_type")
		return
	}
	answer := map[string]any{
		"access_token": i.issueToken(Valid, cmp.Or(g.client, ownClient), g.resource, g.scope), "token_type": "Bearer", "expires_in": int(lifetime.Seconds()), "scope": g.scope,
	}
	if r.PostForm.Get("grant_type") != "client_credentials" {
		again := rand.Text()
		i.mu.Lock()
		i.renewed[again] = g
		i.mu.Unlock()
		answer["refresh_token"] = again
	}
	writeJSON(w, http.StatusOK, answer)
}

// revoke ends a token (RFC 7009).
func (i *Issuer) revoke(w http.ResponseWriter, r *http.Request) {
	token := r.PostFormValue("token")
	i.mu.Lock()
	delete(i.renewed, token)
	i.revoked[token] = true
	i.mu.Unlock()
	w.WriteHeader(http.StatusOK)
}

func (i *Issuer) isRevoked(token string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.revoked[token]
}

// introspect responds with the claims of an access token if the issuer signed it, it is valid now,
// and it was not revoked; otherwise it responds that the token is not active.
func (i *Issuer) introspect(w http.ResponseWriter, r *http.Request) {
	inactive := map[string]any{"active": false}
	t, err := jwt.ParseSigned(r.PostFormValue("token"), []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		writeJSON(w, http.StatusOK, inactive)
		return
	}
	claims := map[string]any{}
	var standard jwt.Claims
	if i.isRevoked(r.PostFormValue("token")) || t.Claims(keys()[0].Public(), &claims, &standard) != nil || standard.ValidateWithLeeway(jwt.Expected{Issuer: i.URL, Time: time.Now()}, 0) != nil {
		writeJSON(w, http.StatusOK, inactive)
		return
	}
	claims["active"], claims["token_type"] = true, "Bearer"
	writeJSON(w, http.StatusOK, claims)
}

// register registers any client and returns its id.
func register(w http.ResponseWriter, r *http.Request) {
	client := map[string]any{}
	if json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&client) != nil {
		writeError(w, "invalid_client_metadata")
		return
	}
	client["client_id"], client["client_id_issued_at"] = rand.Text(), time.Now().Unix()
	writeJSON(w, http.StatusCreated, client)
}

// A Kind says whether a token is valid, and if not, why.
type Kind string

// The kinds of tokens.
const (
	Valid         Kind = "valid"
	Expired       Kind = "expired"
	NotYetValid   Kind = "not-yet-valid"
	OtherResource Kind = "other-resource" // its audience is another server
	OtherServers  Kind = "other-servers"  // its audience is a list of other servers
	LongerPath    Kind = "longer-path"    // its audience begins with the resource
	NoResource    Kind = "no-resource"    // it has no audience
	UnknownKey    Kind = "unknown-key"    // signed by a key with an unknown id
	OtherKey      Kind = "other-key"      // signed by an unknown key, with the id of the published one
	Unsigned      Kind = "unsigned"       // alg none
	PublicSecret  Kind = "public-secret"  // HS256 with the public key as the secret
	OtherIssuer   Kind = "other-issuer"   // issued in the name of another issuer
	NoScope       Kind = "no-scope"
	OtherUser     Kind = "other-user" // valid, but for another user
)

// lifetime is how long a valid token lasts: longer than a run.
const lifetime = 12 * time.Hour

// otherResource is the audience of tokens for another server.
const otherResource = "https://other-server.invalid/mcp"

// The client ids of tokens that were not requested over HTTP.
const (
	ownClient   = "mcp-conform"
	otherClient = "mcp-conform-other-user"
)

// Token issues a token of a kind for a resource, with scopes separated by spaces.
func (i *Issuer) Token(kind Kind, resource, scope string) string {
	client := ownClient
	if kind == OtherUser {
		client = otherClient
	}
	return i.issueToken(kind, client, resource, scope)
}

func (i *Issuer) issueToken(kind Kind, client, resource, scope string) string {
	now := time.Now()
	claims := map[string]any{
		"iss": i.URL, "sub": client, "client_id": client, "aud": resource, "scope": scope, "jti": rand.Text(),
		"iat": now.Add(-time.Minute).Unix(), "nbf": now.Add(-time.Minute).Unix(), "exp": now.Add(lifetime).Unix(),
	}
	signer := jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: keys()[0], KeyID: keyID}}
	switch kind {
	case Expired:
		claims["iat"], claims["nbf"], claims["exp"] = now.Add(-2*lifetime).Unix(), now.Add(-2*lifetime).Unix(), now.Add(-lifetime).Unix()
	case NotYetValid:
		claims["nbf"], claims["exp"] = now.Add(lifetime).Unix(), now.Add(2*lifetime).Unix()
	case OtherResource:
		claims["aud"] = otherResource
	case OtherServers:
		claims["aud"] = []string{otherResource, "https://another-server.invalid/mcp"}
	case LongerPath:
		claims["aud"] = resource + "-of-another-server"
	case NoResource:
		delete(claims, "aud")
	case UnknownKey:
		signer.Key = jose.JSONWebKey{Key: keys()[1], KeyID: noKeyID}
	case OtherKey:
		signer.Key = jose.JSONWebKey{Key: keys()[1], KeyID: keyID}
	case PublicSecret:
		signer = jose.SigningKey{Algorithm: jose.HS256, Key: jose.JSONWebKey{Key: publicPEM(), KeyID: keyID}}
	case OtherIssuer:
		claims["iss"] = "https://other-issuer.invalid"
	case NoScope:
		delete(claims, "scope")
	case Unsigned:
		return JWT("none", claims, nil)
	case Valid, OtherUser:
	}
	s, err := jose.NewSigner(signer, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		panic(err) // the key is of the right type
	}
	text, err := jwt.Signed(s).Claims(claims).Serialize()
	if err != nil {
		panic(err) // the claims can be marshalled
	}
	return text
}

// ForOtherUser returns a valid token of another user with the resource and the scopes of the given
// token. It returns "" if the given token is not signed with the key that the issuer publishes.
func (i *Issuer) ForOtherUser(token string) string {
	var claims struct {
		Resource string `json:"aud"`
		Scope    string `json:"scope"`
	}
	t, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil || t.Claims(keys()[0].Public(), &claims) != nil {
		return ""
	}
	return i.Token(OtherUser, claims.Resource, claims.Scope)
}

// JWT returns a JWT (RFC 7519) with the algorithm in its header. Whatever the algorithm, JWT signs
// with HMAC-SHA-256. If key is nil, the JWT has no signature.
func JWT(algorithm string, claims map[string]any, key []byte) string {
	text := encodePart(map[string]any{"alg": algorithm, "typ": "JWT"}) + "." + encodePart(claims)
	if key == nil {
		return text + "."
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func encodePart(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps of strings and numbers can be marshalled
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// publicPEM returns the public key in PEM, the form in which servers usually have it.
func publicPEM() []byte {
	der, err := x509.MarshalPKIXPublicKey(keys()[0].Public())
	if err != nil {
		panic(err) // it is an RSA key
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}
