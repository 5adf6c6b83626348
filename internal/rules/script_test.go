package rules_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// read returns the events of a script in the format of docs/transcripts.md. Its lines may be
// indented by tabs.
func read(t *testing.T, script string) []*transcript.Event {
	t.Helper()
	lines := strings.Split(script, "\n")
	for i := range lines {
		lines[i] = strings.TrimLeft(lines[i], "\t")
	}
	r, err := transcript.ParseScript(strings.Join(lines, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return r.Events
}

// handshake returns the script of a handshake in a revision.
func handshake(r spec.Revision) string {
	return hello(r) + welcome(r) + `> {"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
}

func hello(r spec.Revision) string {
	return fmt.Sprintf(`> {"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":%q,"capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}`+"\n", r)
}

func welcome(r spec.Revision) string {
	return fmt.Sprintf(`< {"jsonrpc":"2.0","id":"hello","result":{"protocolVersion":%q,"capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}}`+"\n", r)
}

// pinged returns the script of a ping with its result.
func pinged(id string) string {
	return `> {"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` + "\n" + `< {"jsonrpc":"2.0","id":` + id + `,"result":{}}` + "\n"
}

// found returns the requirements that are broken, with their outcomes.
func found(results []rules.Result) []string {
	var out []string
	for _, r := range results {
		for _, d := range r.Deviations {
			out = append(out, r.Requirement+" "+d.Outcome(spec.Requirements().Lookup(r.Requirement), r.Revision).String())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// observedCounts returns how often each requirement was observed.
func observedCounts(results []rules.Result) map[string]int {
	out := map[string]int{}
	for _, r := range results {
		out[r.Requirement] += r.Observed
	}
	return out
}
