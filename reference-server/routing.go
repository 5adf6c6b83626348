package refserver

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// routingTools returns the tools whose arguments are repeated in headers, so that an
// intermediary can route a call without reading its body.
func routingTools() []*tool {
	return []*tool{
		{
			name: "route", title: "Route", description: "Returns the arguments that headers repeat.", since: spec.V20260728,
			input: []argument{
				{name: "region", kind: "string", description: "Where to", header: "Region"},
				{name: "priority", kind: "integer", description: "How urgent it is", header: "Priority", min: -9, max: math.MaxInt32},
				{name: "dryRun", kind: "boolean", description: "Whether to do nothing", header: "Dry-Run"},
				{name: "note", kind: "string", description: "A text that no header repeats"},
			},
			run: func(_ *Call, a values) object {
				return textResult(fmt.Sprintf("Routed with region %v, priority %v, dryRun %v.", a["region"], a["priority"], a["dryRun"]))
			},
		},
		{
			name: "route-nested", title: "Route by a nested argument", description: "Has an argument inside another that a header repeats.",
			since: spec.V20260728,
			schema: object{
				"type":                 "object",
				"additionalProperties": false,
				"properties": object{"target": object{
					"type": "object",
					"properties": object{
						"zone": object{"type": "string", "description": "Where to", headerKeyword: "Zone"},
					},
				}},
			},
			check: checkTarget,
			run:   func(*Call, values) object { return textResult("Routed.") },
		},
	}
}

// checkTarget checks arguments by the rules of route-nested's schema. It returns the
// first problem, or "".
func checkTarget(given fields) string {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if name != "target" {
			return "there is no argument " + strconv.Quote(name)
		}
	}
	target, err := given.optionalObject("target")
	if err != nil {
		return "target must be an object"
	}
	if zone, ok := target["zone"]; ok && !isString(zone) {
		return "zone must be a string"
	}
	return ""
}
