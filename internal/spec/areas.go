package spec

import (
	"strings"
)

// The areas that other code refers to by name.
const (
	AreaBase          = "base"
	AreaLifecycle     = "lifecycle"
	AreaVersioning    = "versioning"
	AreaCancellation  = "cancellation"
	AreaPagination    = "pagination"
	AreaAuthorization = "authorization"
	AreaSecurity      = "security"
)

// areas are the areas of the catalogue, in the order of reports.
var areas = []string{
	AreaBase, AreaLifecycle, AreaVersioning, "stateless", "discover",
	"ping", "progress", AreaCancellation, AreaPagination,
	"tools", "resources", "prompts", "completion", "logging", "content",
	"sampling", "elicitation", "roots", "tasks", "mrtr", "subscriptions", "caching",
	"stdio", "streamable-http", "sse", AreaAuthorization, AreaSecurity, "deprecated",
}

// Areas returns the areas that requirements, suites, faults, coverage and reports are divided into,
// in the order of reports. Files of requirements, packages of cases and files of faults are named
// after them; rules are in packages of other names.
func Areas() []string { return areas }

// AreaOf returns the area of a requirement: the first word of its id.
func AreaOf(requirement string) string {
	area, _, _ := strings.Cut(requirement, ".")
	return area
}
