// Package ruleset lists all rules.
package ruleset

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/rules/clientfeatures"
	"github.com/mcp-conform/mcp-conform/internal/rules/serverfeatures"
	"github.com/mcp-conform/mcp-conform/internal/rules/shapes"
	"github.com/mcp-conform/mcp-conform/internal/rules/stateless"
	"github.com/mcp-conform/mcp-conform/internal/rules/streamablehttp"
	"github.com/mcp-conform/mcp-conform/internal/rules/tasks"
	"github.com/mcp-conform/mcp-conform/internal/rules/utilities"
)

// All returns all rules, package by package.
func All() []rules.Rule {
	return slices.Concat(
		rules.Base(),
		shapes.Rules(),
		serverfeatures.Rules(),
		utilities.Rules(),
		clientfeatures.Rules(),
		streamablehttp.Rules(),
		tasks.Rules(),
		stateless.Rules(),
	)
}
