package discount_test

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/discount"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// TestDiscounts holds each discount against a request that it explains, and
// against its neighbour, which nothing explains.
func TestDiscounts(t *testing.T) {
	broken, dropped := transcript.Broken, transcript.Dropped
	proven := map[string]bool{}
	for _, test := range []struct {
		id         string
		applies    discount.Facts
		unexplains discount.Facts
	}{
		{"unreachable", discount.Facts{Ended: transcript.Unreachable}, discount.Facts{Ended: transcript.Unreadable}},
		{"server-ended", discount.Facts{Ended: broken, ServerEnded: true}, discount.Facts{Ended: broken}},
		{"intermediary", discount.Facts{Status: 502}, discount.Facts{Status: 500}},
		{"withdrawn", discount.Facts{Ended: broken, Withdrawn: true}, discount.Facts{Ended: broken}},
		{"session-over", discount.Facts{Ended: broken, SessionOver: true}, discount.Facts{Ended: broken}},
		{"answered-elsewhere", discount.Facts{Ended: dropped, Waited: true, Elsewhere: true}, discount.Facts{Ended: dropped, Waited: true}},
		{"judged-as-request", discount.Facts{Ended: broken, Judged: true}, discount.Facts{Ended: broken}},
		{"client-closed", discount.Facts{Method: "POST", Ended: dropped}, discount.Facts{Method: "POST", Ended: dropped, Waited: true}},
		{"client-closed", discount.Facts{Method: "POST"}, discount.Facts{Method: "POST", Waited: true}},
		{"event-stream", discount.Facts{Method: "GET", Ended: dropped, Waited: true}, discount.Facts{Method: "DELETE", Ended: dropped, Waited: true}},
		{"large-request", discount.Facts{Ended: broken, Size: 1 << 20}, discount.Facts{Ended: broken, Size: 1 << 10}},
	} {
		proven[test.id] = true
		if d := discount.Of(test.applies); d == nil || d.ID != test.id {
			t.Errorf("%s: %+v is explained by %+v", test.id, test.applies, d)
		}
		if d := discount.Of(test.unexplains); d != nil {
			t.Errorf("%s: %+v is explained by %q", test.id, test.unexplains, d.ID)
		}
	}
	for _, d := range discount.All() {
		if !proven[d.ID] {
			t.Errorf("no row shows what %s explains", d.ID)
		}
		if d.Reason == "" {
			t.Errorf("%s has no reason", d.ID)
		}
	}
}
