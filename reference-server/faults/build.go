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

// A Handler handles a request, as in refserver.Seams.Handle.
type Handler = func(*refserver.Call) (any, *refserver.Error)

// A MessageFilter reports whether a fault applies to an outgoing message.
type MessageFilter func(o *refserver.Out) bool

// Responses matches the responses to requests of the given methods. If no method is given, it
// matches the responses to all requests except initialize, so that the session can begin.
func Responses(methods ...string) MessageFilter {
	return func(o *refserver.Out) bool {
		answer := o.Kind == refserver.OutResult || o.Kind == refserver.OutError
		if len(methods) > 0 {
			return answer && slices.Contains(methods, o.Method)
		}
		return answer && o.Method != spec.MethodInitialize
	}
}

// Results is like Responses, but matches only results.
func Results(methods ...string) MessageFilter {
	return func(o *refserver.Out) bool { return o.Kind == refserver.OutResult && Responses(methods...)(o) }
}

// Errors matches error responses with one of the codes, or with any code if none is
// given.
func Errors(codes ...spec.Code) MessageFilter {
	return func(o *refserver.Out) bool {
		if o.Kind != refserver.OutError {
			return false
		}
		code, _ := wire.Parse(o.Frames[0]).Messages[0].ErrorCode()
		return len(codes) == 0 || slices.Contains(codes, spec.Code(code))
	}
}

// errorsWithID is like Errors, but matches only errors with an id.
func errorsWithID(codes ...spec.Code) MessageFilter {
	return func(o *refserver.Out) bool { return o.ID.IsPresent() && Errors(codes...)(o) }
}

// IsServerRequest matches requests to the client.
func IsServerRequest(o *refserver.Out) bool { return o.Kind == refserver.OutRequest }

// AnyMessage matches every message except batches, whose elements match individually.
func AnyMessage(o *refserver.Out) bool { return o.Kind != refserver.OutBatch }

// isAfterInitialize matches every message after the response to initialize, except batches.
func isAfterInitialize(o *refserver.Out) bool {
	return o.Kind != refserver.OutBatch && o.Revision != "" && o.Method != spec.MethodInitialize
}

// isSessionResponse matches responses to requests after initialize.
func isSessionResponse(o *refserver.Out) bool { return o.Revision != "" && Responses()(o) }

// EditOutgoing applies f to the outgoing messages that match.
func EditOutgoing(when MessageFilter, f func(o *refserver.Out)) *refserver.Seams {
	return &refserver.Seams{Outgoing: func(o *refserver.Out) {
		if when(o) {
			f(o)
		}
	}}
}

// EditBytes replaces the bytes of each matching message with the result of f.
func EditBytes(when MessageFilter, f func(frame []byte) []byte) *refserver.Seams {
	return EditOutgoing(when, func(o *refserver.Out) { o.Frames[0] = f(o.Frames[0]) })
}

// Members are the members of a JSON object as raw JSON.
type Members = map[string]jsontext.Value

// EditMessage edits the members of the messages that match.
//
//go:noinline
func EditMessage(when MessageFilter, edit func(m Members)) *refserver.Seams {
	return EditBytes(when, func(frame []byte) []byte {
		_, m := wire.Members(frame)
		edit(m)
		return wire.JSON(m)
	})
}

// setMember sets a member of the matching messages to raw JSON.
func setMember(when MessageFilter, name, raw string) *refserver.Seams {
	return EditMessage(when, func(m Members) { m[name] = jsontext.Value(raw) })
}

// dropMember removes a member from the matching messages.
func dropMember(when MessageFilter, name string) *refserver.Seams {
	return EditMessage(when, func(m Members) { delete(m, name) })
}

// editError edits the member error of the matching error responses.
func editError(when MessageFilter, edit func(e Members)) *refserver.Seams {
	return EditMessage(when, func(m Members) {
		_, e := wire.Members(m["error"])
		edit(e)
		m["error"] = wire.JSON(e)
	})
}

// dropMessages drops the matching messages.
func dropMessages(when MessageFilter) *refserver.Seams {
	return EditOutgoing(when, func(o *refserver.Out) { o.Frames = nil })
}

// setErrorCode sets the code of the matching error responses to raw JSON.
func setErrorCode(when MessageFilter, code string) *refserver.Seams {
	return editError(when, func(e Members) { e["code"] = jsontext.Value(code) })
}

// prependLines sends raw lines before each matching message, in the same write.
func prependLines(when MessageFilter, lines ...string) *refserver.Seams {
	return EditOutgoing(when, func(o *refserver.Out) { o.Frames = append(rawLines(lines), o.Frames...) })
}

// appendLines sends raw lines after each matching message, in the same write.
func appendLines(when MessageFilter, lines ...string) *refserver.Seams {
	return EditOutgoing(when, func(o *refserver.Out) { o.Frames = append(o.Frames, rawLines(lines)...) })
}

func rawLines(lines []string) [][]byte {
	var out [][]byte
	for _, line := range lines {
		out = append(out, []byte(line))
	}
	return out
}

// WrapHandler wraps the handler of a method, or of all methods if method is empty.
//
//go:noinline
func WrapHandler(method string, f func(c *refserver.Call, next Handler) (any, *refserver.Error)) *refserver.Seams {
	return &refserver.Seams{Handle: func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
		if method != "" && c.Method != method {
			return next(c)
		}
		return f(c, next)
	}}
}

// EditResult edits the decoded results of a method, or of all methods if method is empty.
//
//go:noinline
func EditResult(method string, edit func(r map[string]any)) *refserver.Seams {
	return WrapHandler(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if err != nil {
			return nil, err
		}
		r := decodeObject(result)
		edit(r)
		return r, nil
	})
}

// replaceResult replaces the results of a method with raw JSON.
func replaceResult(method, result string) *refserver.Seams {
	return WrapHandler(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if _, err := next(c); err != nil {
			return nil, err
		}
		return jsontext.Value(result), nil
	})
}

// refuseCalls returns an error for the matching requests of a method.
func refuseCalls(method string, when func(c *refserver.Call) bool, code spec.Code, message string) *refserver.Seams {
	return WrapHandler(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if when(c) {
			return nil, &refserver.Error{Code: code, Message: message}
		}
		return next(c)
	})
}

// suppressErrors sends no response to a request of the method if the request fails.
func suppressErrors(method string) *refserver.Seams {
	return WrapHandler(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if err != nil {
			return nil, refserver.NoResponse
		}
		return result, nil
	})
}

// suppressResponse sends no response to the matching requests of a method.
func suppressResponse(method string, when func(c *refserver.Call) bool) *refserver.Seams {
	return WrapHandler(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if when(c) {
			return nil, refserver.NoResponse
		}
		return next(c)
	})
}

// exitOnRequest ends the process on a matching request of a method.
func exitOnRequest(method string, when func(c *refserver.Call) bool) *refserver.Seams {
	return WrapHandler(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if when(c) {
			c.Session.Exit(1)
			return nil, refserver.NoResponse
		}
		return next(c)
	})
}

func always(*refserver.Call) bool { return true }

// decodeObject converts the result of a handler to maps, slices and json.Numbers. It panics
// if the result is not an object.
func decodeObject(v any) map[string]any {
	dec := json.NewDecoder(bytes.NewReader(wire.JSON(v)))
	dec.UseNumber()
	var m map[string]any
	if err := dec.Decode(&m); err != nil {
		panic("faults: a result is not an object: " + err.Error())
	}
	return m
}

// objectsIn returns the objects in an array member of a decoded result.
func objectsIn(r map[string]any, member string) []map[string]any {
	array, _ := r[member].([]any)
	var out []map[string]any
	for _, e := range array {
		if m, ok := e.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// afterNotification calls f after the server has handled a matching notification.
func afterNotification(when func(n *refserver.Notification) bool, f func(n *refserver.Notification)) *refserver.Seams {
	return &refserver.Seams{HandleNotification: func(n *refserver.Notification, next func(*refserver.Notification)) {
		next(n)
		if when(n) {
			f(n)
		}
	}}
}

// hasMethod matches notifications of a method.
func hasMethod(name string) func(n *refserver.Notification) bool {
	return func(n *refserver.Notification) bool { return n.Method == name }
}

// onInitialized calls f after notifications/initialized.
//
//go:noinline
func onInitialized(f func(s *refserver.Session)) *refserver.Seams {
	return afterNotification(hasMethod(spec.MethodInitialized), func(n *refserver.Notification) { f(n.Session) })
}

// sendLineOnInitialized sends a raw line after notifications/initialized.
func sendLineOnInitialized(line string) *refserver.Seams {
	return onInitialized(func(s *refserver.Session) { s.SendRaw([]byte(line)) })
}

// requestOnInitialized sends a request to the client after notifications/initialized.
func requestOnInitialized(method string, params any) *refserver.Seams {
	return onInitialized(func(s *refserver.Session) {
		s.Go(func(ctx context.Context) { _, _ = s.SendRequest(ctx, wire.ID{}, method, params) })
	})
}

// onIncoming calls f for the incoming frames that match; f decides what happens to them.
//
//go:noinline
func onIncoming(when func(s *refserver.Session, f *wire.Frame) bool, f func(s *refserver.Session, raw []byte) refserver.FrameAction) *refserver.Seams {
	return &refserver.Seams{Incoming: func(s *refserver.Session, raw []byte) refserver.FrameAction {
		if when(s, wire.Parse(raw)) {
			return f(s, raw)
		}
		return refserver.Pass(raw)
	}}
}

// editMembers returns a function for onIncoming that edits the members of a frame's single message
// and delivers it.
func editMembers(edit func(m Members)) func(*refserver.Session, []byte) refserver.FrameAction {
	return func(_ *refserver.Session, raw []byte) refserver.FrameAction {
		_, m := wire.Members(raw)
		edit(m)
		return refserver.Pass(wire.JSON(m))
	}
}

func dropFrame(*refserver.Session, []byte) refserver.FrameAction { return refserver.Drop() }

func exitWith(code int) func(*refserver.Session, []byte) refserver.FrameAction {
	return func(*refserver.Session, []byte) refserver.FrameAction { return refserver.ExitWith(code) }
}

// sleep waits for d and returns true, or returns false when ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
