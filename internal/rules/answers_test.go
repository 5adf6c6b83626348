package rules_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// TestTextsOnRequestsWithoutResponse checks which messages the texts on a request without a response
// name, and which of them are its evidence.
func TestTextsOnRequestsWithoutResponse(t *testing.T) {
	const call, other, ping = `> {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a"}}`, `> {"jsonrpc":"2.0","id":"7","method":"tools/list"}`, `> {"jsonrpc":"2.0","id":9,"method":"ping"}`
	for _, c := range []struct {
		name, script, seen string
		at                 int // how many messages show it
	}{
		{"alone", call + "\n! gave-up 7", "no answer to tools/call with id 7", 1},
		{"an earlier one is answered", pinged("5") + call + "\n! gave-up 7", "no answer to tools/call with id 7", 1},
		{"another one in flight", call + "\n" + other + "\n" + `< {"jsonrpc":"2.0","id":"7","result":{"tools":[]}}` + "\n! gave-up 7", `no answer to tools/call with id 7, with tools/list with id "7" in flight`, 2},
		{"the nearest one in flight", ping + "\n" + call + "\n" + `< {"jsonrpc":"2.0","id":9,"result":{}}` + "\n! gave-up 7", "no answer to tools/call with id 7, with ping with id 9 in flight", 2},
		{"the server ends", call + "\n! exit 1", "the server ended (exit status 1) with no answer to tools/call with id 7", 2},
		{"the server ends at pings", call + "\n" + ping + "\n! exit 1", "the server ended (exit status 1) with no answer to tools/call with id 7", 2},
		{"the server ends at a notification", call + "\n" + `> {"jsonrpc":"2.0","method":"notifications/roots/list_changed"}` + "\n" + ping + "\n! exit 1", "the server ended (exit status 1) with no answer to tools/call with id 7; the client's last message other than pings was notifications/roots/list_changed", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			seen, at := "", 0
			for _, r := range rules.Judge(rules.Base(), read(t, handshake(spec.V20251125)+c.script), spec.V20251125, spec.Stdio) {
				if r.Requirement == "base.request-answered" && len(r.Deviations) > 0 {
					seen, at = r.Deviations[0].Seen, len(r.Deviations[0].At)
				}
			}
			if diff := cmp.Diff(c.seen, seen); diff != "" || at != c.at {
				t.Errorf("%d messages show it, want %d; the text (-want +got):\n%s", at, c.at, diff)
			}
		})
	}
}
