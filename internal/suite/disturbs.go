package suite

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// DisturbsOthers reports whether the tool is known to change the lists of the server while other
// cases use the same server. The lists that those cases know might then be outdated. A case that
// needs such a tool is exclusive.
func (t *T) DisturbsOthers(tool inventory.Tool) bool {
	if t.Transport == spec.Stdio || t.Case.Exclusive {
		return false
	}
	for _, role := range []inventory.Role{inventory.ChangesTools, inventory.ChangesResources, inventory.ChangesPrompts} {
		if slices.ContainsFunc(t.Inventory.KnownCalls(role), func(k inventory.KnownCall) bool { return k.Tool == tool.Name }) {
			return true
		}
	}
	return false
}
