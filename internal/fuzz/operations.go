package fuzz

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// send takes one message; it is written with those that wait, unless it waits
// itself.
func (r *holder) send(t *talk, i int, o *generate.Operation) {
	frame, ok := r.filled(t, o)
	if !ok {
		r.out.Skipped = append(r.out.Skipped, i)
		return
	}
	parsed := wire.Parse(frame)
	for _, m := range parsed.Messages {
		switch {
		case m.Kind == wire.Request && m.ID.Present():
			r.count()
			_, again := t.asked[m.ID.Key()]
			t.asked[m.ID.Key()] = i
			t.asks = append(t.asks, asked{
				id: m.ID, method: m.Method, params: o.Violates != "", task: wire.At(m.Params(), "/task") != nil,
				odd: again || parsed.Batch || !m.ID.IsString() && !m.ID.IsInteger(), at: t.c.Record.Elapsed(),
			})
		case m.Method == spec.MethodCancelled:
			t.cancelled(wire.IDAt(m.Params(), "/requestId"))
		}
	}
	if len(t.held) == 0 {
		t.heldFrom = i
	}
	t.held = append(t.held, frame)
	if o.Together && !o.Await && len(t.held) < 32 {
		return
	}
	r.flush(t)
	if o.Await && len(t.asks) > 0 && !t.over {
		r.await(t, t.asks[len(t.asks)-1])
	}
}

// filled returns the message with what it takes from earlier answers; false
// where there is no such thing.
func (r *holder) filled(t *talk, o *generate.Operation) ([]byte, bool) {
	frame := []byte(o.Message)
	for _, take := range o.Take {
		r.flush(t)
		id := wire.RawID(string(take.ID))
		for _, a := range t.asks {
			if a.id.Same(id) {
				r.await(t, a)
			}
		}
		m := t.answered[id.Key()]
		if m == nil {
			return nil, false
		}
		value := wire.At(m.Raw, take.From)
		if value == nil {
			return nil, false
		}
		frame = putParam(frame, take.Into, value)
	}
	return frame, true
}

// putParam replaces a member of the params, or adds it.
func putParam(frame []byte, name string, value []byte) []byte {
	names, members := wire.Members(frame)
	inside, params := wire.Members(members["params"])
	if params == nil {
		params = map[string]jsontext.Value{}
	}
	if _, there := params[name]; !there {
		inside = append(inside, name)
	}
	params[name] = value
	if members["params"] == nil {
		names = append(names, "params")
	}
	members["params"] = wire.Object(inside, params)
	return wire.Object(names, members)
}

// flush writes the frames that wait.
func (r *holder) flush(t *talk) {
	if len(t.held) == 0 {
		return
	}
	frames, first := t.held, t.heldFrom
	t.held = nil
	from := t.c.Record.Len()
	ctx, cancel := context.WithTimeout(r.ctx, r.Timeout)
	defer cancel()
	if err := t.c.Send(ctx, frames...); err != nil {
		t.over = true
		t.torn = t.torn || t.c.Alive()
	}
	t.spans = append(t.spans, span{first, from, t.c.Record.Len()})
}

func (r *holder) raw(t *talk, i int, o *generate.Operation) {
	var chunks [][]byte
	at := 0
	for _, split := range o.Splits {
		if split > at && split < len(o.Message) {
			chunks = append(chunks, o.Message[at:split])
			at = split
		}
	}
	chunks = append(chunks, o.Message[at:])
	if o.Violates == "" { // what is whole is owed an answer
		for _, m := range wire.Parse(o.Message).Messages {
			if m.Kind == wire.Request {
				t.asked[m.ID.Key()] = i
				t.asks = append(t.asks, asked{id: m.ID, method: m.Method, odd: true})
			}
		}
	}
	r.count()
	release := t.c.HoldReplies()
	defer release()
	ctx, cancel := context.WithTimeout(r.ctx, r.Timeout)
	defer cancel()
	if err := t.c.SendBytes(ctx, chunks...); err != nil && t.c.Web() == nil {
		t.over = true
		t.torn = t.torn || t.c.Alive()
	}
}

// fence waits until the server has read everything.
func (r *holder) fence(t *talk) {
	r.count()
	if err := t.c.Fence(r.ctx); err != nil {
		t.over = true
		t.Deaf = t.Deaf || errors.Is(err, client.ErrUnanswered)
	}
}

// walk goes through a list.
func (r *holder) walk(t *talk, i int, o *generate.Operation) {
	w := Walked{Operation: i, Method: o.Method, From: t.c.Record.Len()}
	seen := map[string]bool{}
	var params map[string]any
	for range mostPages {
		r.count()
		reply := t.c.Ask(r.ctx, o.Method, params)
		if !reply.Succeeded() {
			t.missed = t.missed || errors.Is(reply.Err, client.ErrUnanswered)
			break
		}
		result := reply.Message.Result()
		w.Pages = append(w.Pages, result)
		cursor, more := wire.Text(wire.At(result, "/nextCursor"))
		if !more {
			w.Whole = true
			break
		}
		if cursor == "" || seen[cursor] {
			break
		}
		seen[cursor] = true
		params = map[string]any{"cursor": cursor}
	}
	w.To = t.c.Record.Len()
	t.Walks = append(t.Walks, w)
}

// replying returns how a request of the server is answered; nil leaves that to
// the client's capabilities.
func replying(reply *generate.Reply) func(m *wire.Message) []byte {
	return func(m *wire.Message) []byte {
		switch {
		case reply == nil:
			return nil
		case reply.Code != 0:
			return wire.NewError(m.ID, reply.Code, "mcp-conform will not", nil)
		case reply.Result == nil:
			return nil
		default:
			return wire.NewResult(m.ID, jsontext.Value(reply.Result))
		}
	}
}

// exchange holds an exchange of HTTP.
func (r *holder) exchange(t *talk, o *generate.Operation) {
	web := t.c.Web()
	if web == nil || o.Exchange == nil {
		return
	}
	r.count()
	x, err := web.Begin(transport.Request{Method: o.Exchange.Method, Fields: headers(web, o.Exchange), Body: o.Exchange.Body}, "")
	if err != nil {
		return
	}
	defer x.Drop()
	ctx, cancel := context.WithTimeout(r.ctx, min(webTime, r.Timeout))
	defer cancel()
	if o.Exchange.Method == "GET" || o.Exchange.Method == "HEAD" {
		select {
		case <-x.Responded():
			// What a stream that is opened so brings is nobody's answer, and it
			// has no end.
			ctx, cancel = context.WithTimeout(ctx, authorTime)
			defer cancel()
		case <-ctx.Done():
		}
	}
	select {
	case <-x.Over():
	case <-ctx.Done():
	}
}

// headers are those of the session, with those of the exchange in their place.
func headers(web transport.Web, x *generate.Exchange) []transcript.Field {
	fields := web.Headers(x.Method)
	replaced := map[string]bool{}
	for _, h := range x.Headers {
		name := strings.ToLower(h[0])
		if !replaced[name] {
			fields = slices.DeleteFunc(fields, func(f transcript.Field) bool { return strings.EqualFold(f.Name, name) })
			replaced[name] = true
		}
		if h[1] != "" {
			fields = append(fields, transcript.Field{Name: h[0], Value: h[1]})
		}
	}
	return fields
}
