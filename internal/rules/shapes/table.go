package shapes

import (
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/schema"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// row assigns violations to a requirement. The first matching row counts.
type row struct {
	// in are the topics of the messages, separated by spaces: the method of the request for
	// results, the message's own method, errorTopic or inputTopic. Empty means allTopics.
	in string
	// place lists places in the schema, separated by spaces. Each is a type or a member of a type,
	// and covers everything below it. If a member is an object whose type has no name, the path
	// continues with the members of that object; * stands for any index, or for a member name that
	// the schema does not define. An empty place matches every schema violation that no other row
	// matches.
	place string
	kinds []schema.Kind // empty means all violations that the official schema reports
	// ids is the requirement, or one for each of several revisions, separated by spaces.
	ids     string
	summary string
	// ifPresent is the summary if the member is present but has a wrong value. If it is set,
	// summary is only for a missing member.
	ifPresent string
	// subject names what violates the schema, in rows for violations of several kinds. If it is
	// set, the kind of the violation determines the summary, and the fix unless usualFix is set.
	subject   string
	usualFix  bool   // the usual fix of the requirement suits all kinds of violations
	permitted string // if set, it replaces Violation.Permitted
	fix       string // if set, it replaces the usual fix of the requirement
	// fixOf returns the fix of one violation, or "" for that of the row.
	fixOf  func(v schema.Violation) string
	weight verdict.Weight
	// when is a further condition on the violation; nil means none.
	when func(v schema.Violation) bool
	// observedAt lists places in the schema as place does. The requirement counts as observed in
	// each message that contains one of them. If it is empty, the places in the field place count
	// instead.
	observedAt string
	// elsewhere is set if another rule reports the violation, so that this one does not.
	elsewhere bool
}

// errorTopic is the topic of the error that requires an elicitation, inputTopic that of a result
// that requires input.
const (
	errorTopic = "error"
	inputTopic = "input_required"
)

// The list methods, and the topics of rows whose field in is empty. The topics of tasks and of
// notifications/elicitation/complete are not in allTopics.
var (
	listMethods = []string{spec.MethodToolsList, spec.MethodResourcesList, spec.MethodResourcesTemplates, spec.MethodPromptsList}
	allTopics   = slices.Concat(listMethods, []string{
		spec.MethodInitialize, spec.MethodToolsCall, spec.MethodResourcesRead, spec.MethodPromptsGet, spec.MethodComplete,
		spec.MethodMessage, spec.MethodProgress, spec.MethodResourcesUpdated,
		spec.MethodSampling, spec.MethodElicit, spec.MethodRootsList, spec.MethodPing, errorTopic,
		spec.MethodDiscover, spec.MethodListen, inputTopic,
	})
)

func (r *row) topics() []string {
	if r.in == "" {
		return allTopics
	}
	return strings.Fields(r.in)
}

// observedPlaces returns the places that count for observedAt, separated by spaces. They should be
// types and direct members of types, because package schema records no other places.
func (r *row) observedPlaces() string {
	if r.observedAt != "" {
		return r.observedAt
	}
	return r.place
}

func (r *compiledRow) matches(v schema.Violation) bool {
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

// table returns all rows, the most specific first.
func table() []row {
	return slices.Concat(statelessRows(), contentRows(), offerRows(), serverRequestRows(), taskRows(), generalRows())
}

// summarize returns the summary of a violation.
func (r *row) summarize(v schema.Violation) string {
	switch {
	case r.subject != "":
	case r.ifPresent != "" && v.Kind != schema.Missing:
		return r.ifPresent
	default:
		return r.summary
	}
	switch v.Kind {
	case schema.Missing:
		return r.subject + " lacks a member that the schema requires."
	case schema.WrongType:
		return r.subject + " has a value of the wrong type."
	case schema.WrongWord:
		return r.subject + " has a value that the schema does not list."
	case schema.OutOfRange:
		return r.subject + " has a number out of range."
	default:
		return r.subject + " does not match the schema."
	}
}

// describeFix returns the fix of a violation, or "" if the usual fix of the requirement suits it.
func (r *row) describeFix(v schema.Violation) string {
	if r.fixOf != nil {
		if fix := r.fixOf(v); fix != "" {
			return fix
		}
	}
	switch {
	case r.fix != "", r.subject == "", r.usualFix:
		return r.fix
	case v.Member != "":
		return "Add the member " + string(wire.Quote(v.Member)) + ", " + v.Permitted + "."
	case v.Seen == "null":
		return "Send " + v.Permitted + " instead of null. Leave the member out if it is optional."
	default:
		return "Send " + v.Permitted + " instead."
	}
}

// generalRows returns the fallback rows: each is for the violations in one kind of message that no
// other row matches.
func generalRows() []row {
	general := func(method, on, what string) row {
		return row{in: method, ids: on, subject: what}
	}
	withUsualFix := func(r row) row {
		r.usualFix = true
		return r
	}
	call := general(spec.MethodToolsCall, "tools.call.result-schema", "The server's result of tools/call")
	call.observedAt = "CallToolResult" // a result that is a task does not count
	return []row{
		call,
		general(spec.MethodToolsList, "tools.list.result-schema", "The server's result of tools/list"),
		general(spec.MethodResourcesList, "resources.list.result-schema", "The server's result of resources/list"),
		general(spec.MethodResourcesTemplates, "resources.templates.result-schema", "The server's result of resources/templates/list"),
		general(spec.MethodResourcesRead, "resources.read.result-schema", "The server's result of resources/read"),
		general(spec.MethodResourcesUpdated, "resources.updated.schema", "The server's notifications/resources/updated"),
		general(spec.MethodPromptsList, "prompts.list.result-schema", "The server's result of prompts/list"),
		general(spec.MethodPromptsGet, "prompts.get.result-schema", "The server's result of prompts/get"),
		general(spec.MethodComplete, "completion.result-schema", "The server's result of completion/complete"),
		withUsualFix(general(spec.MethodMessage, "logging.message.schema", "The server's log notification")),
		withUsualFix(general(spec.MethodProgress, "progress.notification-schema", "The server's progress notification")),
		general(spec.MethodSampling, "sampling.request.schema", "The server's sampling request"),
		general(spec.MethodElicit, "elicitation.request.schema", "The server's elicitation request"),
		withUsualFix(general(spec.MethodRootsList, "roots.request.schema", "The server's roots/list request")),
		general(spec.MethodDiscover, "discover.result-schema", "The server's result of server/discover"),
		withUsualFix(general(spec.MethodListen, "subscriptions.graceful-close-id", "The server's result of subscriptions/listen")),
	}
}
