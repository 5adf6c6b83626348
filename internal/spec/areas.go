package spec

import (
	"slices"
	"strings"
)

// The areas that code names.
const (
	AreaLifecycle    = "lifecycle"
	AreaVersioning   = "versioning"
	AreaCancellation = "cancellation"
)

// areas are the parts of the specification, in the order in which reports have
// them.
var areas = []string{
	"base", AreaLifecycle, AreaVersioning, "stateless", "discover",
	"ping", "progress", AreaCancellation, "pagination",
	"tools", "resources", "prompts", "completion", "logging", "content",
	"sampling", "elicitation", "roots", "tasks", "mrtr", "subscriptions", "caching",
	"stdio", "streamable-http", "sse", "authorization", "security", "deprecated",
}

// Areas returns the areas into which requirements, suites, rules, faults,
// coverage and reports are divided. Folders and files are named after them.
func Areas() []string { return areas }

// planned are the areas of the handshake revisions whose checks are not written so far.
var planned = []string{"authorization", "security"}

// Planned reports whether the checks of an area are not written so far, so that
// its requirements need no reasons for not being judged.
func Planned(area string) bool { return slices.Contains(planned, area) }

// AreaOf returns the area of a requirement, which is the first word of its id.
func AreaOf(requirement string) string {
	area, _, _ := strings.Cut(requirement, ".")
	return area
}
