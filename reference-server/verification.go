package refserver

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// A Verification selects the parts of an issued token that are verified. All are selected unless a
// fault leaves one out.
type Verification struct {
	Signature, Issuer, Audience, Expiry, NotBefore, Scope bool
	// Unsigned also accepts tokens with alg none. PublicSecret also accepts tokens with an HMAC
	// whose secret is the public key.
	Unsigned, PublicSecret bool
	// AnyList accepts every audience that is a list of several. Prefix accepts an audience that
	// begins with the resource.
	AnyList, Prefix bool
}

var (
	errInvalid = errors.New("the token is not valid")
	errScope   = errors.New("the token lacks a scope")
)

// A keySet holds the public keys of an authorization server. It fetches them when they are
// first needed, and again only if that failed.
type keySet struct {
	issuer string

	mu   sync.Mutex
	keys *jose.JSONWebKeySet
}

// get returns the keys, or nil if they can't be fetched.
func (s *keySet) get(ctx context.Context) *jose.JSONWebKeySet {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys != nil {
		return s.keys
	}
	var metadata struct {
		Issuer  string `json:"issuer"`
		JWKSURI string `json:"jwks_uri"`
	}
	keys := &jose.JSONWebKeySet{}
	if !getJSON(ctx, s.issuer+ServerMetadataPath, &metadata) || metadata.Issuer != s.issuer || !getJSON(ctx, metadata.JWKSURI, keys) {
		return nil
	}
	s.keys = keys
	return keys
}

func getJSON(ctx context.Context, url string, into any) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	defer func() { _ = response.Body.Close() }()
	return response.StatusCode == http.StatusOK && json.NewDecoder(response.Body).Decode(into) == nil
}

// verify returns the user that the token names. It returns errInvalid or errScope if the token may
// not be used for the resource.
func (v *Verification) verify(ctx context.Context, keys *keySet, token, resource string) (user string, err error) {
	var standard jwt.Claims
	var own struct {
		Scope string `json:"scope"`
	}
	if !v.decodeClaims(ctx, keys, token, &standard, &own) {
		return "", errInvalid
	}
	now := time.Now()
	switch {
	case v.Issuer && standard.Issuer != keys.issuer,
		v.Audience && !v.acceptsAudience(standard.Audience, resource),
		v.Expiry && (standard.Expiry == nil || now.After(standard.Expiry.Time())),
		v.NotBefore && standard.NotBefore != nil && now.Before(standard.NotBefore.Time()):
		return "", errInvalid
	case v.Scope && !slices.Contains(strings.Fields(own.Scope), scope):
		return "", errScope
	}
	return standard.Subject, nil
}

// acceptsAudience reports whether a token with the audience may be used for the resource.
func (v *Verification) acceptsAudience(audience jwt.Audience, resource string) bool {
	return audience.Contains(resource) || v.AnyList && len(audience) > 1 || v.Prefix && len(audience) > 0 && strings.HasPrefix(audience[0], resource)
}

// decodeClaims decodes the claims of a token into each value of into, and reports whether the
// signature of the token is accepted.
func (v *Verification) decodeClaims(ctx context.Context, keys *keySet, token string, into ...any) bool {
	algorithms := []jose.SignatureAlgorithm{jose.RS256}
	switch {
	case v.Unsigned && strings.HasSuffix(token, "."):
		t, err := jwt.ParseSigned(token+"AA", []jose.SignatureAlgorithm{"none"})
		return err == nil && t.UnsafeClaimsWithoutVerification(into...) == nil
	case v.PublicSecret:
		algorithms = append(algorithms, jose.HS256)
	}
	t, err := jwt.ParseSigned(token, algorithms)
	if err != nil {
		return false
	}
	if !v.Signature || v.PublicSecret && t.Headers[0].Algorithm == string(jose.HS256) {
		return t.UnsafeClaimsWithoutVerification(into...) == nil
	}
	set := keys.get(ctx)
	if set == nil {
		return false
	}
	known := set.Key(t.Headers[0].KeyID)
	return len(known) == 1 && t.Claims(known[0].Key, into...) == nil
}
