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

// novelty records the kinds of responses that were seen, and the operations
// that produced each kind.
type novelty struct {
	mu     sync.Mutex
	seed   maphash.Seed
	seen   map[uint64]bool
	corpus map[generate.Mood]*shelf
	known  map[string]bool // the lines of the corpus that were read
	loaded []string        // the files that were read
}

// shelf holds the corpus of one mood, grouped by the last operation, so that
// methods with many kinds of responses do not crowd out others.
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
	// Scripts are built from the group, so it must not change.
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
	// mostSeen limits the kinds of responses, and mostKept the entries of each
	// group.
	mostSeen = 200_000
	mostKept = 200
	// kept is the number of earlier operations that are kept with the new one.
	kept = 4
)

func newNovelty() *novelty {
	return &novelty{seed: maphash.MakeSeed(), seen: map[uint64]bool{}, corpus: map[generate.Mood]*shelf{}, known: map[string]bool{}}
}

// note examines an outcome, and returns how many new kinds of responses it has.
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

// add records a kind of response, and reports whether it is new.
func (n *novelty) add(sort uint64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen[sort] || len(n.seen) >= mostSeen {
		return false
	}
	n.seen[sort] = true
	return true
}

// keep adds an operation to the corpus, with the operations before it in the
// same conversation.
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

// shelf returns the shelf of a mood. The caller holds the lock.
func (n *novelty) shelf(mood generate.Mood) *shelf {
	if n.corpus[mood] == nil {
		n.corpus[mood] = &shelf{at: map[string]int{}}
	}
	return n.corpus[mood]
}

// seeds returns sequences from which scripts of a mood can be built. Callers
// must not modify them.
func (n *novelty) seeds(mood generate.Mood) [][][]script.Operation {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.shelf(mood).groups
}

// sort returns the kind of a message from the server: its method, outcome,
// code, shape and class of latency. Request is the request that the message
// responds to.
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

// shape describes the structure of a value, without the values themselves.
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
