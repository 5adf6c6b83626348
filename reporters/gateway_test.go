package reporters

import (
	"bytes"
	"html"
	"strings"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// TestGateway checks that all reports for people show what a gateway changes, escaped.
func TestGateway(t *testing.T) {
	r := cleanReport()
	r.Gateway = &verdict.Gateway{
		Revision: spec.V20251125, Unchanged: []string{"progress", "tools"},
		Changes: []verdict.Change{
			{Name: "errors", Title: "the codes of errors", Details: []string{"x: <b>-32602</b>\u202e (without the gateway: -32002)"}, Outcome: verdict.Warning},
			{Name: "ids", Title: "ids of requests", Details: []string{"others"}, Outcome: verdict.Note, Expected: true},
		},
		NotCompared: []verdict.NotCompared{{Name: "headers", Reason: "no HTTP"}},
		Lost:        []verdict.LostRequirement{{Requirement: "ping.responds", Revision: spec.V20251125}, {Requirement: "ping.responds", Revision: spec.V20250618}},
		Direct:      40 * time.Microsecond, Through: 2 * time.Millisecond,
	}
	var console bytes.Buffer
	NewConsole(&console, ConsoleOptions{}).End(r)
	for name, text := range map[string]string{"console": console.String(), "Markdown": string(write(t, Markdown, r)), "HTML": string(write(t, HTML, r))} {
		plain := html.UnescapeString(text)
		for _, want := range []string{
			"2 of 4 the same, 1 lost or changed, 1 legal change", "the codes of errors", "<b>-32602</b>", "ids of requests (expected)",
			"2ms", "headers (no HTTP)", "1 requirement kept without the gateway",
		} {
			if !strings.Contains(plain, want) {
				t.Errorf("%s lacks %q:\n%s", name, want, plain)
			}
		}
		if strings.Contains(text, "\u202e") || name != "console" && strings.Contains(text, "<b>-32602") {
			t.Errorf("%s is not escaped", name)
		}
	}
	if gatewayOf(cleanReport()) != nil {
		t.Error("a server that is not a gateway has a section about one")
	}
}
