package utilities

import (
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// roundTrips counts the round trips since a point in the conversation: requests of
// which each was sent behind the answer to the one before. An answer to what
// was sent behind a message shows that the server has read that message. A
// server that does several things at once may then still have something on its
// way that it said before; after a second round trip that has come, too.
type roundTrips struct {
	behind int // the position behind which the next request has to be sent
	n      int
}

// settled is how many round trips make sure that nothing is on its way.
const settled = 2

func roundTripsSince(e *transcript.Event) *roundTrips { return &roundTrips{behind: e.Seq} }

// note takes note of an answer.
func (t *roundTrips) note(obs *rules.Observation) {
	if obs.Request.Event.Seq > t.behind {
		t.n++
		t.behind = obs.Event.Seq
	}
}

// isOrdered reports whether the server's messages came in the order in which it
// sent them, and the client's arrived so.
func isOrdered(s *rules.Session) bool { return s.Transport == spec.Stdio }

// isInOrder reports whether what came in an event after the answer to a request was
// sent after that answer. Over Streamable HTTP only the stream that belongs to
// the request shows that; one that is resumed may tell again what came before.
func isInOrder(s *rules.Session, req *rules.Request, answer, e *transcript.Event) bool {
	switch s.Transport {
	case spec.Stdio:
		return true
	case spec.SSE:
		return isOnStream(s, req, e) && answer.Exchange == e.Exchange
	default:
		return isOnStream(s, req, e) && isOnStream(s, req, answer)
	}
}

// isOnStream reports whether an event came where the server keeps the order of what
// belongs to a request: the stream of its exchange, or the one of the session.
func isOnStream(s *rules.Session, req *rules.Request, e *transcript.Event) bool {
	x := s.Exchanges().Of(e)
	switch {
	case s.Transport == spec.Stdio:
		return true
	case x == nil || !x.IsStream() || x.RequestHead().Has("Last-Event-ID"):
		return false
	default:
		return s.Transport == spec.SSE || e.Exchange == req.Event.Exchange
	}
}

// withResponses makes a fold hear all answers of the server, too.
func withResponses(hears rules.Handlers, hear func(s *rules.Session, obs *rules.Observation, out *rules.Reporter)) rules.Handlers {
	hears[rules.ResultOf("")] = hear
	hears[rules.ErrorTo("")] = hear
	return hears
}
