package serverfeatures

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/rules"
)

// toolRules returns the rules on tools.
func toolRules() []rules.Rule {
	return slices.Concat(toolFeature.rules(), []rules.Rule{
		{
			ID:           "rule.tool-names",
			Title:        "tool names have a valid length and valid characters",
			Requirements: []string{nameLength, nameCharset, nameSpecial},
			Start:        toolNames,
		},
		{
			ID:           "rule.tools-found",
			Title:        "listed tools are found by their names, letter for letter, and others are refused with an error",
			Requirements: []string{toolListedFound, toolUnknownError, toolUnknownCode, toolCase, toolNotSupported},
			Start:        toolsFound,
		},
		{
			ID:           "rule.tools-request",
			Title:        "malformed calls are refused, and arguments may be left out",
			Requirements: []string{toolMalformed, toolArgumentsOptional},
			Start:        toolRequests,
		},
		{
			ID:           "rule.tools-arguments",
			Title:        "arguments that break a tool's schema are refused",
			Requirements: []string{toolValidates, toolRejects, toolInvalidIsResult},
			Start:        toolArguments,
		},
		{
			ID:           "rule.tools-failures",
			Title:        "failing tools return isError with an explanation",
			Requirements: []string{toolFailureIsResult, toolFailureExplains},
			Start:        toolFailures,
		},
		{
			ID:           "rule.tools-resources",
			Title:        "resources in tool results need the resources capability, and can be read",
			Requirements: []string{toolEmbedded, toolLinkFetchable},
			Start:        toolResources,
		},
		toolHeaderRule(),
		toolOrderRule(),
	})
}
