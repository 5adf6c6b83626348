package generate

import (
	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Method is a request or a notification of a client.
type Method struct {
	name         string
	needs        string // the server capability that it requires
	since, until spec.Revision
	notification bool
	params       map[string]param
}

// param is one member of the params.
type param struct {
	schema   any
	required bool
	since    spec.Revision
}

type object = map[string]any

var (
	textSchema  = object{"type": "string"}
	textsSchema = object{"type": "object", "additionalProperties": textSchema}
	paging      = map[string]param{"cursor": {schema: textSchema}}
	oneURI      = map[string]param{"uri": {schema: textSchema, required: true}}
	oneTask     = map[string]param{"taskId": {schema: textSchema, required: true}}
	levels      = []any{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
)

// methods are the methods of all revisions, except two: initialize, because the client sends it
// anyway, and subscriptions/listen, because its response comes only when the subscription ends; see
// addListen.
var methods = []Method{
	{name: spec.MethodPing, until: spec.V20260728},
	{name: spec.MethodDiscover, since: spec.V20260728},
	{name: spec.MethodToolsList, needs: "tools", params: paging},
	{name: spec.MethodToolsCall, needs: "tools", params: map[string]param{
		"name": {schema: textSchema, required: true}, "arguments": {schema: object{"type": "object"}},
	}},
	{name: spec.MethodResourcesList, needs: "resources", params: paging},
	{name: spec.MethodResourcesTemplates, needs: "resources", params: paging},
	{name: spec.MethodResourcesRead, needs: "resources", params: oneURI},
	{name: spec.MethodResourcesSubscribe, needs: "resources.subscribe", until: spec.V20260728, params: oneURI},
	{name: spec.MethodResourcesUnsubscribe, needs: "resources.subscribe", until: spec.V20260728, params: oneURI},
	{name: spec.MethodPromptsList, needs: "prompts", params: paging},
	{name: spec.MethodPromptsGet, needs: "prompts", params: map[string]param{
		"name": {schema: textSchema, required: true}, "arguments": {schema: textsSchema},
	}},
	{name: spec.MethodComplete, needs: "completions", params: map[string]param{
		"ref": {required: true, schema: object{"type": "object", "required": []any{"type"}, "properties": object{"type": object{"type": "string", "enum": []any{"ref/prompt", "ref/resource"}}}}},
		"argument": {required: true, schema: object{
			"type": "object", "required": []any{"name", "value"}, "properties": object{"name": textSchema, "value": textSchema},
		}},
		"context": {since: spec.V20250618, schema: object{"type": "object", "properties": object{"arguments": textsSchema}}},
	}},
	{name: spec.MethodSetLevel, needs: "logging", until: spec.V20260728, params: map[string]param{"level": {required: true, schema: object{"type": "string", "enum": levels}}}},
	{name: spec.MethodTasksGet, needs: "tasks", since: spec.V20251125, until: spec.V20260728, params: oneTask},
	{name: spec.MethodTasksResult, needs: "tasks", since: spec.V20251125, until: spec.V20260728, params: oneTask},
	{name: spec.MethodTasksCancel, needs: "tasks.cancel", since: spec.V20251125, until: spec.V20260728, params: oneTask},
	{name: spec.MethodTasksList, needs: "tasks.list", since: spec.V20251125, until: spec.V20260728, params: paging},

	{name: spec.MethodRootsChanged, until: spec.V20260728, notification: true},
	{name: spec.MethodCancelled, notification: true},
	{name: spec.MethodProgress, until: spec.V20260728, notification: true},
	{name: spec.MethodInitialized, until: spec.V20260728, notification: true},
}

// isIn reports whether revision r defines the method.
func (m *Method) isIn(r spec.Revision) bool {
	return r.AtLeast(m.since) && (m.until == "" || !r.AtLeast(m.until))
}

// Requests returns the names of the requests that the server supports.
func (o *Offer) Requests() []string {
	var out []string
	for i := range methods {
		if m := &methods[i]; !m.notification && m.isIn(o.Revision) && o.supports(m) {
			out = append(out, m.name)
		}
	}
	return out
}

// isStateless reports whether the revision is in the stateless era: each request carries metadata,
// and the server sends no requests that the client would answer.
func (o *Offer) isStateless() bool { return o.Revision.Era() == spec.Stateless }

// sendsNotifications reports whether a client sends notifications; over HTTP the stateless era has
// none.
func (o *Offer) sendsNotifications() bool { return !o.isStateless() || o.Transport == spec.Stdio }

// harmlessRequest returns a request that every server serves.
func (o *Offer) harmlessRequest(id wire.ID) []byte {
	if o.isStateless() {
		return wire.NewRequest(id, spec.MethodDiscover, map[string]any{"_meta": map[string]any{
			spec.MetaVersion: string(o.Revision), spec.MetaClientCapabilities: map[string]any{},
		}})
	}
	return script.Message{ID: id, Method: spec.MethodPing}.Bytes()
}

// supports reports whether the server declared what the method requires. It returns false for
// completion/complete in a revision that has no capability for it.
func (o *Offer) supports(m *Method) bool {
	if m.needs == "completions" && !o.Revision.HasCompletionsCapability() {
		return false
	}
	return o.Has(m.needs)
}

// Lists returns the methods of paginated lists, with the result member that
// contains the list.
func (o *Offer) Lists() map[string]string {
	out := map[string]string{}
	for _, name := range o.Requests() {
		if member := listMembers[name]; member != "" {
			out[name] = member
		}
	}
	return out
}

var listMembers = map[string]string{
	spec.MethodToolsList: "tools", spec.MethodResourcesList: "resources", spec.MethodResourcesTemplates: "resourceTemplates",
	spec.MethodPromptsList: "prompts", spec.MethodTasksList: "tasks",
}

// ListMember returns the result member that contains the list, or "" for a
// method without a list.
func ListMember(method string) string { return listMembers[method] }
