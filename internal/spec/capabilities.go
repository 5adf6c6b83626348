package spec

// ServerCapabilities returns the capabilities that a server may declare, of
// all revisions, as the catalogue names them among what a requirement needs.
func ServerCapabilities() []string {
	return []string{"tools", "resources", "prompts", "completions", "logging", "tasks"}
}
