package generate

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

func TestDeBruijn(t *testing.T) {
	for _, c := range []struct{ letters, length, want int }{{1, 3, 1}, {2, 3, 8}, {5, 2, 25}, {19, 3, 6859}} {
		cycle := deBruijn(c.letters, c.length)
		seen := map[string]bool{}
		for i := range cycle {
			word := ""
			for j := range c.length {
				word += fmt.Sprint(cycle[(i+j)%len(cycle)], " ")
			}
			seen[word] = true
		}
		if len(cycle) != c.want || len(seen) != c.want {
			t.Errorf("%d letters in words of %d: %d words in a cycle of %d, want %d", c.letters, c.length, len(seen), len(cycle), c.want)
		}
	}
}

func TestPermute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count, seed := rapid.IntRange(1, 300).Draw(t, "count"), rapid.Uint64().Draw(t, "seed")
		pass := rapid.Uint64Range(0, 5).Draw(t, "pass")
		seen := map[int]bool{}
		for i := range uint64(count) { //nolint:gosec // positive
			seen[permute(pass*uint64(count)+i, count, seed)] = true //nolint:gosec // positive
		}
		if len(seen) != count {
			t.Fatalf("%d of %d numbers occurred", len(seen), count)
		}
	})
}

// TestCombinationShares checks that each kind gets its share of the scripts and
// leaves out none of its combinations.
func TestCombinationShares(t *testing.T) {
	next := map[*combinationKind]uint64{}
	counts := map[*combinationKind]int{}
	for n := range uint64(380) {
		d, first := (&Enumeration{Index: n}).kind()
		if first != next[d] {
			t.Fatalf("script %d begins with combinationKind %d, want %d", n, first, next[d])
		}
		next[d] += uint64(d.each) //nolint:gosec // small
		counts[d]++
	}
	if len(counts) != len(combinationKinds) {
		t.Errorf("want a script for %d kinds of combinationKinds, got %d", len(combinationKinds), len(counts))
	}
	for d, n := range counts {
		if n%d.share != 0 {
			t.Errorf("a kind with a share of %d has %d scripts", d.share, n)
		}
	}
}

// TestEnumerationForServerWithoutOffers checks that an enumeration works on a server that offers almost
// nothing.
func TestEnumerationForServerWithoutOffers(t *testing.T) {
	for _, rev := range spec.HandshakeRevisions() {
		for _, declared := range []map[string]bool{nil, {"tools": true}, {"logging": true, "prompts": true}, {"resources": true, "resources.subscribe": true, "tasks": true}} {
			o := &Offer{Revision: rev, Transport: spec.Stdio, Declared: declared}
			o.Prepare()
			for n := range uint64(40) {
				e := &Enumeration{Index: n, Seed: 1}
				s := Scripts{Offer: o, Validity: e.Validity(), Enumeration: e}.Script().Example(1)
				if len(s.Operations) == 0 {
					t.Errorf("%s with %v: script %d is empty", rev, declared, n)
				}
			}
		}
	}
}

// TestInvalidRequestAfterSetLevel checks that an enumeration sets each log level,
// then sends an invalid request for another one, and then calls tools.
func TestInvalidRequestAfterSetLevel(t *testing.T) {
	o := &Offer{Revision: spec.V20251125, Transport: spec.Stdio, Declared: map[string]bool{"logging": true, "tools": true}, Tools: []Tool{{Name: "log"}}}
	o.Prepare()
	shown := map[string]bool{}
	for n := range uint64(60) {
		e := &Enumeration{Index: n, Seed: 1}
		all := Scripts{Offer: o, Validity: e.Validity(), Enumeration: e}.Script().Example(int(n)).Operations //nolint:gosec // small
		for i := range max(0, len(all)-2) {
			set, refused, call := &all[i], &all[i+1], &all[i+2]
			if set.Method == spec.MethodSetLevel && set.Violates == "" && set.Await && refused.Method == spec.MethodSetLevel && refused.Violates != "" && call.Method == spec.MethodToolsCall {
				level, _ := wire.Text(wire.At([]byte(set.Message), "/params/level"))
				shown[level] = true
			}
		}
	}
	if len(shown) != len(levels) {
		t.Errorf("%d of %d levels were set before an invalid request", len(shown), len(levels))
	}
}
