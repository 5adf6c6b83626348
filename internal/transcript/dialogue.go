package transcript

import (
	"iter"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A Dialogue pairs the messages of a conversation: it holds the requests of both sides, each with
// its outcome. The zero value is empty; Note adds events in order.
//
// A response belongs to a request of the other side with the same id. If several requests have the
// id, it belongs to one that has no response yet: the one of the same HTTP exchange or, if there is
// none, the oldest. If all have a response, it belongs to the newest. A response with a null id
// belongs only to a request that has no response yet. A cancellation belongs to every earlier
// request of its own side with that id. A progress notification belongs to a request of the other
// side with that token: to the newest without a response or, if all have one, to the newest.
//
// Messages are identified by their address in Event.Messages.
type Dialogue struct {
	exchanges Exchanges
	client    requests
	server    requests
	requestOf map[*wire.Message]*Request
}

// requests holds the requests of one side.
type requests struct {
	all           []*Request
	byID, byToken map[string][]*Request
}

// A Message is a message and the event that holds it.
type Message struct {
	*wire.Message
	Event *Event
}

// A Request is one request, and its outcome.
type Request struct {
	Index   int    // position among the requests of its side, from 0
	Event   *Event // Sent for a client's request, Received for a server's request
	Message *wire.Message
	// Responses are all responses in order. More than one is a protocol violation.
	Responses []Message
	// Cancellations are all cancellations in order, including those after the response.
	Cancellations []Message
	// Progress are the progress notifications in order.
	Progress []Message
	// Exchange is the HTTP exchange of the request, or nil. It grows as the dialogue grows.
	Exchange *Exchange
}

// DialogueOf returns the dialogue of the events.
func DialogueOf(events []*Event) *Dialogue {
	d := &Dialogue{}
	for _, e := range events {
		d.Note(e)
	}
	return d
}

// Messages iterates over the messages of events of the given kinds, by default Sent and Received,
// each with its event.
func Messages(events []*Event, kinds ...Kind) iter.Seq2[*Event, *wire.Message] {
	return func(yield func(*Event, *wire.Message) bool) {
		for _, e := range events {
			if len(kinds) > 0 && !slices.Contains(kinds, e.Kind) {
				continue
			}
			for i := range e.Messages() {
				if !yield(e, &e.Frame.Messages[i]) {
					return
				}
			}
		}
	}
}

// Note adds the next event.
func (d *Dialogue) Note(e *Event) {
	d.NoteExchange(e)
	for i := range e.Messages() {
		switch m := &e.Frame.Messages[i]; m.Kind {
		case wire.Request:
			d.NoteRequest(e, m)
		case wire.Response:
			d.NoteResponse(e, m)
		case wire.Notification:
			d.NoteNotification(e, m)
		}
	}
}

// A caller that classifies messages differently from package wire calls the following
// methods instead of Note.

// NoteExchange adds an event to its HTTP exchange.
func (d *Dialogue) NoteExchange(e *Event) { d.exchanges.Note(e) }

// NoteRequest adds a request in the event, and returns it.
func (d *Dialogue) NoteRequest(e *Event, m *wire.Message) *Request {
	by := d.requestsFrom(e.Kind)
	r := &Request{Index: len(by.all), Event: e, Message: m, Exchange: d.exchanges.Of(e)}
	if by.byID == nil {
		by.byID, by.byToken = map[string][]*Request{}, map[string][]*Request{}
	}
	key := m.ID.Key()
	by.all, by.byID[key] = append(by.all, r), append(by.byID[key], r)
	if token := m.ParamIDAt("/_meta/progressToken"); token.IsPresent() {
		by.byToken[token.Key()] = append(by.byToken[token.Key()], r)
	}
	d.assign(m, r)
	return r
}

// NoteResponse adds a response in the event, and returns the request that it belongs to, or nil.
func (d *Dialogue) NoteResponse(e *Event, m *wire.Message) *Request {
	r := d.requestsTo(e.Kind).matchResponse(e, m.ID)
	if r != nil {
		r.Responses = append(r.Responses, Message{m, e})
		d.assign(m, r)
	}
	return r
}

// NoteNotification adds a cancellation or progress notification in the event to the requests that
// it is about. It ignores other notifications, which belong to no request.
func (d *Dialogue) NoteNotification(e *Event, m *wire.Message) {
	switch m.Method {
	case "notifications/cancelled":
		for _, r := range d.requestsFrom(e.Kind).byID[m.ParamIDAt("/requestId").Key()] {
			r.Cancellations = append(r.Cancellations, Message{m, e})
			d.assign(m, r)
		}
	case "notifications/progress":
		if r := d.requestsTo(e.Kind).matchProgress(m.ParamIDAt("/progressToken")); r != nil {
			r.Progress = append(r.Progress, Message{m, e})
			d.assign(m, r)
		}
	}
}

// requestsFrom returns the requests of the side that sends events of this kind.
func (d *Dialogue) requestsFrom(kind Kind) *requests {
	if kind == Sent {
		return &d.client
	}
	return &d.server
}

// requestsTo returns the requests of the side that receives events of this kind.
func (d *Dialogue) requestsTo(kind Kind) *requests {
	if kind == Sent {
		return &d.server
	}
	return &d.client
}

// matchResponse returns the request that a response in e with this id belongs to, or nil.
func (q *requests) matchResponse(e *Event, id wire.ID) *Request {
	all := q.byID[id.Key()]
	if !id.IsPresent() || len(all) == 0 {
		return nil
	}
	var oldest *Request
	for _, r := range all {
		switch {
		case len(r.Responses) > 0:
		case e.Exchange > 0 && r.Event.Exchange == e.Exchange:
			return r
		case oldest == nil:
			oldest = r
		}
	}
	if oldest == nil && !id.IsNull() {
		return all[len(all)-1]
	}
	return oldest
}

// matchProgress returns the request that progress with this token belongs to, or nil.
func (q *requests) matchProgress(token wire.ID) *Request {
	all := q.byToken[token.Key()]
	for _, r := range slices.Backward(all) {
		if len(r.Responses) == 0 {
			return r
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}

// assign makes r the request that RequestOf returns for m.
func (d *Dialogue) assign(m *wire.Message, r *Request) {
	if d.requestOf == nil {
		d.requestOf = map[*wire.Message]*Request{}
	}
	d.requestOf[m] = r
}

// Exchanges returns the HTTP exchanges.
func (d *Dialogue) Exchanges() *Exchanges { return &d.exchanges }

// Requests returns the client's requests in the order they were sent.
func (d *Dialogue) Requests() []*Request { return d.client.all }

// TrailingUnanswered returns the client's requests after the last one that has a response.
func (d *Dialogue) TrailingUnanswered() []*Request {
	all := d.Requests()
	for i, r := range slices.Backward(all) {
		if r.Response() != nil {
			return all[i+1:]
		}
	}
	return all
}

// ServerRequests returns the server's requests in the order they arrived.
func (d *Dialogue) ServerRequests() []*Request { return d.server.all }

// RequestsWithID returns the client's requests with this id, oldest first.
func (d *Dialogue) RequestsWithID(id wire.ID) []*Request { return d.client.byID[id.Key()] }

// RequestsWithToken returns the client's requests with this progress token, oldest first.
func (d *Dialogue) RequestsWithToken(token wire.ID) []*Request { return d.client.byToken[token.Key()] }

// ServerRequestsWithToken returns the server's requests with this progress token, oldest first.
func (d *Dialogue) ServerRequestsWithToken(token wire.ID) []*Request {
	return d.server.byToken[token.Key()]
}

// RequestOf returns the request to which m belongs: m itself if it is a request, or the request
// that it responds to, cancels (the newest if it cancels several) or reports progress of. It
// returns nil for any other message.
func (d *Dialogue) RequestOf(m *wire.Message) *Request { return d.requestOf[m] }

// InFlight returns the client's requests that were sent before the position and had no response by
// then, including cancelled ones.
func (d *Dialogue) InFlight(at int) []*Request {
	var out []*Request
	for _, r := range d.client.all {
		if r.InFlight(at) {
			out = append(out, r)
		}
	}
	return out
}

// InFlight reports whether the request was sent before the position and had no response by then.
func (r *Request) InFlight(at int) bool {
	return r.Event.Seq < at && !r.RespondedBefore(at)
}

// RespondedBefore reports whether the first response came before the position.
func (r *Request) RespondedBefore(at int) bool {
	return len(r.Responses) > 0 && r.Responses[0].Event.Seq < at
}

// CancelReasons yields the events with which the client cancelled the request, and its reasons:
// each notifications/cancelled, and the end of the connection if the client closed it to cancel.
func (r *Request) CancelReasons() iter.Seq2[*Event, string] {
	return func(yield func(*Event, string) bool) {
		for _, m := range r.Cancellations {
			if reason, _ := wire.Text(m.ParamAt("/reason")); !yield(m.Event, reason) {
				return
			}
		}
		if x := r.Exchange; x != nil && x.End != nil && x.End.Reason != "" {
			yield(x.End, x.End.Reason)
		}
	}
}

// Response returns the first response, or nil.
func (r *Request) Response() *Message {
	if len(r.Responses) == 0 {
		return nil
	}
	return &r.Responses[0]
}
