package client

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

func TestContinue(t *testing.T) {
	inBubble(t, Options{Revision: spec.V20260728}, behave, func(t *testing.T, c *Conversation, s *scripted) {
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
