package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// Handler handles a request, as refserver.Seams.Handle wraps it.
type Handler = func(*refserver.Call) (any, *refserver.Error)

// When says which outgoing messages a fault is about.
type When func(o *refserver.Out) bool

// Answers are the responses to requests of the given methods; without any,
// to all requests but initialize, so that the session can begin.
func Answers(methods ...string) When {
	return func(o *refserver.Out) bool {
		answer := o.Kind == refserver.OutResult || o.Kind == refserver.OutError
		if len(methods) > 0 {
			return answer && slices.Contains(methods, o.Method)
		}
		return answer && o.Method != spec.MethodInitialize
	}
}

// Results are the answers that succeed.
func Results(methods ...string) When {
	return func(o *refserver.Out) bool { return o.Kind == refserver.OutResult && Answers(methods...)(o) }
}

// Errors are the error responses with one of the codes, to requests or to
// what was none; without codes, all.
func Errors(codes ...spec.Code) When {
	return func(o *refserver.Out) bool {
		if o.Kind != refserver.OutError {
			return false
		}
		code, _ := wire.Parse(o.Frames[0]).Messages[0].ErrorCode()
		return len(codes) == 0 || slices.Contains(codes, spec.Code(code))
	}
}

// replies are errors to requests whose id could be read.
func replies(codes ...spec.Code) When {
	return func(o *refserver.Out) bool { return o.ID.Present() && Errors(codes...)(o) }
}

// Requests are the server's own requests.
func Requests(o *refserver.Out) bool { return o.Kind == refserver.OutRequest }

// Everything is every message but batches, whose elements are seen by themselves.
func Everything(o *refserver.Out) bool { return o.Kind != refserver.OutBatch }

// afterInitialize is everything after the answer to initialize.
func afterInitialize(o *refserver.Out) bool {
	return o.Kind != refserver.OutBatch && o.Revision != "" && o.Method != spec.MethodInitialize
}

// opened picks the answers to requests that came after initialize.
func opened(o *refserver.Out) bool { return o.Revision != "" && Answers()(o) }

// Outgoing applies f to the messages that when picks.
func Outgoing(when When, f func(o *refserver.Out)) refserver.Seams {
	return refserver.Seams{Outgoing: func(o *refserver.Out) {
		if when(o) {
			f(o)
		}
	}}
}

// AlterBytes rewrites messages as bytes.
func AlterBytes(when When, f func(frame []byte) []byte) refserver.Seams {
	return Outgoing(when, func(o *refserver.Out) { o.Frames[0] = f(o.Frames[0]) })
}

// Members are the members of a JSON object, raw.
type Members = map[string]jsontext.Value

// EditMessage rewrites the members of messages.
func EditMessage(when When, edit func(m Members)) refserver.Seams {
	return AlterBytes(when, func(frame []byte) []byte {
		_, m := wire.Members(frame)
		edit(m)
		return wire.JSON(m)
	})
}

// setMember puts a raw value in the place of a member.
func setMember(when When, name, raw string) refserver.Seams {
	return EditMessage(when, func(m Members) { m[name] = jsontext.Value(raw) })
}

// dropMember leaves a member out.
func dropMember(when When, name string) refserver.Seams {
	return EditMessage(when, func(m Members) { delete(m, name) })
}

// editError rewrites the error member of errors.
func editError(when When, edit func(e Members)) refserver.Seams {
	return EditMessage(when, func(m Members) {
		_, e := wire.Members(m["error"])
		edit(e)
		m["error"] = wire.JSON(e)
	})
}

// mute drops messages.
func mute(when When) refserver.Seams {
	return Outgoing(when, func(o *refserver.Out) { o.Frames = nil })
}

// recode changes the code of errors.
func recode(when When, code string) refserver.Seams {
	return editError(when, func(e Members) { e["code"] = jsontext.Value(code) })
}

// before sends raw lines ahead of messages, in the same write.
func before(when When, lines ...string) refserver.Seams {
	return Outgoing(when, func(o *refserver.Out) { o.Frames = append(raws(lines), o.Frames...) })
}

// after sends raw lines behind messages, in the same write.
func after(when When, lines ...string) refserver.Seams {
	return Outgoing(when, func(o *refserver.Out) { o.Frames = append(o.Frames, raws(lines)...) })
}

func raws(lines []string) [][]byte {
	var out [][]byte
	for _, line := range lines {
		out = append(out, []byte(line))
	}
	return out
}

// Handle wraps the handling of a method; of every method when it is empty.
func Handle(method string, f func(c *refserver.Call, next Handler) (any, *refserver.Error)) refserver.Seams {
	return refserver.Seams{Handle: func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
		if method != "" && c.Method != method {
			return next(c)
		}
		return f(c, next)
	}}
}

// EditResult rewrites the results of a method, decoded.
func EditResult(method string, edit func(r map[string]any)) refserver.Seams {
	return Handle(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if err != nil {
			return nil, err
		}
		r := plain(result)
		edit(r)
		return r, nil
	})
}

// replaceResult answers a method with a fixed result, raw JSON.
func replaceResult(method, result string) refserver.Seams {
	return Handle(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if _, err := next(c); err != nil {
			return nil, err
		}
		return jsontext.Value(result), nil
	})
}

// refuse answers the calls of a method for which when holds with an error.
func refuse(method string, when func(c *refserver.Call) bool, code spec.Code, message string) refserver.Seams {
	return Handle(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if when(c) {
			return nil, &refserver.Error{Code: code, Message: message}
		}
		return next(c)
	})
}

// unanswered leaves out the answers to the calls for which when holds.
func unanswered(method string, when func(c *refserver.Call) bool) refserver.Seams {
	return Handle(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if when(c) {
			return nil, refserver.NoResponse
		}
		return next(c)
	})
}

// dies ends the process when a request of the method comes for which when holds.
func dies(method string, when func(c *refserver.Call) bool) refserver.Seams {
	return Handle(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if when(c) {
			c.Session.Exit(1)
			return nil, refserver.NoResponse
		}
		return next(c)
	})
}

func always(*refserver.Call) bool { return true }

// plain decodes what a handler returned into maps, slices and json.Numbers.
func plain(v any) map[string]any {
	dec := json.NewDecoder(bytes.NewReader(wire.JSON(v)))
	dec.UseNumber()
	var m map[string]any
	if err := dec.Decode(&m); err != nil {
		panic("faults: a result is no object: " + err.Error())
	}
	return m
}

// items returns the objects in an array member of a decoded result.
func items(r map[string]any, member string) []map[string]any {
	array, _ := r[member].([]any)
	var out []map[string]any
	for _, e := range array {
		if m, ok := e.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// notified adds to the handling of the notifications for which when holds.
func notified(when func(n *refserver.Notification) bool, f func(n *refserver.Notification)) refserver.Seams {
	return refserver.Seams{HandleNotification: func(n *refserver.Notification, next func(*refserver.Notification)) {
		next(n)
		if when(n) {
			f(n)
		}
	}}
}

// method picks the notifications of a method.
func method(name string) func(n *refserver.Notification) bool {
	return func(n *refserver.Notification) bool { return n.Method == name }
}

// onceReady does something when the client has said initialized.
func onceReady(f func(s *refserver.Session)) refserver.Seams {
	return notified(method(spec.MethodInitialized), func(n *refserver.Notification) { f(n.Session) })
}

// sendsWhenReady sends a raw line when the client has said initialized.
func sendsWhenReady(line string) refserver.Seams {
	return onceReady(func(s *refserver.Session) { s.SendRaw([]byte(line)) })
}

// asksWhenReady sends the client a request when it has said initialized.
func asksWhenReady(method string, params any) refserver.Seams {
	return onceReady(func(s *refserver.Session) {
		s.Go(func(ctx context.Context) { _, _ = s.SendRequest(ctx, wire.ID{}, method, params) })
	})
}

// incoming rewrites, drops or dies of the frames for which when holds.
func incoming(when func(s *refserver.Session, f *wire.Frame) bool, f func(s *refserver.Session, raw []byte) refserver.FrameAction) refserver.Seams {
	return refserver.Seams{Incoming: func(s *refserver.Session, raw []byte) refserver.FrameAction {
		if when(s, wire.Parse(raw)) {
			return f(s, raw)
		}
		return refserver.Pass(raw)
	}}
}

// rewrites passes on the members of a frame's one message, edited.
func rewrites(edit func(m Members)) func(*refserver.Session, []byte) refserver.FrameAction {
	return func(_ *refserver.Session, raw []byte) refserver.FrameAction {
		_, m := wire.Members(raw)
		edit(m)
		return refserver.Pass(wire.JSON(m))
	}
}

func swallows(*refserver.Session, []byte) refserver.FrameAction { return refserver.Drop() }

func diesOf(code int) func(*refserver.Session, []byte) refserver.FrameAction {
	return func(*refserver.Session, []byte) refserver.FrameAction { return refserver.ExitWith(code) }
}

// pause waits for d or for the end of the context, and tells which.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
