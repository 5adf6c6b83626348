package faults

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

func listenFilterFaults() []*Fault {
	const acked, first, subset, supported = "subscriptions.acknowledged/", "subscriptions.ack-first/", "subscriptions.ack-filter-subset/", "subscriptions.ack-filter-supported/"
	const present, value, types, uris = "subscriptions.id-on-notifications/", "subscriptions.id-value/", "subscriptions.only-requested-types/", "subscriptions.only-requested-resources/"
	const without, required, refused = "subscriptions.change-notifications-only-on-listen/", "subscriptions.filter-required/", "subscriptions.error-response/"
	agreeTo := func(e edit) *refserver.Seams {
		return editSentParams(spec.MethodAcknowledged, editMember("notifications", e))
	}
	return withChangingTools(
		newFault(acked+"never", "subscriptions are not acknowledged", dropMessages(notifications(spec.MethodAcknowledged))),
		newFault(acked+"ignored", "subscriptions/listen is ignored", suppressResponse(spec.MethodListen, always)),
		newFaultWithState(acked+"second", "only the first subscription of a process is acknowledged", ignoreLaterSubscriptions),
		newFaultWithState(acked+"first-id", "each subscription is acknowledged with the id of the first one", func() *refserver.Seams { return sendWithFirstID(spec.MethodAcknowledged) }),
		newFault(acked+"no-filter", "the acknowledgement does not contain the filter that the server agrees to", editSentParams(spec.MethodAcknowledged, omitMembers("notifications"))),
		newFault(acked+"own-id", "the acknowledgement has a made-up subscriptionId", editSentParams(spec.MethodAcknowledged, editMember("_meta", setValue(spec.MetaSubscriptionID, "5f0c7b1e")))),
		newFault(acked+"result", "subscriptions/listen gets a result at once, and no acknowledgement", answerListen(false)),
		newFault(acked+"refused", "subscriptions to resources get an error", refuseCalls(spec.MethodListen, func(c *refserver.Call) bool {
			return wire.At(c.Params, "/notifications/resourceSubscriptions") != nil
		}, spec.CodeInvalidParams, "Resources have no subscriptions")),

		newFault(first+"change", "a notification of a change precedes the acknowledgement", EditOutgoing(notifications(spec.MethodAcknowledged), func(o *refserver.Out) {
			o.Frames = append([][]byte{wire.NewNotification(spec.MethodToolsChanged, map[string]any{"_meta": wire.At(wire.Parse(o.Frames[0]).Messages[0].Params(), "/_meta")})}, o.Frames...)
		})),

		newFault(subset+"more", "the server acknowledges changes to the list of prompts for every subscription", agreeTo(setValue("promptsListChanged", true))),
		newFault(subset+"other-resource", "the server acknowledges updates of a resource for every subscription", agreeTo(setValue("resourceSubscriptions", []string{"demo://mcp-conform/other"}))),
		newFault(subset+"undeclared", "the server acknowledges changes to the list of tools, which it does not declare", withholdListChanged("tools")),

		newFault(supported+"nothing", "the server acknowledges no type of notification", editSentParams(spec.MethodAcknowledged, setValue("notifications", map[string]any{}))),
		newFault(supported+"no-prompts", "the server does not acknowledge changes to the list of prompts, which it declares", agreeTo(omitMembers("promptsListChanged"))),

		newFault(present+"lists", "notifications of changed lists have no subscriptionId", editSentParams(spec.MethodToolsChanged, omitMembers("_meta"))),
		newFault(present+"updates", "notifications of updates have no subscriptionId", editSentParams(spec.MethodResourcesUpdated, omitMembers("_meta"))),
		newFault(present+"acknowledgement", "the acknowledgement has no subscriptionId", editSentParams(spec.MethodAcknowledged, omitMembers("_meta"))).overTransports(spec.StreamableHTTP),
		newFault(present+"member", "the subscriptionId is in params instead of _meta", editSentParams(spec.MethodToolsChanged, func(p map[string]any) {
			p["subscriptionId"] = p["_meta"].(map[string]any)[spec.MetaSubscriptionID]
			delete(p, "_meta")
		})),

		newFault(present+"zero-acknowledgement", "the acknowledgement of a subscription whose id is 0 has no subscriptionId", editSentParams(spec.MethodAcknowledged, ifIDIsZero(omitMembers("_meta")))),
		newFault(present+"zero-lists", "notifications of a subscription whose id is 0 have no subscriptionId", editSentParams(spec.MethodToolsChanged, ifIDIsZero(omitMembers("_meta")))),

		newFault(value+"text", "subscriptionIds are strings", editSentParams(spec.MethodToolsChanged, editMember("_meta", func(m map[string]any) {
			m[spec.MetaSubscriptionID] = "id-" + string(wire.JSON(m[spec.MetaSubscriptionID]))
		}))),
		newFault(value+"other", "notifications of updates name another subscription", editSentParams(spec.MethodResourcesUpdated, editMember("_meta", setValue(spec.MetaSubscriptionID, 4711)))),

		newFaultWithState(types+"first", "all notifications have the id of the first subscription", func() *refserver.Seams {
			return sendWithFirstID(spec.MethodToolsChanged, spec.MethodPromptsChanged, spec.MethodResourcesChanged, spec.MethodResourcesUpdated)
		}).overTransports(spec.Stdio),
		newFault(types+"all", "every subscription gets all types of notifications", editFilter(func(filter map[string]any) {
			filter["toolsListChanged"], filter["promptsListChanged"], filter["resourcesListChanged"] = true, true, true
		})),
		newFault(types+"any-list", "a subscription to the list of prompts or of resources gets notifications of the list of tools", editFilter(func(filter map[string]any) {
			if filter["promptsListChanged"] == true || filter["resourcesListChanged"] == true {
				filter["toolsListChanged"] = true
			}
		})),
		newFault(types+"false", "a subscription with false for a type gets notifications of that type", editFilter(func(filter map[string]any) {
			for name, v := range filter {
				if v == false {
					filter[name] = true
				}
			}
		})),
		newFault(uris+"any", "a subscription to some resources gets updates of others", editFilter(ifHas("resourceSubscriptions", func(filter map[string]any) {
			filter["resourceSubscriptions"] = append(filter["resourceSubscriptions"].([]any), "demo://note")
		}))),

		newFault(without+"in-the-call", "a call that changes a list gets the notification of the change on its own stream", wrapTool("trigger-list-changed", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			c.Notify(spec.MethodToolsChanged, nil)
			return next(c)
		})),
		newFault(without+"update", "a call that changes a resource gets the notification of the update on its own stream", wrapTool("update-resource", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			c.Notify(spec.MethodResourcesUpdated, map[string]any{"uri": "demo://note"})
			return next(c)
		})),

		newFault("subscriptions.stays-open/at-once", "a subscription ends right after its acknowledgement", answerListen(true)),

		newFault("subscriptions.client-cancel-stdio/ignored", "a subscription goes on when it is cancelled", ignoreCancellations()),
		newFaultWithState("subscriptions.client-cancel-stdio/answered", "a cancelled subscription gets a result", func() *refserver.Seams { return answerCancelled(math.MaxInt) }).overTransports(spec.Stdio),
		newFaultWithState("subscriptions.client-cancel-http/id-taken", "the id of a subscription whose stream was closed can't be used again", refuseUsedIDs).overTransports(spec.StreamableHTTP),

		newFault("subscriptions.graceful-close-response/none", "on shutdown subscriptions/listen gets no response", dropMessages(Responses(spec.MethodListen))),
		newFault("subscriptions.graceful-close-id/none", "the last result of a subscription has no subscriptionId", EditResult(spec.MethodListen, omitMembers("_meta"))),
		newFault("subscriptions.graceful-close-id/other", "the last result of a subscription names another one", EditResult(spec.MethodListen, editMember("_meta", setValue(spec.MetaSubscriptionID, "other")))),

		newFault(required+"everything", "a subscription without a filter gets all notifications", withFilter(map[string]any{"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true})),
		newFault(required+"nothing", "a subscription without a filter gets no notifications", withFilter(map[string]any{})),

		newFault("subscriptions.http-sse/json", "subscriptions/listen gets a JSON body", answerListen(false)).overTransports(spec.StreamableHTTP),

		newFault(refused+"capabilities", "a subscription without client capabilities is acknowledged", editCallMeta(spec.MethodListen, func(meta map[string]any) {
			if _, ok := meta[spec.MetaClientCapabilities].(map[string]any); !ok {
				meta[spec.MetaClientCapabilities] = map[string]any{}
			}
		})),

		newFault("subscriptions.id-absent-elsewhere/progress", "progress has a subscriptionId", editSentParams(spec.MethodProgress, editMember("_meta", setValue(spec.MetaSubscriptionID, 1)))),
		newFault("subscriptions.id-absent-elsewhere/logs", "log messages have a subscriptionId", editSentParams(spec.MethodMessage, editMember("_meta", setValue(spec.MetaSubscriptionID, "log")))),
	)
}

// ifIDIsZero makes an edit of the params of notifications whose subscriptionId is 0.
func ifIDIsZero(e edit) edit {
	return func(params map[string]any) {
		meta, _ := params["_meta"].(map[string]any)
		if string(wire.JSON(meta[spec.MetaSubscriptionID])) == "0" {
			e(params)
		}
	}
}

// withChangingTools lets the harness call the tools that change lists and resources.
func withChangingTools(rows ...*Fault) []*Fault {
	for i := range rows {
		seams := rows[i].Seams
		rows[i].Seams = func() refserver.Seams {
			own := seams()
			return *combineSeams(markReadOnly("trigger-list-changed"), markReadOnly("update-resource"), &own)
		}
	}
	return rows
}

// legalSubscriptions returns the legal variations in subscriptions.
func legalSubscriptions() []*Fault {
	return limitRevisions(spec.StatelessRevisions(), withChangingTools(
		newVariation("acknowledges-late", "subscriptions are acknowledged after 50 ms", WrapHandler(spec.MethodListen, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			sleep(c.Context(), 50*time.Millisecond)
			return next(c)
		})),
		newVariationWithState("acknowledgements-repeated", "a subscription is acknowledged again when the next one is requested", repeatAcknowledgement),
		newVariation("acknowledges-twice", "each acknowledgement is sent twice", EditOutgoing(notifications(spec.MethodAcknowledged), func(o *refserver.Out) { o.Frames = append(o.Frames, o.Frames[0]) })),
		newVariationWithState("progress-of-subscriptions", "a subscription with a progress token gets progress of its own after the acknowledgement", func() *refserver.Seams {
			t := newCallTracker()
			return combineSeams(t.seams(), EditOutgoing(notifications(spec.MethodAcknowledged), func(o *refserver.Out) {
				if token := t.token(o.Session, o.Related); token != nil {
					o.Frames = append(o.Frames, wire.NewNotification(spec.MethodProgress, map[string]any{"progressToken": token, "progress": 1}))
				}
			}))
		}),
		newVariation("zero-as-fraction", "the subscriptionId 0 is written 0.0", combineSeams(
			editSentParams(spec.MethodAcknowledged, ifIDIsZero(editMember("_meta", setValue(spec.MetaSubscriptionID, rawJSON("0.0"))))),
			editSentParams(spec.MethodToolsChanged, ifIDIsZero(editMember("_meta", setValue(spec.MetaSubscriptionID, rawJSON("0.0"))))))),
		newVariationWithState("prompts-change-with-tools", "a subscription to the list of prompts alone gets its notification when the list of tools changes", promptsChangeWithTools),
		newVariation("changes-twice", "each change is announced twice", EditOutgoing(isChange, func(o *refserver.Out) { o.Frames = append(o.Frames, o.Frames[0]) })),
		newVariation("no-changes-declared", "no changes are declared, and none are acknowledged", combineSeams(
			withholdListChanged("tools", "prompts", "resources"),
			EditResult(spec.MethodDiscover, editMember("capabilities", editMember("resources", omitMembers("subscribe")))),
			editFilter(func(filter map[string]any) { clear(filter) }))),
		newVariationWithState("every-second-update-late", "a subscription gets every second update of a resource 4 s late", func() *refserver.Seams {
			return editEverySecondUpdate(func(o *refserver.Out) {
				frames := o.Frames
				o.Frames = nil
				sendLater(o.Session, 4*time.Second, frames...)
			})
		}).overTransports(spec.Stdio),
		newVariation("updates-of-parts", "updates name a part of the resource", editSentParams(spec.MethodResourcesUpdated, func(p map[string]any) {
			if uri, ok := p["uri"].(string); ok {
				p["uri"] = uri + "/part"
			}
		})),
		newVariationWithState("ends-as-it-is-cancelled", "the first subscription that is cancelled ends by itself at that moment, with a result", func() *refserver.Seams { return answerCancelled(1) }).overTransports(spec.Stdio),
		newVariation("ends-by-response-alone", "on shutdown subscriptions get a result, and no cancellation", dropMessages(isCancellation)),
		newVariation("extra-in-acknowledgements", "the acknowledgement has more members, and more metadata", editSentParams(spec.MethodAcknowledged, func(p map[string]any) {
			p["com.example/more"] = true
			p["_meta"].(map[string]any)["com.example/more"] = map[string]any{}
		})),
	)...)
}

// isChange matches notifications of changes.
func isChange(o *refserver.Out) bool {
	switch o.Method {
	case spec.MethodToolsChanged, spec.MethodPromptsChanged, spec.MethodResourcesChanged, spec.MethodResourcesUpdated:
		return o.Kind == refserver.OutNotification
	}
	return false
}

// withholdListChanged removes listChanged from capabilities in server/discover.
func withholdListChanged(capabilities ...string) *refserver.Seams {
	return EditResult(spec.MethodDiscover, editMember("capabilities", func(all map[string]any) {
		for _, name := range capabilities {
			editMember(name, omitMembers("listChanged"))(all)
		}
	}))
}

// editParams edits the params of the calls of a method.
func editParams(method string, e edit) *refserver.Seams {
	return WrapHandler(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if c.Params.Kind() == '{' {
			params := decodeObject(c.Params)
			e(params)
			c.Params = wire.JSON(params)
		}
		return next(c)
	})
}

// editCallMeta edits the metadata of the calls of a method.
func editCallMeta(method string, e edit) *refserver.Seams {
	return editParams(method, editMember("_meta", e))
}

// editFilter edits the filters of subscriptions.
func editFilter(e edit) *refserver.Seams {
	return editParams(spec.MethodListen, func(params map[string]any) {
		if filter, ok := params["notifications"].(map[string]any); ok {
			e(filter)
		}
	})
}

// withFilter adds the filter to subscriptions without one.
func withFilter(filter map[string]any) *refserver.Seams {
	return editParams(spec.MethodListen, func(params map[string]any) {
		if _, ok := params["notifications"].(map[string]any); !ok {
			params["notifications"] = filter
		}
	})
}

// answerListen sends the result of subscriptions/listen at once, with or without an
// acknowledgement before it.
func answerListen(acknowledge bool) *refserver.Seams {
	return WrapHandler(spec.MethodListen, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		filter := wire.At(c.Params, "/notifications")
		if filter.Kind() != '{' || wire.At(c.Params, "/_meta/io.modelcontextprotocol~1clientCapabilities").Kind() != '{' {
			return next(c)
		}
		meta := map[string]any{spec.MetaSubscriptionID: jsontext.Value(c.ID.Raw())}
		if acknowledge {
			c.Notify(spec.MethodAcknowledged, map[string]any{"_meta": meta, "notifications": filter})
		}
		return map[string]any{"resultType": "complete", "_meta": meta}, nil
	})
}

// ignoreLaterSubscriptions ignores every subscriptions/listen except the first one that the server
// receives.
func ignoreLaterSubscriptions() *refserver.Seams {
	var before atomic.Bool
	return suppressResponse(spec.MethodListen, func(*refserver.Call) bool { return before.Swap(true) })
}

// repeatAcknowledgement sends the acknowledgement of a subscription once more before the next
// subscription is acknowledged.
func repeatAcknowledgement() *refserver.Seams {
	var mu sync.Mutex
	var previous *refserver.Call
	return WrapHandler(spec.MethodListen, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		mu.Lock()
		earlier := previous
		previous = nil
		if wire.At(c.Params, "/notifications").Kind() == '{' {
			previous = c
		}
		mu.Unlock()
		if earlier != nil && earlier.Context().Err() == nil && earlier.Session == c.Session {
			earlier.Notify(spec.MethodAcknowledged, map[string]any{
				"_meta": map[string]any{spec.MetaSubscriptionID: jsontext.Value(earlier.ID.Raw())}, "notifications": map[string]any{},
			})
		}
		return next(c)
	})
}

// promptsChangeWithTools announces a change of the list of prompts, to subscriptions that request
// nothing else, when the list of tools changes.
func promptsChangeWithTools() *refserver.Seams {
	type subscription struct {
		session *refserver.Session
		id      string
	}
	var translated sync.Map // these subscriptions
	ofTranslated := func(method string) MessageFilter {
		return func(o *refserver.Out) bool {
			if !notifications(method)(o) {
				return false
			}
			id := wire.IDAt(wire.Parse(o.Frames[0]).Messages[0].Params(), spec.MetaPointer(spec.MetaSubscriptionID))
			_, ok := translated.Load(subscription{o.Session, id.Raw()})
			return ok
		}
	}
	return combineSeams(
		WrapHandler(spec.MethodListen, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			names, filter := wire.Members(wire.At(c.Params, "/notifications"))
			if len(names) == 1 && filter["promptsListChanged"].Kind() == 't' {
				translated.Store(subscription{c.Session, c.ID.Raw()}, true)
				_, params := wire.Members(c.Params)
				params["notifications"] = rawJSON(`{"toolsListChanged":true}`)
				c.Params = wire.JSON(params)
			}
			return next(c)
		}),
		EditMessage(ofTranslated(spec.MethodAcknowledged), func(m Members) {
			_, params := wire.Members(m["params"])
			params["notifications"] = rawJSON(`{"promptsListChanged":true}`)
			m["params"] = wire.JSON(params)
		}),
		EditMessage(ofTranslated(spec.MethodToolsChanged), func(m Members) { m["method"] = wire.Quote(spec.MethodPromptsChanged) }),
	)
}

// sendWithFirstID sets the subscription id of all notifications of the given methods to the id of
// the first subscription of the process.
func sendWithFirstID(methods ...string) *refserver.Seams {
	var first atomic.Pointer[wire.ID]
	seams := []*refserver.Seams{WrapHandler(spec.MethodListen, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		first.CompareAndSwap(nil, &c.ID)
		return next(c)
	})}
	for _, method := range methods {
		seams = append(seams, editSentParams(method, editMember("_meta", func(m map[string]any) {
			m[spec.MetaSubscriptionID] = jsontext.Value(first.Load().Raw())
		})))
	}
	return combineSeams(seams...)
}

// refuseUsedIDs refuses subscriptions with the id of an earlier one.
func refuseUsedIDs() *refserver.Seams {
	var used sync.Map
	return refuseCalls(spec.MethodListen, func(c *refserver.Call) bool {
		_, again := used.LoadOrStore(c.ID.Key(), true)
		return again
	}, spec.CodeInvalidRequest, "This subscription exists")
}

// answerCancelled sends a result for each of the first subscriptions that are cancelled, up to the
// given number.
func answerCancelled(most int) *refserver.Seams {
	var mu sync.Mutex
	open := map[string]bool{}
	return combineSeams(
		WrapHandler(spec.MethodListen, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			mu.Lock()
			open[c.ID.Raw()] = true
			mu.Unlock()
			return next(c)
		}),
		onCancellation(func(n *refserver.Notification, next func(*refserver.Notification)) {
			next(n)
			id := cancelledRequestID(n)
			mu.Lock()
			defer mu.Unlock()
			if open[id.Raw()] && most > 0 {
				most--
				delete(open, id.Raw())
				result := completeResult(nil)
				editMember("_meta", setValue(spec.MetaSubscriptionID, jsontext.Value(id.Raw())))(result)
				n.Session.SendRaw(wire.NewResult(id, result))
			}
		}))
}
