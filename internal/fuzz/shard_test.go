package fuzz

import (
	"testing"

	"pgregory.net/rapid"
)

// TestShards checks that the shards of a search generate each of its inputs once.
func TestShards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.Uint64Range(1, 12).Draw(t, "count")
		revisions := rapid.Uint64Range(1, 9).Draw(t, "revisions")
		groups := rapid.Uint64Range(1, 5).Draw(t, "groups")
		inputs := groups * roundsPerCycle * revisions
		seen := map[uint64]bool{}
		for index := range count {
			shard := Shard{index, count}
			for n := range inputs {
				index := shard.globalIndex(n, revisions)
				if index >= count*inputs || seen[index] {
					t.Fatalf("sequence %d of %+v is %d, of %d", n, shard, index, count*inputs)
				}
				if index%revisions != n%revisions || index/revisions%roundsPerCycle != n/revisions%roundsPerCycle {
					t.Fatalf("sequence %d of %+v is %d, of another revision or kind", n, shard, index)
				}
				seen[index] = true
			}
		}
	})
}
