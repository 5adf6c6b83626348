package realclients

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/skip"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// TestGateways compares the reference server through real gateways with the server alone.
func TestGateways(t *testing.T) {
	node := needNode(t)
	module := func(t *testing.T, file string) string {
		t.Helper()
		path, err := filepath.Abs(filepath.Join("../../fixtures/servers/node_modules", file))
		if err == nil {
			_, err = os.Stat(path)
		}
		if err != nil {
			skip.Missing(t, "real gateway", "it is not installed; fixtures/servers/install.sh does that")
		}
		return path
	}
	const at = "http://127.0.0.1:{port}/mcp"
	for name, test := range map[string]struct {
		file string
		args func(program string) []string
		want []string // changes that come each time
		race string   // one that may come each time, or not
	}{
		"supergateway": {"supergateway/dist/index.js", func(program string) []string {
			return []string{"--start", "node " + program + ` --stdio "{upstream-command}" --outputTransport streamableHttp --stateful --port {port} --logLevel none`, at}
		}, []string{"warning size"}, ""},
		"mcp-proxy": {"mcp-proxy/dist/bin/mcp-proxy.mjs", func(program string) []string {
			return []string{"--start", "node " + program + " --host 127.0.0.1 --port {port} -- {upstream-command}", at}
		}, []string{"note ids", "note sessions", "warning errors", "warning prompts", "warning requests-of-the-server"}, "progress"},
		"mcp-remote": {"mcp-remote/dist/proxy.js", func(program string) []string {
			return []string{"--env", "MCP_REMOTE_CONFIG_DIR=" + folder, "--", node, program, "{upstream}", "--allow-http", "--transport", "http-only"}
		}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			report := filepath.Join(t.TempDir(), "report.json")
			args := append([]string{"run", "--through", "--no-config", "--revision", "2025-11-25", "--focus", "ping.responds", "--report", "json=" + report}, test.args(module(t, test.file))...)
			out, err := exec.CommandContext(t.Context(), built(t), args...).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			text, err := os.ReadFile(report)
			if err != nil {
				t.Fatal(err)
			}
			var r verdict.Report
			if err := json.Unmarshal(text, &r); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range r.Gateway.Changes {
				if c.Name != test.race {
					got = append(got, c.Outcome.String()+" "+c.Name)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("changes (-want +got):\n%s\n%s", diff, out)
			}
		})
	}
}
