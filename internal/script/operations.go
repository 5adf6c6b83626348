package script

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// send adds the operation's message to the pending frames, and writes all of these unless the next
// message belongs to the same write (see Operation.Together).
func (r *runner) send(l *liveConversation, i int, o *Operation) {
	frame, ok := r.fillMessage(l, o)
	if !ok {
		r.out.Skipped = append(r.out.Skipped, i)
		return
	}
	parsed := wire.Parse(frame)
	for _, m := range parsed.Messages {
		switch {
		case m.Kind == wire.Request && m.ID.IsPresent():
			r.awaitRateLimit()
			again := l.sentIDs[m.ID.Key()]
			l.noteSent(request{
				operation: i, text: m.Raw, id: m.ID, method: m.Method, invalidParams: o.Violates != "", asTask: m.ParamAt("/task") != nil,
				odd: again || parsed.Batch || m.Method == spec.MethodListen || !m.ID.IsString() && !m.ID.IsInteger(), at: l.c.Record.Elapsed(),
			})
		case m.Method == spec.MethodCancelled:
			l.markCancelled(m.ParamIDAt("/requestId"))
		}
	}
	if len(l.pending) == 0 {
		l.pendingFrom = i
	}
	l.pending = append(l.pending, frame)
	if o.Together && !o.Await && len(l.pending) < 32 {
		return
	}
	r.flush(l)
	if o.Await && len(l.sentRequests) > 0 && !l.over {
		r.awaitResponse(l, l.sentRequests[len(l.sentRequests)-1])
	}
}

// fillMessage returns the operation's message, completed with metadata, with the values that it
// takes from earlier responses, and with the input that its target requires. It returns false if
// one of these values is missing, or if the target requires no input.
func (r *runner) fillMessage(l *liveConversation, o *Operation) ([]byte, bool) {
	frame := l.withMetadata(o.Message)
	for _, take := range o.Take {
		m := r.awaitResponseTo(l, take.ID)
		if m == nil {
			return nil, false
		}
		value := wire.At(m.Raw, take.From)
		if value == nil {
			return nil, false
		}
		frame = putParam(frame, take.Into, value)
	}
	if o.Target != nil {
		return r.addInput(l, o, frame)
	}
	return frame, true
}

// awaitResponseTo writes the pending frames, waits for the response to the request with this id,
// and returns the response, or nil if none came.
func (r *runner) awaitResponseTo(l *liveConversation, rawID Bytes) *transcript.Message {
	r.flush(l)
	id := wire.RawID(string(rawID))
	for _, a := range l.sentRequests {
		if a.id.Same(id) {
			r.awaitResponse(l, a)
		}
	}
	return l.responseTo(id)
}

// addInput completes a request that retries the operation's target. From the response to the target
// it takes the requestState and the requests for input, and adds the client's responses to these.
// It returns false if that response requires no input, or input that the client does not give.
func (r *runner) addInput(l *liveConversation, o *Operation, frame []byte) ([]byte, bool) {
	reply := &client.Reply{}
	if m := r.awaitResponseTo(l, o.Target); m != nil {
		reply.Message = m.Message
	}
	if !reply.IsInputRequired() {
		return nil, false
	}
	input, ok := l.c.NextRoundParams(nil, reply)
	for _, name := range slices.Sorted(maps.Keys(input)) {
		frame = putParam(frame, name, wire.JSON(input[name]))
	}
	return frame, ok
}

// cancel cancels the request that is the operation's target.
func (r *runner) cancel(l *liveConversation, o *Operation) {
	id := wire.RawID(string(o.Target))
	if err := l.c.Cancel(r.ctx, id, "no longer needed"); err != nil && l.c.Web() == nil {
		l.over = true
		l.torn = l.torn || l.c.Alive()
	}
	l.markCancelled(id)
}

// withMetadata adds the required keys of _meta to a request of the stateless era, unless they are
// already present. It does not change a frame that is not a single request, or a request whose
// params or _meta is not an object.
func (l *liveConversation) withMetadata(frame []byte) []byte {
	if l.c.Revision().Era() != spec.Stateless {
		return frame
	}
	read := wire.Parse(frame)
	if len(read.Messages) != 1 || read.Batch || read.Messages[0].Kind != wire.Request {
		return frame
	}
	params := read.Messages[0].Params()
	meta := wire.At(params, "/_meta")
	if params != nil && params.Kind() != '{' || meta != nil && meta.Kind() != '{' {
		return frame
	}
	names, values := wire.Members(meta)
	if values == nil {
		values = map[string]jsontext.Value{}
	}
	required := l.c.Metadata()
	for _, key := range slices.Sorted(maps.Keys(required)) {
		if values[key] == nil {
			names, values[key] = append(names, key), wire.JSON(required[key])
		}
	}
	return putParam(frame, "_meta", wire.Object(names, values))
}

// putParam returns the frame with the member name of its params set to value.
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

// flush writes the pending frames in one write.
func (r *runner) flush(l *liveConversation) {
	if len(l.pending) == 0 {
		return
	}
	frames, first := l.pending, l.pendingFrom
	l.pending = nil
	from := l.c.Record.Len()
	ctx, cancel := l.c.Record.WithTimeout(r.ctx, r.Timeout, context.DeadlineExceeded)
	defer cancel()
	if err := l.c.Send(ctx, frames...); err != nil {
		l.over = true
		l.torn = l.torn || l.c.Alive()
	}
	l.spans = append(l.spans, span{first, from, l.c.Record.Len()})
}

// sendRaw sends bytes unchanged, in chunks that end at the operation's splits.
func (r *runner) sendRaw(l *liveConversation, i int, o *Operation) {
	var chunks [][]byte
	at := 0
	for _, split := range o.Splits {
		if split > at && split < len(o.Message) {
			chunks = append(chunks, o.Message[at:split])
			at = split
		}
	}
	chunks = append(chunks, o.Message[at:])
	if o.Violates == "" { // a valid request expects a response
		for _, m := range wire.Parse(o.Message).Messages {
			if m.Kind == wire.Request {
				l.noteSent(request{operation: i, text: m.Raw, id: m.ID, method: m.Method, odd: true})
			}
		}
	}
	r.awaitRateLimit()
	release := l.c.HoldReplies()
	defer release()
	ctx, cancel := l.c.Record.WithTimeout(r.ctx, r.Timeout, context.DeadlineExceeded)
	defer cancel()
	if err := l.c.SendBytes(ctx, chunks...); err != nil && l.c.Web() == nil {
		l.over = true
		l.torn = l.torn || l.c.Alive()
	}
}

// fence waits until the server has read everything that was sent.
func (r *runner) fence(l *liveConversation) {
	r.awaitRateLimit()
	if err := l.c.Fence(r.ctx); err != nil {
		l.over = true
		l.Unresponsive = l.Unresponsive || errors.Is(err, client.ErrUnanswered)
	}
}

// walkList requests the pages of a list, at most maxPages.
func (r *runner) walkList(l *liveConversation, o *Operation) {
	seen := map[string]bool{}
	var params map[string]any
	for range maxPages {
		r.awaitRateLimit()
		reply := l.c.Do(r.ctx, o.Method, params)
		if !reply.Succeeded() {
			l.timedOut = l.timedOut || errors.Is(reply.Err, client.ErrUnanswered)
			break
		}
		cursor, more := wire.Text(reply.Message.ResultAt("/nextCursor"))
		if !more || cursor == "" && !l.c.Revision().HasEmptyCursors() || seen[cursor] {
			break
		}
		seen[cursor] = true
		params = map[string]any{"cursor": cursor}
	}
}

// responder returns a function that returns the reply as the response to a request of the server.
// The request stays unanswered if reply is nil, or has neither a code nor a result.
func responder(reply *Reply) func(m *wire.Message) []byte {
	return func(m *wire.Message) []byte {
		switch {
		case reply == nil:
			return nil
		case reply.Code != 0:
			return wire.NewError(m.ID, reply.Code, "mcp-conform refuses this request", nil)
		case reply.Result == nil:
			return nil
		default:
			return wire.NewResult(m.ID, jsontext.Value(reply.Result))
		}
	}
}

// doExchange performs an HTTP exchange.
func (r *runner) doExchange(l *liveConversation, o *Operation) {
	web := l.c.Web()
	if web == nil || o.Exchange == nil {
		return
	}
	r.awaitRateLimit()
	x, err := web.Begin(transport.Request{Method: o.Exchange.Method, Fields: headersOf(web, o.Exchange, o.Exchange.Body), Body: o.Exchange.Body}, "")
	if err != nil {
		return
	}
	defer x.Drop()
	ctx, cancel := l.c.Record.WithTimeout(r.ctx, min(webTime, r.Timeout), context.DeadlineExceeded)
	defer cancel()
	if o.Exchange.Method == "GET" || o.Exchange.Method == "HEAD" {
		select {
		case <-x.Responded():
			// A stream that GET opens does not end by itself, and no response is expected on it.
			ctx, cancel = l.c.Record.WithTimeout(ctx, authorTime, context.DeadlineExceeded)
			defer cancel()
		case <-ctx.Done():
		}
	}
	select {
	case <-x.Over():
	case <-ctx.Done():
	}
}

// headersOf returns the headers of the session, overridden by those of the exchange.
func headersOf(web transport.Web, x *Exchange, body []byte) []transcript.Field {
	fields := web.Headers(x.Method, body)
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
