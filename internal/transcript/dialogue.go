package transcript

import (
	"iter"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A Dialogue pairs the messages of a conversation: it has the requests of both
// sides, each with what came of it. The zero value is one in which nothing was
// said; Note adds events in their order.
//
// A response belongs to the request of the other side that has its id: to the
// one that was made in the same HTTP exchange, else to the oldest that has no
// response, else to the newest. A response with the id null belongs to a request
// that has none. A cancellation belongs to every request of its own side that
// has the id and was made before.
//
// Messages are told apart by their address: that in Event.Messages.
type Dialogue struct {
	exchanges Exchanges
	client    requests
	server    requests
	of        map[*wire.Message]*Request
	progress  []Message
}

// requests are those of one side.
type requests struct {
	all  []*Request
	byID map[string][]*Request
}

// A Message is a message and the event that holds it.
type Message struct {
	*wire.Message
	Event *Event
}

// A Request is one request, and what came of it.
type Request struct {
	Event   *Event // Sent for a request of the client, Received for one of the server
	Message *wire.Message
	// Responses are all that belong to it, in their order; more than one is a
	// mistake of who made them.
	Responses []Message
	// Cancellations are all that name it, in their order. They may have come
	// after the response.
	Cancellations []Message
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
		switch m := &e.Frame.Messages[i]; {
		case m.Kind == wire.Request:
			d.NoteRequest(e, m)
		case m.Kind == wire.Response:
			d.NoteResponse(e, m)
		case m.Method == "notifications/cancelled":
			d.NoteCancellation(e, m)
		case m.Method == "notifications/progress":
			d.progress = append(d.progress, Message{m, e})
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
		by.byID = map[string][]*Request{}
	}
	key := m.ID.Key()
	by.all, by.byID[key] = append(by.all, r), append(by.byID[key], r)
	d.belongs(m, r)
	return r
}

// NoteResponse takes note of a response in the event, and returns the request
// that it belongs to, nil where there is none.
func (d *Dialogue) NoteResponse(e *Event, m *wire.Message) *Request {
	r := d.respondedBy(e, m.ID)
	if r != nil {
		r.Responses = append(r.Responses, Message{m, e})
		d.belongs(m, r)
	}
	return r
}

// NoteCancellation takes note of a cancellation in the event, and returns the
// requests that it names.
func (d *Dialogue) NoteCancellation(e *Event, m *wire.Message) []*Request {
	named := d.by(e.Kind).byID[wire.IDAt(m.Params(), "/requestId").Key()]
	for _, r := range named {
		r.Cancellations = append(r.Cancellations, Message{m, e})
		d.belongs(m, r)
	}
	return named
}

// by returns the requests of the side that made events of the kind.
func (d *Dialogue) by(kind Kind) *requests {
	if kind == Sent {
		return &d.client
	}
	return &d.server
}

// respondedBy returns the request that a response in e with this id belongs to.
func (d *Dialogue) respondedBy(e *Event, id wire.ID) *Request {
	other := &d.client
	if e.Kind == Sent {
		other = &d.server
	}
	all := other.byID[id.Key()]
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

// Of returns the request that the message is, or that it responds to or cancels
// (the newest, where it cancels several); nil for all else.
func (d *Dialogue) Of(m *wire.Message) *Request { return d.of[m] }

// Progress returns the notifications of the other side with the progress token
// of the request that came after it.
func (d *Dialogue) Progress(r *Request) []Message {
	token := wire.IDAt(r.Message.Params(), "/_meta/progressToken")
	var out []Message
	for _, p := range d.progress {
		if token.Present() && p.Event.Kind != r.Event.Kind && p.Event.Seq > r.Event.Seq && wire.IDAt(p.Params(), "/progressToken").Same(token) {
			out = append(out, p)
		}
	}
	return out
}

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
