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

// Names that the reference server gives its resources.
const (
	hello   = "demo://text/hello"
	note    = "demo://note"
	nowhere = "no-such-resource" // part of what the cases make up
)

func offeredFaults() []Fault {
	twice := func(pages func(all []any) [][]any) refserver.Seams { return pagesOf(spec.MethodResourcesList, pages) }
	again := func(all []any, name string) map[string]any {
		copied := map[string]any{}
		for k, v := range all[0].(map[string]any) {
			copied[k] = v
		}
		copied["name"] = name
		return copied
	}
	return []Fault{
		breaks("resources.capability.declared/listed", "resources are listed and not declared", undeclared("resources")),
		breaks("resources.capability.declared/templates-listed", "templates are listed and resources are not declared", together(
			undeclared("resources"), refuse(spec.MethodResourcesList, always, spec.CodeMethodNotFound, "Method not found"))),
		breaks("resources.list.answered/refused", "the list of resources is refused", refuse(spec.MethodResourcesList, always, spec.CodeMethodNotFound, "Method not found")),
		breaks("resources.list.answered/none", "the list of resources is refused as there were none", refuse(spec.MethodResourcesList, always, spec.CodeResourceNotFound, "No resources")),
		breaks("resources.templates.answered/refused", "the list of templates is refused", refuse(spec.MethodResourcesTemplates, always, spec.CodeMethodNotFound, "Method not found")),
		breaks("resources.list.params-optional/refused", "resources are not listed without params",
			refuse(spec.MethodResourcesList, func(c *refserver.Call) bool { return c.Params == nil }, spec.CodeInvalidParams, "params are required")),
		breaks("resources.list.params-optional/templates", "templates are not listed without params",
			refuse(spec.MethodResourcesTemplates, func(c *refserver.Call) bool { return c.Params == nil }, spec.CodeInvalidParams, "params are required")),
		breaks("resources.uri.unique/same-page", "two resources on a page have the same URI",
			twice(func(all []any) [][]any { return [][]any{append([]any{again(all, "hello-again")}, all...)} })),
		breaks("resources.uri.unique/as-it-is", "a resource is listed twice on a page",
			twice(func(all []any) [][]any { return [][]any{append([]any{all[0]}, all...)} })),
		breaks("resources.uri.unique/other-page", "two resources on different pages have the same URI",
			twice(func(all []any) [][]any { return [][]any{all, {again(all, "hello-again")}} })),
	}
}

// pagesOf cuts one list into other pages.
func pagesOf(method string, cut func(all []any) [][]any) refserver.Seams {
	cutting := pages(cut, plainCursor)
	return Handle("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if c.Method != method {
			return next(c)
		}
		return cutting.Handle(c, next)
	})
}

// reading answers the reads for which when holds.
func reading(when func(uri string) bool, answer func(uri string) (any, *refserver.Error)) refserver.Seams {
	return Handle(spec.MethodResourcesRead, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if uri, ok := wire.Text(wire.At(c.Params, "/uri")); ok && when(uri) {
			return answer(uri)
		}
		return next(c)
	})
}

func is(uri string) func(string) bool { return func(other string) bool { return other == uri } }
func has(part string) func(string) bool {
	return func(uri string) bool { return strings.Contains(uri, part) }
}
func begins(as string) func(string) bool {
	return func(uri string) bool { return strings.HasPrefix(uri, as) }
}

// failing answers with an error, serving with one text.
func failing(code spec.Code, message string) func(string) (any, *refserver.Error) {
	return func(string) (any, *refserver.Error) { return nil, &refserver.Error{Code: code, Message: message} }
}

func serving(text string) func(uri string) (any, *refserver.Error) {
	return func(uri string) (any, *refserver.Error) {
		return map[string]any{"contents": []any{map[string]any{"uri": "demo://served", "mimeType": "text/plain", "text": text}}}, nil
	}
}

func servingNothing(string) (any, *refserver.Error) { return map[string]any{"contents": []any{}}, nil }

func readingFaults() []Fault {
	missing := func(uri string) bool { return strings.HasPrefix(uri, "demo:") && strings.Contains(uri, nowhere) }
	noScheme := func(uri string) bool { return !strings.Contains(uri, ":") }
	size := func(uri string, size int) refserver.Seams {
		return EditResult(spec.MethodResourcesList, func(r map[string]any) {
			for _, resource := range items(r, "resources") {
				if resource["uri"] == uri {
					resource["size"] = size
				}
			}
		})
	}
	bare := func(answer func(string) (any, *refserver.Error)) refserver.Seams {
		return Handle(spec.MethodResourcesRead, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if wire.At(c.Params, "/uri").Kind() != '"' {
				return answer("")
			}
			return next(c)
		})
	}
	const notFound = "resources.read.not-found-code-2024-11-05/"
	return []Fault{
		breaks("resources.read.listed-is-readable/lost", "a listed resource is not found", reading(is(hello), failing(spec.CodeResourceNotFound, "Resource not found"))),
		breaks("resources.read.listed-is-readable/unknown", "a listed resource is not found, and that is said in words only",
			reading(is(hello), failing(spec.CodeInvalidParams, "Unknown resource: hello"))),
		breaks("resources.read.listed-is-readable/no-method", "resources are listed and there is no way to read them", reading(has(""), failing(spec.CodeMethodNotFound, "Method not found"))),

		breaks(notFound+"invalid-params", "a missing resource is refused with -32602", reading(missing, failing(spec.CodeInvalidParams, "Resource not found"))),
		breaks(notFound+"internal", "a missing resource is refused with -32603", reading(missing, failing(spec.CodeInternal, "Internal error"))),
		breaks(notFound+"zero", "a missing resource is refused with 0", reading(missing, failing(0, "nothing there"))),
		breaks(notFound+"empty", "a missing resource is read as empty", reading(missing, servingNothing)),
		breaks(notFound+"contents", "a missing resource is read as some text", reading(missing, serving("Not found."))),

		breaks("resources.read.validates-uri/no-scheme", "what has no scheme is read as some text", reading(noScheme, serving("Here you are."))),
		breaks("resources.read.validates-uri/empty", "the empty string is read as some text", reading(is(""), serving("Here you are."))),
		breaks("resources.read.validates-uri/controls", "what holds controls is read as some text", reading(has("\x00"), serving("Here you are."))),
		breaks("resources.read.missing-uri-param/served", "a read without uri gets some text", bare(serving("Here you are."))),
		breaks("resources.read.missing-uri-param/code", "a read without uri is refused with -32603", bare(failing(spec.CodeInternal, "Internal error"))),

		breaks("resources.read.size-is-raw-bytes/base64", "the size of an image is that of its base64", size("demo://image/dot", 96)),
		breaks("resources.read.size-is-raw-bytes/characters", "the size of a text is counted in characters", size("demo://text/unicode", 20)),
		breaks("resources.read.size-is-raw-bytes/zero", "the size of a text is 0", size(hello, 0)),
	}
}

func templateFaults() []Fault {
	typed := func(uri func(string) bool, kind string) refserver.Seams {
		return EditResult(spec.MethodResourcesRead, func(r map[string]any) {
			for _, item := range items(r, "contents") {
				if uri(item["uri"].(string)) {
					item["mimeType"] = kind
				}
			}
		})
	}
	return []Fault{
		breaks("resources.templates.mime-only-if-uniform/other", "an item is of another type than its template", typed(begins("demo://items/"), "text/html")),
		breaks("resources.templates.mime-only-if-uniform/one", "one item is of another type than its template", typed(is("demo://items/1"), "application/json")),
		breaks("resources.templates.expansion-readable/lost", "items that are completed are not found", reading(begins("demo://items/"), failing(spec.CodeResourceNotFound, "Resource not found"))),
		breaksAfresh("resources.templates.listed-again/used-up", "the list of templates is used up by the first that asks for it", func() refserver.Seams {
			var listed sync.Map
			return Handle(spec.MethodResourcesTemplates, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if _, again := listed.LoadOrStore(c.Session, true); again {
					return jsontext.Value(`{"resourceTemplates":[]}`), nil
				}
				return next(c)
			})
		}),
	}
}

// flags rewrites the capability resources.
func flags(resources map[string]any) refserver.Seams {
	return EditResult(spec.MethodInitialize, func(r map[string]any) { r["capabilities"].(map[string]any)["resources"] = resources })
}

// harmless has a tool say that it only reads, so that it may be called.
func harmless(tool string) refserver.Seams {
	return editTool(tool, func(t map[string]any) { t["annotations"] = map[string]any{"readOnlyHint": true} })
}

// everySecondMuted keeps back every second notification of a method.
func everySecondMuted(method string) func() refserver.Seams {
	return func() refserver.Seams {
		var n atomic.Int64
		told := notifications(method)
		return together(harmless("trigger-list-changed"), mute(func(o *refserver.Out) bool { return told(o) && n.Add(1)%2 == 0 }))
	}
}

func notifications(method string) When {
	return func(o *refserver.Out) bool { return o.Kind == refserver.OutNotification && o.Method == method }
}

func updateOf(uri string) string {
	return `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":` + string(wire.Quote(uri)) + `}}`
}

func subscriptionFaults() []Fault {
	return []Fault{
		breaks("resources.subscribe.confirmed/refused", "subscriptions are declared and refused", refuse(spec.MethodResourcesSubscribe, always, spec.CodeMethodNotFound, "Method not found")),
		breaks("resources.subscribe.confirmed/not-empty", "a subscription is answered with what it is about", replaceResult(spec.MethodResourcesSubscribe, `{"subscribed":true}`)),
		breaks("resources.subscribe.unsupported-error/confirmed", "subscriptions are not declared and confirmed", flags(map[string]any{"listChanged": true})),
		breaks("resources.subscribe.unsupported-error/false", "subscriptions are declared as false and confirmed", flags(map[string]any{"subscribe": false})),
		breaks("resources.subscribe.update-sent/silent", "a change of a resource is not told to who subscribed to it", together(
			harmless("update-resource"), mute(notifications(spec.MethodResourcesUpdated)))),
		breaks("resources.subscribe.no-update-without-subscription/at-once", "an update comes without a subscription", sendsWhenReady(updateOf(note))),
		breaks("resources.unsubscribe.confirmed/refused", "the end of a subscription fails", refuse(spec.MethodResourcesUnsubscribe, always, spec.CodeInternal, "Internal error")),
		breaks("resources.unsubscribe.confirmed/not-empty", "the end of a subscription is answered with what it is about", replaceResult(spec.MethodResourcesUnsubscribe, `{"uri":"demo://note"}`)),
		breaks("resources.unsubscribe.stops-updates/goes-on", "updates come after the subscription was ended", together(
			harmless("update-resource"), Handle(spec.MethodResourcesUnsubscribe, func(*refserver.Call, Handler) (any, *refserver.Error) { return map[string]any{}, nil }))),
		breaks("resources.updated.requires-subscribe-capability/undeclared", "an update comes, and subscriptions are not declared", together(
			flags(map[string]any{"listChanged": true}), sendsWhenReady(updateOf(note)))),
		breaks("resources.updated.requires-subscribe-capability/no-resources", "an update comes, and resources are not declared", together(
			undeclared("resources"), sendsWhenReady(updateOf(note)))),
	}
}

func changedResourcesFaults() []Fault {
	const changed = `{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}`
	told := func(capability refserver.Seams) refserver.Seams { return together(capability, sendsWhenReady(changed)) }
	const older, newer = "resources.list-changed.only-if-declared-2024-11-05/", "resources.list-changed.only-if-declared-2025-06-18/"
	return []Fault{
		breaks("resources.list-changed.sent-on-change-2024-11-05/silent", "a changed list of resources is not told of", together(
			harmless("trigger-list-changed"), mute(notifications(spec.MethodResourcesChanged)))),
		breaksAfresh("resources.list-changed.sent-on-change-2024-11-05/removed", "a resource is removed again without a word", everySecondMuted(spec.MethodResourcesChanged)).over(spec.Stdio),
		breaks("resources.read.listed-is-readable/promised", "a resource that the official suite knows is refused with an internal error", together(
			offersTools(official(nil)), EditResult(spec.MethodResourcesList, func(r map[string]any) {
				for _, listed := range items(r, "resources") {
					if listed["uri"] == hello {
						listed["uri"] = "test://static-text"
					}
				}
			}),
			Handle(spec.MethodResourcesRead, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if uri, _ := wire.Text(wire.At(c.Params, "/uri")); uri == "test://static-text" {
					return nil, &refserver.Error{Code: spec.CodeInternal, Message: "Internal error"}
				}
				return next(c)
			}))),
		breaks(older+"undeclared", "a changed list of resources is told of, and not declared to be", told(flags(map[string]any{"subscribe": true}))),
		breaks(older+"no-resources", "a changed list of resources is told of, and resources are not declared", told(undeclared("resources"))),
		breaks(newer+"undeclared", "a changed list of resources is told of, and not declared to be", told(flags(map[string]any{"subscribe": true}))),
		breaks(newer+"false", "a changed list of resources is told of, and declared not to be", told(flags(map[string]any{"listChanged": false}))),
	}
}
