package discount

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// TestRefusedToken checks that a deviation does not count if the server refused a token that it
// later accepted for an equal request, and that every attempt must repeat it if only another request
// was served.
func TestRefusedToken(t *testing.T) {
	const (
		ping, list = `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
		again      = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
		ok, no     = "200 OK", "401 Unauthorized"
	)
	type exchange struct{ token, body, status string }
	for _, c := range []struct {
		name      string
		exchanges []exchange
		from      int
		want      Effect
	}{
		{"an equal request served later", []exchange{{"Bearer x", ping, no}, {"Bearer x", again, ok}}, 0, Void},
		{"another request served later", []exchange{{"Bearer x", ping, no}, {"Bearer x", list, ok}}, 0, EachTime},
		{"another, then an equal one", []exchange{{"bearer x", ping, no}, {"bearer x", list, ok}, {"bearer x", again, ok}}, 0, Void},
		{"a token that expired", []exchange{{"Bearer x", ping, ok}, {"Bearer x", again, no}}, 0, Counts},
		{"a renewed token", []exchange{{"Bearer x", ping, no}, {"Bearer y", again, ok}}, 0, Counts},
		{"tokens that were removed", []exchange{{"Bearer REDACTED", ping, no}, {"Bearer REDACTED", again, ok}}, 0, Counts},
		{"another scheme", []exchange{{"Basic x", ping, no}, {"Basic x", again, ok}}, 0, Counts},
		{"before the case", []exchange{{"Bearer x", ping, no}, {"Bearer x", again, ok}}, 4, Counts},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := transcript.New()
			for _, x := range c.exchanges {
				n := rec.Add(transcript.Event{Kind: transcript.Requested, Raw: []byte("POST /mcp HTTP/1.1\nAuthorization: " + x.token)}).Exchange
				rec.Add(transcript.Event{Kind: transcript.Sent, Exchange: n, Raw: []byte(x.body)})
				rec.Add(transcript.Event{Kind: transcript.Responded, Exchange: n, Raw: []byte("HTTP/1.1 " + x.status)})
				rec.Add(transcript.Event{Kind: transcript.Over, Exchange: n, How: transcript.Complete})
			}
			claim := &Claim{Requirement: "ping.responds", ByCase: true, Events: rec.From(0), From: c.from}
			if got := effectOn(claim); got != c.want {
				t.Errorf("the effect is %d, want %d", got, c.want)
			}
			if claim.ByCase = false; effectOn(claim) != Counts {
				t.Error("it also applies to a rule")
			}
			r := &refusedToken{}
			r.observe(Conversation{Dialogue: transcript.DialogueOf(rec.From(0))})
			if got, _ := r.discount(&Claim{Requirement: "ping.responds", ByCase: true, Events: rec.From(0)}); c.want == EachTime && got != EachTime {
				t.Errorf("the effect is %d after the same conversation", got)
			}
			if r.unsteady.Store(true); c.want == EachTime {
				if got, _ := r.discount(&Claim{Requirement: "ping.responds", ByCase: true, Events: rec.From(0)}); got != Void {
					t.Errorf("the effect is %d if the server is known to refuse tokens at random", got)
				}
			}
			if (r.notice() != "") != (c.want != Counts || c.from > 0) {
				t.Errorf("the notice is %q", r.notice())
			}
		})
	}
}

func effectOn(c *Claim) Effect { effect, _ := (&refusedToken{}).discount(c); return effect }
