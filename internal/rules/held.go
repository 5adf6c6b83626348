package rules

import (
	"fmt"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// A silence is the time between a request and the client's next message. If the response always
// comes right after that message, although the silences are long and differ, then that message
// triggers the response, and not a fixed delay.
const (
	leastSilence   = time.Second
	mostAfterNext  = 100 * time.Millisecond
	silencesDiffer = 2 // the longest silence is at least this many times the shortest
)

// reportHeldBack reports a server that sends its responses only when it gets another message. It
// does so only if the client's wait timed out in the longest silence. It reports nothing if any
// slow response came before the next message, or long after it: such a server is only slow.
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
	out.Report(verdict.Deviation{
		Requirement: requestAnswered,
		Summary:     "The server answers requests only when it gets another message.",
		Permitted:   "the response at once: a client may send nothing more before it has the response",
		Seen: fmt.Sprintf("no response in silences of %v and %v, and each time one right after the next message",
			least.Round(time.Millisecond), most.Round(time.Millisecond)),
		At: positionsOf(longest.Event, longest.Responses[0].Event, shortest.Event, shortest.Responses[0].Event),
	})
}

// nextSent returns the event of the client's first request or well-formed notification after req,
// or nil.
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
