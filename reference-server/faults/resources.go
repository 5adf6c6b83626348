package faults

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// URIs of the reference server's resources.
const (
	hello       = "demo://text/hello"
	note        = "demo://note"
	missingName = "no-such-resource" // a part of the URIs that the harness makes up
)

func resourceListFaults() []*Fault {
	twice := func(pages func(all []any) [][]any) *refserver.Seams {
		return splitListIntoPages(spec.MethodResourcesList, pages)
	}
	again := func(all []any, name string) map[string]any {
		copied := map[string]any{}
		for k, v := range all[0].(map[string]any) {
			copied[k] = v
		}
		copied["name"] = name
		return copied
	}
	return []*Fault{
		newFault("resources.capability.declared/listed", "resources are listed but not declared", withholdCapabilities("resources")),
		newFault("resources.capability.declared/templates-listed", "templates are listed but resources are not declared", combineSeams(
			withholdCapabilities("resources"), refuseCalls(spec.MethodResourcesList, always, spec.CodeMethodNotFound, "Method not found"))),
		newFault("resources.list.answered/refused", "the list of resources is refused", refuseCalls(spec.MethodResourcesList, always, spec.CodeMethodNotFound, "Method not found")),
		newFault("resources.list.answered/none", "resources/list gets -32002", refuseCalls(spec.MethodResourcesList, always, spec.CodeResourceNotFound, "No resources")),
		newFault("resources.templates.answered/refused", "the list of templates is refused", refuseCalls(spec.MethodResourcesTemplates, always, spec.CodeMethodNotFound, "Method not found")),
		newFault("resources.list.params-optional/refused", "resources/list without params is refused",
			refuseCalls(spec.MethodResourcesList, func(c *refserver.Call) bool { return c.Params == nil }, spec.CodeInvalidParams, "params are required")),
		newFault("resources.list.params-optional/templates", "templates are refused without params",
			refuseCalls(spec.MethodResourcesTemplates, func(c *refserver.Call) bool { return c.Params == nil }, spec.CodeInvalidParams, "params are required")),
		newFault("resources.uri.unique/same-page", "two resources on a page have the same URI",
			twice(func(all []any) [][]any { return [][]any{append([]any{again(all, "hello-again")}, all...)} })),
		newFault("resources.uri.unique/as-it-is", "a resource is listed twice on a page",
			twice(func(all []any) [][]any { return [][]any{append([]any{all[0]}, all...)} })),
		newFault("resources.uri.unique/other-page", "two resources on different pages have the same URI",
			twice(func(all []any) [][]any { return [][]any{all, {again(all, "hello-again")}} })),
	}
}

// splitListIntoPages splits the list of the method into the pages that the function cut returns.
func splitListIntoPages(method string, cut func(all []any) [][]any) *refserver.Seams {
	cutting := splitIntoPages(cut, plainCursor)
	return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if c.Method != method {
			return next(c)
		}
		return cutting.Handle(c, next)
	})
}

// onRead calls the function answer instead of the handler for resources/read of the URIs that
// match.
func onRead(when func(uri string) bool, answer func(uri string) (any, *refserver.Error)) *refserver.Seams {
	return WrapHandler(spec.MethodResourcesRead, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if uri, ok := wire.Text(wire.At(c.Params, "/uri")); ok && when(uri) {
			return answer(uri)
		}
		return next(c)
	})
}

func uriEquals(uri string) func(string) bool { return func(other string) bool { return other == uri } }
func uriContains(part string) func(string) bool {
	return func(uri string) bool { return strings.Contains(uri, part) }
}
func uriHasPrefix(prefix string) func(string) bool {
	return func(uri string) bool { return strings.HasPrefix(uri, prefix) }
}

// failWith returns a handler that returns an error.
func failWith(code spec.Code, message string) func(string) (any, *refserver.Error) {
	return func(string) (any, *refserver.Error) { return nil, &refserver.Error{Code: code, Message: message} }
}

func serveText(text string) func(uri string) (any, *refserver.Error) {
	return func(uri string) (any, *refserver.Error) {
		return map[string]any{"contents": []any{map[string]any{"uri": "demo://served", "mimeType": "text/plain", "text": text}}}, nil
	}
}

func serveNoContents(string) (any, *refserver.Error) { return map[string]any{"contents": []any{}}, nil }

func resourceReadFaults() []*Fault {
	missing := func(uri string) bool { return strings.HasPrefix(uri, "demo:") && strings.Contains(uri, missingName) }
	noScheme := func(uri string) bool { return !strings.Contains(uri, ":") }
	size := func(uri string, size int) *refserver.Seams {
		return EditResult(spec.MethodResourcesList, func(r map[string]any) {
			for _, resource := range objectsIn(r, "resources") {
				if resource["uri"] == uri {
					resource["size"] = size
				}
			}
		})
	}
	bare := func(answer func(string) (any, *refserver.Error)) *refserver.Seams {
		return WrapHandler(spec.MethodResourcesRead, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if wire.At(c.Params, "/uri").Kind() != '"' {
				return answer("")
			}
			return next(c)
		})
	}
	const notFound = "resources.read.not-found-code-2024-11-05/"
	return []*Fault{
		newFault("resources.read.listed-is-readable/lost", "resources/read of a listed resource gets not found", onRead(uriEquals(hello), failWith(spec.CodeResourceNotFound, "Resource not found"))),
		newFault("resources.read.listed-is-readable/unknown", "resources/read of a listed resource gets -32602",
			onRead(uriEquals(hello), failWith(spec.CodeInvalidParams, "Unknown resource: hello"))),
		newFault("resources.read.listed-is-readable/no-method", "resources are listed but resources/read gets -32601", onRead(uriContains(""), failWith(spec.CodeMethodNotFound, "Method not found"))),

		newFault(notFound+"invalid-params", "an unknown resource gets -32602", onRead(missing, failWith(spec.CodeInvalidParams, "Resource not found"))),
		newFault(notFound+"internal", "an unknown resource gets -32603", onRead(missing, failWith(spec.CodeInternal, "Internal error"))),
		newFault(notFound+"zero", "an unknown resource gets error code 0", onRead(missing, failWith(0, "nothing there"))),
		newFault(notFound+"empty", "an unknown resource returns no contents", onRead(missing, serveNoContents)),
		newFault(notFound+"contents", "an unknown resource returns text", onRead(missing, serveText("Not found."))),

		newFault("resources.read.validates-uri/no-scheme", "a URI without a scheme returns text", onRead(noScheme, serveText("Here you are."))),
		newFault("resources.read.validates-uri/empty", "an empty URI returns text", onRead(uriEquals(""), serveText("Here you are."))),
		newFault("resources.read.validates-uri/controls", "a URI with control characters returns text", onRead(uriContains("\x00"), serveText("Here you are."))),
		newFault("resources.read.missing-uri-param/served", "resources/read without uri returns text", bare(serveText("Here you are."))),
		newFault("resources.read.missing-uri-param/code", "resources/read without uri gets -32603", bare(failWith(spec.CodeInternal, "Internal error"))),

		newFault("resources.read.path-traversal/plain", "a path with ../ leads out of the folder", onRead(leavesFolder("../"), servePasswd)),
		newFault("resources.read.path-traversal/dots", "a path with escaped dots leads out of the folder", onRead(leavesFolder("%2e%2e/"), servePasswd)),
		newFault("resources.read.path-traversal/slashes", "a path with escaped slashes leads out of the folder", onRead(leavesFolder("..%2f"), servePasswd)),

		newFault("resources.read.size-is-raw-bytes/base64", "the size of an image is the length of its base64", size("demo://image/dot", 96)),
		newFault("resources.read.size-is-raw-bytes/characters", "the size of a text is counted in characters", size("demo://text/unicode", 20)),
		newFault("resources.read.size-is-raw-bytes/zero", "the size of a text is 0", size(hello, 0)),
		newFaultWithState("resources.read.size-is-raw-bytes/stale", "the sizes of resources stay those of the first list", keepFirstSizes).inRevisions(revisionsWithReadOnlyHint()...),
	}
}

// keepFirstSizes keeps the sizes that resources had in the first list. It also sets readOnlyHint on
// the tool that changes a size, so that the harness calls the tool.
func keepFirstSizes() *refserver.Seams {
	var known sync.Map // sizes by URI
	return combineSeams(markReadOnly("update-resource"), EditResult(spec.MethodResourcesList, func(r map[string]any) {
		for _, resource := range objectsIn(r, "resources") {
			if size := resource["size"]; size != nil {
				resource["size"], _ = known.LoadOrStore(resource["uri"], size)
			}
		}
	}))
}

// passwd is the content of a system file that no server should serve.
const passwd = "root:x:0:0:root:/root:/bin/sh\n"

// servePasswd returns the system file as the content of any URI.
func servePasswd(uri string) (any, *refserver.Error) {
	return completeResult(map[string]any{
		"ttlMs": 0, "cacheScope": "private",
		"contents": []any{map[string]any{"uri": uri, "mimeType": "text/plain", "text": passwd}},
	}), nil
}

// leavesFolder matches URIs that end in passwd and contain the given step to a parent folder, such
// as ../ or an escaped form of it.
func leavesFolder(step string) func(string) bool {
	return func(uri string) bool {
		return strings.Contains(uri, step) && strings.HasSuffix(uri, "passwd")
	}
}

func templateFaults() []*Fault {
	typed := func(uri func(string) bool, kind string) *refserver.Seams {
		return EditResult(spec.MethodResourcesRead, func(r map[string]any) {
			for _, item := range objectsIn(r, "contents") {
				if uri(item["uri"].(string)) {
					item["mimeType"] = kind
				}
			}
		})
	}
	return []*Fault{
		newFault("resources.templates.mime-only-if-uniform/other", "resources of a template have another MIME type than the template", typed(uriHasPrefix("demo://items/"), "text/html")),
		newFault("resources.templates.mime-only-if-uniform/one", "one resource of a template has another MIME type than the template", typed(uriEquals("demo://items/1"), "application/json")),
		newFault("resources.templates.expansion-readable/lost", "resources with completed variables are not found", onRead(uriHasPrefix("demo://items/"), failWith(spec.CodeResourceNotFound, "Resource not found"))),
		newFault("resources.templates.expansion-readable/promised", "the expansion of a template that the official suite knows is not found", combineSeams(
			addFixedTools(officialResults(nil)), EditResult(spec.MethodResourcesTemplates, func(r map[string]any) {
				for _, listed := range objectsIn(r, "resourceTemplates") {
					listed["uriTemplate"] = "test://template/{id}/data"
				}
			}))),
		newFaultWithState("resources.templates.listed-again/used-up", "only the first result of resources/templates/list contains templates", func() *refserver.Seams {
			var listed sync.Map
			return WrapHandler(spec.MethodResourcesTemplates, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if _, again := listed.LoadOrStore(c.Session, true); again {
					return jsontext.Value(`{"resourceTemplates":[]}`), nil
				}
				return next(c)
			})
		}),
	}
}

// setResourcesCapability replaces the capability resources.
func setResourcesCapability(resources map[string]any) *refserver.Seams {
	return EditResult(spec.MethodInitialize, func(r map[string]any) { r["capabilities"].(map[string]any)["resources"] = resources })
}

// markReadOnly sets readOnlyHint on a tool, so that the harness calls it.
func markReadOnly(tool string) *refserver.Seams {
	return editTool(tool, func(t map[string]any) { t["annotations"] = map[string]any{"readOnlyHint": true} })
}

// dropEverySecond drops every second notification of a method. It also sets readOnlyHint on the
// tool that changes lists, so that the harness calls the tool.
func dropEverySecond(method string) func() *refserver.Seams {
	return func() *refserver.Seams {
		var n atomic.Int64
		matches := notifications(method)
		return combineSeams(markReadOnly("trigger-list-changed"), dropMessages(func(o *refserver.Out) bool { return matches(o) && n.Add(1)%2 == 0 }))
	}
}

func notifications(method string) MessageFilter {
	return func(o *refserver.Out) bool { return o.Kind == refserver.OutNotification && o.Method == method }
}

func updateOf(uri string) string {
	return `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":` + string(wire.Quote(uri)) + `}}`
}

func subscriptionFaults() []*Fault {
	return []*Fault{
		newFault("resources.subscribe.confirmed/refused", "subscriptions are declared but refused", refuseCalls(spec.MethodResourcesSubscribe, always, spec.CodeMethodNotFound, "Method not found")),
		newFault("resources.subscribe.confirmed/not-empty", "the result of resources/subscribe is not empty", replaceResult(spec.MethodResourcesSubscribe, `{"subscribed":true}`)),
		newFault("resources.subscribe.unsupported-error/confirmed", "subscriptions are not declared but accepted", setResourcesCapability(map[string]any{"listChanged": true})),
		newFault("resources.subscribe.unsupported-error/false", "subscriptions are declared as false but accepted", setResourcesCapability(map[string]any{"subscribe": false})),
		newFault("resources.subscribe.update-sent/silent", "a subscriber gets no notification of a change", combineSeams(
			markReadOnly("update-resource"), dropMessages(notifications(spec.MethodResourcesUpdated)))),
		newFault("resources.subscribe.no-update-without-subscription/at-once", "the server sends updates without a subscription", sendLineOnInitialized(updateOf(note))),
		newFault("resources.unsubscribe.confirmed/refused", "resources/unsubscribe fails", refuseCalls(spec.MethodResourcesUnsubscribe, always, spec.CodeInternal, "Internal error")),
		newFault("resources.unsubscribe.confirmed/not-empty", "the result of resources/unsubscribe contains the URI", replaceResult(spec.MethodResourcesUnsubscribe, `{"uri":"demo://note"}`)),
		newFault("resources.unsubscribe.stops-updates/goes-on", "the server sends updates after resources/unsubscribe", combineSeams(
			markReadOnly("update-resource"), WrapHandler(spec.MethodResourcesUnsubscribe, func(*refserver.Call, Handler) (any, *refserver.Error) { return map[string]any{}, nil }))),
		newFault("resources.updated.requires-subscribe-capability/undeclared", "the server sends updates although subscriptions are not declared", combineSeams(
			setResourcesCapability(map[string]any{"listChanged": true}), sendLineOnInitialized(updateOf(note)))),
		newFault("resources.updated.requires-subscribe-capability/no-resources", "the server sends updates although resources are not declared", combineSeams(
			withholdCapabilities("resources"), sendLineOnInitialized(updateOf(note)))),
	}
}

func changedResourcesFaults() []*Fault {
	const changed = `{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}`
	announcing := func(capability *refserver.Seams) *refserver.Seams {
		return combineSeams(capability, sendLineOnInitialized(changed))
	}
	const older, newer = "resources.list-changed.only-if-declared-2024-11-05/", "resources.list-changed.only-if-declared-2025-06-18/"
	return []*Fault{
		newFault("resources.list-changed.sent-on-change-2024-11-05/silent", "the server does not notify changes of the list of resources", combineSeams(
			markReadOnly("trigger-list-changed"), dropMessages(notifications(spec.MethodResourcesChanged)))),
		newFaultWithState("resources.list.same-on-every-connection/alternating", "every second process leaves resources out of its list", shortenPagesOfEverySecondServer(spec.MethodResourcesList)),
		newFaultWithState("resources.list.no-side-effect-of-requests/forgets", "after a tools/call some resources are no longer listed", forgetAfter(spec.MethodToolsCall, spec.MethodResourcesList)),
		newFault("resources.list-changed.sent-on-change-2026-07-28/silent", "subscriptions get no notification of changes to the list of resources", combineSeams(
			markReadOnly("trigger-list-changed"), dropMessages(notifications(spec.MethodResourcesChanged)))),
		newFault("resources.listen.update-delivered/silent", "subscriptions get no updates of resources", combineSeams(
			markReadOnly("update-resource"), dropMessages(notifications(spec.MethodResourcesUpdated)))),
		newFaultWithState("resources.listen.update-delivered/every-second", "a subscription gets no update of every second change of a resource", func() *refserver.Seams {
			return editEverySecondUpdate(func(o *refserver.Out) { o.Frames = nil })
		}),
		newFaultWithState("resources.list-changed.sent-on-change-2024-11-05/removed", "a resource is removed again without a notification", dropEverySecond(spec.MethodResourcesChanged)).overTransports(spec.Stdio),
		newFault("resources.read.listed-is-readable/promised", "a resource that the official suite knows is refused with an internal error", combineSeams(
			addFixedTools(officialResults(nil)), EditResult(spec.MethodResourcesList, func(r map[string]any) {
				for _, listed := range objectsIn(r, "resources") {
					if listed["uri"] == hello {
						listed["uri"] = "test://static-text"
					}
				}
			}),
			WrapHandler(spec.MethodResourcesRead, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if uri, _ := wire.Text(wire.At(c.Params, "/uri")); uri == "test://static-text" {
					return nil, &refserver.Error{Code: spec.CodeInternal, Message: "Internal error"}
				}
				return next(c)
			}))),
		newFault(older+"undeclared", "the server sends list_changed for resources, but does not declare listChanged", announcing(setResourcesCapability(map[string]any{"subscribe": true}))),
		newFault(older+"no-resources", "the server sends list_changed for resources, but does not declare resources", announcing(withholdCapabilities("resources"))),
		newFault(newer+"undeclared", "the server sends list_changed for resources, but does not declare listChanged", announcing(setResourcesCapability(map[string]any{"subscribe": true}))),
		newFault(newer+"false", "the server sends list_changed for resources, although listChanged is false", announcing(setResourcesCapability(map[string]any{"listChanged": false}))),
	}
}

// editEverySecondUpdate edits every second update of a resource on each subscription. The tool that
// changes the resource may be called.
func editEverySecondUpdate(e func(o *refserver.Out)) *refserver.Seams {
	var mu sync.Mutex
	sent := map[string]int{}
	return combineSeams(markReadOnly("update-resource"), EditOutgoing(notifications(spec.MethodResourcesUpdated), func(o *refserver.Out) {
		mu.Lock()
		defer mu.Unlock()
		if sent[o.Related.Key()]++; sent[o.Related.Key()]%2 == 0 {
			e(o)
		}
	}))
}
