package faults

import (
	"bytes"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// singleMessageFaults returns the faults that show with a single unusual request, or only while
// the client sends nothing else.
func singleMessageFaults() []*Fault {
	return []*Fault{
		newFaultWithState("base.request-answered/held-call", "the response to tools/call is written only when the client sends another message", func() *refserver.Seams {
			return holdUntilNext(spec.MethodToolsCall)
		}).overTransports(spec.Stdio),
		newFaultWithState("base.request-answered/held-with-token", "the response to tools/call with a progress token is written only when the client sends another message", func() *refserver.Seams {
			return holdUntilNextIf(spec.MethodToolsCall, func(c *refserver.Call) bool { return wire.At(c.Params, "/_meta/progressToken") != nil })
		}).overTransports(spec.Stdio),
		newFault("base.request-answered/wrong-arguments", "a call of a tool with arguments that violate its schema gets no response",
			suppressResponse(spec.MethodToolsCall, lacksText)),
		newFaultWithState("base.request-answered/held-read", "the response to resources/read is written only when the client sends another message", func() *refserver.Seams {
			return holdUntilNext(spec.MethodResourcesRead)
		}).overTransports(spec.Stdio),
		newFault("base.request-answered/surrogates", "requests with an escaped surrogate pair get no response",
			dropRequestsByText(func(raw []byte) bool { return bytes.Contains(raw, []byte(`\ud83d\udddd`)) })).overTransports(orderedTransports()...),
		newFaultWithState("base.request-answered/unsubscribed-twice", "a resources/unsubscribe without a subscription ends the process", func() *refserver.Seams {
			return onRedundantUnsubscribe(func(c *refserver.Call) (any, *refserver.Error) {
				c.Session.Exit(1)
				return nil, refserver.NoResponse
			})
		}).overTransports(spec.Stdio),
		newFault("base.request-answered/nul-in-argument", "a call with an escaped NUL in an argument ends the process",
			exitOnRequest(spec.MethodToolsCall, hasNUL)).overTransports(spec.Stdio),
		newFault("base.message-utf8/results-latin-1", "the description of a resource link from a tool contains Latin-1 characters", EditBytes(Results(spec.MethodToolsCall), insertLatin1)),
	}
}

// legalSingleMessages returns the legal variations that resemble singleMessageFaults.
func legalSingleMessages() []*Fault {
	return []*Fault{
		newVariation("slow-call", "a call of one tool takes a second and a half, even if the client sends nothing more", combineSeams(
			editTool("content", func(t map[string]any) { t["description"] = "Takes a second and a half." }),
			WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if name, _ := wire.Text(wire.At(c.Params, "/name")); name == "content" {
					sleep(c.Context(), 1530*time.Millisecond)
				}
				return next(c)
			}))).overTransports(spec.Stdio),
		newVariationWithState("unsubscribed-twice-refused", "a resources/unsubscribe without a subscription gets an error", func() *refserver.Seams {
			return onRedundantUnsubscribe(func(*refserver.Call) (any, *refserver.Error) {
				return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "There is no such subscription"}
			})
		}),
		newVariation("wrong-arguments-slow", "a call of a tool with arguments that violate its schema is refused after four seconds", combineSeams(
			editTool("echo", func(t map[string]any) { t["description"] = "Returns the text; without one it waits." }),
			WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if lacksText(c) {
					sleep(c.Context(), 4*time.Second)
				}
				return next(c)
			}))).overTransports(spec.Stdio),
		newVariation("nul-refused", "calls with an escaped NUL in an argument are refused",
			refuseCalls(spec.MethodToolsCall, hasNUL, spec.CodeInvalidParams, "The text has a NUL")),
	}
}

func hasNUL(c *refserver.Call) bool { return bytes.Contains(c.Params, []byte(`\u0000`)) }

// lacksText reports whether the request is a call of the tool echo whose argument text is missing
// or not a string.
func lacksText(c *refserver.Call) bool {
	name, _ := wire.Text(wire.At(c.Params, "/name"))
	_, isText := wire.Text(wire.At(c.Params, "/arguments/text"))
	return name == "echo" && !isText
}

// onRedundantUnsubscribe calls respond instead of the handler for each resources/unsubscribe of a
// URI to which the session is not subscribed.
func onRedundantUnsubscribe(respond func(*refserver.Call) (any, *refserver.Error)) *refserver.Seams {
	type subscription struct {
		session *refserver.Session
		uri     string
	}
	var open sync.Map
	of := func(c *refserver.Call) subscription {
		uri, _ := wire.Text(wire.At(c.Params, "/uri"))
		return subscription{c.Session, uri}
	}
	return combineSeams(
		WrapHandler(spec.MethodResourcesSubscribe, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			open.Store(of(c), true)
			return next(c)
		}),
		WrapHandler(spec.MethodResourcesUnsubscribe, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if _, subscribed := open.LoadAndDelete(of(c)); !subscribed {
				return respond(c)
			}
			return next(c)
		}))
}

// holdUntilNext holds back the responses to a method until the session gets another message.
func holdUntilNext(method string) *refserver.Seams {
	return holdUntilNextIf(method, always)
}

// holdUntilNextIf is like holdUntilNext, but holds back only the responses to the calls for which
// the function holds returns true.
func holdUntilNextIf(method string, holds func(*refserver.Call) bool) *refserver.Seams {
	var mu sync.Mutex
	held := map[*refserver.Session][]chan struct{}{}
	release := onIncoming(func(s *refserver.Session, _ *wire.Frame) bool {
		mu.Lock()
		defer mu.Unlock()
		for _, next := range held[s] {
			close(next)
		}
		delete(held, s)
		return false
	}, dropFrame)
	return combineSeams(release, WrapHandler(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if !holds(c) {
			return result, err
		}
		released := make(chan struct{})
		mu.Lock()
		held[c.Session] = append(held[c.Session], released)
		mu.Unlock()
		select {
		case <-released:
		case <-c.Context().Done():
		}
		return result, err
	}))
}
