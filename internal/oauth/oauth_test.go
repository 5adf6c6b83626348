package oauth

import (
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseChallenges(t *testing.T) {
	type params = map[string]string
	for _, c := range []struct {
		name  string
		lines []string
		want  []Challenge
		err   bool
	}{
		{"scheme alone", []string{"Bearer"}, []Challenge{{"Bearer", params{}, ""}}, false},
		{"parameters", []string{`Bearer realm="mcp", scope="a b",error=invalid_token`}, []Challenge{{"Bearer", params{"realm": "mcp", "scope": "a b", "error": "invalid_token"}, ""}}, false},
		{"space around =", []string{`Bearer realm = "x" , scope= y`}, []Challenge{{"Bearer", params{"realm": "x", "scope": "y"}, ""}}, false},
		{"escaped quote and comma", []string{`Bearer realm="a\",b"`}, []Challenge{{"Bearer", params{"realm": `a",b`}, ""}}, false},
		{"names in upper case", []string{`bearer Resource_Metadata="u"`}, []Challenge{{"bearer", params{"resource_metadata": "u"}, ""}}, false},
		{"several schemes", []string{`Basic realm="x", Bearer scope="y", DPoP algs="ES256"`}, []Challenge{{"Basic", params{"realm": "x"}, ""}, {"Bearer", params{"scope": "y"}, ""}, {"DPoP", params{"algs": "ES256"}, ""}}, false},
		{"several lines", []string{"Negotiate", "Bearer"}, []Challenge{{"Negotiate", params{}, ""}, {"Bearer", params{}, ""}}, false},
		{"token68", []string{"Negotiate abc==, Bearer"}, []Challenge{{"Negotiate", params{}, "abc=="}, {"Bearer", params{}, ""}}, false},
		{"empty items", []string{", Bearer ,, "}, []Challenge{{"Bearer", params{}, ""}}, false},
		{"empty quoted value", []string{`Bearer scope=""`}, []Challenge{{"Bearer", params{"scope": ""}, ""}}, false},
		{"nothing", []string{""}, nil, true},
		{"no closing quote", []string{`Bearer realm="x`}, nil, true},
		{"spaces between parameters", []string{`Bearer realm="x" scope="y"`}, nil, true},
		{"twice", []string{`Bearer scope="x", scope="y"`}, []Challenge{{"Bearer", params{"scope": "x"}, ""}}, true},
		{"unquoted URL", []string{`Bearer resource_metadata=https://x/y`}, nil, true},
		{"no scheme", []string{`realm="x"`}, nil, true},
		{"words", []string{"Please log in"}, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ParseChallenges(c.lines)
			if (err != nil) != c.err {
				t.Errorf("error %v", err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("challenges (-want +got):\n%s", diff)
			}
		})
	}
}

// TestQuotedValues checks that every value survives when it is written as a quoted string.
func TestQuotedValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[ -~]{0,20}`).Draw(t, "value")
		quoted := `"`
		for _, c := range value {
			if c == '"' || c == '\\' {
				quoted += `\`
			}
			quoted += string(c)
		}
		got, err := ParseChallenges([]string{"Bearer a=" + quoted + `", b=c`})
		if err != nil || got[0].Param("a") != value || got[0].Param("b") != "c" {
			t.Fatalf("%v, %v", got, err)
		}
	})
}

// TestBearer checks that parameters may be spread over several challenges.
func TestBearer(t *testing.T) {
	all, err := ParseChallenges([]string{`Bearer scope="a", Basic realm="x"`, `bearer scope="b", resource_metadata="u"`})
	if err != nil {
		t.Fatal(err)
	}
	if c, ok := BearerChallenge(all); !ok || c.Param("scope") != "a" || c.Param("resource_metadata") != "u" || c.Param("realm") != "" {
		t.Errorf("%v", c)
	}
	if c, ok := BearerChallenge(all[1:2]); ok {
		t.Errorf("%v", c)
	}
}

func FuzzParseChallenges(f *testing.F) {
	f.Add(`Bearer a="b", c=d, Basic`)
	f.Fuzz(func(t *testing.T, line string) {
		all, err := ParseChallenges([]string{line})
		if err == nil && len(all) == 0 {
			t.Error("neither a challenge nor an error")
		}
	})
}

func TestMetadataURLs(t *testing.T) {
	for _, c := range []struct {
		base string
		of   func(*url.URL) []*url.URL
		want []string
	}{
		{"https://x.example/a/mcp", ResourceMetadataURLs, []string{"https://x.example/.well-known/oauth-protected-resource/a/mcp", "https://x.example/.well-known/oauth-protected-resource"}},
		{"https://x.example:8443/", ResourceMetadataURLs, []string{"https://x.example:8443/.well-known/oauth-protected-resource"}},
		{"https://x.example/mcp?a=b#c", ResourceMetadataURLs, []string{"https://x.example/.well-known/oauth-protected-resource/mcp?a=b", "https://x.example/.well-known/oauth-protected-resource/mcp", "https://x.example/.well-known/oauth-protected-resource"}},
		{"https://x.example/a%2Fb/", ResourceMetadataURLs, []string{"https://x.example/.well-known/oauth-protected-resource/a%2Fb/", "https://x.example/.well-known/oauth-protected-resource/a%2Fb", "https://x.example/.well-known/oauth-protected-resource"}},
		{"https://x.example", ServerMetadataURLs, []string{"https://x.example/.well-known/oauth-authorization-server", "https://x.example/.well-known/openid-configuration"}},
		{"https://x.example/t1", ServerMetadataURLs, []string{"https://x.example/.well-known/oauth-authorization-server/t1", "https://x.example/.well-known/openid-configuration/t1", "https://x.example/t1/.well-known/openid-configuration"}},
	} {
		u, err := url.Parse(c.base)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, at := range c.of(u) {
			got = append(got, at.String())
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.base, diff)
		}
	}
}

func TestMayFetch(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"http://127.0.0.1:3000/mcp", "http://localhost:9000/x", true},
		{"https://mcp.example/mcp", "https://auth.example/x", true},
		{"https://mcp.example/mcp", "http://127.0.0.1/x", false},
		{"https://mcp.example/mcp", "http://169.254.169.254/latest", false},
		{"https://mcp.example/mcp", "http://10.0.0.1/x", false},
		{"https://mcp.example/mcp", "http://0.0.0.0/x", false},
		{"http://127.0.0.1/mcp", "http://10.0.0.1/x", true},
		{"http://127.0.0.1/mcp", "http://169.254.169.254/latest", false},
		{"http://127.0.0.1/mcp", "http://[fe80::1%25eth0]/x", false},
		{"http://169.254.3.4/mcp", "http://169.254.3.5/x", true},
		{"https://203.0.113.5/mcp", "https://203.0.113.6/x", true},
		{"https://mcp.example/mcp", "http://[::1]/x", false},
		{"http://127.0.0.1/mcp", "http://LOCALHOST.:90/x", true},
		{"https://mcp.example/mcp", "http://LocalHost/x", false},
		{"https://mcp.example/mcp", "file:///etc/passwd", false},
		{"https://mcp.example/mcp", "/relative", false},
	} {
		from, _ := url.Parse(c.from)
		to, _ := url.Parse(c.to)
		if got := MayFetch(from, to); got != c.want {
			t.Errorf("from %s to %s: %t", c.from, c.to, got)
		}
	}
}

func TestIsScopes(t *testing.T) {
	for text, want := range map[string]bool{"a": true, "a b:c": true, "": false, "a  b": false, " a": false, "a\"": false, "ä": false} {
		if IsScopeList(text) != want {
			t.Errorf("%q", text)
		}
	}
}
