package faults

import (
	"slices"
	"sync/atomic"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// discoverFaults returns the faults of server/discover.
func discoverFaults() []*Fault {
	const versions, capabilities, same, info = "discover.supported-versions/", "discover.capabilities/", "discover.independent-of-connection/", "discover.server-info/"
	discovered := func(e edit) *refserver.Seams { return EditResult(spec.MethodDiscover, e) }
	var servers atomic.Int32
	return []*Fault{
		newFault("discover.requires-meta/served", "server/discover without _meta is served", supplyMeta(both(lacksMeta(spec.MetaVersion, spec.MetaClientCapabilities), isDiscover), func(*refserver.Call) Members {
			return completeMeta()
		})).statelessOnly(),
		newFault(versions+"twice", "server/discover lists a version twice", discovered(func(r map[string]any) {
			all, _ := r["supportedVersions"].([]any)
			r["supportedVersions"] = append(all, all[len(all)-1])
		})),
		newFault("discover.listed-versions-work/older", "server/discover lists a revision that initialize does not accept", editOfferedVersion(func(c *refserver.Call) bool {
			return requestedVersion(c) == string(spec.V20250326)
		}, func(string) string { return string(spec.V20251125) })),
		newFault("discover.listed-versions-work/refused", "server/discover lists a revision that initialize refuses", refuseCalls(spec.MethodInitialize, func(c *refserver.Call) bool {
			return requestedVersion(c) == string(spec.V20241105)
		}, spec.CodeInvalidParams, "Unsupported protocol version")),
		newFault(capabilities+"invalid-request", "the list of a capability that is not declared gets -32600", combineSeams(
			discovered(editMember("capabilities", omitMembers("prompts"))),
			refuseCalls(spec.MethodPromptsList, always, spec.CodeInvalidRequest, "No prompts"))),
		newFaultWithState(same+"changes", "every second result of server/discover lacks a capability", func() *refserver.Seams {
			var n atomic.Int32
			return discovered(func(r map[string]any) {
				if n.Add(1)%2 == 0 {
					editMember("capabilities", omitMembers("completions"))(r)
				}
			})
		}),
		newFaultWithState(same+"by-server", "every second process leaves the oldest version out of its list", func() *refserver.Seams {
			odd := servers.Add(1)%2 == 1
			return discovered(func(r map[string]any) {
				if all, _ := r["supportedVersions"].([]any); odd {
					r["supportedVersions"] = slices.DeleteFunc(all, func(v any) bool { return v == string(spec.V20241105) })
				}
			})
		}),
		newFault(info+"missing", "the result of server/discover does not name the server", discovered(editMember("_meta", omitMembers(spec.MetaServerInfo)))),
		newFault(info+"top-level", "server/discover names the server in serverInfo, as initialize does, not in _meta", discovered(func(r map[string]any) {
			r["serverInfo"] = r["_meta"].(map[string]any)[spec.MetaServerInfo]
			editMember("_meta", omitMembers(spec.MetaServerInfo))(r)
		})),
	}
}

// legalDiscovery returns the legal variations of server/discover.
func legalDiscovery() []*Fault {
	discovered := func(e edit) *refserver.Seams { return EditResult(spec.MethodDiscover, e) }
	return limitRevisions(spec.StatelessRevisions(),
		newVariation("discovery-without-instructions", "server/discover has no instructions", discovered(omitMembers("instructions"))),
		newVariation("versions-in-another-order", "server/discover lists the oldest version first", discovered(func(r map[string]any) {
			all, _ := r["supportedVersions"].([]any)
			slices.Reverse(all)
		})),
		newVariation("later-versions", "the server lists a version that is not published yet", editSupportedVersions(func(all []any) []any { return append(all, "2027-03-01") })),
		newVariation("newest-version-only", "the server lists only the version that has server/discover", editSupportedVersions(func([]any) []any { return []any{string(spec.V20260728)} })),
		newVariation("more-in-discovery", "server/discover declares experimental capabilities and an extension", discovered(editMember("capabilities", func(m map[string]any) {
			m["experimental"], m["extensions"] = map[string]any{"x": map[string]any{}}, map[string]any{"com.example/extension": map[string]any{"a": 1}}
		}))),
	)
}

// editSupportedVersions edits the lists of supported versions, in server/discover and in errors.
func editSupportedVersions(edit func(all []any) []any) *refserver.Seams {
	in := func(m map[string]any, member string) {
		all, _ := m[member].([]any)
		m[member] = edit(all)
	}
	return combineSeams(
		EditResult(spec.MethodDiscover, func(r map[string]any) { in(r, "supportedVersions") }),
		editStatelessErrors(spec.CodeUnsupported, always, editErrorData(func(data map[string]any) { in(data, "supported") })))
}
