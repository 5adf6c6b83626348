package realservers

import (
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// server is one of the pinned servers in fixtures/servers.
type server struct {
	name      string
	argv      []string // paths that begin with ./ are relative to fixtures/servers
	env       []string
	revisions []spec.Revision // the revisions in which it is judged; nil for all that it speaks
	tools     inventory.Policy
}

// everyday are the servers that go test ./... judges, if they are installed: fast ones, of two SDKs
// and over two transports.
var everyday = []string{"mcp-go", "go-sdk-http"}

// nightly are the servers that only .ci/nightly judges: those that companies publish, which start
// slowly and differ little from others on the wire, older versions, and a gateway.
var nightly = []string{
	"playwright", "chrome-devtools", "sentry", "exa", "figma", "supabase", "tavily",
	"server-everything-0.6.2", "typescript-sdk-1.10", "typescript-sdk-1.25-http", "typescript-sdk-1.25-stateless",
	"go-sdk-1.1", "go-sdk-1.1-http", "go-sdk-1.1-http-stateless", "go-sdk-1.1-sse", "mcp-go-0.32", "mcp-go-0.32-http", "mcp-go-0.32-sse",
	"supergateway-http", "supergateway-sse",
}

// folder is a placeholder for an empty folder of the test, and port for the
// port of the server.
const (
	folder = "{folder}"
	port   = "{port}"
)

const (
	first   = spec.V20250326 // the first revision of Streamable HTTP, and the only one with batches over it
	last    = spec.V20251125
	legacy  = spec.V20241105
	current = spec.V20260728
)

const (
	tsSDK        = "./sdk.mjs" // a small server that uses the SDK in the folder that follows
	tsSDK2       = "./sdk-2.mjs"
	everything   = "./node_modules/@modelcontextprotocol/server-everything/dist/index.js"
	supergateway = "./node_modules/supergateway/dist/index.js"
	goSDK        = "./go-sdk/go-sdk-server"
	oldGoSDK     = "./go-sdk/go-sdk-server-1.1"
	mcpGo        = "./mcp-go/mcp-go-server"
	oldMCPGo     = "./mcp-go/mcp-go-server-0.32"
)

// servers returns the servers on stdio: the examples of the specification's
// authors, small ones that use the SDKs, and those that people use.
func servers() []server {
	example := func(name string) string { return "./node_modules/@modelcontextprotocol/" + name + "/dist/index.js" }
	return append([]server{
		{name: "server-everything", argv: []string{"node", everything, "stdio"}},
		{name: "server-everything-0.6.2", argv: []string{"node", "./everything-0.6/node_modules/@modelcontextprotocol/server-everything/dist/index.js"}},
		{name: "server-filesystem", argv: []string{"node", example("server-filesystem"), folder}},
		{name: "server-memory", argv: []string{"node", example("server-memory")}, env: []string{"MEMORY_FILE_PATH=" + folder + "/memory.json"}},
		{name: "server-sequential-thinking", argv: []string{"node", example("server-sequential-thinking")}, revisions: in(last)},
		{name: "typescript-sdk-1.10", argv: []string{"node", tsSDK, "sdk-1.10"}},
		{name: "typescript-sdk-1.32", argv: []string{"node", tsSDK, "."}, revisions: in(last)},
		{name: "typescript-sdk-2.4", argv: []string{"node", tsSDK2}, revisions: in(first, last, current)},
		{name: "typescript-sdk-2.4-stateless", argv: []string{"node", "./stateless.mjs"}},
		{name: "go-sdk", argv: []string{goSDK}},
		{name: "go-sdk-1.1", argv: []string{oldGoSDK}, revisions: in(first, spec.V20250618)},
		{name: "mcp-go", argv: []string{mcpGo}},
		{name: "mcp-go-0.32", argv: []string{oldMCPGo}},
	}, usedServers()...)
}

// usedServers returns servers that people use. They get fake tokens, and no
// network access if they would send telemetry. Tools that use the network are
// not called, because their results are not known in advance.
func usedServers() []server {
	at := func(path string, more ...string) []string {
		return append([]string{"node", "./node_modules/" + path}, more...)
	}
	offline := "HTTPS_PROXY=http://127.0.0.1:9"
	used := []server{
		{name: "playwright", argv: at("@playwright/mcp/cli.js", "--headless", "--executable-path", folder+"/none")},
		{name: "chrome-devtools", argv: at("chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js", "--no-usage-statistics", "--executable-path", folder+"/none")},
		{name: "sentry", argv: at("@sentry/mcp-server/dist/index.js", "--access-token=none", "--sentry-dsn=")},
		{name: "exa", argv: at("exa-mcp-server/dist/stdio.cjs"), env: []string{"EXA_API_KEY=none", offline}},
		{name: "figma", argv: at("figma-developer-mcp/dist/bin.js", "--stdio", "--figma-api-key=none", "--no-telemetry")},
		{name: "supabase", argv: at("@supabase/mcp-server-supabase/dist/cli.js", "--access-token=sbp_0000000000000000000000000000000000000000", "--features=account,database")},
		{name: "tavily", argv: at("tavily-mcp/build/index.js"), env: []string{"TAVILY_API_KEY=none", offline}},
	}
	for i := range used {
		used[i].revisions, used[i].tools = in(last), inventory.CallNone
	}
	return used
}

func in(revisions ...spec.Revision) []spec.Revision { return revisions }

// httpServers returns servers that are judged in the first revision of
// Streamable HTTP, in the last one, or in both if that costs little.
func httpServers() []httpServer {
	behind := func(more ...string) []string {
		return append([]string{"node", supergateway, "--stdio", mcpGo, "--port", port, "--logLevel", "none", "--outputTransport"}, more...)
	}
	listening := func(path string) []string { return []string{path, "-http", "127.0.0.1:" + port} }
	at := func(name string, argv []string, over spec.Transport, path string, revisions ...spec.Revision) httpServer {
		s := httpServer{server: server{name: name, argv: argv, revisions: revisions}, over: over, path: path}
		if argv[0] == "node" {
			s.env = []string{"PORT=" + port}
		}
		return s
	}
	node := func(words ...string) []string { return append([]string{"node"}, words...) }
	return []httpServer{
		at("server-everything-http", node(everything, "streamableHttp"), spec.StreamableHTTP, "/mcp", last),
		at("server-everything-sse", node(everything, "sse"), spec.SSE, "/sse", legacy),
		at("typescript-sdk-1.25-http", node(tsSDK, "sdk-1.25", "http"), spec.StreamableHTTP, "/mcp", last),
		at("typescript-sdk-1.25-stateless", node(tsSDK, "sdk-1.25", "stateless"), spec.StreamableHTTP, "/mcp", first),
		at("typescript-sdk-1.32-http", node(tsSDK, ".", "http"), spec.StreamableHTTP, "/mcp", first, last),
		at("typescript-sdk-1.32-stateless", node(tsSDK, ".", "stateless"), spec.StreamableHTTP, "/mcp", last),
		at("typescript-sdk-2.4-http", node(tsSDK2, "http"), spec.StreamableHTTP, "/mcp", first, last, current),
		at("typescript-sdk-2.4-express", node(tsSDK2, "express"), spec.StreamableHTTP, "/mcp", current),
		at("typescript-sdk-2.4-hono", node(tsSDK2, "hono"), spec.StreamableHTTP, "/mcp", current),
		at("go-sdk-http", listening(goSDK), spec.StreamableHTTP, "/mcp", last),
		at("go-sdk-http-resumable", listening(goSDK), spec.StreamableHTTP, "/resumable", last),
		at("go-sdk-http-stateless", listening(goSDK), spec.StreamableHTTP, "/stateless", first, last, current),
		at("go-sdk-sse", listening(goSDK), spec.SSE, "/sse", legacy),
		at("go-sdk-1.1-http", listening(oldGoSDK), spec.StreamableHTTP, "/mcp", spec.V20250618),
		at("go-sdk-1.1-http-stateless", listening(oldGoSDK), spec.StreamableHTTP, "/stateless", first),
		at("go-sdk-1.1-sse", listening(oldGoSDK), spec.SSE, "/sse", legacy),
		at("mcp-go-http", listening(mcpGo), spec.StreamableHTTP, "/mcp", first, last, current),
		at("mcp-go-http-default", listening(mcpGo), spec.StreamableHTTP, "/default", last),
		at("mcp-go-sse", listening(mcpGo), spec.SSE, "/sse", legacy),
		at("mcp-go-0.32-http", listening(oldMCPGo), spec.StreamableHTTP, "/default", first),
		at("mcp-go-0.32-sse", listening(oldMCPGo), spec.SSE, "/sse", legacy),
		at("supergateway-http", behind("streamableHttp", "--stateful"), spec.StreamableHTTP, "/mcp", first),
		at("supergateway-sse", behind("sse"), spec.SSE, "/sse", legacy),
	}
}
