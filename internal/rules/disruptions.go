package rules

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A Disruption is a message of the client that may name something unknown to the server: a
// cancellation, progress, or a response to a request that the server has cancelled. The disruption
// lasts until a later ping is answered or the client sends another request. If the server ends or
// stops responding in that time, the rules on disruptions report it, and the rules on requests do
// not.
type Disruption struct {
	Event   *transcript.Event
	Message *wire.Message
	// Cancelled is the client's newest request with the id that a cancellation names; nil if
	// there is none.
	Cancelled *Request
	// Posed is the server's request for which the response came too late; nil for notifications.
	Posed *transcript.Request
	// Before is the earlier disruption that still lasted when this one began, or nil.
	Before *Disruption
	// Mixed is set if the client sent another notification after the disruption. If the server ends
	// or stops responding, that notification may also be the reason.
	Mixed bool
}

// Disruptions track the disruption that lasts now.
type Disruptions struct {
	Current *Disruption // nil if there is none

	requests *Requests
}

// note records a message of the client that may begin or end a disruption.
func (d *Disruptions) note(e *transcript.Event, m *wire.Message) {
	if m.Kind == wire.Request && (m.Method == spec.MethodPing || m.Method == spec.MethodDiscover) {
		return
	}
	o := &Disruption{Event: e, Message: m, Before: d.Current}
	switch {
	case m.Kind == wire.Notification && m.Method == spec.MethodCancelled:
		if all := d.requests.RequestsWithID(cancelledID(m)); len(all) > 0 {
			o.Cancelled = all[len(all)-1]
		}
	case m.Kind == wire.Notification && m.Method == spec.MethodProgress:
	case m.Kind == wire.Notification:
		if d.Current != nil {
			d.Current.Mixed = true
		}
		return
	case m.Kind == wire.Response:
		o.Posed = d.requests.serverRequestOf(m)
		if o.Posed == nil || len(o.Posed.Cancellations) == 0 {
			return // a response that the server waits for does no harm
		}
	default:
		d.Current = nil
		return
	}
	if d.requests.isBusy() { // a request in progress may be the reason for whatever happens next
		o = nil
	}
	d.Current = o
}

// noteResponse records that req was answered. If req was sent after the disruption began, the
// disruption ends.
func (d *Disruptions) noteResponse(req *Request) {
	if d.Current != nil && req.Event.Seq > d.Current.Event.Seq {
		d.Current = nil
	}
}

// mayExplain reports whether the current disruption may be the reason why the request has no
// response before e. If e is the client's timeout, the request must have been sent after the
// disruption. If e is the end of the server, the disruption may explain any missing response.
func (d *Disruptions) mayExplain(req *Request, e *transcript.Event) bool {
	return d.Current != nil && (e.Kind != transcript.GaveUp || req.Event.Seq > d.Current.Event.Seq)
}
