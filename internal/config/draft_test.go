package config

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/inventory"
)

// uncommented returns the text with the lines that hold keys uncommented.
func uncommented(text string) string {
	key := regexp.MustCompile(`(?m)^# ( *(?:"[^ ]*"|[a-z-]+):)`)
	return key.ReplaceAllString(strings.Replace(text, "# yaml-language-server:", "#", 1), "$1")
}

func TestDraft(t *testing.T) {
	v := &inventory.Inventory{
		Tools:     []inventory.Tool{{Name: "slow", ReadOnly: true}, {Name: "evil\n\x1b[2J: {", Raw: jsontext.Value("{}")}, {Name: strings.Repeat("x", 500)}},
		Templates: []string{"demo://{a}/{?b}", "\u202etxet://{x}"},
	}
	d := &Draft{Server: "server\n1.0", Revisions: []string{"2025-11-25"}, Offers: []*inventory.Inventory{v}, Target: []string{
		"--env", "TOKEN", "--env", "PORT={port}", "--cwd", "my folder", "--clean-env", "--", "node", "on", "--flag=a b", "\u202e",
	}}
	text := d.Write()
	if strings.ContainsFunc(text, func(c rune) bool { return c > '~' && c != '…' || c < ' ' && c != '\n' }) {
		t.Errorf("the text has characters that do things:\n%q", text)
	}
	f, err := Parse("f.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if diff := cmp.Diff([]string{"node", "on", "--flag=a b", "\u202e"}, f.Command); diff != "" {
		t.Errorf("command (-want +got):\n%s", diff)
	}
	want := []Setting{
		{Flag: "cwd", Values: []string{"my folder"}, Target: true, Path: true},
		{Flag: "env", Values: []string{"TOKEN", "PORT={port}"}, Target: true},
		{Flag: "clean-env", Values: []string{"true"}, Target: true},
	}
	for i := range f.Settings {
		f.Settings[i].Where = ""
	}
	if diff := cmp.Diff(want, f.Settings); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	if f.Calls.Policy != inventory.CallSafe {
		t.Errorf("the policy is %q", f.Calls.Policy)
	}
	// A user can uncomment the suggestions and fill them in.
	f, err = Parse("f.yaml", []byte(filled.Replace(uncommented(text))))
	if err != nil {
		t.Fatalf("%v\n%s", err, uncommented(text))
	}
	if !slices.ContainsFunc(f.Calls.Fixtures, func(x inventory.Fixture) bool { return x.Role == inventory.ChangesResource }) || len(f.Calls.Templates) != 2 {
		t.Errorf("the file without its comments says %+v", f.Calls)
	}
}

// TestDraftNamesEachToolOnce checks that a tool is listed once, even if several pages of tools/list
// have it.
func TestDraftNamesEachToolOnce(t *testing.T) {
	var tools []inventory.Tool
	for range 2 {
		tools = append(tools, inventory.Tool{Name: "reads", ReadOnly: true}, inventory.Tool{Name: "writes"})
	}
	d := &Draft{Server: "server", Revisions: []string{"2025-11-25"}, Offers: []*inventory.Inventory{{Tools: tools}}, Target: []string{"--", "node", "server.js"}}
	text := d.Write()
	named := strings.Join(regexp.MustCompile(`(?m)^  # (not )?called: .*$`).FindAllString(text, -1), "\n")
	if strings.Count(named, "reads") != 1 || strings.Count(named, "writes") != 1 {
		t.Errorf("the tools are named thus:\n%s", named)
	}
}

func TestDraftOfTargets(t *testing.T) {
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{"--transport", "http", "--header", "X-A: b: c", "--bearer-env", "T", "--start", "npm start", "--ready", "3s", "http://127.0.0.1:{port}/mcp"}, `target:
  url: "http://127.0.0.1:{port}/mcp"
  transport: http
  headers:
    X-A: "b: c"
  bearer-env: T
  start: "npm start"
  ready: "3s"
`},
		{[]string{"--config", ".mcp.json", "--server", "a"}, "# The server is named on the command line: mcp-conform run --config .mcp.json --server a\n# target:\n#   command: [node, server.js]\n"},
	} {
		text := (&Draft{Target: c.words, Revisions: []string{"2025-11-25"}, Offers: []*inventory.Inventory{inventory.Empty()}}).Write()
		if !strings.Contains(text, c.want) {
			t.Errorf("%v is written as\n%s", c.words, text)
		}
		if _, err := Parse("f.yaml", []byte(text)); err != nil {
			t.Error(err)
		}
	}
}

func FuzzDraft(f *testing.F) {
	f.Add("node", "tool", "u://{a}")
	f.Add("\x00\xff: ", "{[", "\u2028{?b}")
	f.Fuzz(func(t *testing.T, command, tool, template string) {
		if strings.TrimSpace(command) == "" || strings.ContainsRune(command, 0) {
			return // no command
		}
		d := &Draft{Server: tool, Revisions: []string{"2025-11-25"}, Target: []string{"--", command}, Offers: []*inventory.Inventory{{
			Tools: []inventory.Tool{{Name: tool, ReadOnly: true}}, Templates: []string{template},
		}}}
		file, err := Parse("f.yaml", []byte(d.Write()))
		if err != nil || len(file.Command) != 1 || file.Command[0] != strings.ToValidUTF8(command, "\ufffd") {
			t.Errorf("%v\n%s", err, d.Write())
		}
	})
}

// TestDraftOfTwoEras checks that a draft has what the server offers in one of two revisions.
func TestDraftOfTwoEras(t *testing.T) {
	d := &Draft{Server: "server", Target: []string{"--", "node"}, Revisions: []string{"2025-11-25", "2026-07-28"}, Offers: []*inventory.Inventory{
		{Tools: []inventory.Tool{{Name: "both"}}, Templates: []string{"demo://{a}"}},
		{Tools: []inventory.Tool{{Name: "both"}, {Name: "newer"}}, Templates: []string{"demo://{a}", "demo://new/{b}"}},
	}}
	text := d.Write()
	for _, want := range []string{
		"# Written by mcp-conform init from what server offers in 2025-11-25 and 2026-07-28.\n", "# revisions: [2025-11-25, 2026-07-28] ",
		"  # not called: both, newer\n", "# templates:\n#   \"demo://{a}\": {a: VALUE}\n#   \"demo://new/{b}\": {b: VALUE}\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the draft has no %q:\n%s", want, text)
		}
	}
}
