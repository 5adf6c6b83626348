package fuzz

import (
	"hash/maphash"
	"math/bits"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// novelty records the kinds of responses that were seen, and keeps the operations
// that produced each kind as seeds.
type novelty struct {
	mu      sync.Mutex
	hash    maphash.Seed
	seen    map[uint64]bool // hashes of the kinds of responses
	seedsBy map[generate.Validity]*seedPool
	lines   map[string]bool // the lines of the corpus that were read
	files   []string        // the files that were read
	most    int             // the maximum number of sequences in each group
}

// A seedPool holds the seeds of one validity, grouped by the last operation, so
// that methods with many kinds of responses do not crowd out others.
type seedPool struct {
	index  map[string]int // indexes in groups, by the last operation
	groups [][][]script.Operation
	most   int // the maximum number of sequences in each group
}

// add adds a sequence. If its group is full, the sequence replaces another one, which the number
// replace selects.
func (s *seedPool) add(ops []script.Operation, replace uint64) {
	last := &ops[len(ops)-1]
	name := string(last.Do) + " " + methodGroup(last.Method)
	i, ok := s.index[name]
	if !ok {
		i = len(s.groups)
		s.index[name] = i
		s.groups = append(s.groups, nil)
	}
	// Workers build scripts from a group while others add seeds, so replace it instead of changing
	// it.
	group := slices.Clone(s.groups[i])
	if len(group) >= s.most {
		group[replace%uint64(s.most)] = ops //nolint:gosec // it is positive
	} else {
		group = append(group, ops)
	}
	groups := slices.Clone(s.groups)
	groups[i] = group
	s.groups = groups
}

const (
	// maxKinds limits the kinds of responses, and maxSeeds the seeds of each
	// group.
	maxKinds = 200_000
	maxSeeds = 200
	// seedLength is the maximum number of operations of a seed.
	seedLength = 4
	// maxSeedSize is the maximum size of a seed, in bytes of JSON. Scripts built from larger seeds
	// would take most of the time of a long search, and the enumeration sends large messages
	// anyway.
	maxSeedSize = 8 << 10
)

func newNovelty() *novelty {
	return &novelty{hash: maphash.MakeSeed(), seen: map[uint64]bool{}, seedsBy: map[generate.Validity]*seedPool{}, lines: map[string]bool{}, most: maxSeeds}
}

// record records the kinds of responses in an execution, and returns how many are
// new.
func (n *novelty) record(x *Execution, validity generate.Validity) int {
	count := 0
	for _, t := range x.Conversations {
		d := transcript.DialogueOf(t.Events)
		for e, m := range transcript.Messages(t.Events, transcript.Received) {
			if !n.addKind(n.kindOf(x, t, m, e, d.RequestOf(m))) {
				continue
			}
			count++
			if at, ok := t.Requested(m); ok && m.Kind == wire.Response {
				n.addSeed(x, at, t.On, validity)
			}
		}
	}
	return count
}

// addKind records a kind of response, and reports whether it is new.
func (n *novelty) addKind(kind uint64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen[kind] || len(n.seen) >= maxKinds {
		return false
	}
	n.seen[kind] = true
	return true
}

// addSeed adds a seed: the operation with index last, and those before it in the same conversation,
// at most seedLength in all. It adds nothing if the seed is too large.
func (n *novelty) addSeed(x *Execution, last, on int, validity generate.Validity) {
	var ops []script.Operation
	for i := last; i >= 0 && len(ops) < seedLength; i-- {
		if op := x.Script.Operations[i]; op.On == on && op.Do != script.Close {
			ops = append(ops, op)
		}
	}
	slices.Reverse(ops)
	if len(wire.JSON(ops)) > maxSeedSize {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.poolOf(validity).add(ops, uint64(len(n.seen)))
}

// poolOf returns the pool of seeds of a validity. The caller holds the lock.
func (n *novelty) poolOf(validity generate.Validity) *seedPool {
	if n.seedsBy[validity] == nil {
		n.seedsBy[validity] = &seedPool{index: map[string]int{}, most: n.most}
	}
	return n.seedsBy[validity]
}

// seeds returns the seeds for scripts of a validity. Callers must not modify them.
func (n *novelty) seeds(validity generate.Validity) [][][]script.Operation {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.poolOf(validity).groups
}

// kindOf returns a hash of the kind of a message from the server: its method, outcome, error code,
// shape and rough latency. r is the request to which the message responds, or nil.
func (n *novelty) kindOf(x *Execution, t *script.Conversation, m *wire.Message, e *transcript.Event, r *transcript.Request) uint64 {
	var h maphash.Hash
	h.SetSeed(n.hash)
	_, _ = h.WriteString(m.Method)
	if op := x.OperationOf(t, m); op != nil && m.Kind == wire.Response {
		_, _ = h.WriteString(methodGroup(op.Method))
	}
	if code, ok := m.ErrorCode(); ok {
		_ = h.WriteByte(byte(code))
		_ = h.WriteByte(byte(code >> 8))
	} else {
		hashShape(&h, m.Result(), 4)
		hashShape(&h, m.Params(), 4)
	}
	if r != nil && m.Kind == wire.Response {
		_ = h.WriteByte(byte(bits.Len64(uint64((e.At - r.Event.At).Milliseconds())) / 3))
	}
	return h.Sum64()
}

// hashShape hashes the structure of a value down to the given depth: the kinds of values, the names
// of members, and roughly the lengths of arrays and strings.
func hashShape(h *maphash.Hash, v jsontext.Value, depth int) {
	if v == nil {
		return
	}
	k := byte(v.Kind())
	_ = h.WriteByte(k)
	switch {
	case depth == 0:
	case k == '{':
		names, members := wire.Members(v)
		for _, name := range names {
			_, _ = h.WriteString(name)
			hashShape(h, members[name], depth-1)
		}
	case k == '[':
		elements := wire.Elements(v)
		_ = h.WriteByte(byte(bits.Len(uint(len(elements)))))
		for _, e := range elements[:min(len(elements), 2)] {
			hashShape(h, e, depth-1)
		}
	case k == '"':
		_ = h.WriteByte(byte(bits.Len(uint(len(v)))) / 3)
	}
}
