package spec

// ServerCapabilities returns the capabilities that a server may declare, of
// all revisions, as the catalogue names them among what a requirement needs.
func ServerCapabilities() []string {
	return []string{"tools", "resources", "prompts", "completions", "logging", "tasks"}
}

// CapabilityParts returns what a server or a client may declare below a
// capability and has the form of a requirement's id.
func CapabilityParts() []string {
	return []string{
		"resources.subscribe", "tasks.list", "tasks.cancel", "tasks.requests.tools.call",
		"elicitation.form", "elicitation.url", "sampling.tools", "sampling.context",
		"tasks.requests.elicitation.create",
	}
}
