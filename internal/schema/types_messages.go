package schema

import "github.com/mcp-conform/mcp-conform/internal/spec"

// The types of the params, the result or the error of each message.

// A row assigns the type of params or result to a method, in some revisions.
type row struct {
	method string
	typ    *schemaType
	span   span
	when   func(result []byte) bool // reports whether the row applies to a result; nil: the row always applies
}

func (r row) since(first spec.Revision) row      { r.span.first = first; return r }
func (r row) until(last spec.Revision) row       { r.span.last = last; return r }
func (r row) only(one spec.Revision) row         { r.span = span{one, one}; return r }
func (r row) where(when func(v []byte) bool) row { r.when = when; return r }

// The _meta members of requests, notifications and results.
var (
	requestMeta      = opt("_meta", object("RequestMeta", opt("progressToken", id))).until(spec.V20251125)
	notificationMeta = with(
		opt("_meta", record).until(spec.V20251125),
		opt("_meta", object("",
			opt("io.modelcontextprotocol/subscriptionId", id),
		)).since(spec.V20260728),
	)
	resultMeta = with(
		opt("_meta", record).until(spec.V20251125),
		opt("_meta", object("", serverInfoMeta)).since(spec.V20260728),
	)
	serverInfoMeta = opt("io.modelcontextprotocol/serverInfo", implementation)
)

// result has the members that all results have.
var result = with(
	resultMeta,
	req("resultType", text).since(spec.V20260728),
)

var anyResult = object("Result", result)

// cached are the members that determine how long a result may be cached.
var cached = group{
	req("ttlMs", integer.atLeast(0)),
	req("cacheScope", enum("public", "private")),
}.since(spec.V20260728)

// page are the members of one page of a list.
var page = with(result, cached, opt("nextCursor", text))

var task = with(
	req("taskId", text),
	req("status", enum("working", "input_required", "completed", "failed", "cancelled")),
	opt("statusMessage", text),
	req("createdAt", isoTime),
	req("lastUpdatedAt", isoTime),
	req("ttl", either(integer, null)),
	opt("pollInterval", integer),
)

var inputRequired = object("InputRequiredResult",
	result,
	opt("inputRequests", mapOf(tagged("method",
		when(spec.MethodSampling, object("", req("params", samplingParams))),
		when(spec.MethodRootsList, optionalParams(opt("_meta", record))),
		when(spec.MethodElicit, object("", req("params", elicitParams))),
	))),
	opt("requestState", text),
).also(inputOrState)

// results are the results of the server, followed by those of the client.
var results = []row{
	row{method: spec.MethodInitialize, typ: object("InitializeResult", result,
		req("protocolVersion", text),
		req("capabilities", serverCapabilities),
		req("serverInfo", implementation),
		opt("instructions", text),
	)}.until(spec.V20251125),
	row{method: spec.MethodDiscover, typ: object("DiscoverResult", result, cached,
		req("supportedVersions", list(text)),
		req("capabilities", serverCapabilities),
		opt("instructions", text),
	)}.since(spec.V20260728),
	{method: spec.MethodToolsList, typ: object("ListToolsResult", page, req("tools", list(tool)))},
	{method: spec.MethodResourcesList, typ: object("ListResourcesResult", page, req("resources", list(resource)))},
	{method: spec.MethodResourcesTemplates, typ: object("ListResourceTemplatesResult", page,
		req("resourceTemplates", list(resourceTemplate)),
	)},
	{method: spec.MethodPromptsList, typ: object("ListPromptsResult", page, req("prompts", list(prompt)))},

	row{method: spec.MethodToolsCall, typ: object("CreateTaskResult", result, req("task", object("Task", task)))}.
		only(spec.V20251125).where(isTask),
	row{method: spec.MethodToolsCall, typ: inputRequired}.since(spec.V20260728).where(requiresInput),
	row{method: spec.MethodToolsCall, typ: anyResult}.since(spec.V20260728).where(isExtension),
	{method: spec.MethodToolsCall, typ: object("CallToolResult", result, toolResult)},
	row{method: spec.MethodResourcesRead, typ: inputRequired}.since(spec.V20260728).where(requiresInput),
	row{method: spec.MethodResourcesRead, typ: anyResult}.since(spec.V20260728).where(isExtension),
	{method: spec.MethodResourcesRead, typ: object("ReadResourceResult", result, cached,
		req("contents", list(resourceContents)),
	)},
	row{method: spec.MethodPromptsGet, typ: inputRequired}.since(spec.V20260728).where(requiresInput),
	row{method: spec.MethodPromptsGet, typ: anyResult}.since(spec.V20260728).where(isExtension),
	{method: spec.MethodPromptsGet, typ: object("GetPromptResult", result,
		opt("description", text),
		req("messages", list(object("PromptMessage", req("role", role), req("content", contentBlock)))),
	)},
	{method: spec.MethodComplete, typ: object("CompleteResult", result,
		req("completion", object("Completion",
			req("values", list(text).atMost(100, spec.V20260728)),
			opt("total", integer),
			opt("hasMore", boolean),
		)),
	)},
	row{method: methodListen, typ: object("SubscriptionsListenResult",
		req("resultType", text),
		req("_meta", object("", serverInfoMeta, req("io.modelcontextprotocol/subscriptionId", id))),
	)}.since(spec.V20260728),

	row{method: spec.MethodTasksGet, typ: object("GetTaskResult", result, task)}.only(spec.V20251125),
	row{method: spec.MethodTasksCancel, typ: object("CancelTaskResult", result, task)}.only(spec.V20251125),
	row{method: spec.MethodTasksList, typ: object("ListTasksResult", page,
		req("tasks", list(object("Task", task))),
	)}.only(spec.V20251125),

	{method: spec.MethodSampling, typ: object("CreateMessageResult",
		opt("_meta", record), samplingMembers,
		req("model", text),
		opt("stopReason", text),
	)},
	{method: spec.MethodRootsList, typ: object("ListRootsResult",
		opt("_meta", record).until(spec.V20251125),
		req("roots", list(object("Root", req("uri", uriText), opt("name", text), meta))),
	)},
	row{method: spec.MethodElicit, typ: object("ElicitResult",
		opt("_meta", record).until(spec.V20251125),
		req("action", enum("accept", "decline", "cancel")),
		opt("content", mapOf(either(text, number, boolean))).until(spec.V20250618),
		opt("content", mapOf(either(text, number, boolean, list(text)))).since(spec.V20251125),
	)}.since(spec.V20250618),
}

// isTask reports whether a result is a task that will later have the result of the tool.
func isTask(v []byte) bool { return valueOf(v, "task") != nil && valueOf(v, "content") == nil }

// requiresInput reports whether a result requires input: it says so in resultType, or it has
// inputRequests but neither a resultType nor the content of a complete result.
func requiresInput(v []byte) bool {
	if t := valueOf(v, "resultType"); t != nil {
		return string(unquote(t)) == "input_required"
	}
	return kindOf(valueOf(v, "inputRequests")) == '{' && valueOf(v, "content") == nil && valueOf(v, "contents") == nil && valueOf(v, "messages") == nil
}

// isExtension reports whether a result has a type other than complete. It is called only if
// requiresInput returned false, so the revision does not define the type.
func isExtension(v []byte) bool {
	t := valueOf(v, "resultType")
	return kindOf(t) == '"' && string(unquote(t)) != "complete"
}

const (
	methodListen       = "subscriptions/listen"
	methodAcknowledged = "notifications/subscriptions/acknowledged"
)

// requiredParams returns the type of a message with required params.
func requiredParams(name string, parts ...part) *schemaType {
	return object("", req("params", object(name, parts...)))
}

// optionalParams returns the type of a message with optional params.
func optionalParams(parts ...part) *schemaType {
	return object("", opt("params", object("", parts...)))
}

// notifications are those that a server may send.
var notifications = []row{
	{method: spec.MethodCancelled, typ: requiredParams("CancelledNotification", notificationMeta,
		req("requestId", id).until(spec.V20250618),
		opt("requestId", id).ofTasks(),
		req("requestId", id).since(spec.V20260728),
		opt("reason", text),
	)},
	{method: spec.MethodProgress, typ: requiredParams("ProgressNotification", notificationMeta,
		req("progressToken", id),
		req("progress", number),
		opt("total", number),
		opt("message", text.also(notBlank)).since(spec.V20250326),
	)},
	{method: spec.MethodMessage, typ: requiredParams("LoggingMessageNotification", notificationMeta,
		req("level", level),
		opt("logger", text),
		req("data", anyValue),
	)},
	{method: spec.MethodResourcesUpdated, typ: requiredParams("ResourceUpdatedNotification", notificationMeta, req("uri", uriText))},
	{method: spec.MethodResourcesChanged, typ: optionalParams(notificationMeta)},
	{method: spec.MethodToolsChanged, typ: optionalParams(notificationMeta)},
	{method: spec.MethodPromptsChanged, typ: optionalParams(notificationMeta)},
	row{method: spec.MethodElicitDone, typ: requiredParams("ElicitationCompleteNotification", req("elicitationId", text))}.
		only(spec.V20251125),
	row{method: spec.MethodTasksStatus, typ: requiredParams("TaskStatusNotification", notificationMeta, task)}.
		only(spec.V20251125),
	row{method: methodAcknowledged, typ: requiredParams("SubscriptionsAcknowledgedNotification", notificationMeta,
		req("notifications", object("SubscriptionFilter",
			opt("toolsListChanged", boolean),
			opt("promptsListChanged", boolean),
			opt("resourcesListChanged", boolean),
			opt("resourceSubscriptions", list(text)),
		)),
	)}.since(spec.V20260728),
}

// requests are those that a server may send; since 2026-07-28 there are none.
var requests = []row{
	row{method: spec.MethodPing, typ: optionalParams(requestMeta)}.until(spec.V20251125),
	row{method: spec.MethodRootsList, typ: optionalParams(requestMeta)}.until(spec.V20251125),
	row{method: spec.MethodSampling, typ: object("", req("params", samplingParams))}.until(spec.V20251125),
	row{method: spec.MethodElicit, typ: object("", req("params", formParams))}.only(spec.V20250618),
	row{method: spec.MethodElicit, typ: object("", req("params", elicitParams))}.only(spec.V20251125),
	row{method: spec.MethodTasksGet, typ: taskParams}.only(spec.V20251125),
	row{method: spec.MethodTasksResult, typ: taskParams}.only(spec.V20251125),
	row{method: spec.MethodTasksCancel, typ: taskParams}.only(spec.V20251125),
	row{method: spec.MethodTasksList, typ: optionalParams(requestMeta, opt("cursor", text))}.
		only(spec.V20251125),
}

var taskParams = requiredParams("", req("taskId", text))

// rpcError are the members that all errors have.
var rpcError = with(req("code", integer), req("message", text))

var anyError = object("Error", rpcError)

// errorData are the errors whose data has a type, by code.
var errorData = []struct {
	code spec.Code
	typ  *schemaType
	span span
}{
	{spec.CodeURLElicitation, object("URLElicitationRequiredError", rpcError,
		req("data", object("", req("elicitations", list(elicitURLParams)))),
	), span{spec.V20251125, spec.V20251125}},
	{spec.CodeMissingClientCap, object("MissingRequiredClientCapabilityError", rpcError,
		req("data", object("", req("requiredCapabilities", clientCapabilities))),
	), span{first: spec.V20260728}},
	{spec.CodeUnsupported, object("UnsupportedProtocolVersionError", rpcError,
		req("data", object("", req("supported", list(text)), req("requested", text))),
	), span{first: spec.V20260728}},
}

// The types of messages without a row: extensions, and methods of other revisions.
var (
	otherNotification = []row{
		row{typ: optionalParams(opt("_meta", record))}.until(spec.V20250618),
		row{typ: object("", opt("params", record))}.since(spec.V20251125),
	}
	otherRequest = []row{
		row{typ: optionalParams(requestMeta)}.until(spec.V20250618),
		row{typ: object("", opt("params", record))}.since(spec.V20251125),
	}
)
