package tasks_test

import (
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/rules/tasks"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// An execution that reported progress has stopped only if it reports none later.
func TestProgressOfCancelledTask(t *testing.T) {
	const stops = "tasks.cancel-stops-execution"
	progress := func(value string) string {
		return `< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":` + value + `,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"7c9e6679e2d4"}}}}`
	}
	state := `"taskId":"7c9e6679e2d4","createdAt":"2025-11-25T10:30:00Z","lastUpdatedAt":"2025-11-25T10:30:00Z","ttl":60000`
	for _, c := range []struct {
		name string
		at   string
		kept bool
	}{
		{"on its way", "2.05s", true},
		{"half a second later", "2.5s", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			record, err := transcript.ParseScript("revision: 2025-11-25\ntransport: stdio\n" + strings.Join([]string{
				`> {"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
				`< {"jsonrpc":"2.0","id":"hello","result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"s","version":"1"}}}`,
				`> {"jsonrpc":"2.0","method":"notifications/initialized"}`,
				"! at 1s",
				`> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"work","task":{"ttl":60000},"_meta":{"progressToken":"t"}}}`,
				`< {"jsonrpc":"2.0","id":2,"result":{"task":{"status":"working",` + state + `}}}`,
				progress("1"),
				"! at 2s",
				`> {"jsonrpc":"2.0","id":3,"method":"tasks/cancel","params":{"taskId":"7c9e6679e2d4"}}`,
				`< {"jsonrpc":"2.0","id":3,"result":{"status":"cancelled",` + state + `}}`,
				"! at " + c.at, progress("2"),
				"! at 3s",
				`> {"jsonrpc":"2.0","id":4,"method":"ping"}`,
				`< {"jsonrpc":"2.0","id":4,"result":{}}`,
			}, "\n"))
			if err != nil {
				t.Fatal(err)
			}
			kept := false
			for _, r := range rules.Judge(tasks.Rules(), record.Events, spec.V20251125, spec.Stdio) {
				kept = kept || r.Requirement == stops && len(r.Deviations) == 0
			}
			if kept != c.kept {
				t.Errorf("kept: %v, want %v", kept, c.kept)
			}
		})
	}
}
