package sweep

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawNames draws different names.
func drawNames(t *rapid.T) []string {
	return rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,3}(/[a-z0-9]{1,6})?`), 0, 60, rapid.ID[string]).Draw(t, "names")
}

// drawWeights draws the seconds of most of the names, or nil.
func drawWeights(t *rapid.T, names []string) map[string]float64 {
	if len(names) == 0 || rapid.Bool().Draw(t, "without weights") {
		return nil
	}
	out := map[string]float64{}
	for _, name := range names {
		if rapid.IntRange(0, 9).Draw(t, "known") > 0 {
			out[name] = rapid.Float64Range(0.1, 600).Draw(t, "seconds")
		}
	}
	return out
}

func entriesOf(names []string) []Entry {
	out := make([]Entry, len(names))
	for i, name := range names {
		out[i] = Entry{Name: name, Folder: strings.ReplaceAll(name, "/", slash), text: []byte(name)}
	}
	return out
}

// TestShardsAreDisjointAndComplete is a law: each server is in one shard, whatever the order
// of the list.
func TestShardsAreDisjointAndComplete(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := drawNames(t)
		weights := drawWeights(t, names)
		count := rapid.IntRange(1, 12).Draw(t, "count")
		shuffled := rapid.Permutation(names).Draw(t, "shuffled")
		in := map[string]int{}
		for index := 1; index <= count; index++ {
			for _, e := range (Shard{index, count}).Select(entriesOf(names), weights) {
				if in[e.Name] != 0 {
					t.Fatalf("%s is in shards %d and %d", e.Name, in[e.Name], index)
				}
				in[e.Name] = index
			}
			for _, e := range (Shard{index, count}).Select(entriesOf(shuffled), weights) {
				if in[e.Name] != index {
					t.Fatalf("%s is in shard %d of another order", e.Name, index)
				}
			}
		}
		if len(in) != len(names) {
			t.Fatalf("%d of %d servers are in a shard", len(in), len(names))
		}
	})
}

// TestNewServerMovesNoOther is a law: without weights, no server changes its shard when
// another one joins the list, and with one more shard, servers move only to that.
func TestNewServerMovesNoOther(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := drawNames(t)
		count := rapid.IntRange(1, 12).Draw(t, "count")
		before := assignShards(names, count, nil)
		if after := assignShards(append(slices.Clone(names), "new-server"), count, nil); !slices.Equal(before, after[:len(names)]) {
			t.Fatalf("a new server moves others: %v, then %v", before, after)
		}
		for i, shard := range assignShards(names, count+1, nil) {
			if shard != before[i] && shard != count {
				t.Fatalf("%s moves from shard %d to the old shard %d", names[i], before[i], shard)
			}
		}
	})
}

// TestWeightsBalance is a law: no shard exceeds overload times its share by more than the weight of the
// heaviest server.
func TestWeightsBalance(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := drawNames(t)
		weights := drawWeights(t, names)
		if len(weights) == 0 {
			return
		}
		count := rapid.IntRange(1, 12).Draw(t, "count")
		load, total, heaviest := make([]float64, count), 0.0, 0.0
		weigh := weightFunc(weights)
		for i, shard := range assignShards(names, count, weights) {
			w := weigh(names[i])
			load[shard] += w
			total += w
			heaviest = max(heaviest, w)
		}
		if most := overload*total/float64(count) + heaviest + 1e-6; slices.Max(load) > most {
			t.Fatalf("a shard has %v of %v, more than %v", slices.Max(load), total, most)
		}
	})
}

// TestShardsAreEven checks the hash on names that differ little.
func TestShardsAreEven(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 8000 {
		names = append(names, fmt.Sprintf("io.github.user/server-%d", i))
	}
	sizes := make([]int, 8)
	for _, shard := range assignShards(names, 8, nil) {
		sizes[shard]++
	}
	for _, n := range sizes {
		if n < 850 || n > 1150 { // 1000 with a standard deviation of 30
			t.Errorf("the shards have the sizes %v", sizes)
			break
		}
	}
}

func TestShardFromEnvironment(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		environ string
		want    Shard
		wrong   string
	}{
		{"", Shard{}, ""},
		{"SLURM_ARRAY_TASK_ID=0 SLURM_ARRAY_TASK_COUNT=8 SLURM_ARRAY_TASK_MIN=0", Shard{1, 8}, ""},
		{"SLURM_ARRAY_TASK_ID=8 SLURM_ARRAY_TASK_COUNT=8 SLURM_ARRAY_TASK_MIN=1", Shard{8, 8}, ""},
		{"SLURM_ARRAY_TASK_ID=14 SLURM_ARRAY_TASK_COUNT=8 SLURM_ARRAY_TASK_MIN=0", Shard{}, "name no shard"},
		{"JOB_COMPLETION_INDEX=3 JOB_COMPLETION_COUNT=4", Shard{4, 4}, ""},
		{"JOB_COMPLETION_INDEX=3", Shard{}, "JOB_COMPLETION_COUNT is not set"},
		{"CI_NODE_INDEX=1 CI_NODE_TOTAL=5", Shard{1, 5}, ""},
		{"CI_NODE_TOTAL=1", Shard{}, ""},
		{"BUILDKITE_PARALLEL_JOB=0 BUILDKITE_PARALLEL_JOB_COUNT=2", Shard{1, 2}, ""},
		{"CIRCLE_NODE_INDEX=1 CIRCLE_NODE_TOTAL=2", Shard{2, 2}, ""},
		{"CIRCLE_NODE_INDEX=0 CIRCLE_NODE_TOTAL=1", Shard{}, ""},
		{"CIRCLE_NODE_INDEX=x CIRCLE_NODE_TOTAL=2", Shard{}, "name no shard"},
	} {
		lookup := func(name string) string {
			for variable := range strings.FieldsSeq(c.environ) {
				if value, ok := strings.CutPrefix(variable, name+"="); ok {
					return value
				}
			}
			return ""
		}
		got, _, err := ShardFromEnvironment(lookup)
		if got != c.want || (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %v, %v", c.environ, got, err)
		}
	}
}

func TestParseShard(t *testing.T) {
	t.Parallel()
	if s, err := ParseShard("3/8"); err != nil || s != (Shard{3, 8}) {
		t.Error(s, err)
	}
	for _, text := range []string{"", "3", "0/8", "9/8", "a/8", "1/0", "-1/2", "1/1000000"} {
		if s, err := ParseShard(text); err == nil {
			t.Errorf("%q is %v", text, s)
		}
	}
}
