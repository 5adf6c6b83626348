package oauth

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
)

// Claims are claims of a JWT (RFC 7519, section 4.1; RFC 9068, section 2.2.3). Their signature is
// not verified.
type Claims struct {
	Issuer, Subject string
	Audience        []string
	Scopes          []string
}

// ParseClaims returns the claims of a token, or false if the token is not a JWT or its claims have
// wrong types.
func ParseClaims(token string) (Claims, bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return Claims{}, false
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return Claims{}, false
	}
	var raw struct {
		Issuer   string `json:"iss"`
		Subject  string `json:"sub"`
		Audience texts  `json:"aud"`
		Scope    texts  `json:"scope"`
		Scopes   texts  `json:"scp"`
	}
	if json.Unmarshal(text, &raw) != nil {
		return Claims{}, false
	}
	c := Claims{Issuer: raw.Issuer, Subject: raw.Subject, Audience: raw.Audience}
	for _, scope := range slices.Concat(raw.Scope, raw.Scopes) {
		c.Scopes = append(c.Scopes, strings.Fields(scope)...)
	}
	return c, true
}

// texts is a list of strings. In JSON, a single string is a list of one.
type texts []string

// UnmarshalJSON implements json.Unmarshaler.
func (t *texts) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*t = texts{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(t))
}

// IsFor reports whether one of the audiences is the resource, or a URL whose path is a parent of
// the resource's.
func (c *Claims) IsFor(resource string) bool {
	return slices.ContainsFunc(c.Audience, func(audience string) bool {
		audience = strings.TrimSuffix(audience, "/")
		return audience != "" && (resource == audience || strings.HasPrefix(resource, audience+"/"))
	})
}

// SharesAudience reports whether a token has an audience in common with the claims. It returns true
// for an opaque token, because its audience is unknown.
func (c *Claims) SharesAudience(token string) bool {
	other, ok := ParseClaims(token)
	return !ok || slices.ContainsFunc(c.Audience, func(a string) bool { return slices.Contains(other.Audience, a) })
}
