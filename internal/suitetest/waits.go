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
	Before  *transcript.Event // the event that ended the wait
	// Slowest is the duration of the slowest response.
	Slowest time.Duration
}

// Allowed returns how long a case may wait to show that no message arrives.
func (w Wait) Allowed() time.Duration { return max(100*time.Millisecond, 3*w.Slowest) }

// LongestWait returns the longest time for which the client waited, according to a transcript. It
// does not count waits with an open request (see unansweredLimit), because then the client waits
// for the response. It also ignores the time before the response to initialize, which includes
// the start of the server; waits between cases; waits after a remark, with which the engine
// leaves the conversation to later cases; and the time after the input was closed.
func LongestWait(events []*transcript.Event) Wait {
	var w Wait
	answered, slowest := responsesOf(events)
	w.Slowest = slowest
	open := map[int]bool{} // the open requests, by position
	var last *transcript.Event
	left := false // whether a remark has left the conversation to later cases
	for _, e := range events {
		if last != nil && len(open) == 0 && isClientAction(e) && !left && !isBetweenCases(last, e) && e.At-last.At > w.Longest {
			w.Longest, w.Before = e.At-last.At, e
		}
		left = e.Kind == transcript.Remark || left && !isClientAction(e)
		if e.Kind == transcript.InputClosed || e.IsServerEnd() {
			return w
		}
		updateOpen(open, answered, last, e)
		if canBeginWait(e) {
			last = e
		}
	}
	return w
}

// unansweredLimit is how long a request that never gets a response counts as open. After that,
// a wait counts even if the client never gave up on the request.
const unansweredLimit = 50 * time.Millisecond

// updateOpen adds the requests that e sends to the open ones, and removes those that e ends.
func updateOpen(open map[int]bool, answered map[int]int, last, e *transcript.Event) {
	switch {
	case e.Kind == transcript.Sent && e.Frame != nil:
		if last != nil && e.At-last.At > unansweredLimit {
			for position := range open {
				if _, isAnswered := answered[position]; !isAnswered {
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

// responsesOf maps the position of each request to that of its last response, and returns the
// duration of the slowest response. It leaves out initialize.
func responsesOf(events []*transcript.Event) (map[int]int, time.Duration) {
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

// isClientAction reports whether e is an action of the client.
func isClientAction(e *transcript.Event) bool {
	switch e.Kind {
	case transcript.Sent, transcript.Requested, transcript.InputClosed, transcript.Remark, transcript.CaseBegan:
		return true
	default:
		return false
	}
}

// isBetweenCases reports whether no case ran between the events a and b. Cases that share a
// conversation mark their beginning.
func isBetweenCases(a, b *transcript.Event) bool {
	return a.Kind == transcript.CaseBegan && (b.Kind == transcript.CaseBegan || b.Kind == transcript.InputClosed || b.Kind == transcript.Requested)
}

// canBeginWait reports whether the client may have begun to wait after e. After GaveUp it has not,
// because GaveUp ends a wait.
func canBeginWait(e *transcript.Event) bool { return e.Kind != transcript.GaveUp }
