package engine

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

// TestPlan checks the units of a plan that is made from an offer alone: no server is started.
func TestPlan(t *testing.T) {
	const pings = "ping.empty-result"
	newest, older := spec.V20251125, spec.V20250618
	of := func(id string, change func(*suite.Case)) suite.Case {
		c := suite.Case{ID: id, Title: id, Requirements: []string{pings}}
		if change != nil {
			change(&c)
		}
		return c
	}
	shares := func(c *suite.Case) { c.SharesConversation = true }
	plain, waits := of("ping.plain", nil), of("ping.waits", func(c *suite.Case) { c.Waits = true })
	shared, alone := of("ping.shared", shares), of("ping.alone", func(c *suite.Case) { c.Exclusive = true })
	tools := of("ping.tools", func(c *suite.Case) { c.Needs = []string{"tools"} })
	many := make([]suite.Case, 2*minCases)
	for i := range many {
		many[i] = of([]string{"ping", "tools"}[i/minCases]+".shared", shares)
	}
	repeated := func(id string) string { return strings.TrimSpace(strings.Repeat(id+" ", minCases)) }
	for _, c := range []struct {
		name  string
		over  spec.Transport
		cases []suite.Case
		rules []rules.Rule
		offer offer // what differs from a server that speaks the newest revision and declares nothing
		o     Options
		lanes int // how many more conversations the server opens
		want  []string
		left  int
	}{
		{name: "nothing selected", want: nil},
		{name: "one unit for those that share, and the exclusive ones last", over: spec.StreamableHTTP, cases: []suite.Case{alone, plain, shared, waits}, want: []string{"shares: ping.shared", "ping.waits", "ping.plain", "alone: ping.alone"}},
		{name: "chains over stdio", over: spec.Stdio, cases: []suite.Case{plain, plain, plain, plain}, want: []string{"chain: ping.plain ping.plain", "chain: ping.plain ping.plain"}},
		{name: "no chains with a slow server", over: spec.Stdio, cases: []suite.Case{plain, plain}, offer: offer{isSlow: true}, want: []string{"ping.plain", "ping.plain"}},
		{name: "each revision", over: spec.StreamableHTTP, cases: []suite.Case{shared}, offer: offer{revisions: []spec.Revision{older, newest}}, want: []string{"shares: ping.shared", "shares: ping.shared"}},
		{name: "a case about what the server does not declare", over: spec.Stdio, cases: []suite.Case{tools}},
		{name: "a server that does not respond", over: spec.Stdio, cases: []suite.Case{shared}, offer: offer{unresponsive: map[spec.Revision]string{newest: "silent"}}},
		{name: "a failed handshake", over: spec.Stdio, cases: []suite.Case{plain}, offer: offer{handshakeFails: "the handshake failed"}},
		{name: "rules alone run what shares a conversation", over: spec.Stdio, cases: []suite.Case{of("ping.other", func(c *suite.Case) { c.Requirements, c.SharesConversation = []string{"base.response-id-echo"}, true })}, rules: []rules.Rule{{ID: "rule.pings", Title: "pings", Requirements: []string{pings}}}, o: Options{Selection: Selection{Focus: []string{"rule.pings"}}}, want: []string{"shares: ping.other"}},
		{name: "a quick run", over: spec.StreamableHTTP, cases: []suite.Case{plain, shared}, o: Options{Quick: true}, want: []string{"shares: ping.shared"}, left: 1},
		{name: "two lanes", over: spec.StreamableHTTP, cases: many, lanes: 1, want: []string{"shares: " + repeated("ping.shared"), "shares: " + repeated("tools.shared")}},
		{name: "no second lane is served", over: spec.StreamableHTTP, cases: many, want: []string{"shares: " + repeated("ping.shared") + " " + repeated("tools.shared")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := c.o
			o.Dialer, o.Cases, o.Rules = over{transport: c.over}, c.cases, c.rules
			if err := o.Selection.Compile(); err != nil {
				t.Fatal(err)
			}
			offered := c.offer
			offered.over = c.over
			if offered.revisions == nil {
				offered.revisions = []spec.Revision{newest}
			}
			offered.inventories = map[spec.Revision]*inventory.Inventory{older: inventory.Empty(), newest: inventory.Empty()}
			p := newPlanner(newSession(o.withDefaults()), &offered)
			p.openLane = func(context.Context, spec.Revision) *sharedConversation {
				if c.lanes == 0 {
					return nil
				}
				return &sharedConversation{}
			}
			planned := p.plan(t.Context())
			var got []string
			for _, u := range planned.units {
				got = append(got, describeUnit(u))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("units (-want +got):\n%s", diff)
			}
			if planned.leftOut != c.left {
				t.Errorf("%d cases are left out, not %d", planned.leftOut, c.left)
			}
			cases := 0
			for _, u := range planned.units {
				cases += len(u.cases)
			}
			if planned.total() != cases {
				t.Errorf("the plan counts %d cases, but its units have %d", planned.total(), cases)
			}
		})
	}
}

func describeUnit(u *unit) string {
	var ids []string
	for _, c := range u.cases {
		ids = append(ids, c.ID)
	}
	kind := ""
	switch {
	case u.isChain:
		kind = "chain: "
	case u.sharesConversation:
		kind = "shares: "
	case u.exclusive:
		kind = "alone: "
	}
	return kind + strings.Join(ids, " ")
}
