package realclients

import (
	"path/filepath"
	"strings"
	"testing"
)

// inspections are the server methods of the MCP Inspector's command line, and
// the output that is expected. Its other methods are for its own list of
// servers, and for an extension that the reference server does not declare.
var inspections = []struct {
	name, arguments, prints string
}{
	{"initialize", "--method initialize", `"name":"mcp-conform-reference-server"`},
	{"list tools, as portable schemas", "--method tools/list --strict", `"name":"ask-elicitation-url"`},
	{"call a tool", "--method tools/call --tool-name add --tool-arg a=1 b=2", `"structuredContent":{"sum":3}`},
	{"call one that runs as a task", "--method tools/call --tool-name background", `"text":"Done after 1 steps."`},
	{"call one that asks", "--method tools/call --tool-name ask-roots", `"text":"The client has 0 roots."`},
	{"call one again and again", "--method tools/call --tool-name echo --tool-arg text=x --load --load-requests 200", `"ok":200`},
	{"list resources", "--method resources/list", `"uri":"demo://note"`},
	{"read a resource", "--method resources/read --uri demo://text/hello", `"text":"Hello, world."`},
	{"list templates", "--method resources/templates/list", `"uriTemplate":"demo://items/{number}"`},
	{"list prompts", "--method prompts/list", `"name":"everything"`},
	{"get a prompt", "--method prompts/get --prompt-name greeting --prompt-args name=Ada", `Greet Ada in a friendly way.`},
	{"set a level", "--method logging/setLevel --log-level warning", `{"result":{}}`},
}

// TestInspector uses every method over Streamable HTTP, and some over the other
// transports, because each one starts a process.
func TestInspector(t *testing.T) {
	node := needNode(t)
	installed(t, "node_modules/.installed")
	inspector := installed(t, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js")
	env := []string{"HOME=" + folder, "USERPROFILE=" + folder}
	for _, server := range []struct {
		name   string
		target func(t *testing.T) []string
		every  int // use one in this many methods
	}{
		{"http", func(t *testing.T) []string { return []string{serve(t, "--http", "127.0.0.1:0")} }, 1},
		{"sse", func(t *testing.T) []string { return []string{serve(t, "--sse", "127.0.0.1:0")} }, 5},
		{"stdio", func(t *testing.T) []string { return []string{filepath.ToSlash(built(t)), "serve"} }, 5},
	} {
		t.Run(server.name, func(t *testing.T) {
			t.Parallel()
			target := server.target(t)
			for i, c := range inspections {
				if i%server.every != 0 {
					continue
				}
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					arguments := append([]string{inspector, "--cli"}, target...)
					arguments = append(append(arguments, "--format", "json", "-q"), strings.Fields(c.arguments)...)
					out, err := said(t, env, node, arguments...)
					if err != nil || !strings.Contains(out, c.prints) {
						t.Errorf("%v: %s", err, out)
					}
				})
			}
		})
	}
}
