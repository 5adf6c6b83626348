package spec

import (
	"slices"
	"strings"
)

// The areas that other code refers to by name.
const (
	AreaLifecycle     = "lifecycle"
	AreaVersioning    = "versioning"
	AreaCancellation  = "cancellation"
	AreaAuthorization = "authorization"
	AreaSecurity      = "security"
)

// areas are the parts of the specification, in the order of reports.
var areas = []string{
	"base", AreaLifecycle, AreaVersioning, "stateless", "discover",
	"ping", "progress", AreaCancellation, "pagination",
	"tools", "resources", "prompts", "completion", "logging", "content",
	"sampling", "elicitation", "roots", "tasks", "mrtr", "subscriptions", "caching",
	"stdio", "streamable-http", "sse", AreaAuthorization, AreaSecurity, "deprecated",
}

// Areas returns the areas that requirements, suites, rules, faults, coverage and
// reports are divided into. Folders and files are named after them.
func Areas() []string { return areas }

// planned are the areas of handshake revisions whose checks are not written yet.
var planned = []string{AreaSecurity}

// Planned reports whether the checks of an area are not written yet; its
// requirements then need no not_judged.
func Planned(area string) bool { return slices.Contains(planned, area) }

// AreaOf returns the area of a requirement: the first word of its id.
func AreaOf(requirement string) string {
	area, _, _ := strings.Cut(requirement, ".")
	return area
}
