package tasks_test

import (
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/rules/tasks"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

const (
	state = `"taskId":"7c9e6679e2d4","createdAt":"2025-11-25T10:30:00Z","lastUpdatedAt":"2025-11-25T10:30:00Z","ttl":60000`

	taskCall  = `> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"work","task":{"ttl":60000},"_meta":{"progressToken":"t"}}}`
	created   = `< {"jsonrpc":"2.0","id":2,"result":{"task":{"status":"working",` + state + `}}}`
	cancel    = `> {"jsonrpc":"2.0","id":3,"method":"tasks/cancel","params":{"taskId":"7c9e6679e2d4"}}`
	cancelled = `< {"jsonrpc":"2.0","id":3,"result":{"status":"cancelled",` + state + `}}`
	get       = `> {"jsonrpc":"2.0","id":4,"method":"tasks/get","params":{"taskId":"7c9e6679e2d4"}}`
	shown     = `< {"jsonrpc":"2.0","id":4,"result":{"status":"cancelled",` + state + `}}`
)

// An execution that reported progress counts as stopped only if it reports none later.
func TestProgressOfCancelledTask(t *testing.T) {
	progress := func(value string) string {
		return `< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":` + value + `,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"7c9e6679e2d4"}}}}`
	}
	for _, c := range []struct {
		name, at string
		kept     bool
	}{
		{"on its way", "2.05s", true},
		{"half a second later", "2.5s", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			kept := keeps(t, "tasks.cancel-stops-execution", "! at 1s", taskCall, created, progress("1"), "! at 2s", cancel, cancelled, "! at "+c.at, progress("2"), "! at 3s", get, shown)
			if kept != c.kept {
				t.Errorf("kept: %v, want %v", kept, c.kept)
			}
		})
	}
}

// A task counts as staying cancelled only if it is still cancelled at the time when its work
// would have ended.
func TestCancelledTaskStaysCancelled(t *testing.T) {
	const stays = "tasks.cancelled-stays"
	plain := []string{"! at 1s", `> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"work"}}`, "! at 2s", `< {"jsonrpc":"2.0","id":5,"result":{"content":[]}}`}
	for _, c := range []struct {
		name  string
		plain []string
		at    string
		kept  bool
	}{
		{"queried after its work would have ended", plain, "3.1s", true},
		{"queried before", plain, "2.9s", false},
		{"unknown duration", nil, "9s", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			script := append(append([]string{}, c.plain...), "! at 2s", taskCall, created, "! at 2.5s", cancel, cancelled, "! at "+c.at, get, shown)
			if kept := keeps(t, stays, script...); kept != c.kept {
				t.Errorf("kept: %v, want %v", kept, c.kept)
			}
		})
	}
}

// keeps reports whether the conversation shows that the requirement is kept.
func keeps(t *testing.T, requirement string, script ...string) bool {
	t.Helper()
	record, err := transcript.ParseScript("revision: 2025-11-25\ntransport: stdio\n" + strings.Join(append([]string{
		`> {"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
		`< {"jsonrpc":"2.0","id":"hello","result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"s","version":"1"}}}`,
		`> {"jsonrpc":"2.0","method":"notifications/initialized"}`,
	}, script...), "\n"))
	if err != nil {
		t.Fatal(err)
	}
	kept := false
	for _, r := range rules.Judge(tasks.Rules(), record.Events, spec.V20251125, spec.Stdio) {
		kept = kept || r.Requirement == requirement && len(r.Deviations) == 0
	}
	return kept
}
