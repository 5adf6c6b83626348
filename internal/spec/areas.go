package spec

import "strings"

// areas are the parts of the specification, in the order in which reports have
// them.
var areas = []string{
	"base", "lifecycle", "versioning", "stateless", "discover",
	"ping", "progress", "cancellation", "pagination",
	"tools", "resources", "prompts", "completion", "logging", "content",
	"sampling", "elicitation", "roots", "tasks", "mrtr", "subscriptions", "caching",
	"stdio", "streamable-http", "sse", "authorization", "security", "deprecated",
}

// Areas returns the areas into which requirements, suites, rules, faults,
// coverage and reports are divided. Folders and files are named after them.
func Areas() []string { return areas }

// AreaOf returns the area of a requirement, which is the first word of its id.
func AreaOf(requirement string) string {
	area, _, _ := strings.Cut(requirement, ".")
	return area
}
