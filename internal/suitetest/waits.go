package suitetest

import (
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Wait is the longest time in a conversation in which the client said nothing
// and no answer was on its way.
type Wait struct {
	Longest time.Duration
	Before  *transcript.Event // what ended it
	// Slowest is how long the slowest answer took.
	Slowest time.Duration
}

// Allowed is the longest that a case may wait to show that nothing comes.
func (w Wait) Allowed() time.Duration { return max(100*time.Millisecond, 3*w.Slowest) }

// Waited reads from a transcript how long the client waited. A wait in which a
// request is open is not counted: its answer is waited for, or it never comes.
// Nor is what comes before the handshake's answer, which includes the start, and
// what comes after the input was closed.
func Waited(events []*transcript.Event) Wait {
	var w Wait
	answered, slowest := answers(events)
	w.Slowest = slowest
	open := map[int]bool{} // by position, the requests that are open
	var last *transcript.Event
	for _, e := range events {
		if last != nil && len(open) == 0 && ours(e) && !between(last, e) && e.At-last.At > w.Longest {
			w.Longest, w.Before = e.At-last.At, e
		}
		if e.Kind == transcript.InputClosed || e.Kind == transcript.Exited || e.Kind == transcript.OutputClosed {
			return w
		}
		track(open, answered, last, e)
		if counts(e) {
			last = e
		}
	}
	return w
}

// hopeless is how long a request that is never answered keeps a wait from being
// counted that nobody said to have ended.
const hopeless = 50 * time.Millisecond

// track keeps which requests are open.
func track(open map[int]bool, answered map[int]int, last, e *transcript.Event) {
	switch {
	case e.Kind == transcript.Sent && e.Frame != nil:
		if last != nil && e.At-last.At > hopeless {
			for position := range open {
				if _, comes := answered[position]; !comes {
					delete(open, position)
				}
			}
		}
		for _, m := range e.Frame.Messages {
			if m.Kind == wire.Request {
				open[e.Seq] = true
			}
		}
	case e.Kind == transcript.GaveUp:
		delete(open, e.Of)
	case e.Kind == transcript.Received:
		for position, by := range answered {
			if by == e.Seq {
				delete(open, position)
			}
		}
	}
}

// answers returns by the position of what was sent that of the last answer to
// it, and how long the slowest took.
func answers(events []*transcript.Event) (map[int]int, time.Duration) {
	answered, slowest := map[int]int{}, time.Duration(0)
	for _, r := range transcript.DialogueOf(events).Requests() {
		for _, m := range r.Responses {
			if r.Message.Method != spec.MethodInitialize {
				answered[r.Event.Seq] = m.Event.Seq
				slowest = max(slowest, m.Event.At-r.Event.At)
			}
		}
	}
	return answered, slowest
}

// ours reports whether the client did e.
func ours(e *transcript.Event) bool {
	switch e.Kind {
	case transcript.Sent, transcript.Requested, transcript.InputClosed, transcript.Remark, transcript.CaseBegan:
		return true
	default:
		return false
	}
}

// between reports whether no case ran from a to b: cases that share a
// conversation mark where they begin.
func between(a, b *transcript.Event) bool {
	return a.Kind == transcript.CaseBegan && (b.Kind == transcript.CaseBegan || b.Kind == transcript.InputClosed || b.Kind == transcript.Requested)
}

// counts reports whether a wait may begin with e.
func counts(e *transcript.Event) bool { return e.Kind != transcript.GaveUp }
