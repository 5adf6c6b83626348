package client

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

func TestContinue(t *testing.T) {
	inBubble(t, Options{Revision: spec.V20260728}, respondNormally, func(t *testing.T, c *Conversation, s *scripted) {
		c.Do(t.Context(), spec.MethodDiscover, nil)
		next := c.Continue(Options{Revision: spec.V20260728, Capabilities: map[string]any{}})
		if r := next.Do(t.Context(), spec.MethodDiscover, nil); !r.Succeeded() {
			t.Errorf("the conversation that continues gets %+v", r)
		}
		if r := c.Do(t.Context(), spec.MethodDiscover, nil); !r.Succeeded() {
			t.Errorf("the first conversation gets %+v after that", r)
		}
		var sent []string
		for _, m := range transcript.Messages(c.Record.From(0), transcript.Sent) {
			declared, _ := wire.Members(wire.At(m.Params(), spec.MetaPointer(spec.MetaClientCapabilities)))
			sent = append(sent, m.ID.String())
			if (len(declared) == 0) != (m.ID.String() == "2") {
				t.Errorf("request %v declares %v", m.ID, declared)
			}
		}
		if diff := cmp.Diff([]string{"1", "2", "3"}, sent); diff != "" {
			t.Errorf("the ids (-want +got):\n%s", diff)
		}
		next.Close()
		if c.Alive() || s.shutdowns != 1 {
			t.Errorf("the server runs: %v, after %d shutdowns", c.Alive(), s.shutdowns)
		}
	})
}

// TestContinueTakesOverRequests checks that a request of the server is answered once: by the
// conversation that continues, if the first one had not answered it yet.
func TestContinueTakesOverRequests(t *testing.T) {
	answer := func(by string) func(*wire.Message) []byte {
		return func(m *wire.Message) []byte { return wire.NewResult(m.ID, map[string]any{"by": by}) }
	}
	inBubble(t, Options{Revision: spec.V20251125, Answer: answer("first")}, respondNormally, func(t *testing.T, c *Conversation, s *scripted) {
		request := func(id string) { s.write(wire.NewRequest(wire.StringID(id), spec.MethodRootsList, nil)) }
		request("before")
		synctest.Wait()
		next := c.Continue(Options{Revision: spec.V20251125, Answer: answer("second")})
		request("after")
		synctest.Wait()
		got := map[string][]string{}
		for _, m := range transcript.Messages(next.Record.From(0), transcript.Sent) {
			by, _ := wire.Text(wire.At(m.Result(), "/by"))
			got[m.ID.String()] = append(got[m.ID.String()], by)
		}
		if diff := cmp.Diff(map[string][]string{`"before"`: {"first"}, `"after"`: {"second"}}, got); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
	})
}

// TestCanContinue checks which conversations may continue another.
func TestCanContinue(t *testing.T) {
	handshake, stateless := Options{Revision: spec.V20251125}, Options{Revision: spec.V20260728}
	nothing := map[string]any{}
	for _, c := range []struct {
		name      string
		left, new Options
		want      bool
	}{
		{"the same", handshake, handshake, true},
		{"the same capabilities, given", handshake, Options{Revision: spec.V20251125, Capabilities: AllCapabilities(spec.V20251125)}, true},
		{"other answers", handshake, Options{Revision: spec.V20251125, Answer: func(*wire.Message) []byte { return nil }}, true},
		{"other capabilities", handshake, Options{Revision: spec.V20251125, Capabilities: nothing}, false},
		{"another revision", handshake, Options{Revision: spec.V20250618}, false},
		{"another version", handshake, Options{Revision: spec.V20251125, Version: "1999-01-01"}, false},
		{"other ids", handshake, Options{Revision: spec.V20251125, FirstID: 7}, false},
		{"other capabilities without a handshake", stateless, Options{Revision: spec.V20260728, Capabilities: nothing}, true},
		{"another era", stateless, handshake, false},
	} {
		if got := (&Conversation{opts: c.left.withDefaults()}).CanContinue(c.new); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
