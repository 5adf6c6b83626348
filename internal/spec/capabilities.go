package spec

// serverCapabilities are the capabilities that a server may declare in any
// revision, as they appear in the needs of requirements.
var serverCapabilities = []string{"tools", "resources", "prompts", "completions", "logging", "tasks"}

// CapabilityParts returns the nested capabilities of servers and clients, in
// dotted form, which could be mistaken for ids of requirements.
func CapabilityParts() []string {
	return []string{
		"resources.subscribe", "tasks.list", "tasks.cancel", "tasks.requests.tools.call",
		"elicitation.form", "elicitation.url", "sampling.tools", "sampling.context",
		"tasks.requests.elicitation.create",
	}
}
