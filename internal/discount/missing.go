package discount

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// The discounts in this file void a deviation that may result from a missing message: the session
// had ended, the server may still have been starting, the message was too long to be kept, or the
// client did not wait long enough.

// sessionEnded discounts messages that are missing after the server has ended the session. A server
// may end a session at any time.
type sessionEnded struct{}

func (sessionEnded) discount(c *Claim) (Effect, string) {
	if c.SessionEnded && !c.showsServerMessage() {
		return Void, "the server had ended the session"
	}
	return Counts, ""
}

// startUnclear discounts messages that are missing while the server may still have been starting.
type startUnclear struct{}

func (startUnclear) discount(c *Claim) (Effect, string) {
	if c.StartUnclear && !c.showsServerMessage() {
		return Void, "the server may still have been starting: one that was started meanwhile did not respond to an ordinary initialize either"
	}
	return Counts, ""
}

// cutResponse discounts deviations that show a request whose response was too long to be kept,
// because the case could not read it.
type cutResponse struct{}

func (cutResponse) discount(c *Claim) (Effect, string) {
	if c.ByCase && slices.ContainsFunc(c.Events, (*transcript.Event).IsCut) && slices.ContainsFunc(transcript.DialogueOf(c.Events).Requests(), func(r *transcript.Request) bool {
		return slices.Contains(c.At, r.Event.Seq) && slices.ContainsFunc(r.Responses, func(m transcript.Message) bool { return m.Event.IsCut() })
	}) {
		return Void, "the response is longer than mcp-conform keeps"
	}
	return Counts, ""
}

// shortWait discounts a missing response for which the client has never waited as long as the
// timeout. The server may only be slow.
type shortWait struct{}

func (shortWait) discount(c *Claim) (Effect, string) {
	if c.ShortWait {
		return Void, "the client did not wait as long as the timeout"
	}
	return Counts, ""
}

// showsServerMessage reports whether the highest position in At is that of a message or an HTTP
// response from the server. A message or response with the HTTP status 404 does not count, because
// it only means that there is no such session.
func (c *Claim) showsServerMessage() bool {
	if len(c.At) == 0 {
		return false
	}
	last := slices.Max(c.At)
	if last >= len(c.Events) {
		return false
	}
	switch e := c.Events[last]; e.Kind {
	case transcript.Received, transcript.Streamed, transcript.Responded:
		x := transcript.ExchangesOf(c.Events).Of(e)
		return x == nil || x.Status() != 404
	default:
		return false
	}
}
