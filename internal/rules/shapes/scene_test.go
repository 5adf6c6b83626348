package shapes_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/rules/shapes"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

const (
	r24 = spec.V20241105
	r03 = spec.V20250326
	r06 = spec.V20250618
	r11 = spec.V20251125
)

// scene is one message of the server, with the deviations that the rules should report.
type scene struct {
	name     string
	revision spec.Revision
	asked    string // the method of the request; empty if there is none
	message  string // the result, or a whole message if there is no request
	want     string // "requirement outcome", sorted, separated by line breaks
	kept     string // requirements that were observed and were kept, at least these
}

// events returns a handshake followed by the scene.
func (s scene) events(t *testing.T) []*transcript.Event {
	t.Helper()
	lines := []string{
		fmt.Sprintf(`> {"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, s.revision),
		fmt.Sprintf(`< {"jsonrpc":"2.0","id":"hello","result":{"protocolVersion":%q,"capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`, s.revision),
		`> {"jsonrpc":"2.0","method":"notifications/initialized"}`,
	}
	switch {
	case strings.HasPrefix(s.message, "> "): // a complete script
		lines = append(lines, strings.Split(s.message, "\n")...)
	case s.asked == spec.MethodInitialize:
		lines = []string{lines[0], `< {"jsonrpc":"2.0","id":"hello","result":` + s.message + `}`}
	case s.asked == "":
		lines = append(lines, "< "+s.message)
	default:
		lines = append(lines,
			fmt.Sprintf(`> {"jsonrpc":"2.0","id":1,"method":%q}`, s.asked),
			`< {"jsonrpc":"2.0","id":1,"result":`+s.message+`}`)
	}
	script := fmt.Sprintf("revision: %s\ntransport: stdio\n%s\n", s.revision, strings.Join(lines, "\n"))
	rec, err := transcript.ParseScript(script)
	if err != nil {
		t.Fatal(err)
	}
	return rec.Events
}

func run(t *testing.T, scenes []scene) {
	t.Helper()
	for _, s := range scenes {
		t.Run(s.name, func(t *testing.T) {
			events := s.events(t)
			results := rules.Judge(slices.Concat(rules.Base(), shapes.Rules()), events, s.revision, spec.Stdio)
			if diff := cmp.Diff(s.want, deviationsOf(results)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", s.message, diff)
			}
			for _, id := range strings.Fields(s.kept) {
				if !keeps(results, id) {
					t.Errorf("%s: %s is not observed", s.message, id)
				}
			}
			for _, r := range results {
				for _, d := range r.Deviations {
					if !strings.HasSuffix(d.Summary, ".") || d.Permitted == "" || d.Seen == "" || len(d.At) == 0 || d.At[len(d.At)-1] >= len(events) {
						t.Errorf("not reported in full: %+v", d)
					}
				}
			}
		})
	}
}

func deviationsOf(results []rules.Result) string {
	var out []string
	for _, r := range results {
		for _, d := range r.Deviations {
			line := r.Requirement + " " + d.Outcome(spec.Requirements().Lookup(r.Requirement), r.Revision).String()
			if !slices.Contains(out, line) {
				out = append(out, line)
			}
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// keeps reports whether a requirement was observed and has no deviation.
func keeps(results []rules.Result, id string) bool {
	found := false
	for _, r := range results {
		if r.Requirement == id {
			if len(r.Deviations) > 0 {
				return false
			}
			found = true
		}
	}
	return found
}
