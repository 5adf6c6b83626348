package faults

import (
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// metaValue returns the value of a key of a request's _meta, as JSON, or "" if _meta lacks the
// key.
func metaValue(c *refserver.Call, key string) string {
	return string(wire.At(c.Params, spec.MetaPointer(key)))
}

// A follower marks the requests of a method that come right after a request for which isTrigger
// returns true.
type follower struct {
	method    string
	isTrigger func(c *refserver.Call) bool

	mu     sync.Mutex
	was    bool
	marked map[callKey]bool
}

func newFollower(isTrigger func(c *refserver.Call) bool, method string) *follower {
	return &follower{method: method, isTrigger: isTrigger, marked: map[callKey]bool{}}
}

// seams returns the seams that mark requests in the order in which they are read, and edit the
// responses to marked requests.
func (f *follower) seams(edit func(o *refserver.Out)) *refserver.Seams {
	return combineSeams(&refserver.Seams{BeforeHandle: func(c *refserver.Call) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.was && c.Method == f.method {
			f.marked[callKey{c.Session, c.ID.Key()}] = true
		}
		f.was = f.isTrigger(c)
	}}, EditOutgoing(Responses(f.method), func(o *refserver.Out) {
		f.mu.Lock()
		key := callKey{o.Session, o.ID.Key()}
		due := f.marked[key]
		delete(f.marked, key)
		f.mu.Unlock()
		if due {
			edit(o)
		}
	}))
}

// editAfter edits the responses to requests of a method that come right after a request for which
// isTrigger returns true.
func editAfter(isTrigger func(c *refserver.Call) bool, method string, edit func(o *refserver.Out)) func() *refserver.Seams {
	return func() *refserver.Seams {
		return newFollower(isTrigger, method).seams(edit)
	}
}

// onResult edits the result in a response.
func onResult(e edit) func(o *refserver.Out) {
	return func(o *refserver.Out) {
		_, m := wire.Members(o.Frames[0])
		if m["result"] == nil {
			return
		}
		r := decodeObject(m["result"])
		e(r)
		m["result"] = wire.JSON(r)
		o.Frames[0] = wire.JSON(m)
	}
}

// buriedStateless returns the faults of 2026-07-28 that show only after certain requests or with
// rare values.
func buriedStateless() []*Fault {
	requests := func(method string) func(c *refserver.Call) bool {
		return func(c *refserver.Call) bool { return c.Method == method }
	}
	return limitRevisions(spec.StatelessRevisions(),
		newFaultWithState("stateless.no-prior-request-context/after-url-mode", "prompts/list right after a request that declares only elicitation by URL gets -32602",
			editAfter(func(c *refserver.Call) bool {
				return metaValue(c, spec.MetaClientCapabilities) == `{"elicitation":{"url":{}}}`
			}, spec.MethodPromptsList, func(o *refserver.Out) {
				o.Frames[0] = wire.NewError(o.ID, int64(spec.CodeInvalidParams), "Invalid params: elicitation/form is required", nil)
			})),
		newFaultWithState("stateless.result-type/after-subscription", "resources/list right after subscriptions/listen has no resultType",
			editAfter(requests(spec.MethodListen), spec.MethodResourcesList, onResult(omitMembers("resultType")))),
		newFaultWithState("discover.independent-of-connection/after-subscription", "server/discover after subscriptions/listen and prompts/get names other capabilities", func() *refserver.Seams {
			h := &methodHistory{}
			after := func(c *refserver.Call) bool { return h.endsWith(c.Method, spec.MethodListen, spec.MethodPromptsGet) }
			return newFollower(after, spec.MethodDiscover).seams(onResult(setValue("capabilities", map[string]any{"tools": map[string]any{}})))
		}),
		newFaultWithState("caching.ttl.non-negative/after-emergency", "tools/list right after a request with the log level emergency has a ttlMs of -1",
			editAfter(func(c *refserver.Call) bool { return metaValue(c, spec.MetaLogLevel) == `"emergency"` }, spec.MethodToolsList, onResult(setValue("ttlMs", -1)))),
		newFaultWithState("base.response-once/after-second-round", "resources/templates/list right after a second round gets two responses",
			editAfter(func(c *refserver.Call) bool { return wire.At(c.Params, "/inputResponses") != nil }, spec.MethodResourcesTemplates, func(o *refserver.Out) {
				o.Frames = append(o.Frames, o.Frames[0])
			})),
		newFaultWithState("pagination.next-cursor.string/other-page-before", "a first page of tools/list right after a later page of resources/templates/list has a number as nextCursor",
			editAfter(func(c *refserver.Call) bool {
				return c.Method == spec.MethodResourcesTemplates && wire.At(c.Params, "/cursor") != nil
			}, spec.MethodToolsList, onResult(func(r map[string]any) {
				if r["nextCursor"] != nil {
					r["nextCursor"] = 5
				}
			}))),
		newFaultWithState("base.response-once/after-cancellation", "prompts/list right after a cancellation gets two responses", func() *refserver.Seams {
			f := newFollower(func(*refserver.Call) bool { return false }, spec.MethodPromptsList)
			return combineSeams(f.seams(func(o *refserver.Out) { o.Frames = append(o.Frames, o.Frames[0]) }),
				onCancellation(func(n *refserver.Notification, next func(*refserver.Notification)) {
					f.mu.Lock()
					f.was = true
					f.mu.Unlock()
					next(n)
				}))
		}),
		newFault("subscriptions.id-value/digits", "the notifications of a subscription with a string of four or more digits as id have a number as subscriptionId",
			EditBytes(func(o *refserver.Out) bool { return o.Kind == refserver.OutNotification }, func(frame []byte) []byte {
				_, m := wire.Members(frame)
				id, ok := wire.Text(wire.At(m["params"], spec.MetaPointer(spec.MetaSubscriptionID)))
				if !ok || len(id) < 4 || strings.Trim(id, "0123456789") != "" || id[0] == '0' {
					return frame
				}
				params := decodeObject(m["params"])
				params["_meta"].(map[string]any)[spec.MetaSubscriptionID] = jsontext.Value(id) //nolint:forcetypeassert // it has the id
				m["params"] = wire.JSON(params)
				return wire.JSON(m)
			})),
		newFaultWithState("subscriptions.ack-filter-subset/declined", "a type that the filter names with false is acknowledged if the filter also names resources", func() *refserver.Seams {
			var mu sync.Mutex
			odd := map[string]bool{} // by the id of the subscription
			return combineSeams(&refserver.Seams{BeforeHandle: func(c *refserver.Call) {
				filter := wire.At(c.Params, "/notifications")
				mu.Lock()
				defer mu.Unlock()
				odd[c.ID.Key()] = string(wire.At(filter, "/toolsListChanged")) == "false" && len(wire.Elements(wire.At(filter, "/resourceSubscriptions"))) > 0
			}}, editSentParams(spec.MethodAcknowledged, func(params map[string]any) {
				granted, ok := params["notifications"].(map[string]any)
				mu.Lock()
				defer mu.Unlock()
				id := wire.RawID(string(wire.At(wire.JSON(params), spec.MetaPointer(spec.MetaSubscriptionID)))).Key()
				if odd[id] && ok && granted["resourceSubscriptions"] != nil {
					granted["toolsListChanged"] = true
				}
			}))
		}),
		newFault("tools.call.result-schema/root-with-digit", "a tool that gets a root whose URI has a digit or an underscore returns a string as content",
			editMatchingResults(spec.MethodToolsCall, func(c *refserver.Call) bool {
				_, responses := wire.Members(wire.At(c.Params, "/inputResponses"))
				for _, response := range responses {
					if uri, _ := wire.Text(wire.At(response, "/roots/0/uri")); strings.ContainsAny(uri, "_0123456789") {
						return true
					}
				}
				return false
			}, func(r map[string]any) { r["content"] = "roots" })),
	)
}
