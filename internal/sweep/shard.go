package sweep

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
)

// A Shard is one part of a list that several machines judge. The zero value stands
// for the whole list.
type Shard struct {
	Index int `json:"index"` // from 1
	Count int `json:"count"`
}

// maxShards limits the number of shards.
const maxShards = 100_000

// ParseShard parses a shard such as 3/8: its index, from 1, and the number of shards.
func ParseShard(text string) (Shard, error) {
	index, count, ok := strings.Cut(text, "/")
	i, wrong := strconv.Atoi(index)
	n, alsoWrong := strconv.Atoi(count)
	if !ok || wrong != nil || alsoWrong != nil || i < 1 || n < i || n > maxShards {
		return Shard{}, usagef("the first of eight shards is --shard 1/8, and the last is 8/8", "--shard %q is not a shard", text)
	}
	return Shard{i, n}, nil
}

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Count) }

// Folder returns the name of the shard's folder below that of the sweep.
func (s Shard) Folder() string { return fmt.Sprintf("shard-%d-of-%d", s.Index, s.Count) }

// schedulers are the environment variables in which schedulers pass the index of a task and the
// number of tasks. The field first names the variable with the smallest index. If it is empty, or
// the variable is not set, the smallest index is begin.
var schedulers = []struct {
	index, count, first string
	begin               int
}{
	{"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN", 0},
	{"JOB_COMPLETION_INDEX", "JOB_COMPLETION_COUNT", "", 0},
	{"CI_NODE_INDEX", "CI_NODE_TOTAL", "", 1},
	{"BUILDKITE_PARALLEL_JOB", "BUILDKITE_PARALLEL_JOB_COUNT", "", 0},
	{"CIRCLE_NODE_INDEX", "CIRCLE_NODE_TOTAL", "", 0},
}

// ShardFromEnvironment returns the shard that the variables of a scheduler ask for, and the name of
// the variable with its index. It returns the zero Shard if no scheduler set its variables, or if
// there is only one task.
func ShardFromEnvironment(lookup func(name string) string) (Shard, string, error) {
	for _, e := range schedulers {
		index, count := lookup(e.index), lookup(e.count)
		if index == "" {
			continue
		}
		if count == "" {
			if e.index == "JOB_COMPLETION_INDEX" {
				return Shard{}, "", usagef("set it in the Job to the number of completions, or give --shard", "JOB_COMPLETION_INDEX is %q, and JOB_COMPLETION_COUNT is not set", index)
			}
			continue
		}
		i, wrong := strconv.Atoi(index)
		n, alsoWrong := strconv.Atoi(count)
		begin := e.begin
		if first := lookup(e.first); e.first != "" && first != "" {
			begin, _ = strconv.Atoi(first)
		}
		if i -= begin - 1; wrong != nil || alsoWrong != nil || i < 1 || i > n || n > maxShards {
			return Shard{}, "", usagef("give --shard 1/8, or --shard 1/1 for the whole list",
				"%s=%q and %s=%q name no shard (an array of tasks needs steps of 1)", e.index, index, e.count, count)
		}
		if n == 1 {
			return Shard{}, "", nil
		}
		return Shard{i, n}, e.index, nil
	}
	return Shard{}, "", nil
}

// Select returns the entries of the shard, in the order of the list. Weights are the seconds
// that servers took in an earlier sweep; they may be nil.
func (s Shard) Select(entries []Entry, weights map[string]float64) []Entry {
	if s.Count <= 1 {
		return entries
	}
	names := make([]string, len(entries))
	for i := range entries {
		names[i] = entries[i].Name
	}
	shards := assignShards(names, s.Count, weights)
	var out []Entry
	for i := range entries {
		if shards[i] == s.Index-1 {
			out = append(out, entries[i])
		}
	}
	return out
}

// overload bounds the total weight of a shard, as a multiple of an equal share. A name that would
// make its preferred shard exceed the bound goes to the shard that it prefers next. If no shard
// has room for the name, it goes to the lightest.
const overload = 1.1

// assignShards returns the shard of each name, from 0, by rendezvous hashing: each name ranks the
// shards in an order of its own. Without weights, each name goes to the shard that it ranks first,
// independently of the other names. With weights, the heaviest names choose first, and a name
// skips shards that would exceed overload with it.
func assignShards(names []string, count int, weights map[string]float64) []int {
	out := make([]int, len(names))
	if len(weights) == 0 {
		for i, name := range names {
			out[i] = preferredShard(name, count, func(int) bool { return true })
		}
		return out
	}
	weigh := weightFunc(weights)
	order := make([]int, len(names))
	total := 0.0
	for i, name := range names {
		order[i] = i
		total += weigh(name)
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(weigh(names[b]), weigh(names[a])), cmp.Compare(names[a], names[b]))
	})
	load := make([]float64, count)
	for _, i := range order {
		w := weigh(names[i])
		at := preferredShard(names[i], count, func(shard int) bool { return load[shard]+w <= overload*total/float64(count) })
		if at < 0 {
			at = slices.Index(load, slices.Min(load))
		}
		load[at] += w
		out[i] = at
	}
	return out
}

// weightFunc returns a function for the weight of a name. A name without a weight gets the
// median weight.
func weightFunc(weights map[string]float64) func(name string) float64 {
	all := make([]float64, 0, len(weights))
	for _, w := range weights {
		all = append(all, w)
	}
	slices.Sort(all)
	median := max(all[len(all)/2], 0.001)
	return func(name string) float64 {
		if w := weights[name]; w > 0 {
			return w
		}
		return median
	}
}

// preferredShard returns the shard that the name prefers among those for which fits is true, or -1.
func preferredShard(name string, count int, fits func(shard int) bool) int {
	best, highest := -1, uint64(0)
	for shard := range count {
		if score := scoreOf(name, shard); (best < 0 || score > highest) && fits(shard) {
			best, highest = shard, score
		}
	}
	return best
}

// scoreOf returns how much a name prefers a shard. FNV alone hardly mixes the last bytes of the
// name, so the bits of the hash are mixed further, as in SplitMix64.
func scoreOf(name string, shard int) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // never fails
	x := h.Sum64() + uint64(shard)*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
