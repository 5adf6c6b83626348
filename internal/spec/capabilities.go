package spec

// serverCapabilities are the capabilities of servers, of all revisions. A need of a requirement for
// one of them begins with its name.
var serverCapabilities = []string{"tools", "resources", "prompts", "completions", "logging", "tasks"}
