package authorization_test

import (
	"strings"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/issuer"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
	"github.com/mcp-conform/mcp-conform/internal/transport/streamablehttp"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/suites/authorization"
)

// validOnly is an issuer that has only a valid token.
type validOnly string

// Token implements suite.Issuer.
func (v validOnly) Token(kind issuer.Kind, _, _ string) string {
	if kind == issuer.Valid {
		return string(v)
	}
	return ""
}

// ForOtherUser implements suite.Issuer.
func (validOnly) ForOtherUser(string) string { return "" }

// TestMissingTokens checks the reason why requirements are not observed for which there is no wrong
// token: because tokens are opaque, or because the authorization server issues none.
func TestMissingTokens(t *testing.T) {
	for token, want := range map[string]string{
		"an-opaque-token":       "the tokens of the authorization server are opaque",
		"eyJhbGciOiJS.e30.bWNw": "mcp-conform can't get such a token",
	} {
		server, err := refserver.Listen(t.Context(), "127.0.0.1:0", spec.StreamableHTTP, refserver.Options{Token: token})
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		report, err := engine.Run(t.Context(), engine.Options{
			Dialer: streamablehttp.NewDialer(server.URL, exchange.Reach{Fields: []transcript.Field{{Name: "Authorization", Value: "Bearer " + token}}}),
			Cases:  authorization.Cases(), Revisions: []spec.Revision{spec.V20250326, spec.V20251125}, Timeout: 20 * time.Second, Issuer: validOnly(token),
			Selection: engine.Selection{Focus: []string{"authorization.issued-tokens"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for i := range report.Verdicts {
			if v := &report.Verdicts[i]; v.Outcome == verdict.NotObserved {
				found[v.Requirement] = found[v.Requirement] || strings.Contains(v.Reason, want)
			}
		}
		for _, requirement := range []string{
			"authorization.token.expired-401", "authorization.token.audience-checked", "security.token-passthrough", "authorization.insufficient-scope.403", "authorization.insufficient-scope.challenge",
		} {
			if !found[requirement] {
				t.Errorf("%s, with the token %s: no reason contains %q", requirement, token, want)
			}
		}
	}
}
