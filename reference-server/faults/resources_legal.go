package faults

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// legalResources returns the legal variations in capabilities, lists, contents and
// notifications of resources.
func legalResources() []*Fault {
	const changed = `{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}`
	unknown := func(method string) *refserver.Seams {
		return refuseCalls(method, always, spec.CodeMethodNotFound, "Method not found")
	}
	noSubscriptions := combineSeams(unknown(spec.MethodResourcesSubscribe), unknown(spec.MethodResourcesUnsubscribe))
	return []*Fault{
		// Capabilities.
		newVariation("resources-without-subscriptions", "the resources capability has only listChanged", combineSeams(setResourcesCapability(map[string]any{"listChanged": true}), noSubscriptions)),
		newVariation("resources-without-changes", "the resources capability has only subscribe", combineSeams(
			setResourcesCapability(map[string]any{"subscribe": true}), dropMessages(notifications(spec.MethodResourcesChanged)))),
		newVariation("resources-flags-false", "the resources capability has only false members", combineSeams(
			setResourcesCapability(map[string]any{"subscribe": false, "listChanged": false}), noSubscriptions, dropMessages(notifications(spec.MethodResourcesChanged)))),
		newVariation("subscriptions-refused-as-invalid", "subscriptions are not declared, and refused with -32600", combineSeams(
			setResourcesCapability(map[string]any{}), refuseCalls(spec.MethodResourcesSubscribe, always, spec.CodeInvalidRequest, "No subscriptions here"), dropMessages(notifications(spec.MethodResourcesChanged)))),

		// Lists and contents.
		newVariation("resources-from-templates-alone", "the list of resources is empty, but there are templates", splitListIntoPages(spec.MethodResourcesList, func([]any) [][]any { return [][]any{{}} })),
		newVariation("resources-without-templates", "no template is listed", splitListIntoPages(spec.MethodResourcesTemplates, func([]any) [][]any { return [][]any{{}} })),
		newVariation("resources-bare", "resources have only a URI and a name", keepOnlyMembers(spec.MethodResourcesList, "resources", "uri", "name")),
		newVariation("templates-bare", "templates have only a URI template and a name", keepOnlyMembers(spec.MethodResourcesTemplates, "resourceTemplates", "uriTemplate", "name")),
		newVariation("contents-bare", "contents of resources have no MIME type", EditResult(spec.MethodResourcesRead, func(r map[string]any) {
			for _, item := range objectsIn(r, "contents") {
				delete(item, "mimeType")
			}
		})),
		newVariation("types-with-parameters", "contents of resources have a MIME type with parameters, their templates without", EditResult(spec.MethodResourcesRead, func(r map[string]any) {
			for _, item := range objectsIn(r, "contents") {
				item["mimeType"] = fmt.Sprint(item["mimeType"], "; version=1")
			}
		})),
		newVariation("directory", "resources/read returns two contents with other URIs and types", onRead(uriEquals(hello), func(string) (any, *refserver.Error) {
			return map[string]any{"contents": []any{
				map[string]any{"uri": hello + "/a", "mimeType": "inode/directory", "text": ""},
				map[string]any{"uri": hello + "/b", "mimeType": "application/octet-stream", "blob": "AA=="},
			}}, nil
		})),
		newVariation("denied", "a listed resource is temporarily unreadable", onRead(uriEquals(hello), failWith(spec.CodeInternal, "Access denied"))),
		newVariation("whole-disk", "the server serves a system file, as if it offered every file of its machine by URI", onRead(func(uri string) bool { return strings.HasSuffix(uri, "passwd") }, servePasswd)).inRevisions(spec.V20260728),
		newVariation("garbage-is-empty", "a URI without a scheme returns empty contents", onRead(func(uri string) bool { return !strings.Contains(uri, ":") }, serveNoContents)),
		newVariation("not-found-by-name", "an unknown resource gets an error without the URI", WrapHandler(spec.MethodResourcesRead, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			result, err := next(c)
			if err != nil {
				err.Data = nil
			}
			return result, err
		})),
		newVariation("catch-all", "a template matches every URI, and resources/read of an unknown URI returns text", combineSeams(
			EditResult(spec.MethodResourcesTemplates, func(r map[string]any) {
				if r["nextCursor"] == nil {
					r["resourceTemplates"] = append(r["resourceTemplates"].([]any), map[string]any{"uriTemplate": "{+anything}", "name": "anything"})
				}
			}),
			WrapHandler(spec.MethodComplete, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if uri, _ := wire.Text(wire.At(c.Params, "/ref/uri")); uri == "{+anything}" {
					return map[string]any{"completion": map[string]any{"values": []any{}}}, nil
				}
				return next(c)
			}),
			onRead(uriContains(missingName), serveText("Whatever you like.")))),
		newVariationWithState("clock", "a resource has different contents on every read", func() *refserver.Seams {
			var n atomic.Int64
			return combineSeams(markReadOnly("update-resource"), keepOnlyMembers(spec.MethodResourcesList, "resources", "uri", "name"),
				onRead(uriEquals(note), func(uri string) (any, *refserver.Error) {
					return map[string]any{"contents": []any{map[string]any{"uri": uri, "text": fmt.Sprint(n.Add(1))}}}, nil
				}))
		}),
		newVariationWithState("size-of-a-moment", "the size of a resource changes on every read", func() *refserver.Seams {
			var n atomic.Int64
			return onRead(uriEquals(hello), func(uri string) (any, *refserver.Error) {
				return map[string]any{"contents": []any{map[string]any{"uri": uri, "text": strings.Repeat("x", int(n.Add(1)))}}}, nil
			})
		}),
		newVariationWithState("size-of-the-last-read", "every read lengthens a resource that a tool changes, and lists contain its current size", func() *refserver.Seams {
			var last atomic.Int64
			return combineSeams(markReadOnly("update-resource"), onRead(uriEquals(note), func(uri string) (any, *refserver.Error) {
				return map[string]any{"contents": []any{map[string]any{"uri": uri, "text": strings.Repeat("x", int(last.Add(1)))}}}, nil
			}), EditResult(spec.MethodResourcesList, func(r map[string]any) {
				for _, resource := range objectsIn(r, "resources") {
					if resource["uri"] == note {
						resource["size"] = last.Load()
					}
				}
			}))
		}),

		// Notifications.
		newVariation("resources-change", "the server sends resources/list_changed before every response", prependLines(isSessionResponse, changed)),
		newVariation("changes-are-told", "tools that change resources have readOnlyHint true", combineSeams(markReadOnly("update-resource"), markReadOnly("trigger-list-changed"))),
		newVariation("updates-below", "updates have the URI of a sub-resource of the subscribed one", combineSeams(markReadOnly("update-resource"),
			EditOutgoing(notifications(spec.MethodResourcesUpdated), func(o *refserver.Out) { o.Frames[0] = []byte(updateOf(note + "/line/1")) }))),
		newVariationWithState("updates-at-once", "an update comes before and after the response to each subscription", func() *refserver.Seams {
			var subscribed sync.Map // by session and URI: an unsubscribe without a subscription gets no update
			return combineSeams(updatesAround(spec.MethodResourcesSubscribe, &subscribed), updatesAround(spec.MethodResourcesUnsubscribe, &subscribed))
		}),
		newVariation("updates-twice", "the server sends each update twice", combineSeams(markReadOnly("update-resource"),
			EditOutgoing(notifications(spec.MethodResourcesUpdated), func(o *refserver.Out) { o.Frames = append(o.Frames, o.Frames[0]) }))),

		newVariationWithState("resources-of-the-moment", "each process shows the time, in steps of 300 ms since its start, in the list of resources", func() *refserver.Seams {
			began := time.Now()
			return editListItems(spec.MethodResourcesList, func(r map[string]any) {
				r["description"] = began.Add(time.Since(began).Truncate(300 * time.Millisecond)).Format(time.StampMicro)
			})
		}).inRevisions(spec.V20260728),

		// Cursors.
		newVariationWithState("cursors-of-the-moment", "a cursor has another encoding each time", func() *refserver.Seams {
			return countCursorUses(func(c *refserver.Call, next Handler) (any, *refserver.Error) { return next(c) })
		}),
		newVariation("numbers-as-cursors", "cursors are page numbers, the same for all lists", splitIntoPages(func(all []any) [][]any {
			var out [][]any
			for ; len(all) > 2; all = all[2:] {
				out = append(out, all[:2])
			}
			return append(out, all)
		}, func(page int) string { return fmt.Sprint(page) })),
		newVariation("cursor-is-base64-of-nothing", "cursors are the base64 of a JSON object with an offset", splitIntoPages(func(all []any) [][]any { return [][]any{all[:1], all[1:]} },
			func(page int) string {
				return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, `{"offset":%d}`, page))
			})),
		newVariation("empty-last-page", "the last page of a list is empty", splitIntoPages(func(all []any) [][]any { return [][]any{all, {}} }, plainCursor)),
	}
}

// keepOnlyMembers removes all but the given members from the items of a list.
func keepOnlyMembers(method, list string, names ...string) *refserver.Seams {
	return EditResult(method, func(r map[string]any) {
		for _, item := range objectsIn(r, list) {
			for name := range item {
				keep := false
				for _, n := range names {
					keep = keep || n == name
				}
				if !keep {
					delete(item, name)
				}
			}
		}
	})
}

// updatesAround sends an update right before the response to a successful subscribe, and to an
// unsubscribe that ends a subscription. For a subscribe it also sends an update shortly after the
// response.
func updatesAround(method string, subscribed *sync.Map) *refserver.Seams {
	return WrapHandler(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		uri, isText := wire.Text(wire.At(c.Params, "/uri"))
		type line struct {
			session *refserver.Session
			uri     string
		}
		there := method == spec.MethodResourcesSubscribe
		switch {
		case err != nil:
		case there:
			subscribed.Store(line{c.Session, uri}, true)
		default:
			_, there = subscribed.LoadAndDelete(line{c.Session, uri})
		}
		if there && err == nil && isText {
			update := []byte(updateOf(uri))
			c.Session.SendRaw(update)
			if method == spec.MethodResourcesSubscribe {
				c.Session.Go(func(ctx context.Context) {
					if sleep(ctx, time.Millisecond) {
						c.Session.SendRaw(update)
					}
				})
			}
		}
		return result, err
	})
}
