package faults

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

func cachingFaults() []*Fault {
	const required, integer, positive = "caching.hints.required/", "caching.ttl.integer/", "caching.ttl.non-negative/"
	const scope, pages = "caching.scope.known-value/", "caching.scope.same-on-all-pages/"
	return []*Fault{
		newFault(required+"discover", "server/discover has no caching hints", editCachingHints(omitMembers("ttlMs", "cacheScope"), spec.MethodDiscover)),
		newFault(required+"tools", "tools/list has no caching hints", editCachingHints(omitMembers("ttlMs", "cacheScope"), spec.MethodToolsList)),
		newFault(required+"prompts", "prompts/list has no caching hints", editCachingHints(omitMembers("ttlMs", "cacheScope"), spec.MethodPromptsList)),
		newFault(required+"resources", "resources/list has no cacheScope", editCachingHints(omitMembers("cacheScope"), spec.MethodResourcesList)),
		newFault(required+"templates", "resources/templates/list has no ttlMs", editCachingHints(omitMembers("ttlMs"), spec.MethodResourcesTemplates)),
		newFault(required+"read", "resources/read has no caching hints", editCachingHints(omitMembers("ttlMs", "cacheScope"), spec.MethodResourcesRead)),
		newFault(required+"spelling", "the hints are called ttl_ms and cache_scope", editCachingHints(func(r map[string]any) {
			renameMember("ttlMs", "ttl_ms")(r)
			renameMember("cacheScope", "cache_scope")(r)
		})),
		newFault(required+"in-meta", "the hints are in _meta", editCachingHints(func(r map[string]any) {
			meta := r["_meta"].(map[string]any)
			meta["ttlMs"], meta["cacheScope"] = r["ttlMs"], r["cacheScope"]
			omitMembers("ttlMs", "cacheScope")(r)
		})),
		newFault(required+"retried", "a result that used the client's input has no caching hints", WrapHandler(spec.MethodResourcesRead, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			result, err := next(c)
			if err != nil || wire.At(c.Params, "/inputResponses") == nil {
				return result, err
			}
			r := decodeObject(result)
			omitMembers("ttlMs", "cacheScope")(r)
			return r, nil
		})),

		newFault("caching.hints.absent-on-input-required/both", "a result that requires input has caching hints", EditResult(spec.MethodResourcesRead, ifInputRequired(func(r map[string]any) {
			r["ttlMs"], r["cacheScope"] = 0, "private"
		}))),

		newFault(integer+"fraction", "ttlMs has a fraction", editCachingHints(setValue("ttlMs", rawJSON("0.5")))),
		newFault(integer+"text", "ttlMs is a string", editCachingHints(setValue("ttlMs", "60000"))),
		newFault(integer+"null", "ttlMs is null", editCachingHints(setValue("ttlMs", nil), spec.MethodToolsList)),
		newFault(positive+"minus-one", "ttlMs is -1", editCachingHints(setValue("ttlMs", -1))),

		newFault(scope+"shared", "cacheScope is shared", editCachingHints(setValue("cacheScope", "shared"))),
		newFault(scope+"upper-case", "cacheScope is PUBLIC", editCachingHints(setValue("cacheScope", "PUBLIC"), spec.MethodDiscover)),
		newFault(scope+"null", "cacheScope is null", editCachingHints(setValue("cacheScope", nil), spec.MethodPromptsList)),

		newFault(pages+"first", "the first page of a list is public, the others are private", editLaterPages(setValue("cacheScope", "private"))),
		newFault("caching.ttl.per-page/first-only", "only the first page of a list has ttlMs", editLaterPages(omitMembers("ttlMs"))),
	}
}

// legalCaching returns the legal variations in caching hints.
func legalCaching() []*Fault {
	return limitRevisions(spec.StatelessRevisions(),
		newVariation("stale-at-once", "no result may be cached", editCachingHints(setValue("ttlMs", 0))),
		newVariation("fresh-for-years", "ttlMs is larger than 32 bits", editCachingHints(setValue("ttlMs", rawJSON("315360000000")))),
		newVariation("whole-fractions", "ttlMs has a fraction of zero", editCachingHints(setValue("ttlMs", rawJSON("60000.0")))),
		newVariation("private-lists", "all results are private", editCachingHints(setValue("cacheScope", "private"))),
		newVariation("lists-of-different-scopes", "tools are public and prompts are private", editCachingHints(setValue("cacheScope", "private"), spec.MethodPromptsList)),
		newVariation("ttl-per-page", "later pages are fresh for a shorter time", editLaterPages(setValue("ttlMs", 1))),
		newVariation("hints-elsewhere", "results of tools/call have caching hints, which have no meaning there", EditResult(spec.MethodToolsCall, func(r map[string]any) {
			if r["resultType"] == "complete" {
				r["ttlMs"], r["cacheScope"] = "a while", 1
			}
		})),
	)
}

// hinted contains the methods whose complete results have caching hints.
var hinted = []string{
	spec.MethodDiscover, spec.MethodToolsList, spec.MethodPromptsList, spec.MethodResourcesList, spec.MethodResourcesTemplates,
	spec.MethodResourcesRead,
}

// editCachingHints edits the results of the given methods, or of all methods in hinted if none is
// given. Results without the member ttlMs stay as they are.
func editCachingHints(e edit, methods ...string) *refserver.Seams {
	if len(methods) == 0 {
		methods = hinted
	}
	var all []*refserver.Seams
	for _, method := range methods {
		all = append(all, EditResult(method, ifHas("ttlMs", e)))
	}
	return combineSeams(all...)
}

// editLaterPages edits every page of a list except the first.
func editLaterPages(e edit) *refserver.Seams {
	return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if err != nil || !slices.Contains(hinted, c.Method) || wire.At(c.Params, "/cursor") == nil {
			return result, err
		}
		r := decodeObject(result)
		e(r)
		return r, nil
	})
}

// ifInputRequired edits results that require input.
func ifInputRequired(e edit) edit {
	return func(r map[string]any) {
		if r["resultType"] == "input_required" {
			e(r)
		}
	}
}

// limitRevisions limits several faults or variations to the given revisions.
func limitRevisions(revisions []spec.Revision, rows ...*Fault) []*Fault {
	for i := range rows {
		rows[i].Revisions = revisions
	}
	return rows
}
