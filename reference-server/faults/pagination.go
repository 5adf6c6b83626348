package faults

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// onCursor calls the function answer instead of the handler for the list requests whose cursor
// satisfies the condition. A cursor that is not a string is given to the condition as raw JSON.
func onCursor(when func(cursor string) bool, answer func(c *refserver.Call, next Handler) (any, *refserver.Error)) *refserver.Seams {
	return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		raw := wire.At(c.Params, "/cursor")
		if !isList(c) || c.Revision == "" || raw == nil {
			return next(c)
		}
		cursor, isText := wire.Text(raw)
		if !isText {
			cursor = string(raw)
		}
		if !when(cursor) {
			return next(c)
		}
		return answer(c, next)
	})
}

func anyCursor(string) bool              { return true }
func isMadeUpCursor(cursor string) bool  { return strings.Contains(cursor, "mcp-conform") }
func isNumberCursor(cursor string) bool  { return cursor == "5" }
func isGenuineCursor(cursor string) bool { return !isMadeUpCursor(cursor) && !isNumberCursor(cursor) }
func refuseCursor(code spec.Code) CallHandler {
	return refuseWith(code, "That cursor is none of ours.")
}

// A CallHandler handles a request that matches a fault's condition.
type CallHandler = func(c *refserver.Call, next Handler) (any, *refserver.Error)

func refuseWith(code spec.Code, message string) CallHandler {
	return func(*refserver.Call, Handler) (any, *refserver.Error) {
		return nil, &refserver.Error{Code: code, Message: message}
	}
}

// ignoreCursor handles the request as if it had no params, and so no cursor.
func ignoreCursor(c *refserver.Call, next Handler) (any, *refserver.Error) {
	c.Params = nil
	return next(c)
}

// singlePage returns every list as one page, whatever the cursor.
func singlePage() *refserver.Seams {
	return combineSeams(splitIntoPages(func(all []any) [][]any { return [][]any{all} }, plainCursor), onCursor(anyCursor, ignoreCursor))
}

func paginationFaults() []*Fault {
	chunks := func(size, step int) func(all []any) [][]any {
		return func(all []any) [][]any {
			var out [][]any
			for i := 0; ; i += step {
				if i+size >= len(all) {
					return append(out, all[i:])
				}
				out = append(out, all[i:i+size])
			}
		}
	}
	return []*Fault{
		newFault("pagination.cursor.accepted/refused", "every cursor is refused", onCursor(isGenuineCursor, refuseCursor(spec.CodeInvalidParams))),
		newFault("pagination.cursor.accepted/fails", "a request with a cursor gets an internal error", onCursor(isGenuineCursor, refuseWith(spec.CodeInternal, "Internal error"))),

		newFault("pagination.cursor.continues/overlap", "each page begins with the last item of the page before", splitIntoPages(chunks(3, 2), plainCursor)),
		newFault("pagination.cursor.continues/from-the-start", "the second page contains the whole list", splitIntoPages(func(all []any) [][]any { return [][]any{all[:2], all} }, plainCursor)),

		newFault("pagination.walk.ends/first-again", "every cursor of the server returns the first page", onCursor(isGenuineCursor, ignoreCursor)),
		newFaultWithState("pagination.walk.ends/new-cursors", "every cursor returns the first page and another cursor", func() *refserver.Seams {
			var n atomic.Int64
			return onCursor(isGenuineCursor, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				result, err := ignoreCursor(c, next)
				if err != nil {
					return nil, err
				}
				return withMember(decodeObject(result), "nextCursor", fmt.Sprint("page-", n.Add(1))), nil
			})
		}),
		newFaultWithState("pagination.walk.ends/empty-pages", "empty pages follow the last page without end", appendEmptyPages),

		newFaultWithState("pagination.cursor.stable/once", "a cursor works only once", func() *refserver.Seams { return countCursorUses(refuseCursor(spec.CodeInvalidParams)) }),
		newFaultWithState("pagination.cursor.stable/elsewhere", "a cursor that is used again returns the first page", func() *refserver.Seams { return countCursorUses(ignoreCursor) }),

		newFaultWithState("pagination.cursor.invalid-handled/poisoned", "an invalid cursor breaks the list for all later requests", breakAfterInvalidCursor),

		newFault("pagination.cursor.invalid-code/first-page", "an invalid cursor returns the first page", onCursor(isMadeUpCursor, ignoreCursor)),
		newFault("pagination.cursor.invalid-code/empty", "an invalid cursor returns an empty page", onCursor(isMadeUpCursor, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			result, err := ignoreCursor(c, next)
			if err != nil {
				return nil, err
			}
			r := decodeObject(result)
			delete(r, "nextCursor")
			for name, v := range r {
				if _, isArray := v.([]any); isArray {
					r[name] = []any{}
				}
			}
			return r, nil
		})),
		newFault("pagination.cursor.invalid-code/internal", "an invalid cursor gets error -32603", onCursor(isMadeUpCursor, refuseWith(spec.CodeInternal, "illegal base64 data"))),
		newFault("pagination.cursor.invalid-code/not-found", "an invalid cursor gets error -32002", onCursor(isMadeUpCursor, refuseCursor(spec.CodeResourceNotFound))),
		newFault("pagination.cursor.invalid-code/passed-over", "every cursor returns the whole list", singlePage()),

		newFault("pagination.cursor.wrong-type/first-page", "a cursor that is a number returns the first page", onCursor(isNumberCursor, ignoreCursor)),
		newFault("pagination.cursor.wrong-type/internal", "a cursor that is a number gets error -32603", onCursor(isNumberCursor, refuseWith(spec.CodeInternal, "panic"))),

		newFault("pagination.cursor.other-list/accepted", "the cursor of another list returns the first page", onForeignCursor(ignoreCursor)),
		newFault("pagination.cursor.other-list/code", "the cursor of another list gets error -32603", onForeignCursor(refuseWith(spec.CodeInternal, "Internal error"))),
	}
}

// onForeignCursor calls the function answer for each request whose cursor the server refuses, if
// the cursor may come from another list.
func onForeignCursor(answer CallHandler) *refserver.Seams {
	return onCursor(isGenuineCursor, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if result, err := next(c); err == nil {
			return result, nil
		}
		return answer(c, next)
	})
}

// appendEmptyPages appends an endless sequence of empty pages to each list.
func appendEmptyPages() *refserver.Seams {
	var n atomic.Int64
	more := func(r map[string]any) map[string]any {
		if r["nextCursor"] == nil {
			r["nextCursor"] = fmt.Sprint("empty-", n.Add(1))
		}
		return r
	}
	return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if !isList(c) || c.Revision == "" {
			return next(c)
		}
		isPastEnd := false
		if cursor, _ := wire.Text(wire.At(c.Params, "/cursor")); strings.HasPrefix(cursor, "empty-") {
			isPastEnd, c.Params = true, nil
		}
		result, err := next(c)
		if err != nil {
			return nil, err
		}
		r := decodeObject(result)
		if !isPastEnd {
			return more(r), nil
		}
		delete(r, "nextCursor")
		for name, v := range r {
			if _, isArray := v.([]any); isArray {
				r[name] = []any{}
			}
		}
		return more(r), nil
	})
}

// countCursorUses makes each cursor unique. The function onReuse handles the requests with a cursor
// that was used before.
func countCursorUses(onReuse CallHandler) *refserver.Seams {
	var mu sync.Mutex
	used := map[string]bool{}
	count := 0
	return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		cursor, isText := wire.Text(wire.At(c.Params, "/cursor"))
		if !isList(c) || c.Revision == "" {
			return next(c)
		}
		mu.Lock()
		defer mu.Unlock()
		repeated := used[c.Method+cursor]
		used[c.Method+cursor] = isText
		if own, _, marked := strings.Cut(cursor, "#"); marked && isGenuineCursor(cursor) {
			c.Params = wire.JSON(map[string]any{"cursor": own})
		}
		answer := next
		if repeated {
			answer = func(c *refserver.Call) (any, *refserver.Error) { return onReuse(c, next) }
		}
		result, err := answer(c)
		if err != nil {
			return nil, err
		}
		r := decodeObject(result)
		if following, more := r["nextCursor"].(string); more {
			count++
			r["nextCursor"] = fmt.Sprintf("%s#%d", following, count)
		}
		return r, nil
	})
}

// breakAfterInvalidCursor makes a list fail after a request with an invalid cursor
// that the harness made up.
func breakAfterInvalidCursor() *refserver.Seams {
	var spoiled sync.Map
	return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if !isList(c) || c.Revision == "" {
			return next(c)
		}
		cursor, _ := wire.Text(wire.At(c.Params, "/cursor"))
		if isMadeUpCursor(cursor) {
			spoiled.Store(c.Method, true)
		} else if _, bad := spoiled.Load(c.Method); bad {
			return nil, &refserver.Error{Code: spec.CodeInternal, Message: "Internal error"}
		}
		return next(c)
	})
}

// setLastCursor returns an edit that adds nextCursor to the last page of a list.
func setLastCursor(v any) edit {
	return func(r map[string]any) {
		if _, ok := r["nextCursor"]; !ok {
			r["nextCursor"] = v
		}
	}
}

// cursorShapeFaults returns the faults in the shape of nextCursor on the last page.
func cursorShapeFaults() []*Fault {
	return []*Fault{
		newFault("pagination.next-cursor.string/null", "nextCursor on the last page is null", EditResult(spec.MethodToolsList, setLastCursor(nil))),
		newFault("pagination.next-cursor.string/false", "nextCursor on the last page is false", EditResult(spec.MethodPromptsList, setLastCursor(false))),
		newFault("pagination.next-cursor.string/number", "nextCursor on the last page is a number", EditResult(spec.MethodResourcesList, setLastCursor(0))),
		newFault("pagination.next-cursor.string/object", "nextCursor on the last page is an object", EditResult(spec.MethodResourcesTemplates, setLastCursor(map[string]any{}))),
	}
}
