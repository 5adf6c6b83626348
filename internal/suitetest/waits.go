package suitetest

import (
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A Wait is the longest time in a conversation in which the client sent nothing
// and no response was pending.
type Wait struct {
	Longest time.Duration
	Before  *transcript.Event // the event that ended it
	// Slowest is the duration of the slowest response.
	Slowest time.Duration
}

// Allowed returns how long a case may wait to show that no message arrives.
func (w Wait) Allowed() time.Duration { return max(100*time.Millisecond, 3*w.Slowest) }

// Waited returns how long the client waited, according to a transcript. It does
// not count waits with an open request, because the client waits for the
// response. It also ignores the time before the response to initialize, which
// includes the start, and the time after the input was closed.
func Waited(events []*transcript.Event) Wait {
	var w Wait
	answered, slowest := answers(events)
	w.Slowest = slowest
	open := map[int]bool{} // the open requests, by position
	var last *transcript.Event
	left := false // to later cases, with a remark
	for _, e := range events {
		if last != nil && len(open) == 0 && ours(e) && !left && !between(last, e) && e.At-last.At > w.Longest {
			w.Longest, w.Before = e.At-last.At, e
		}
		left = e.Kind == transcript.Remark || left && !ours(e)
		if e.Kind == transcript.InputClosed || e.IsServerEnd() {
			return w
		}
		track(open, answered, last, e)
		if counts(e) {
			last = e
		}
	}
	return w
}

// hopeless is how long a request without a response keeps a wait from being
// counted, if the client never gave up on it.
const hopeless = 50 * time.Millisecond

// track updates the open requests.
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

// answers returns the position of the last response to each sent event, by
// position, and the duration of the slowest response.
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

// ours reports whether e is an action of the client.
func ours(e *transcript.Event) bool {
	switch e.Kind {
	case transcript.Sent, transcript.Requested, transcript.InputClosed, transcript.Remark, transcript.CaseBegan:
		return true
	default:
		return false
	}
}

// between reports whether no case ran from a to b. Cases that share a
// conversation mark their beginning.
func between(a, b *transcript.Event) bool {
	return a.Kind == transcript.CaseBegan && (b.Kind == transcript.CaseBegan || b.Kind == transcript.InputClosed || b.Kind == transcript.Requested)
}

// counts reports whether a wait may begin with e.
func counts(e *transcript.Event) bool { return e.Kind != transcript.GaveUp }
