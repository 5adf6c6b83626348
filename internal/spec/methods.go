package spec

// Methods of the lifecycle and the utilities.
const (
	MethodInitialize  = "initialize"
	MethodInitialized = "notifications/initialized"
	MethodPing        = "ping"
	MethodDiscover    = "server/discover"
	MethodCancelled   = "notifications/cancelled"
	MethodProgress    = "notifications/progress"
	MethodMessage     = "notifications/message"
	MethodSetLevel    = "logging/setLevel"
	MethodComplete    = "completion/complete"
)

// Methods of the server features.
const (
	MethodToolsList            = "tools/list"
	MethodToolsCall            = "tools/call"
	MethodToolsChanged         = "notifications/tools/list_changed"
	MethodResourcesList        = "resources/list"
	MethodResourcesTemplates   = "resources/templates/list"
	MethodResourcesRead        = "resources/read"
	MethodResourcesSubscribe   = "resources/subscribe"
	MethodResourcesUnsubscribe = "resources/unsubscribe"
	MethodResourcesUpdated     = "notifications/resources/updated"
	MethodResourcesChanged     = "notifications/resources/list_changed"
	MethodPromptsList          = "prompts/list"
	MethodPromptsGet           = "prompts/get"
	MethodPromptsChanged       = "notifications/prompts/list_changed"
	MethodListen               = "subscriptions/listen"
	MethodAcknowledged         = "notifications/subscriptions/acknowledged"
)

// Methods of the client features and of tasks.
const (
	MethodRootsList     = "roots/list"
	MethodRootsChanged  = "notifications/roots/list_changed"
	MethodSampling      = "sampling/createMessage"
	MethodElicit        = "elicitation/create"
	MethodElicitDone    = "notifications/elicitation/complete"
	MethodTasksGet      = "tasks/get"
	MethodTasksResult   = "tasks/result"
	MethodTasksList     = "tasks/list"
	MethodTasksCancel   = "tasks/cancel"
	MethodTasksStatus   = "notifications/tasks/status"
	notificationsPrefix = "notifications/"
)

// IsNotification reports whether method is in the namespace of notifications.
func IsNotification(method string) bool {
	return len(method) > len(notificationsPrefix) && method[:len(notificationsPrefix)] == notificationsPrefix
}

// MayRequireInput reports whether a result of the method may require input from the client. Such
// results exist from 2026-07-28 on (page basic/patterns/mrtr).
func MayRequireInput(method string) bool {
	return method == MethodToolsCall || method == MethodPromptsGet || method == MethodResourcesRead
}

// FilterMember returns the member of a subscription's filter that requests the notification, or ""
// if subscriptions do not deliver it (page basic/patterns/subscriptions of 2026-07-28).
func FilterMember(notification string) string {
	switch notification {
	case MethodToolsChanged:
		return "toolsListChanged"
	case MethodPromptsChanged:
		return "promptsListChanged"
	case MethodResourcesChanged:
		return "resourcesListChanged"
	case MethodResourcesUpdated:
		return "resourceSubscriptions"
	default:
		return ""
	}
}
