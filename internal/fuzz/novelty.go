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

// novelty remembers which sorts of answer were seen, and the operations that
// brought each about.
type novelty struct {
	mu     sync.Mutex
	seed   maphash.Seed
	seen   map[uint64]bool
	corpus map[generate.Mood]*shelf
}

// shelf holds what is kept for a mood, in groups by what the last operation
// does: what has many sorts of answers must not crowd out what has few.
type shelf struct {
	at     map[string]int
	groups [][][]script.Operation
}

func (s *shelf) put(ops []script.Operation, instead uint64) {
	last := &ops[len(ops)-1]
	name := string(last.Do) + " " + family(last.Method)
	i, ok := s.at[name]
	if !ok {
		i = len(s.groups)
		s.at[name] = i
		s.groups = append(s.groups, nil)
	}
	// What scripts are being made of stays as it is.
	group := slices.Clone(s.groups[i])
	if len(group) >= mostKept {
		group[instead%mostKept] = ops
	} else {
		group = append(group, ops)
	}
	groups := slices.Clone(s.groups)
	groups[i] = group
	s.groups = groups
}

const (
	// mostSeen and mostKept bound what is remembered, of sorts and in each group.
	mostSeen = 200_000
	mostKept = 200
	// kept is how many operations before the new one are kept with it.
	kept = 4
)

func newNovelty() *novelty {
	return &novelty{seed: maphash.MakeSeed(), seen: map[uint64]bool{}, corpus: map[generate.Mood]*shelf{}}
}

// note looks at an outcome, and returns how much in it was new.
func (n *novelty) note(o *Outcome, mood generate.Mood) int {
	count := 0
	for _, t := range o.Conversations {
		d := transcript.DialogueOf(t.Events)
		for e, m := range transcript.Messages(t.Events, transcript.Received) {
			if !n.add(n.sort(o, t, m, e, d.Of(m))) {
				continue
			}
			count++
			if at, ok := t.Requested(m.ID); ok && m.Kind == wire.Response {
				n.keep(o, at, t.On, mood)
			}
		}
	}
	return count
}

// add reports whether the sort is new.
func (n *novelty) add(sort uint64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen[sort] || len(n.seen) >= mostSeen {
		return false
	}
	n.seen[sort] = true
	return true
}

// keep puts an operation and what came before it on the same conversation into
// the corpus.
func (n *novelty) keep(o *Outcome, at, on int, mood generate.Mood) {
	var ops []script.Operation
	for i := at; i >= 0 && len(ops) < kept; i-- {
		if op := o.Script.Operations[i]; op.On == on && op.Do != script.Close {
			ops = append(ops, op)
		}
	}
	slices.Reverse(ops)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.shelf(mood).put(ops, uint64(len(n.seen)))
}

// shelf returns that of a mood; the caller holds the lock.
func (n *novelty) shelf(mood generate.Mood) *shelf {
	if n.corpus[mood] == nil {
		n.corpus[mood] = &shelf{at: map[string]int{}}
	}
	return n.corpus[mood]
}

// seeds returns what scripts of a mood may be made of; callers must not alter
// it.
func (n *novelty) seeds(mood generate.Mood) [][][]script.Operation {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.shelf(mood).groups
}

// sort says of which sort a message of the server is: method, outcome, code,
// shape and class of latency. The request is that which the message responds to.
func (n *novelty) sort(o *Outcome, t *script.Conversation, m *wire.Message, e *transcript.Event, r *transcript.Request) uint64 {
	var h maphash.Hash
	h.SetSeed(n.seed)
	_, _ = h.WriteString(m.Method)
	if op := o.Operation(t, m.ID); op != nil && m.Kind == wire.Response {
		_, _ = h.WriteString(family(op.Method))
	}
	if code, ok := m.ErrorCode(); ok {
		_ = h.WriteByte(byte(code))
		_ = h.WriteByte(byte(code >> 8))
	} else {
		shape(&h, m.Result(), 4)
		shape(&h, m.Params(), 4)
	}
	if r != nil && m.Kind == wire.Response {
		_ = h.WriteByte(byte(bits.Len64(uint64((e.At - r.Event.At).Milliseconds())) / 3))
	}
	return h.Sum64()
}

// shape writes what a value is made of, without the values themselves.
func shape(h *maphash.Hash, v jsontext.Value, depth int) {
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
			shape(h, members[name], depth-1)
		}
	case k == '[':
		elements := wire.Elements(v)
		_ = h.WriteByte(byte(bits.Len(uint(len(elements)))))
		for _, e := range elements[:min(len(elements), 2)] {
			shape(h, e, depth-1)
		}
	case k == '"':
		_ = h.WriteByte(byte(bits.Len(uint(len(v)))) / 3)
	}
}
