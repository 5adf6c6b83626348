package faults

import (
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// legalLists returns the legal variations in lists and their pages, and in the results of tool
// calls, completions and subscriptions.
func legalLists() []*Fault {
	return []*Fault{
		newVariation("one-page", "every list is one page", splitIntoPages(func(all []any) [][]any { return [][]any{all} }, plainCursor)),
		newVariation("uneven-pages", "the pages of a list differ in size", splitIntoPages(func(all []any) [][]any {
			var out [][]any
			for n := 1; len(all) > 0; n++ {
				n := min(n, len(all))
				out, all = append(out, all[:n]), all[n:]
			}
			return out
		}, plainCursor)),
		newVariation("empty-page", "the first page of a list is empty", splitIntoPages(func(all []any) [][]any { return [][]any{{}, all} }, plainCursor)),
		newVariation("empty-cursor", "the cursor of the second page is an empty string", splitIntoPages(func(all []any) [][]any { return [][]any{all[:1], all[1:]} },
			func(int) string { return "" })),
		newVariation("long-cursors", "cursors are 4000 characters long and not ASCII", splitIntoPages(func(all []any) [][]any { return [][]any{all[:1], all[1:]} },
			func(page int) string { return strings.Repeat("→", 4000) + plainCursor(page) })),

		newVariation("bare-tools", "tools have only a name, a schema, annotations and execution", EditResult(spec.MethodToolsList, func(r map[string]any) {
			for _, t := range objectsIn(r, "tools") {
				for name := range t {
					if name != "name" && name != "inputSchema" && name != "annotations" && name != "execution" {
						delete(t, name)
					}
				}
			}
		})),
		newVariation("bare-prompts", "prompts have no description", EditResult(spec.MethodPromptsList, func(r map[string]any) {
			for _, p := range objectsIn(r, "prompts") {
				delete(p, "description")
			}
		})),
		newVariation("structured-without-schema", "tools without an output schema return structured content", EditResult(spec.MethodToolsList, func(r map[string]any) {
			for _, t := range objectsIn(r, "tools") {
				delete(t, "outputSchema")
			}
		})).inRevisions(spec.V20250618, spec.V20251125),
		newVariation("is-error-false", "successful tools return isError false", EditResult(spec.MethodToolsCall, func(r map[string]any) {
			if _, failed := r["isError"]; !failed {
				r["isError"] = false
			}
		})),
		newVariation("no-content", "successful tools return no content blocks", EditResult("", func(r map[string]any) {
			_, structured := r["structuredContent"]
			if _, tool := r["content"]; tool && !structured && r["isError"] == nil {
				r["content"] = []any{}
			}
		})),
		newVariation("integers-with-point", "the sizes of resources are written with a decimal point", EditBytes(Results(spec.MethodResourcesList), addFractionsToSizes)),
		newVariation("completion-values-only", "completions have neither total nor hasMore", EditResult(spec.MethodComplete, func(r map[string]any) {
			c := r["completion"].(map[string]any)
			delete(c, "total")
			delete(c, "hasMore")
		})),
		newVariation("any-subscription", "subscriptions to unknown resources are accepted", combineSeams(
			acceptUnknownURIs(spec.MethodResourcesSubscribe), acceptUnknownURIs(spec.MethodResourcesUnsubscribe))),
	}
}

func acceptUnknownURIs(method string) *refserver.Seams {
	return WrapHandler(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if err != nil && err.Code == spec.CodeResourceNotFound {
			return map[string]any{}, nil
		}
		return result, err
	})
}

// addFractionsToSizes writes the sizes of resources with a zero fraction, such as 13.0.
func addFractionsToSizes(frame []byte) []byte {
	parts := strings.Split(string(frame), `"size":`)
	for i := 1; i < len(parts); i++ {
		end := strings.IndexFunc(parts[i], func(r rune) bool { return r < '0' || r > '9' })
		parts[i] = parts[i][:end] + ".0" + parts[i][end:]
	}
	return []byte(strings.Join(parts, `"size":`))
}

func plainCursor(page int) string { return "page-" + strings.Repeat("i", page) }

// splitIntoPages splits each list into the pages that the function cut returns. The first page
// needs no cursor. The second page has the cursor that the function cursor returns for 1, the third
// the one for 2, and so on.
func splitIntoPages(cut func(all []any) [][]any, cursor func(page int) string) *refserver.Seams {
	return replacePaging(func(_ *refserver.Call, wanted jsontext.Value, member string, all []any) (any, *refserver.Error) {
		sheets := cut(all)
		for i, sheet := range sheets {
			if text, isText := wire.Text(wanted); i == 0 && wanted != nil || i > 0 && (!isText || text != cursor(i)) {
				continue
			}
			result := map[string]any{member: sheet}
			if i+1 < len(sheets) {
				result["nextCursor"] = cursor(i + 1)
			}
			return result, nil
		}
		return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "Invalid cursor"}
	})
}

// replacePaging calls f for each page of a list. The arguments of f are the requested cursor (nil
// if there is none), the name of the member with the items, and all items of the list.
func replacePaging(f func(c *refserver.Call, wanted jsontext.Value, member string, all []any) (any, *refserver.Error)) *refserver.Seams {
	var mu sync.Mutex // handling one request at a time changes only the speed
	return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if !isList(c) || c.Revision == "" {
			return next(c)
		}
		mu.Lock()
		defer mu.Unlock()
		wanted := wire.At(c.Params, "/cursor")
		member, all, err := readAllPages(c, next)
		if err != nil {
			return nil, err
		}
		return f(c, wanted, member, all)
	})
}

// readAllPages returns all items of a list, from all pages of the reference server.
func readAllPages(c *refserver.Call, next Handler) (member string, all []any, err *refserver.Error) {
	params := map[string]any{}
	for {
		c.Params = wire.JSON(params)
		result, err := next(c)
		if err != nil {
			return "", nil, err
		}
		page := decodeObject(result)
		for name, v := range page {
			if array, ok := v.([]any); ok {
				member, all = name, append(all, array...)
			}
		}
		cursor, more := page["nextCursor"]
		if !more {
			return member, all, nil
		}
		params["cursor"] = cursor
	}
}
