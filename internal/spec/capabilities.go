package spec

// serverCapabilities are the capabilities that a server may declare in any
// revision, as they appear in the needs of requirements.
var serverCapabilities = []string{"tools", "resources", "prompts", "completions", "logging", "tasks"}
