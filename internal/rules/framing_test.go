package rules_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A framing fault yields one finding, and counts as keeping neither of the framing requirements.
func TestFramingFaultKeepsNoFramingRequirement(t *testing.T) {
	const answer = `{"jsonrpc":"2.0","id":1,"result":{}}`
	for _, c := range []struct{ name, lines, kept, found string }{
		{"headers", `<q "Content-Length: 36\r"` + "\n" + `<q "\r"` + "\n< " + answer, "stdio.newline-delimited", "stdio.stdout-only-messages"},
		{"joined", "< " + answer + `{"jsonrpc":"2.0","method":"notifications/x"}`, "stdio.stdout-only-messages", "stdio.newline-delimited"},
	} {
		t.Run(c.name, func(t *testing.T) {
			events := read(t, handshake(spec.V20251125)+"> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n"+c.lines+"\n"+pinged("2"))
			came := observedCounts(rules.Judge(rules.Base(), events, spec.V20251125, spec.Stdio))
			if came[c.kept] > 0 || came[c.found] == 0 {
				t.Errorf("%s was observed %d times, %s %d times", c.kept, came[c.kept], c.found, came[c.found])
			}
		})
	}
}

// A line that is deeper than wire.MaxDepth is reported only if it does not begin like a message, or
// if its brackets do not match.
func TestDeepValues(t *testing.T) {
	call := func(id string, levels int) string {
		return `> {"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"a"}}` + "\n" +
			`< {"jsonrpc":"2.0","id":` + id + `,"result":{"content":[],"structuredContent":` + strings.Repeat(`{"a":`, levels) + "1" + strings.Repeat("}", levels) + "}}\n"
	}
	brackets := strings.Repeat("[", wire.MaxDepth+1)
	for _, c := range []struct {
		name, lines string
		want        []string
	}{
		{"values", call("1", 1200) + call("2", wire.MaxDepth-2) + call("3", wire.MaxDepth+1) + "! gave-up 3\n", nil},
		{"brackets", "< " + brackets + "\n", []string{"stdio.stdout-only-messages broken"}},
		{"a message lost in brackets", `< {"jsonrpc":"2.0","method":` + brackets + "\n", []string{"stdio.stdout-only-messages broken"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			events := read(t, handshake(spec.V20251125)+c.lines+pinged("9"))
			if diff := cmp.Diff(c.want, found(rules.Judge(rules.Base(), events, spec.V20251125, spec.Stdio))); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}
