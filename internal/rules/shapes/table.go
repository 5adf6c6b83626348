package shapes

import (
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/schema"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// row says which requirement a violation falls on. Of several rows that fit
// the first counts.
type row struct {
	// in are the messages, by the method that is answered, or their own;
	// empty: all that the table speaks of.
	in string
	// place is a type of the schema and a member of it, and stands for all
	// below; several are separated by spaces. Of what is below an object
	// without a name, the path goes on: * is any index or free name. Empty:
	// whatever the schema refuses and no other row knows.
	place string
	kinds []schema.Kind // empty: those that the schema asserts
	// on is the requirement, or those of different revisions.
	on      string
	summary string
	weight  verdict.Weight
	// when is what else must be true of the violation; nil: nothing.
	when func(v schema.Violation) bool
	// came are the places that show that the requirement came up, where they
	// are not those of place.
	came string
	// elsewhere: a rule of its own says it, so that nothing is said here.
	elsewhere bool
}

// anError stands for the error that demands an elicitation.
const anError = "error"

// The messages that content stands in, and all that have rows of their own.
var (
	lists = []string{spec.MethodToolsList, spec.MethodResourcesList, spec.MethodResourcesTemplates, spec.MethodPromptsList}
	all   = slices.Concat(lists, []string{
		spec.MethodInitialize, spec.MethodToolsCall, spec.MethodResourcesRead, spec.MethodPromptsGet, spec.MethodComplete,
		spec.MethodMessage, spec.MethodProgress, spec.MethodResourcesUpdated,
		spec.MethodSampling, spec.MethodElicit, spec.MethodRootsList, spec.MethodPing, anError,
	})
)

func (r *row) topics() []string {
	if r.in == "" {
		return all
	}
	return strings.Fields(r.in)
}

// subjects returns the places that show that the requirement came up: types
// and their own members, for the schema counts no others.
func (r *row) subjects() string {
	if r.came != "" {
		return r.came
	}
	return r.place
}

func (r *compiledRow) fits(v schema.Violation) bool {
	if len(r.kinds) == 0 && v.Basis != schema.Schema || len(r.kinds) > 0 && !slices.Contains(r.kinds, v.Kind) {
		return false
	}
	if r.when != nil && !r.when(v) {
		return false
	}
	for _, place := range strings.Fields(r.place) {
		if rest, ok := strings.CutPrefix(v.Place, place); ok && (rest == "" || rest[0] == '.') {
			return true
		}
	}
	return false
}

// table returns all rows, the most specific ones first.
func table() []row {
	return slices.Concat(contentRows(), offerRows(), serverRequestRows(), taskRows(), generalRows())
}

// generalRows are those of messages as a whole.
func generalRows() []row {
	general := func(method, on, what string) row {
		return row{in: method, on: on, summary: what + " does not have the shape that the revision gives it."}
	}
	call := general(spec.MethodToolsCall, "tools.call.result-schema", "The result of tools/call")
	call.came = "CallToolResult" // and no task
	return []row{
		call,
		general(spec.MethodToolsList, "tools.list.result-schema", "The result of tools/list"),
		general(spec.MethodResourcesList, "resources.list.result-schema", "The result of resources/list"),
		general(spec.MethodResourcesTemplates, "resources.templates.result-schema", "The result of resources/templates/list"),
		general(spec.MethodResourcesRead, "resources.read.result-schema", "The result of resources/read"),
		general(spec.MethodResourcesUpdated, "resources.updated.schema", "A notification of an updated resource"),
		general(spec.MethodPromptsList, "prompts.list.result-schema", "The result of prompts/list"),
		general(spec.MethodPromptsGet, "prompts.get.result-schema", "The result of prompts/get"),
		general(spec.MethodComplete, "completion.result-schema", "The result of completion/complete"),
		general(spec.MethodMessage, "logging.message.schema", "A log notification"),
		general(spec.MethodProgress, "progress.notification-schema", "A progress notification"),
		general(spec.MethodSampling, "sampling.request.schema", "A sampling request"),
		general(spec.MethodElicit, "elicitation.request.schema", "An elicitation request"),
		general(spec.MethodRootsList, "roots.request.schema", "A roots/list request"),
	}
}
