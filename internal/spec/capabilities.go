package spec

// serverCapabilities are the capabilities of servers, of all revisions. A requirement that needs
// one of them lists it in Needs, by a name that begins with that of the capability, such as
// tools.listChanged.
var serverCapabilities = []string{"tools", "resources", "prompts", "completions", "logging", "tasks"}
