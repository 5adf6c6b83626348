package spec

// needs are the conditions that a requirement can have; the head of
// fixtures/requirements/base.yaml explains them.
var needs = []string{
	"tools", "tools.listChanged", "resources", "resources.listChanged", "resources.subscribe",
	"prompts", "prompts.listChanged", "completions", "logging",
	"tasks", "tasks.list", "tasks.cancel", "tasks.requests.tools.call", "extension",
	"client.roots", "client.sampling", "client.sampling.tools", "client.elicitation.form", "client.elicitation.url",
	"subscriptions-listen", "get-stream", "resumable", "dual-era", "local-launch",
	"auth", "auth.two-principals",
	"auth.token.valid", "auth.token.expired", "auth.token.low-scope", "auth.token.wrong-audience", "auth.token.uppercase-audience",
	"fixture.session", "fixture.shutdown", "fixture.server-request", "fixture.paginated-list",
	"fixture.any-change", "fixture.tool-list-change", "fixture.prompt-list-change", "fixture.resource-list-change", "fixture.resource-change",
	"fixture.safe-tool", "fixture.no-argument-tool", "fixture.failing-tool", "fixture.slow-tool", "fixture.progress-tool", "fixture.logging-tool",
	"fixture.file-tool", "fixture.handle-tool", "fixture.output-schema-tool", "fixture.x-mcp-header-tool",
	"fixture.roots-tool", "fixture.sampling-tool", "fixture.sampling-tools-tool", "fixture.elicitation-tool", "fixture.url-elicitation-tool",
	"fixture.image", "fixture.audio", "fixture.embedded-resource", "fixture.embedded-resource-tool", "fixture.resource-link", "fixture.resource-link-tool",
	"fixture.resource", "fixture.binary-resource", "fixture.file-resource", "fixture.template",
	"fixture.prompt-required", "fixture.prompt-no-required", "fixture.prompt-embedded-resource",
	"fixture.input-required", "fixture.input-required-resource", "fixture.request-state",
	"fixture.task-tool", "fixture.required-task-tool", "fixture.failing-task-tool", "fixture.input-task-tool", "fixture.server-task-request",
	"fixture.oauth-client", "fixture.oauth-login", "fixture.oauth-proxy", "fixture.token-issuer", "fixture.upstream",
}
