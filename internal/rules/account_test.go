package rules

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/discount"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// TestRequestsAfterTheEnd checks that requests sent to a server that has already ended are
// explained by that end, and are not deviations of their own.
func TestRequestsAfterTheEnd(t *testing.T) {
	rec, err := transcript.ParseScript(`revision: 2025-11-25
transport: stdio
> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
< {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}
> {"jsonrpc":"2.0","method":"notifications/initialized"}
! output-closed
> {"jsonrpc":"2.0","id":1,"method":"ping"}
! gave-up 1
`)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range Judge(Base(), rec.Events, spec.V20251125, spec.Stdio) {
		if r.Requirement == requestAnswered && len(r.Deviations) > 0 {
			t.Errorf("%s: %+v", r.Rule, r.Deviations)
		}
	}
	s := newSession(spec.V20251125, spec.Stdio)
	for _, e := range rec.Events {
		s.noteEvent(e)
	}
	s.unmatched.attributeAll()
	if d := discount.ForRequest(s.factsOf(s.ClientRequests()[len(s.ClientRequests())-1])); d == nil || d.ID != "server-gone" {
		t.Errorf("the ping is explained by %+v; want server-gone", d)
	}
}
