package rules

import (
	"fmt"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// A silence is the time between a request and the client's next message. A server writes responses
// because of the next message, and not after a fixed time, if they come at once after that message,
// and the silences before are long and differ.
const (
	leastSilence   = time.Second
	mostAfterNext  = 100 * time.Millisecond
	silencesDiffer = 2 // the longest silence is at least this many times the shortest
)

// reportHeldBack reports a server that sends its responses only when it gets another message. In
// the longest silence the client must have waited until the timeout. It reports nothing if any
// response after a silence came before the next message, or not at once after it: such a server is
// only slow.
func reportHeldBack(s *Session, out *Reporter) {
	var shortest, longest *Request
	var least, most time.Duration
	for _, req := range s.ClientRequests() {
		next := nextSent(s, req)
		if !req.due || req.IsCancelled() || next == nil || len(req.Responses) == 0 {
			continue
		}
		response := req.Responses[0].Event
		silence, after := next.At-req.Event.At, response.At-next.At
		if min(silence, response.At-req.Event.At) < leastSilence {
			continue
		}
		if after < 0 || after > mostAfterNext {
			return
		}
		if shortest == nil || silence < least {
			shortest, least = req, silence
		}
		if longest == nil || silence > most {
			longest, most = req, silence
		}
	}
	if shortest == longest || most < silencesDiffer*least || !s.Waits.GaveUpOn(longest.Event) {
		return
	}
	out.Deviates(verdict.Deviation{
		Requirement: requestAnswered,
		Summary:     "The server answers requests only when it gets another message.",
		Permitted:   "a response as soon as it is known, for a client that sends nothing until it comes",
		Seen: fmt.Sprintf("no response in silences of %v and %v, and each time one right after the next message",
			least.Round(time.Millisecond), most.Round(time.Millisecond)),
		At: at(longest.Event, longest.Responses[0].Event, shortest.Event, shortest.Responses[0].Event),
	})
}

// nextSent returns the client's first request or well-formed notification after the request, or
// nil.
func nextSent(s *Session, req *Request) *transcript.Event {
	var next *transcript.Event
	sent := req.Event.Seq
	if later := s.RequestsFrom(sent + 1); len(later) > 0 {
		next = later[0].Event
	}
	for _, n := range s.Sent.notifications {
		if n.Event.Seq > sent && (next == nil || n.Event.Seq < next.Seq) {
			return n.Event
		}
	}
	return next
}
