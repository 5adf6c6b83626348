package spec

// serverCapabilities are the capabilities of servers in any revision. A requirement that needs
// one of them lists in Needs the capability itself or a part of it, such as tools.listChanged.
var serverCapabilities = []string{"tools", "resources", "prompts", "completions", "logging", "tasks"}
