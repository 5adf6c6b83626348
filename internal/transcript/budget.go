package transcript

import (
	"cmp"
	"fmt"
	"sync"
)

// Limits are the limits of what one conversation accepts from a server, over any transport. Zero
// values mean the defaults.
type Limits struct {
	Frame  int // bytes of one line, body or event; only the head of a longer one is kept
	Frames int // number of frames; more count as a flood
	Bytes  int // bytes of all frames together; more count as a flood
	Stderr int // recorded bytes of stderr
}

// The defaults of Limits, in the units of its fields, for conversations without a Budget.
const (
	DefaultFrame  = 16 << 20
	DefaultFrames = 100_000
	DefaultBytes  = 256 << 20
	DefaultStderr = 256 << 10
)

func (l Limits) withDefaults() Limits {
	return Limits{
		Frame:  cmp.Or(l.Frame, DefaultFrame),
		Frames: cmp.Or(l.Frames, DefaultFrames),
		Bytes:  cmp.Or(l.Bytes, DefaultBytes),
		Stderr: cmp.Or(l.Stderr, DefaultStderr),
	}
}

// Limits returns the limits of the transcript, with defaults filled in.
func (t *Transcript) Limits() Limits { return t.limits }

// Budget limits the memory of all conversations of one run together, and the number of messages in
// each, because conversations run concurrently, and a server that floods one of them likely floods
// all. A nil Budget limits nothing. All methods are safe for concurrent use.
type Budget struct {
	messages, few, fewest int   // the message limits, see runMessages, fewMessages and fewestMessages
	most                  int64 // the limit of held, see maxHeld

	mu      sync.Mutex
	held    int64 // about how many bytes the transcripts use
	flooded bool  // a conversation had too many messages
}

const (
	// runMessages is the message limit of a conversation in a run. A short message costs up to 2
	// KiB of memory and 50 µs to judge.
	runMessages = 20_000
	// fewMessages is the message limit after the server has flooded a conversation, or while the
	// transcripts use half of the budget. It limits messages rather than bytes because the client's
	// responses to the server's requests need memory too.
	fewMessages = 2_000
	// fewestMessages is the message limit after a flood, while the transcripts exceed the budget.
	fewestMessages = 200
	// maxHeld is the budget for all transcripts of a run in bytes. Above it, long frames are
	// reduced as DefaultLimit describes.
	maxHeld = 64 << 20
	// eventCost is the memory cost of an event in bytes, without its frame.
	eventCost = 400
)

// NewBudget returns the budget of one run.
func NewBudget() *Budget {
	return &Budget{messages: runMessages, few: fewMessages, fewest: fewestMessages, most: maxHeld}
}

// HeldBytes returns about how many bytes the transcripts use.
func (b *Budget) HeldBytes() int64 {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

// IsHalfUsed reports whether the transcripts use more than half of the budget.
func (b *Budget) IsHalfUsed() bool { return b != nil && b.HeldBytes() > b.most/2 }

// addHeld adds n to the bytes in use; n may be negative.
func (b *Budget) addHeld(n int64) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held += n
}

// hasRoom reports whether n more bytes are within the budget.
func (b *Budget) hasRoom(n int64) bool {
	if b == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held+n <= b.most
}

// messageLimit returns the message limit that currently applies to a conversation. The argument own
// is the limit that the conversation's Limits set.
func (b *Budget) messageLimit(own int) int {
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

func (b *Budget) noteFlood() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.flooded = true
}

// Admit counts one more frame of n bytes from the server. Readers call it before they record the
// frame. It returns a description, such as "more than 20000 messages", if the frame exceeds a
// limit, or "" if it does not.
func (t *Transcript) Admit(n int) (flood string) {
	t.mu.Lock()
	t.received.messages++
	t.received.bytes += int64(n)
	taken := t.received
	t.mu.Unlock()
	most := t.budget.messageLimit(t.limits.Frames)
	switch {
	case taken.messages > most:
		t.budget.noteFlood()
		return fmt.Sprintf("more than %d messages", most)
	case taken.bytes > int64(t.limits.Bytes):
		return fmt.Sprintf("more than %d bytes in all", t.limits.Bytes)
	}
	return ""
}

// receivedCounts counts what a conversation has received.
type receivedCounts struct {
	messages int
	bytes    int64
}

// heavyBytes is the number of received bytes above which judging a conversation needs much memory,
// because values parsed from a message may take ten times its size.
const heavyBytes = 2 << 20

// IsHeavy reports whether judging the conversation needs much memory.
func (t *Transcript) IsHeavy() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.received.bytes > heavyBytes
}

// keptAround is the number of events that Thin keeps on each side of a position.
const keptAround = 32

// leftOutEvent replaces an event that Thin dropped.
var leftOutEvent = &Event{Kind: Remark, Detail: "left out because the server sent too much"}

// Thin frees memory: it drops the frames, stream chunks and stderr, except those near one of the
// given positions, the beginning or the end. It keeps the events of other kinds, which show how the
// connection and its exchanges began and ended.
func (t *Transcript) Thin(keep ...int) {
	defer t.lockToChange()()
	near := make([]bool, len(t.events))
	for _, at := range append([]int{0, len(near)}, keep...) {
		for i := max(0, at-keptAround); i < min(len(near), at+keptAround); i++ {
			near[i] = true
		}
	}
	kept := make([]*Event, len(t.events)) // readers may still use the old slice
	var freed int64
	for i, e := range t.events {
		kept[i] = e
		switch e.Kind {
		case Received, Streamed, Stderr, Sent:
			if !near[i] && e != leftOutEvent {
				kept[i] = leftOutEvent
				freed += eventWeight(e) + eventCost
			}
		}
	}
	t.events = kept
	t.held -= freed
	t.budget.addHeld(-freed)
}

// Release drops all events. The caller must not read the transcript any more.
func (t *Transcript) Release() {
	defer t.lockToChange()()
	t.events = nil
	t.budget.addHeld(-t.held)
	t.held = 0
}
