package suite

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// DisturbsOthers reports whether a call of the tool may disturb other cases that use the same
// server at the same time: the tool is known to change a list of the server, so that those cases
// would work with an outdated list. It returns false over stdio, where each conversation has its
// own process, and for an exclusive case. A case that needs such a tool is exclusive.
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
