package discount

import (
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// TestMissingScopes checks that refusals of a token that lacks scopes do not count, and that the notice
// names the scopes once.
func TestMissingScopes(t *testing.T) {
	rec := transcript.New()
	for _, challenge := range []string{`Bearer error="insufficient_scope", scope="a b"`, `Bearer scope="b c", error=insufficient_scope`, `Bearer error="invalid_token"`} {
		n := rec.Add(transcript.Event{Kind: transcript.Requested, Raw: []byte("POST /mcp HTTP/1.1\nAuthorization: Bearer x")}).Exchange
		rec.Add(transcript.Event{Kind: transcript.Responded, Exchange: n, Raw: []byte("HTTP/1.1 403 Forbidden\nWWW-Authenticate: " + challenge)})
		rec.Add(transcript.Event{Kind: transcript.Over, Exchange: n, How: transcript.Complete})
	}
	g := &gateway{}
	g.observe(Conversation{Dialogue: transcript.DialogueOf(rec.From(0))})
	if got, want := g.notice(), "2 requests were refused because the token lacks the scopes a b c; they do not count"; !strings.HasPrefix(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}
