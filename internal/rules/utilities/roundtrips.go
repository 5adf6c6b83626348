package utilities

import (
	"maps"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// roundTrips counts the round trips since a point in the conversation: consecutive requests, each
// of which was sent after the response to the request before it. A response to a request sent after
// a message shows that the server has read that message. A concurrent server may still have earlier
// messages in transit; after a second round trip, these messages have arrived too.
type roundTrips struct {
	after int // the position after which the next request has to be sent
	n     int
}

// settlingTrips is how many round trips ensure that no earlier message is still in transit.
const settlingTrips = 2

func roundTripsSince(e *transcript.Event) *roundTrips { return &roundTrips{after: e.Seq} }

// note records a response.
func (t *roundTrips) note(obs *rules.Observation) {
	if obs.Request.Event.Seq > t.after {
		t.n++
		t.after = obs.Event.Seq
	}
}

// hasOrderedTransport reports whether messages arrive in the order in which they were sent, in both
// directions.
func hasOrderedTransport(s *rules.Session) bool { return s.Transport == spec.Stdio }

// isInOrder reports whether an event after the response to a request was sent after that response.
// Over Streamable HTTP only the request's own stream shows the order of messages; a resumed stream
// may repeat earlier messages.
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

// isOnStream reports whether an event came on a stream that preserves the order of messages for a
// request: the stream of its exchange, or over HTTP+SSE the stream of the session.
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

// withResponses returns the handlers together with a handler for all responses of the server.
func withResponses(handlers rules.Handlers, handle func(s *rules.Session, obs *rules.Observation, out *rules.Reporter)) rules.Handlers {
	maps.Copy(handlers, rules.OnResponse("", handle))
	return handlers
}

// isGovernedByRevision reports whether the revision by which the conversation is judged applies to
// a message of the server: after the handshake, or in the stateless era unless the message may
// belong to an older revision.
func isGovernedByRevision(s *rules.Session, e *transcript.Event) bool {
	if s.Era() == spec.Stateless {
		return !s.MayBeHandshakeMessage(e)
	}
	return s.Began()
}
