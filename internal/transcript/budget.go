package transcript

import (
	"cmp"
	"fmt"
	"sync"
)

// Limits bounds what one conversation takes in from a server, over any
// transport. A zero means the default.
type Limits struct {
	Frame  int // bytes of a line, a body or an event; a longer one is a flood, of which the head is kept
	Frames int // how many of them there are; one more is a flood
	Bytes  int // of all of them together; one more is a flood
	Stderr int // bytes that are recorded of stderr
}

// The defaults of Limits, for conversations without a Budget.
const (
	DefaultFrame  = 16 << 20
	DefaultFrames = 100_000
	DefaultBytes  = 256 << 20
	DefaultStderr = 256 << 10
)

func (l Limits) orDefaults() Limits {
	return Limits{
		Frame:  cmp.Or(l.Frame, DefaultFrame),
		Frames: cmp.Or(l.Frames, DefaultFrames),
		Bytes:  cmp.Or(l.Bytes, DefaultBytes),
		Stderr: cmp.Or(l.Stderr, DefaultStderr),
	}
}

// Limits returns those of the transcript.
func (t *Transcript) Limits() Limits { return t.limits }

// Budget bounds what the conversations of one run hold in memory together, and
// how many messages each of them takes in: many conversations go on at once,
// and a server that floods one of them floods them all. A nil Budget bounds
// nothing. Its methods may be called from any goroutine.
type Budget struct {
	messages, few, fewest int
	most                  int64

	mu      sync.Mutex
	held    int64
	flooded bool // a conversation had too many messages
}

const (
	// runMessages is how many messages a conversation of a run may have.
	// Judged, a short one takes up to 2 KiB of memory and 50 µs of time.
	runMessages = 20_000
	// fewMessages is how many it may have once the server has flooded, or
	// while the records of all conversations hold half of what they may. Their
	// number counts more than their bytes, for the answers to a server's
	// requests come on top.
	fewMessages = 2_000
	// fewestMessages is how many it may have once the server has flooded so many
	// conversations that their records hold too much.
	fewestMessages = 200
	// mostHeld bounds what the records of a run hold. Past it frames lose their
	// payload, see DefaultLimit.
	mostHeld = 64 << 20
	// eventCost is what it takes to hold an event, besides its frame.
	eventCost = 400
)

// NewBudget returns the budget of one run.
func NewBudget() *Budget {
	return &Budget{messages: runMessages, few: fewMessages, fewest: fewestMessages, most: mostHeld}
}

// Held returns how many bytes the records hold, about.
func (b *Budget) Held() int64 {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

// Pressed reports whether the records hold half of what they may.
func (b *Budget) Pressed() bool { return b != nil && b.Held() > b.most/2 }

// hold counts n more bytes, fewer where n is negative.
func (b *Budget) hold(n int64) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held += n
}

// fits reports whether n more bytes can be held.
func (b *Budget) fits(n int64) bool {
	if b == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held+n <= b.most
}

// limit returns how many messages a conversation may have by now.
func (b *Budget) limit(own int) int {
	if b == nil {
		return own
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.flooded && b.held > b.most:
		return min(own, b.fewest)
	case b.flooded || b.held > b.most/2:
		return min(own, b.few)
	default:
		return min(own, b.messages)
	}
}

func (b *Budget) flood() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.flooded = true
}

// Admit counts one more frame of n bytes from the server, which its reader is
// about to record. Where that is more than the limits allow, it returns what
// is too much, as in "more than 20000 messages".
func (t *Transcript) Admit(n int) (flood string) {
	t.mu.Lock()
	t.taken.messages++
	t.taken.bytes += int64(n)
	taken := t.taken
	t.mu.Unlock()
	most := t.budget.limit(t.limits.Frames)
	switch {
	case taken.messages > most:
		t.budget.flood()
		return fmt.Sprintf("more than %d messages", most)
	case taken.bytes > int64(t.limits.Bytes):
		return fmt.Sprintf("more than %d bytes in all", t.limits.Bytes)
	}
	return ""
}

// taken is what a conversation took in.
type taken struct {
	messages int
	bytes    int64
}

// heavy is the number of bytes past which it takes much memory to judge a
// conversation: what is read from a message may take ten times its size.
const heavy = 2 << 20

// Heavy reports whether it takes much memory to judge the conversation.
func (t *Transcript) Heavy() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.taken.bytes > heavy
}

// around is how many events are kept on each side of what Thin keeps.
const around = 32

// leftOut stands in the place of an event that Thin dropped.
var leftOut = &Event{Kind: Remark, Detail: "left out, for the server sent too much"}

// Thin drops the events that are far from all the given positions, from the
// beginning and from the end, for the memory they take. What shows how the
// connection and its exchanges began and ended is kept.
func (t *Transcript) Thin(keep ...int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	near := make([]bool, len(t.events))
	for _, at := range append([]int{0, len(near)}, keep...) {
		for i := max(0, at-around); i < min(len(near), at+around); i++ {
			near[i] = true
		}
	}
	kept := make([]*Event, len(t.events)) // readers may hold the old ones
	var freed int64
	for i, e := range t.events {
		kept[i] = e
		switch e.Kind {
		case Received, Streamed, Stderr, Sent:
			if !near[i] && e != leftOut {
				kept[i] = leftOut
				freed += weigh(e) + eventCost
			}
		}
	}
	t.events = kept
	t.held -= freed
	t.budget.hold(-freed)
}

// Release drops all events: nobody reads the record any more.
func (t *Transcript) Release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events = nil
	t.budget.hold(-t.held)
	t.held = 0
}
