package discount_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/discount"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// TestDiscountsOfExchanges checks each discount with a request that it
// explains, and with a similar one that no discount explains.
func TestDiscountsOfExchanges(t *testing.T) {
	broken, dropped := transcript.Broken, transcript.Dropped
	proven := map[string]bool{}
	for _, test := range []struct {
		id         string
		applies    discount.ExchangeFacts
		unexplains discount.ExchangeFacts
	}{
		{"unreachable", discount.ExchangeFacts{Ended: transcript.Unreachable}, discount.ExchangeFacts{Ended: transcript.Unreadable}},
		{"server-ended", discount.ExchangeFacts{Ended: broken, ServerEnded: true}, discount.ExchangeFacts{Ended: broken}},
		{"server-ended", discount.ExchangeFacts{Status: 404, Partial: true, Ended: broken, ServerEnded: true}, discount.ExchangeFacts{Status: 404, Partial: true, Ended: broken}},
		{"intermediary", discount.ExchangeFacts{Status: 502}, discount.ExchangeFacts{Status: 500}},
		{"intermediary", discount.ExchangeFacts{Status: 502, Partial: true, Ended: broken}, discount.ExchangeFacts{Status: 500, Partial: true, Ended: broken}},
		{"withdrawn", discount.ExchangeFacts{Ended: broken, Withdrawn: true}, discount.ExchangeFacts{Ended: broken}},
		{"session-over", discount.ExchangeFacts{Ended: broken, SessionOver: true}, discount.ExchangeFacts{Ended: broken}},
		{"answered-elsewhere", discount.ExchangeFacts{Ended: dropped, Waited: true, AnsweredElsewhere: true}, discount.ExchangeFacts{Ended: dropped, Waited: true}},
		{"judged-as-request", discount.ExchangeFacts{Ended: broken, Judged: true}, discount.ExchangeFacts{Ended: broken}},
		{"client-closed", discount.ExchangeFacts{Method: "POST", Ended: dropped}, discount.ExchangeFacts{Method: "POST", Ended: dropped, Waited: true}},
		{"client-closed", discount.ExchangeFacts{Method: "POST"}, discount.ExchangeFacts{Method: "POST", Waited: true}},
		{"event-stream", discount.ExchangeFacts{Method: "GET", Ended: dropped, Waited: true}, discount.ExchangeFacts{Method: "DELETE", Ended: dropped, Waited: true}},
		{"large-request", discount.ExchangeFacts{Ended: broken, Size: 1 << 20}, discount.ExchangeFacts{Ended: broken, Size: 1 << 10}},
	} {
		proven[test.id] = true
		if d := discount.ForExchange(test.applies); d == nil || d.ID != test.id {
			t.Errorf("%s: %+v is explained by %+v", test.id, test.applies, d)
		}
		if d := discount.ForExchange(test.unexplains); d != nil {
			t.Errorf("%s: %+v is explained by %q", test.id, test.unexplains, d.ID)
		}
	}
	checkCoverage(t, discount.Exchanges(), proven)
}

// TestDiscountsOfRequests checks each discount of JSON-RPC requests, and that none applies to an
// ordinary request without a response.
func TestDiscountsOfRequests(t *testing.T) {
	proven := map[string]bool{}
	waited := func(f discount.RequestFacts) discount.RequestFacts { f.Waited = true; return f }
	for id, f := range map[string]discount.RequestFacts{
		"refused":              {Refused: true},
		"illegal-request":      {Illegal: true},
		"irregular-request":    {Irregular: true},
		"handshake-disordered": {Disordered: true},
		"withdrawn":            {Withdrawn: true},
		"other-id":             {OtherID: true},
		"unreadable-response":  {Unreadable: true},
		"long-response":        {Unread: true},
		"stopped":              {Stopped: true},
		"server-gone":          {ServerEnded: true},
		"disrupted":            {Disrupted: true},
		"after-illegal":        {AfterIllegal: true},
		"no-ping":              {Unsupported: true},
		"exchange-judged":      {ExchangeJudged: true},
	} {
		proven[id] = true
		if d := discount.ForRequest(waited(f)); d == nil || d.ID != id {
			t.Errorf("%s: %+v is explained by %+v", id, f, d)
		}
	}
	if d := discount.ForRequest(discount.RequestFacts{}); d == nil || d.ID != "not-awaited" {
		t.Errorf("a request that was not waited for is explained by %+v", d)
	}
	if d := discount.ForRequest(waited(discount.RequestFacts{})); d != nil {
		t.Errorf("a request without a response is explained by %q", d.ID)
	}
	proven["not-awaited"] = true
	checkCoverage(t, discount.Requests(), proven)
}

// checkCoverage reports the discounts in a table that no row of a test covers.
func checkCoverage(t *testing.T, table []discount.Discount, proven map[string]bool) {
	t.Helper()
	for _, d := range table {
		if !proven[d.ID] {
			t.Errorf("no row shows what %s explains", d.ID)
		}
		if d.Reason == "" {
			t.Errorf("%s has no reason", d.ID)
		}
	}
}

// TestDiscountsAreDocumented checks that docs/verdicts.md lists every discount
// with its reason, and no other.
func TestDiscountsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/verdicts.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []struct {
		head string
		rows []discount.Discount
	}{
		{"| reason for a JSON-RPC request | why a missing response is no finding |", discount.Requests()},
		{"| reason for an HTTP request | why a missing response is no finding |", discount.Exchanges()},
		{"| reason for a deviation | why it does not count, or when it does |", discount.OfRuns()},
		{"| a run notices | what happened |", discount.Noticed()},
	} {
		want := []string{"|---|---|"}
		for _, d := range table.rows {
			want = append(want, fmt.Sprintf("| %s | %s |", d.ID, d.Reason))
		}
		_, rows, _ := strings.Cut(strings.ReplaceAll(string(page), "\r\n", "\n"), table.head+"\n")
		rows, _, _ = strings.Cut(rows, "\n\n")
		if diff := cmp.Diff(want, strings.Split(rows, "\n")); diff != "" {
			t.Errorf("docs/verdicts.md, %s (-want +got):\n%s", table.head, diff)
		}
	}
}
