package transcript

import (
	"iter"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A Dialogue pairs the messages of a conversation: it has the requests of both
// sides, each with its outcome. The zero value is one in which nothing was
// said; Note adds events in their order.
//
// A response belongs to the request of the other side that has its id: to the
// one that was made in the same HTTP exchange, else to the oldest that has no
// response, else to the newest. A response with the id null belongs to a request
// that has none. A cancellation belongs to every request of its own side that
// has the id and was made before, progress to one of the other side that gave
// the token: the newest that has no response, else the newest.
//
// Messages are identified by their address in Event.Messages.
type Dialogue struct {
	exchanges Exchanges
	client    requests
	server    requests
	of        map[*wire.Message]*Request
}

// requests are those of one side.
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
	Event   *Event // Sent for a request of the client, Received for one of the server
	Message *wire.Message
	// Responses are all that belong to it, in their order; more than one is a
	// mistake of who made them.
	Responses []Message
	// Cancellations are all that name it, in their order. They may have come
	// after the response.
	Cancellations []Message
	// Progress are the notifications of its progress, in their order.
	Progress []Message
	// Exchange is the HTTP exchange in which the request was made, nil where
	// there is none. It grows with the dialogue.
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

// Messages returns the messages of those events that are of one of the kinds,
// Sent and Received where none is given, each with its event.
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

// Note takes note of the next event.
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

// Note is made of the following, for a reader that takes a message for another
// kind than wire does.

// NoteExchange takes note of what the event means to its HTTP exchange.
func (d *Dialogue) NoteExchange(e *Event) { d.exchanges.Note(e) }

// NoteRequest takes note of a request in the event, and returns it.
func (d *Dialogue) NoteRequest(e *Event, m *wire.Message) *Request {
	r := &Request{Event: e, Message: m, Exchange: d.exchanges.Of(e)}
	by := d.by(e.Kind)
	if by.byID == nil {
		by.byID, by.byToken = map[string][]*Request{}, map[string][]*Request{}
	}
	key := m.ID.Key()
	by.all, by.byID[key] = append(by.all, r), append(by.byID[key], r)
	if token := wire.IDAt(m.Params(), "/_meta/progressToken"); token.Present() {
		by.byToken[token.Key()] = append(by.byToken[token.Key()], r)
	}
	d.belongs(m, r)
	return r
}

// NoteResponse takes note of a response in the event, and returns the request
// that it belongs to, nil where there is none.
func (d *Dialogue) NoteResponse(e *Event, m *wire.Message) *Request {
	r := d.to(e.Kind).respondedBy(e, m.ID)
	if r != nil {
		r.Responses = append(r.Responses, Message{m, e})
		d.belongs(m, r)
	}
	return r
}

// NoteNotification takes note of a notification in the event: a cancellation,
// or progress. Others belong to no request.
func (d *Dialogue) NoteNotification(e *Event, m *wire.Message) {
	switch m.Method {
	case "notifications/cancelled":
		for _, r := range d.by(e.Kind).byID[wire.IDAt(m.Params(), "/requestId").Key()] {
			r.Cancellations = append(r.Cancellations, Message{m, e})
			d.belongs(m, r)
		}
	case "notifications/progress":
		if r := d.to(e.Kind).reportedBy(wire.IDAt(m.Params(), "/progressToken")); r != nil {
			r.Progress = append(r.Progress, Message{m, e})
			d.belongs(m, r)
		}
	}
}

// by returns the requests of the side that made events of the kind.
func (d *Dialogue) by(kind Kind) *requests {
	if kind == Sent {
		return &d.client
	}
	return &d.server
}

// to returns the requests of the other side.
func (d *Dialogue) to(kind Kind) *requests {
	if kind == Sent {
		return &d.server
	}
	return &d.client
}

// respondedBy returns the request that a response in e with this id belongs to.
func (q *requests) respondedBy(e *Event, id wire.ID) *Request {
	all := q.byID[id.Key()]
	if !id.Present() || len(all) == 0 {
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

// reportedBy returns the request that progress with this token belongs to.
func (q *requests) reportedBy(token wire.ID) *Request {
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

func (d *Dialogue) belongs(m *wire.Message, r *Request) {
	if d.of == nil {
		d.of = map[*wire.Message]*Request{}
	}
	d.of[m] = r
}

// Exchanges returns the HTTP exchanges.
func (d *Dialogue) Exchanges() *Exchanges { return &d.exchanges }

// Requests returns the client's requests in the order in which they were sent.
func (d *Dialogue) Requests() []*Request { return d.client.all }

// ServerRequests returns the server's requests in the order in which they came.
func (d *Dialogue) ServerRequests() []*Request { return d.server.all }

// WithID returns the client's requests with this id, oldest first.
func (d *Dialogue) WithID(id wire.ID) []*Request { return d.client.byID[id.Key()] }

// WithToken returns the client's requests with this progress token, oldest first.
func (d *Dialogue) WithToken(token wire.ID) []*Request { return d.client.byToken[token.Key()] }

// Of returns the request that the message is, responds to, cancels (the newest,
// where it cancels several) or reports progress of; nil for all else.
func (d *Dialogue) Of(m *wire.Message) *Request { return d.of[m] }

// InFlight returns the client's requests that were sent before the position and
// had no response by then, those that were cancelled included.
func (d *Dialogue) InFlight(at int) []*Request {
	var out []*Request
	for _, r := range d.client.all {
		if r.InFlight(at) {
			out = append(out, r)
		}
	}
	return out
}

// InFlight reports whether the request was made before the position, and had no
// response by then.
func (r *Request) InFlight(at int) bool {
	return r.Event.Seq < at && !r.RespondedBefore(at)
}

// RespondedBefore reports whether the first response came before the position.
func (r *Request) RespondedBefore(at int) bool {
	return len(r.Responses) > 0 && r.Responses[0].Event.Seq < at
}

// Response returns the first response, nil where there is none.
func (r *Request) Response() *Message {
	if len(r.Responses) == 0 {
		return nil
	}
	return &r.Responses[0]
}
