package spec

// serverCapabilities are the capabilities that a server can declare in some revision, as needs of
// requirements begin with them.
var serverCapabilities = []string{"tools", "resources", "prompts", "completions", "logging", "tasks"}
