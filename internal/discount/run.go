package discount

import (
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// A Conversation is a conversation that has ended, as discounts read it.
type Conversation struct {
	Revision spec.Revision
	Events   []*transcript.Event
	Dialogue *transcript.Dialogue
	// Start is when the conversation began; the times of events are relative to it.
	Start time.Time
	// OwnProcess is set if the server's process served only this conversation.
	OwnProcess bool
}

// A Claim is a deviation for which it is not yet decided whether it counts.
type Claim struct {
	Requirement string
	Outcome     verdict.Outcome     // its outcome if it counts
	Events      []*transcript.Event // of the conversation that shows the deviation; empty if that is not known
	At          []int               // positions in Events that show it
	// ByCase is set if a case makes the claim, rather than a rule.
	ByCase bool
	// Search is set if the fuzzer reports the deviation. Unlike the retries of a run, those of the
	// fuzzer repeat everything that was sent.
	Search bool
	// Unreproduced is set if the claim was retried, and no retry reproduced it.
	Unreproduced bool
	// ShortWait is set if the claim is that a response is missing, the client waited for less than
	// the timeout wherever the claim was made, and no retry reproduced it.
	ShortWait bool
	Start     time.Time // when the conversation of Events began; needed if Unreproduced is set
	From      int       // position at which the case began
	// SessionEnded is set if the server had ended the session when the case reported the deviation.
	SessionEnded bool
	// StartUnclear is set if the server may still have been starting when the case reported the
	// deviation.
	StartUnclear bool
	// Concurrent is set if a rule reports the deviation in one of several conversations that were
	// open together.
	Concurrent bool
	// Conversations are all conversations of the case, or of the cases that shared
	// a conversation with it.
	Conversations [][]*transcript.Event
	// Records are the conversations in which the deviation was seen, of the case or of the cases
	// that ran together. If Exit is set, they are the conversations that the exit interrupted.
	// Records is nil if they are not known.
	Records []*transcript.Transcript
	// Disturbed is set if the conversations shared a process with conversations of other units, and
	// that process exited.
	Disturbed bool
	// Exit is set if the deviation is the exit of a shared process.
	Exit bool
}

// An Effect is what a discount does to a claim.
type Effect int

// The effects, mildest first.
const (
	Counts   Effect = iota // no discount applies
	EachTime               // the claim counts only if every attempt reproduces it
	Void                   // the claim shows nothing, and does not count
)

type (
	// discounter returns the effect on a claim, and the reason.
	discounter interface {
		discount(*Claim) (Effect, string)
	}
	// observer reads every conversation of a run.
	observer interface{ observe(Conversation) }
	// noticer returns one sentence for the user, or "".
	noticer interface{ notice() string }
)

// A runRow is a discount of a run. Its state may also be an observer and a noticer.
type runRow struct {
	Discount
	state discounter
}

// A noticeRow is an observation about which a run prints a notice. Its state is also a noticer,
// unless another method of Run returns the notice.
type noticeRow struct {
	id, what string
	state    observer
}

// Run holds the discounts of one run. Its methods may be called concurrently.
type Run struct {
	mu        sync.Mutex
	discounts []runRow
	notices   []noticeRow
	flood     *flood
	same      sameError
	overdue   overdues
	mixing    mixing
	outage    outage
	exits     exits
	crashes   crashes
}

// NewRun returns the discounts of a run that has seen nothing yet.
func NewRun() *Run {
	r := &Run{flood: &flood{}, same: sameError{}, overdue: overdues{}}
	r.discounts, r.notices = r.runRows(), r.noticeRows()
	return r
}

// Observe reads a conversation that has ended.
func (r *Run) Observe(c Conversation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.discounts {
		if o, ok := d.state.(observer); ok {
			o.observe(c)
		}
	}
	for _, n := range r.notices {
		n.state.observe(c)
	}
}

// Discount returns the strongest effect that a discount has on a claim, and the
// reason.
func (r *Run) Discount(c *Claim) (Effect, string) {
	effect, reason := Counts, ""
	for _, d := range r.discounts {
		if e, why := d.state.discount(c); e > effect {
			effect, reason = e, why
		}
	}
	return effect, reason
}

// Voids reports whether a discount voids a claim.
func (r *Run) Voids(c *Claim) bool {
	effect, _ := r.Discount(c)
	return effect == Void
}

// Notices returns the notices for the user, one sentence each.
func (r *Run) Notices() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	add := func(state any) {
		if n, ok := state.(noticer); ok {
			if text := n.notice(); text != "" {
				out = append(out, text)
			}
		}
	}
	for _, d := range r.discounts {
		add(d.state)
	}
	for _, n := range r.notices {
		add(n.state)
	}
	return out
}

// FloodReason describes the server's output that exceeded what the client reads,
// or returns "" if there was none.
func (r *Run) FloodReason() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.flood.text
}

// Adjust changes a verdict from kept to not observed if a discount may have
// hidden a violation.
func (r *Run) Adjust(v *verdict.Verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.overdue.adjust(v)
}

// IsSameError reports whether a finding shows the error, or the result {}, that every plain request
// of the revision got, so that all such findings have one cause. The last argument has the
// positions of the events that show the finding.
func (r *Run) IsSameError(rev spec.Revision, events []*transcript.Event, at []int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.same.isCommonError(rev, events, at)
}
