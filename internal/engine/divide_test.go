package engine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

func TestDivideCases(t *testing.T) {
	ids := []string{"a.1", "b.1", "a.2", "c.1", "c.2", "c.3", "d.1", "b.2"}
	for _, c := range []struct {
		name  string
		parts int
		want  [][]string
	}{
		{"one", 1, [][]string{ids}},
		{"two", 2, [][]string{{"c.1", "c.2", "c.3", "d.1"}, {"a.1", "b.1", "a.2", "b.2"}}},
		{"an area that takes longer than its share", 4, [][]string{{"a.1", "a.2"}, {"b.1", "b.2"}, {"c.1", "c.2"}, {"c.3", "d.1"}}},
		{"most areas take longer", 5, [][]string{{"c.1", "c.2"}, {"a.1", "c.3"}, {"a.2", "d.1"}, {"b.1"}, {"b.2"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var cases []*suite.Case
			for _, id := range ids {
				cases = append(cases, &suite.Case{ID: id})
			}
			got := make([][]string, c.parts)
			for i, part := range divideCases(cases, c.parts, func(*suite.Case) time.Duration { return time.Second }) {
				for _, each := range part {
					got[i] = append(got[i], each.ID)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("the cases of each part (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMakeChains checks that the servers that some cases leave suffice for those that spoil them.
func TestMakeChains(t *testing.T) {
	plain := func(id string) *suite.Case { return &suite.Case{ID: id} }
	fresh := func(id string, servers int) *suite.Case {
		return &suite.Case{ID: id, Reuses: suite.ReuseNone, Servers: servers}
	}
	spoils := func(id string, servers int) *suite.Case {
		return &suite.Case{ID: id, SpoilsServer: true, Servers: servers}
	}
	choosy, alone, session := spoils("choosy", 2), spoils("alone", 1), plain("session")
	choosy.Reuses, alone.Reuses, session.SpoilsSession = suite.ReuseUncalled, suite.ReuseNone, true
	for _, c := range []struct {
		name  string
		rev   spec.Revision
		cases []*suite.Case
		want  [][]string
	}{
		{"none", spec.V20251125, nil, [][]string{}},
		{"one chain", spec.V20251125, []*suite.Case{spoils("s", 1), plain("a"), plain("b")}, [][]string{{"a", "b", "s"}}},
		{"those that spoil servers are spread", spec.V20251125, []*suite.Case{spoils("s", 1), plain("a"), spoils("t", 1), plain("b")}, [][]string{{"a", "s"}, {"b", "t"}}},
		{"more servers are left in one", spec.V20260728, []*suite.Case{spoils("s", 1), fresh("f", 1), choosy, fresh("g", 2), spoils("t", 1)}, [][]string{{"f", "s", "t"}, {"g", "choosy"}}},
		{"two of one chain", spec.V20260728, []*suite.Case{spoils("s", 1), plain("a"), fresh("g", 2), spoils("t", 1), spoils("u", 1)}, [][]string{{"g", "s", "u"}, {"a", "t"}}},
		{"one that uses no server of others comes last", spec.V20260728, []*suite.Case{alone, plain("a"), spoils("s", 1), plain("b"), plain("c")}, [][]string{{"a", "c", "alone"}, {"b", "s"}}},
		{"a session", spec.V20251125, []*suite.Case{session, plain("a"), plain("b")}, [][]string{{"a", "b", "session"}}},
		{"no session", spec.V20260728, []*suite.Case{session, plain("a"), plain("b")}, [][]string{{"session", "a", "b"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := [][]string{}
			for _, u := range makeChains(c.rev, c.cases, maxWaitingChains) {
				var ids []string
				for _, each := range u.cases {
					ids = append(ids, each.ID)
				}
				got = append(got, ids)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("the chains (-want +got):\n%s", diff)
			}
		})
	}
}

// TestIsBusy checks which units keep cases that wait for an idle run waiting.
func TestIsBusy(t *testing.T) {
	plain, waits, shares := &suite.Case{}, &suite.Case{Waits: true}, &suite.Case{Waits: true, SharesConversation: true}
	fresh := &suite.Case{Reuses: suite.ReuseNone}
	for _, c := range []struct {
		name string
		unit unit
		want bool
	}{
		{"no cases", unit{}, true},
		{"a case", unit{cases: []*suite.Case{plain}}, true},
		{"a case that waits", unit{cases: []*suite.Case{waits}}, false},
		{"one that waits in the shared conversation", unit{cases: []*suite.Case{shares}}, true},
		{"an exclusive case", unit{cases: []*suite.Case{plain}, exclusive: true}, false},
		{"a chain of those that wait", unit{cases: []*suite.Case{fresh, waits}, isChain: true}, false},
		{"a chain of others", unit{cases: []*suite.Case{plain, waits}, isChain: true}, true},
		{"a case with a server of its own", unit{cases: []*suite.Case{fresh}}, true},
	} {
		if got := c.unit.isBusy(); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestOnlyChainsReuseServers checks that the unit that shares a conversation keeps servers only
// for cases that go on with them: over HTTP there are none.
func TestOnlyChainsReuseServers(t *testing.T) {
	for _, c := range []struct {
		rev   spec.Revision
		other int
		want  bool
	}{
		{spec.V20260728, 1, true}, {spec.V20260728, 0, false}, {spec.V20251125, 1, false},
	} {
		chained := chained{}
		for range c.other {
			chained.add(&suite.Case{})
		}
		_, joining := chained.units(c.rev)
		shared := &unit{revision: c.rev, sharesConversation: true, cases: joining}
		if got := shared.reusesServers(); got != c.want {
			t.Errorf("%s, %d cases: %v", c.rev, c.other, got)
		}
	}
}

func TestLaneCount(t *testing.T) {
	for _, c := range []struct {
		name         string
		over         spec.Transport
		isSlow       bool
		slots, cases int
		want         int
	}{
		{"stdio", spec.Stdio, false, 8, 60, 1},
		{"a slow server over stdio", spec.Stdio, true, 8, 60, 7},
		{"a slow server over stdio, few slots", spec.Stdio, true, 4, 60, 4},
		{"HTTP", spec.StreamableHTTP, false, 16, 60, 4},
		{"HTTP, few cases", spec.StreamableHTTP, false, 16, 20, 2},
		{"HTTP, one case", spec.StreamableHTTP, false, 16, 1, 1},
		{"a slow server over HTTP", spec.StreamableHTTP, true, 48, 60, 12},
		{"a slow server over HTTP, few cases", spec.StreamableHTTP, true, 48, 20, 5},
		{"a single session at a time", spec.StreamableHTTP, true, 1, 60, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &planner{
				o: &Options{Dialer: over{transport: c.over}}, slots: c.slots,
				offer: &offer{isSlow: c.isSlow, revisions: []spec.Revision{spec.V20251125}},
			}
			if got := p.laneCount(c.cases); got != c.want {
				t.Errorf("%d conversations, want %d", got, c.want)
			}
		})
	}
}
