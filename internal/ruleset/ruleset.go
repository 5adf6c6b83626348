// Package ruleset lists all rules.
package ruleset

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/rules/asking"
	"github.com/mcp-conform/mcp-conform/internal/rules/offers"
	"github.com/mcp-conform/mcp-conform/internal/rules/running"
	"github.com/mcp-conform/mcp-conform/internal/rules/shapes"
	"github.com/mcp-conform/mcp-conform/internal/rules/tasks"
	"github.com/mcp-conform/mcp-conform/internal/rules/web"
)

// All returns all rules, area by area.
func All() []rules.Rule {
	return slices.Concat(
		rules.Base(),
		shapes.Rules(),
		offers.Rules(),
		running.Rules(),
		asking.Rules(),
		web.Rules(),
		tasks.Rules(),
	)
}
