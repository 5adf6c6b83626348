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

// onCursor answers the list requests with a cursor for which when holds;
// a cursor that is no string is given as its JSON.
func onCursor(when func(cursor string) bool, answer func(c *refserver.Call, next Handler) (any, *refserver.Error)) refserver.Seams {
	return Handle("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
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

func anyCursor(string) bool         { return true }
func madeUp(cursor string) bool     { return strings.Contains(cursor, "mcp-conform") }
func aNumber(cursor string) bool    { return cursor == "5" }
func genuine(cursor string) bool    { return !madeUp(cursor) && !aNumber(cursor) }
func notOurs(code spec.Code) Answer { return refusing(code, "That cursor is none of ours.") }

// Answer handles a request that a fault picked.
type Answer = func(c *refserver.Call, next Handler) (any, *refserver.Error)

func refusing(code spec.Code, message string) Answer {
	return func(*refserver.Call, Handler) (any, *refserver.Error) {
		return nil, &refserver.Error{Code: code, Message: message}
	}
}

// firstPage passes over the cursor.
func firstPage(c *refserver.Call, next Handler) (any, *refserver.Error) {
	c.Params = nil
	return next(c)
}

// unpaged has every list be one page, whatever the cursor.
func unpaged() refserver.Seams {
	return together(pages(func(all []any) [][]any { return [][]any{all} }, plainCursor), onCursor(anyCursor, firstPage))
}

func paginationFaults() []Fault {
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
	return []Fault{
		breaks("pagination.cursor.accepted/refused", "no cursor is accepted", onCursor(genuine, notOurs(spec.CodeInvalidParams))),
		breaks("pagination.cursor.accepted/fails", "cursors make lists fail", onCursor(genuine, refusing(spec.CodeInternal, "Internal error"))),

		breaks("pagination.cursor.continues/overlap", "each page begins with the last item of the one before", pages(chunks(3, 2), plainCursor)),
		breaks("pagination.cursor.continues/from-the-start", "the second page holds the whole list", pages(func(all []any) [][]any { return [][]any{all[:2], all} }, plainCursor)),

		breaks("pagination.walk.ends/first-again", "every cursor gets the first page", onCursor(genuine, firstPage)),
		breaksAfresh("pagination.walk.ends/new-cursors", "every cursor gets the first page, and another cursor", func() refserver.Seams {
			var n atomic.Int64
			return onCursor(genuine, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				result, err := firstPage(c, next)
				if err != nil {
					return nil, err
				}
				return with(plain(result), "nextCursor", fmt.Sprint("page-", n.Add(1))), nil
			})
		}),
		breaksAfresh("pagination.walk.ends/empty-pages", "behind the last page there are empty ones for ever", endless),

		breaksAfresh("pagination.cursor.stable/once", "a cursor is good for one request", func() refserver.Seams { return countingCursors(notOurs(spec.CodeInvalidParams)) }),
		breaksAfresh("pagination.cursor.stable/elsewhere", "a cursor that is sent again gets the first page", func() refserver.Seams { return countingCursors(firstPage) }),

		breaksAfresh("pagination.cursor.invalid-handled/poisoned", "a made-up cursor spoils the list for all that follow", poisoned),

		breaks("pagination.cursor.invalid-code/first-page", "a made-up cursor gets the first page", onCursor(madeUp, firstPage)),
		breaks("pagination.cursor.invalid-code/empty", "a made-up cursor gets an empty page", onCursor(madeUp, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			result, err := firstPage(c, next)
			if err != nil {
				return nil, err
			}
			r := plain(result)
			delete(r, "nextCursor")
			for name, v := range r {
				if _, isArray := v.([]any); isArray {
					r[name] = []any{}
				}
			}
			return r, nil
		})),
		breaks("pagination.cursor.invalid-code/internal", "a made-up cursor gets error -32603", onCursor(madeUp, refusing(spec.CodeInternal, "illegal base64 data"))),
		breaks("pagination.cursor.invalid-code/not-found", "a made-up cursor gets error -32002", onCursor(madeUp, notOurs(spec.CodeResourceNotFound))),
		breaks("pagination.cursor.invalid-code/passed-over", "lists are one page, whatever the cursor", unpaged()),

		breaks("pagination.cursor.wrong-type/first-page", "a cursor that is a number gets the first page", onCursor(aNumber, firstPage)),
		breaks("pagination.cursor.wrong-type/internal", "a cursor that is a number gets error -32603", onCursor(aNumber, refusing(spec.CodeInternal, "panic"))),

		breaks("pagination.cursor.other-list/accepted", "the cursor of another list gets the first page", onForeign(firstPage)),
		breaks("pagination.cursor.other-list/code", "the cursor of another list gets error -32603", onForeign(refusing(spec.CodeInternal, "Internal error"))),
	}
}

// onForeign answers where a cursor that may be that of another list is refused.
func onForeign(answer Answer) refserver.Seams {
	return onCursor(genuine, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if result, err := next(c); err == nil {
			return result, nil
		}
		return answer(c, next)
	})
}

// endless adds empty pages without end.
func endless() refserver.Seams {
	var n atomic.Int64
	more := func(r map[string]any) map[string]any {
		if r["nextCursor"] == nil {
			r["nextCursor"] = fmt.Sprint("empty-", n.Add(1))
		}
		return r
	}
	return Handle("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if !isList(c) || c.Revision == "" {
			return next(c)
		}
		behind := false
		if cursor, _ := wire.Text(wire.At(c.Params, "/cursor")); strings.HasPrefix(cursor, "empty-") {
			behind, c.Params = true, nil
		}
		result, err := next(c)
		if err != nil {
			return nil, err
		}
		r := plain(result)
		if !behind {
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

// countingCursors hands out cursors of its own, and answers those that come
// again in another way.
func countingCursors(again Answer) refserver.Seams {
	var mu sync.Mutex
	used := map[string]bool{}
	count := 0
	return Handle("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		cursor, isText := wire.Text(wire.At(c.Params, "/cursor"))
		if !isList(c) || c.Revision == "" {
			return next(c)
		}
		mu.Lock()
		defer mu.Unlock()
		repeated := used[c.Method+cursor]
		used[c.Method+cursor] = isText
		if own, _, marked := strings.Cut(cursor, "#"); marked && genuine(cursor) {
			c.Params = wire.JSON(map[string]any{"cursor": own})
		}
		answer := next
		if repeated {
			answer = func(c *refserver.Call) (any, *refserver.Error) { return again(c, next) }
		}
		result, err := answer(c)
		if err != nil {
			return nil, err
		}
		r := plain(result)
		if following, more := r["nextCursor"].(string); more {
			count++
			r["nextCursor"] = fmt.Sprintf("%s#%d", following, count)
		}
		return r, nil
	})
}

// poisoned refuses a list after a made-up cursor.
func poisoned() refserver.Seams {
	var spoiled sync.Map
	return Handle("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if !isList(c) || c.Revision == "" {
			return next(c)
		}
		cursor, _ := wire.Text(wire.At(c.Params, "/cursor"))
		if madeUp(cursor) {
			spoiled.Store(c.Method, true)
		} else if _, bad := spoiled.Load(c.Method); bad {
			return nil, &refserver.Error{Code: spec.CodeInternal, Message: "Internal error"}
		}
		return next(c)
	})
}

// lastCursor sets the cursor where there is none.
func lastCursor(v any) edit {
	return func(r map[string]any) {
		if _, ok := r["nextCursor"]; !ok {
			r["nextCursor"] = v
		}
	}
}

// cursorShapeFaults are the faults in the shape of the cursor where there is none.
func cursorShapeFaults() []Fault {
	return []Fault{
		breaks("pagination.next-cursor.string/null", "the cursor after the last page is null", EditResult(spec.MethodToolsList, lastCursor(nil))),
		breaks("pagination.next-cursor.string/false", "the cursor after the last page is false", EditResult(spec.MethodPromptsList, lastCursor(false))),
		breaks("pagination.next-cursor.string/number", "the cursor after the last page is a number", EditResult(spec.MethodResourcesList, lastCursor(0))),
		breaks("pagination.next-cursor.string/object", "the cursor after the last page is an object", EditResult(spec.MethodResourcesTemplates, lastCursor(map[string]any{}))),
	}
}
