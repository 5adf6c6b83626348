package faults

import (
	"fmt"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// walkFaults returns faults in cursors and pages. Most of the faults show only when a client walks
// a list more than once.
func walkFaults() []*Fault {
	changing := func(seams *refserver.Seams) *refserver.Seams {
		return combineSeams(markReadOnly("trigger-list-changed"), seams)
	}
	return []*Fault{
		newFault("pagination.walk.complete/gap", "the list omits an item between two pages", splitIntoPages(func(all []any) [][]any {
			return [][]any{all[:1], all[min(2, len(all)):]}
		}, plainCursor)),
		newFaultWithState("pagination.walk.complete/one-place", "all walks through a list share one position", sharePosition),
		newFaultWithState("pagination.walk.complete/now-and-then", "every second walk lacks the last item", dropLastEverySecondTime),
		newFaultWithState("pagination.cursor.stable/forward-only", "a cursor of an earlier page than the last one is refused", refuseEarlierCursors),
		newFaultWithState("pagination.cursor.invalid-handled/stale", "a cursor from before a list change breaks the list for all later requests", func() *refserver.Seams {
			return changing(refuseStaleCursors(true))
		}),
		newFault("pagination.cursor.wrong-type/object", "a cursor that is an object returns the first page", onCursor(func(cursor string) bool { return strings.HasPrefix(cursor, "{") }, ignoreCursor)),
	}
}

// legalWalks returns the legal variations in cursors, and in how a list changes between walks.
func legalWalks() []*Fault {
	return []*Fault{
		newVariationWithState("stale-cursors-refused", "a cursor from before a change of its list is refused", func() *refserver.Seams {
			return combineSeams(markReadOnly("trigger-list-changed"), refuseStaleCursors(false))
		}),
		newVariationWithState("pages-of-any-size", "the same cursor returns pages of varying size", varyPageSizes),
		newVariationWithState("lists-change-unannounced", "every third list lacks its last item, and listChanged is not declared", func() *refserver.Seams {
			quiet := dropMessages(func(o *refserver.Out) bool {
				return o.Method == spec.MethodToolsChanged || o.Method == spec.MethodPromptsChanged || o.Method == spec.MethodResourcesChanged
			})
			return combineSeams(quiet, splitIntoPages(dropLastEveryThirdTime(), plainCursor), EditResult(spec.MethodInitialize, func(r map[string]any) {
				for _, declared := range r["capabilities"].(map[string]any) {
					if of, isObject := declared.(map[string]any); isObject {
						delete(of, "listChanged")
					}
				}
			}))
		}),
		newVariation("empty-cursor-for-none", "the empty cursor returns the first page", onCursor(func(cursor string) bool { return cursor == "" }, ignoreCursor)),
	}
}

// dropLastEverySecondTime returns each list as one page, and omits the last item from every
// second response.
func dropLastEverySecondTime() *refserver.Seams {
	var mu sync.Mutex
	times := map[string]int{}
	return combineSeams(singlePage(), WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if err != nil || !isList(c) || c.Revision == "" {
			return result, err
		}
		mu.Lock()
		defer mu.Unlock()
		r := decodeObject(result)
		for name, v := range r {
			if all, isArray := v.([]any); isArray && len(all) > 0 {
				if times[c.Method]++; times[c.Method]%2 == 0 {
					r[name] = all[:len(all)-1]
				}
			}
		}
		return r, nil
	}))
}

// dropLastEveryThirdTime returns a function that splits a list into two pages. Every third call of
// the function omits the last item.
func dropLastEveryThirdTime() func(all []any) [][]any {
	times := 0
	return func(all []any) [][]any {
		if times++; times%3 == 0 && len(all) > 0 {
			all = all[:len(all)-1]
		}
		first := min(1, len(all))
		return [][]any{all[:first], all[first:]}
	}
}

// varyPageSizes returns pages of varying size. A cursor contains the position at which
// its page begins.
func varyPageSizes() *refserver.Seams {
	times := 0
	return replacePaging(func(c *refserver.Call, wanted jsontext.Value, member string, all []any) (any, *refserver.Error) {
		from := 0
		for wanted != nil {
			if text, _ := wire.Text(wanted); text == fmt.Sprint(c.Method, "#", from) {
				break
			}
			if from++; from > len(all) {
				return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "Invalid cursor"}
			}
		}
		times++
		to := min(from+2+times%2, len(all))
		result := map[string]any{member: all[from:to]}
		if to < len(all) {
			result["nextCursor"] = fmt.Sprint(c.Method, "#", to)
		}
		return result, nil
	})
}

// sharePosition keeps one position for each list of a session. A request with any cursor of the
// form that the list uses gets the page at this position.
func sharePosition() *refserver.Seams {
	const size = 2
	type key struct {
		session *refserver.Session
		method  string
	}
	var mu sync.Mutex
	places, count := map[key]int{}, 0
	return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if cursor, isText := wire.Text(wire.At(c.Params, "/cursor")); !isList(c) || c.Revision == "" ||
			wire.At(c.Params, "/cursor") != nil && (!isText || !strings.HasPrefix(cursor, c.Method+"#") || isMadeUpCursor(cursor)) {
			return next(c)
		}
		mu.Lock()
		defer mu.Unlock()
		k := key{c.Session, c.Method}
		if wire.At(c.Params, "/cursor") == nil {
			places[k] = 0
		}
		member, all, err := readAllPages(c, next)
		if err != nil {
			return nil, err
		}
		from := min(places[k], len(all))
		to := min(from+size, len(all))
		places[k] = to
		result := map[string]any{member: all[from:to]}
		if to < len(all) {
			count++
			result["nextCursor"] = fmt.Sprintf("%s#%d", c.Method, count)
		}
		return result, nil
	})
}

// refuseEarlierCursors splits lists into pages, all but the last with one item, and refuses the
// cursor of a page that precedes the page requested last.
func refuseEarlierCursors() *refserver.Seams {
	var mu sync.Mutex
	reached := map[string]int{}
	cut := func(all []any) [][]any { return [][]any{all[:1], all[1:min(2, len(all))], all[min(2, len(all)):]} }
	return combineSeams(splitIntoPages(cut, plainCursor), WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		cursor, isText := wire.Text(wire.At(c.Params, "/cursor"))
		if !isList(c) || c.Revision == "" {
			return next(c)
		}
		mu.Lock()
		defer mu.Unlock()
		if !isText {
			reached[c.Method] = 0
			return next(c)
		}
		if len(cursor) < reached[c.Method] && isGenuineCursor(cursor) {
			return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "That page is over"}
		}
		reached[c.Method] = len(cursor)
		return next(c)
	}))
}

// refuseStaleCursors refuses cursors from before a list change. If breaksList is true, every later
// request for the first page of that list fails, too.
func refuseStaleCursors(breaksList bool) *refserver.Seams {
	var mu sync.Mutex
	changes, handed, spoiled := 0, map[string]int{}, map[string]bool{}
	return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if c.Method == spec.MethodToolsCall {
			if name, _ := wire.Text(wire.At(c.Params, "/name")); name == "trigger-list-changed" {
				mu.Lock()
				changes++
				mu.Unlock()
			}
		}
		if !isList(c) || c.Revision == "" {
			return next(c)
		}
		cursor, isText := wire.Text(wire.At(c.Params, "/cursor"))
		mu.Lock()
		at, known := handed[c.Method+cursor]
		stale := isText && known && at < changes
		spoiled[c.Method] = spoiled[c.Method] || stale && breaksList
		bad := spoiled[c.Method] && !isText
		mu.Unlock()
		switch {
		case stale:
			return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "The list has changed"}
		case bad:
			return nil, &refserver.Error{Code: spec.CodeInternal, Message: "Internal error"}
		}
		result, err := next(c)
		if err != nil {
			return nil, err
		}
		r := decodeObject(result)
		if following, more := r["nextCursor"].(string); more {
			mu.Lock()
			handed[c.Method+following] = changes
			mu.Unlock()
		}
		return r, nil
	})
}
