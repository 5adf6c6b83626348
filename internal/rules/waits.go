package rules

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// Waits records how the client's waits for responses ended, and which requests are overdue as a
// result. A request is overdue if a response was due, and nothing that the client did explains why
// none came.
type Waits struct {
	// abandoned are the positions of the messages whose responses the client stopped waiting for.
	abandoned map[int]bool
	// flooded has the numbers of the HTTP exchanges whose response is longer than the client reads.
	flooded map[int]bool

	transport   spec.Transport
	requests    *Requests
	negotiation *Negotiation
	ending      *Ending
	sent        *SentMessages
	disruptions *Disruptions
}

// GaveUpOn reports whether the client waited for the response to the message sent at e until the
// timeout, and none came.
func (w *Waits) GaveUpOn(e *transcript.Event) bool { return e != nil && w.abandoned[e.Seq] }

// noteGaveUp records that the client stopped waiting. It marks the awaited requests as overdue,
// unless the client itself left the server no way to respond.
func (w *Waits) noteGaveUp(e *transcript.Event) {
	if w.abandoned == nil {
		w.abandoned = map[int]bool{}
	}
	w.abandoned[e.Of] = true
	if w.ending.InputClosed || w.ending.OutputEnded || w.ending.sessionEnded {
		return
	}
	for _, req := range w.requests.RequestsFrom(e.Of) {
		if req.Event.Seq != e.Of { // a batch has several requests
			break
		}
		if !w.isExchangeOver(req) {
			w.noteOverdue(req, e)
		}
	}
}

// noteEnd records the requests that the server left unanswered when it ended by itself. A missing
// response to initialize is judged by the rules on the handshake.
func (w *Waits) noteEnd(e *transcript.Event) {
	if w.ending.InputClosed || w.ending.OutputEnded {
		return
	}
	for _, req := range w.requests.client {
		if req != w.negotiation.Initialize {
			w.noteOverdue(req, e)
		}
	}
}

// noteFlood records an HTTP response that is longer than the client reads.
func (w *Waits) noteFlood(e *transcript.Event) {
	if w.flooded == nil {
		w.flooded = map[int]bool{}
	}
	w.flooded[e.Exchange] = true
}

// noteOverdue marks the request as unanswered at e, if a response was due.
func (w *Waits) noteOverdue(req *Request, e *transcript.Event) {
	if !req.due || len(req.Responses) > 0 || req.overdue != nil || w.negotiation.brokeOrder || w.ending.Signalled {
		return
	}
	if w.disruptions.mayExplain(req, e) {
		req.disrupted = true
		return
	}
	req.overdue = e
	req.excusable = w.isExcusable(req)
}

// enoughResponses is the number of responses which show that the server survived the illegal
// messages before them.
const enoughResponses = 3

// isExcusable reports whether illegal messages may be the reason for the missing response. They
// cannot be the reason if all of them came before the request, and the server answered each illegal
// request with a legal id, and at least enoughResponses legal requests after the last illegal
// message.
func (w *Waits) isExcusable(req *Request) bool {
	if !w.sent.HasIllegal() {
		return false
	}
	last := w.sent.illegal[len(w.sent.illegal)-1]
	if last > req.Event.Seq {
		return true
	}
	answered := 0
	for _, b := range w.requests.client {
		switch {
		case len(b.Responses) == 0 && !b.WellFormed && b.HasLegalID():
			return true // the server may still be handling it
		case b.due && b.Event.Seq > last && len(b.Responses) > 0:
			answered++
		}
	}
	return answered < enoughResponses
}

// isExchangeOver reports whether the exchange in which the request was posted has ended, so that a
// missing response is judged for that exchange. It returns false over stdio, and if the client
// closed the connection. Over HTTP+SSE, where responses come on another stream, it returns true
// only if the POST got no HTTP response: the POST may never have reached the server.
func (w *Waits) isExchangeOver(req *Request) bool {
	x := w.requests.Exchanges().Of(req.Event)
	if x == nil || x.End == nil || x.End.How == transcript.Dropped {
		return false
	}
	return w.transport == spec.StreamableHTTP || x.Status() == 0
}

// longResponse is a number of bytes. If more than that of an unfinished response has come, the
// server was still sending it, and had not stopped responding.
const longResponse = 256 << 10

// isUnread reports whether the HTTP response to the request was so long that the client did not
// read all of it.
func (w *Waits) isUnread(req *Request) bool {
	x := w.requests.Exchanges().Of(req.Event)
	return x != nil && (w.flooded[x.Number] || slices.ContainsFunc(x.Body, isUnfinished))
}

// isUnfinished reports whether the event is the beginning of a long body, or of a long event in a
// stream.
func isUnfinished(e *transcript.Event) bool {
	ev := e.StreamEvent()
	return e.Size > longResponse && (e.Unterminated || ev != nil && !ev.IsComplete())
}
