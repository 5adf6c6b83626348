package oauth

import (
	"encoding/base64"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseClaims(t *testing.T) {
	for _, c := range []struct {
		name, payload string
		want          Claims
		ok            bool
	}{
		{"one audience", `{"iss":"i","sub":"s","aud":"https://x.example/mcp","scope":"a b"}`, Claims{"i", "s", []string{"https://x.example/mcp"}, []string{"a", "b"}}, true},
		{"several audiences", `{"aud":["x","y"],"scp":["a","b"]}`, Claims{Audience: []string{"x", "y"}, Scopes: []string{"a", "b"}}, true},
		{"nothing", `{}`, Claims{}, true},
		{"an audience that is a number", `{"aud":1}`, Claims{}, false},
		{"no object", `[]`, Claims{}, false},
	} {
		got, ok := ParseClaims("e30." + base64.RawURLEncoding.EncodeToString([]byte(c.payload)) + ".sig")
		if diff := cmp.Diff(c.want, got); diff != "" || ok != c.ok {
			t.Errorf("%s: %t (-want +got):\n%s", c.name, ok, diff)
		}
	}
	for _, opaque := range []string{"", "abc", "a.b.c", "a.b"} {
		if _, ok := ParseClaims(opaque); ok {
			t.Errorf("%q is not a JWT", opaque)
		}
	}
}

func TestIsFor(t *testing.T) {
	for audience, want := range map[string]bool{
		"https://x.example/mcp": true, "https://x.example": true, "https://x.example/": true, "https://y.example/mcp": false, "https://x.ex": false, "https://x.example/mc": false, "": false, "api": false,
	} {
		c := Claims{Audience: []string{audience}}
		if c.IsFor("https://x.example/mcp") != want {
			t.Errorf("%q", audience)
		}
	}
}
