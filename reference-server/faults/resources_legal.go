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

// resourcesLegal are the legal variations in how resources are offered and
// lists are cut into pages.
func resourcesLegal() []Fault {
	const changed = `{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}`
	unknown := func(method string) refserver.Seams {
		return refuse(method, always, spec.CodeMethodNotFound, "Method not found")
	}
	noSubscriptions := together(unknown(spec.MethodResourcesSubscribe), unknown(spec.MethodResourcesUnsubscribe))
	return []Fault{
		// What is declared.
		legal("resources-without-subscriptions", "of resources only the changing list is declared", together(flags(map[string]any{"listChanged": true}), noSubscriptions)),
		legal("resources-without-changes", "of resources only subscriptions are declared", together(
			flags(map[string]any{"subscribe": true}), mute(notifications(spec.MethodResourcesChanged)))),
		legal("resources-flags-false", "of resources everything is declared as false", together(
			flags(map[string]any{"subscribe": false, "listChanged": false}), noSubscriptions, mute(notifications(spec.MethodResourcesChanged)))),
		legal("subscriptions-refused-as-invalid", "subscriptions are not declared, and refused with -32600", together(
			flags(map[string]any{}), refuse(spec.MethodResourcesSubscribe, always, spec.CodeInvalidRequest, "No subscriptions here"), mute(notifications(spec.MethodResourcesChanged)))),

		// What is listed and read.
		legal("resources-from-templates-alone", "no resource is listed, though there are templates", pagesOf(spec.MethodResourcesList, func([]any) [][]any { return [][]any{{}} })),
		legal("resources-without-templates", "no template is listed", pagesOf(spec.MethodResourcesTemplates, func([]any) [][]any { return [][]any{{}} })),
		legal("resources-bare", "resources have only a URI and a name", onlyMembers(spec.MethodResourcesList, "resources", "uri", "name")),
		legal("templates-bare", "templates have only a URI template and a name", onlyMembers(spec.MethodResourcesTemplates, "resourceTemplates", "uriTemplate", "name")),
		legal("contents-bare", "contents have no type", EditResult(spec.MethodResourcesRead, func(r map[string]any) {
			for _, item := range items(r, "contents") {
				delete(item, "mimeType")
			}
		})),
		legal("types-with-parameters", "the types of contents have parameters that their templates have not", EditResult(spec.MethodResourcesRead, func(r map[string]any) {
			for _, item := range items(r, "contents") {
				item["mimeType"] = fmt.Sprint(item["mimeType"], "; version=1")
			}
		})),
		legal("directory", "reading one resource gives two of another name and type", reading(is(hello), func(string) (any, *refserver.Error) {
			return map[string]any{"contents": []any{
				map[string]any{"uri": hello + "/a", "mimeType": "inode/directory", "text": ""},
				map[string]any{"uri": hello + "/b", "mimeType": "application/octet-stream", "blob": "AA=="},
			}}, nil
		})),
		legal("denied", "a listed resource can't be read just now", reading(is(hello), failing(spec.CodeInternal, "Access denied"))),
		legal("garbage-is-empty", "what has no scheme is read as empty contents", reading(func(uri string) bool { return !strings.Contains(uri, ":") }, servingNothing)),
		legal("not-found-by-name", "a missing resource is refused without saying which", Handle(spec.MethodResourcesRead, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			result, err := next(c)
			if err != nil {
				err.Data = nil
			}
			return result, err
		})),
		legal("catch-all", "a template stands for every URI, and reading any gives some text", together(
			EditResult(spec.MethodResourcesTemplates, func(r map[string]any) {
				if r["nextCursor"] == nil {
					r["resourceTemplates"] = append(r["resourceTemplates"].([]any), map[string]any{"uriTemplate": "{+anything}", "name": "anything"})
				}
			}),
			Handle(spec.MethodComplete, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if uri, _ := wire.Text(wire.At(c.Params, "/ref/uri")); uri == "{+anything}" {
					return map[string]any{"completion": map[string]any{"values": []any{}}}, nil
				}
				return next(c)
			}),
			reading(has(nowhere), serving("Whatever you like.")))),
		legalAfresh("clock", "a resource has other contents with every read", func() refserver.Seams {
			var n atomic.Int64
			return together(harmless("update-resource"), onlyMembers(spec.MethodResourcesList, "resources", "uri", "name"),
				reading(is(note), func(uri string) (any, *refserver.Error) {
					return map[string]any{"contents": []any{map[string]any{"uri": uri, "text": fmt.Sprint(n.Add(1))}}}, nil
				}))
		}),
		legalAfresh("size-of-a-moment", "the size of a resource changes with every read", func() refserver.Seams {
			var n atomic.Int64
			return reading(is(hello), func(uri string) (any, *refserver.Error) {
				return map[string]any{"contents": []any{map[string]any{"uri": uri, "text": strings.Repeat("x", int(n.Add(1)))}}}, nil
			})
		}),

		// What is told.
		legal("resources-change", "the list of resources is said to have changed before every answer", before(opened, changed)),
		legal("changes-are-told", "tools that change resources may be called", together(harmless("update-resource"), harmless("trigger-list-changed"))),
		legal("updates-below", "updates name what is below the resource that is subscribed to", together(harmless("update-resource"),
			Outgoing(notifications(spec.MethodResourcesUpdated), func(o *refserver.Out) { o.Frames[0] = []byte(updateOf(note + "/line/1")) }))),
		legalAfresh("updates-at-once", "an update comes before and behind the answer to each subscription, and to its end", func() refserver.Seams {
			var subscribed sync.Map // by session and URI: an end alone is none of a subscription
			return together(updatesAround(spec.MethodResourcesSubscribe, &subscribed), updatesAround(spec.MethodResourcesUnsubscribe, &subscribed))
		}),
		legal("updates-twice", "each update comes twice", together(harmless("update-resource"),
			Outgoing(notifications(spec.MethodResourcesUpdated), func(o *refserver.Out) { o.Frames = append(o.Frames, o.Frames[0]) }))),

		// Cursors.
		legalAfresh("cursors-of-the-moment", "a cursor is written in another way each time", func() refserver.Seams {
			return countingCursors(func(c *refserver.Call, next Handler) (any, *refserver.Error) { return next(c) })
		}),
		legal("numbers-as-cursors", "cursors are the numbers of pages, for all lists alike", pages(func(all []any) [][]any {
			var out [][]any
			for ; len(all) > 2; all = all[2:] {
				out = append(out, all[:2])
			}
			return append(out, all)
		}, func(page int) string { return fmt.Sprint(page) })),
		legal("cursor-is-base64-of-nothing", "cursors look like those of many servers", pages(func(all []any) [][]any { return [][]any{all[:1], all[1:]} },
			func(page int) string {
				return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, `{"offset":%d}`, page))
			})),
		legal("empty-last-page", "the last page of a list is empty", pages(func(all []any) [][]any { return [][]any{all, {}} }, plainCursor)),
	}
}

// onlyMembers leaves out all but some members of the items of a list.
func onlyMembers(method, list string, names ...string) refserver.Seams {
	return EditResult(method, func(r map[string]any) {
		for _, item := range items(r, list) {
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

// updatesAround sends an update right before the answer to a request about a
// resource, and another one a little behind it.
func updatesAround(method string, subscribed *sync.Map) refserver.Seams {
	return Handle(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
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
					if pause(ctx, time.Millisecond) {
						c.Session.SendRaw(update)
					}
				})
			}
		}
		return result, err
	})
}
