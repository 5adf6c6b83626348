package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/target"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

const whole = `# all there is
target:
  command: [node, server.js, --flag]
  cwd: sub
  env: {PORT: 3000, LOG: yes, TOKEN: }
revisions: [2025-06-18, '2025-11-25']
timeout: 5s
jobs: 2
fail-on: should
reports: junit
tools:
  call: [safe, write]
  never: delete
  arguments:
    search:
      - {query: apples, from: 2024-01-02, limit: 3, exact: true, weight: 0.5, none: null, list: [1, {a: b}]}
      - {}
    one: {a: 1}
prompts:
  arguments: {greeting: {name: Ada, times: 3}}
templates:
  "demo://items/{number}": {number: 007}
fixtures:
  slow: {tool: work, arguments: {for: "{seconds}"}}
  logging:
    - {tool: log, levels: [info, error]}
    - tool: log2
  changes-resource: {tool: write, resource: "demo://note"}
`

func TestWholeFile(t *testing.T) {
	f, err := Parse("f.yaml", []byte("\ufeff"+whole))
	if err != nil {
		t.Fatal(err)
	}
	mentions := f.Calls.Mentions
	f.Calls.Mentions = nil
	want := &File{
		Shown: "f.yaml", Command: []string{"node", "server.js", "--flag"},
		Settings: []Setting{
			{Flag: "cwd", Values: []string{"sub"}, Target: true, Path: true, Where: "f.yaml:4:8"},
			{Flag: "env", Values: []string{"PORT=3000", "LOG=yes", "TOKEN"}, Target: true, Where: "f.yaml:5:8"},
			{Flag: "revision", Values: []string{"2025-06-18", "2025-11-25"}, Variable: "MCP_CONFORM_REVISIONS", Where: "f.yaml:6:12"},
			{Flag: "timeout", Values: []string{"5s"}, Variable: "MCP_CONFORM_TIMEOUT", Where: "f.yaml:7:10"},
			{Flag: "jobs", Values: []string{"2"}, Variable: "MCP_CONFORM_JOBS", Where: "f.yaml:8:7"},
			{Flag: "fail-on", Values: []string{"should"}, Variable: "MCP_CONFORM_FAIL_ON", Where: "f.yaml:9:10"},
			{Flag: "report", Values: []string{"junit"}, Where: "f.yaml:10:10"},
		},
		Calls: inventory.Config{
			Policy: inventory.CallSafe, Call: []string{"write"}, Never: []string{"delete"},
			Arguments: map[string][]map[string]any{
				"search": {
					{
						"query": "apples", "from": "2024-01-02", "limit": int64(3), "exact": true, "weight": 0.5, "none": nil,
						"list": []any{int64(1), map[string]any{"a": "b"}},
					},
					{},
				},
				"one": {{"a": int64(1)}},
			},
			Prompts:   map[string]map[string]any{"greeting": {"name": "Ada", "times": "3"}},
			Templates: map[string]map[string]string{"demo://items/{number}": {"number": "007"}},
			Fixtures: []inventory.Fixture{
				{Role: inventory.Slow, Tool: "work", Arguments: map[string]any{"for": "{seconds}"}, Where: "f.yaml:24:16"},
				{Role: inventory.Logging, Tool: "log", Arguments: map[string]any{}, Levels: []string{"info", "error"}, Where: "f.yaml:26:14"},
				{Role: inventory.Logging, Tool: "log2", Arguments: map[string]any{}, Where: "f.yaml:27:13"},
				{Role: inventory.ChangesResource, Tool: "write", Arguments: map[string]any{}, Resource: "demo://note", Where: "f.yaml:28:28"},
			},
		},
	}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
	var said []string
	for _, m := range mentions {
		said = append(said, string(m.Kind)+" "+m.Name+" "+m.Where)
	}
	wantMentions := []string{
		"tool write f.yaml:12:16", "tool delete f.yaml:13:10", "tool search f.yaml:15:5", "tool one f.yaml:18:5",
		"prompt greeting f.yaml:20:15", "template demo://items/{number} f.yaml:22:3",
		"tool work f.yaml:24:16", "tool log f.yaml:26:14", "tool log2 f.yaml:27:13", "tool write f.yaml:28:28",
	}
	if diff := cmp.Diff(wantMentions, said); diff != "" {
		t.Errorf("mentions (-want +got):\n%s", diff)
	}
}

func TestImplementation(t *testing.T) {
	f, err := Parse("f.yaml", []byte("profiles: core@1\nimplementation: {organization: A, project: b, url: 'https://c', version: v1, contact: [d, e]}"))
	if err != nil {
		t.Fatal(err)
	}
	want := &File{
		Shown: "f.yaml", Settings: []Setting{{Flag: "profile", Values: []string{"core@1"}, Variable: "MCP_CONFORM_PROFILES", Where: "f.yaml:1:11"}},
		Implementation: verdict.Implementation{Organization: "A", Project: "b", URL: "https://c", Version: "v1", Contact: []string{"d", "e"}},
	}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
}

func TestCalls(t *testing.T) {
	for text, want := range map[string]inventory.Config{
		"jobs: 1":                              {},
		"tools: {call: all}":                   {Policy: inventory.CallAll},
		"tools: {call: mine}":                  {Policy: inventory.CallNone, Call: []string{"mine"}},
		"tools: {call: [a, none, b]}":          {Policy: inventory.CallNone, Call: []string{"a", "b"}},
		"tools: {call: [a, safe], never: [c]}": {Policy: inventory.CallSafe, Call: []string{"a"}, Never: []string{"c"}},
		"tools: {call: []}":                    {},
	} {
		f, err := Parse("f.yaml", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		f.Calls.Mentions = nil
		if diff := cmp.Diff(want, f.Calls); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// TestErrors checks that each error says where the problem is, what it is, and
// what to do.
func TestErrors(t *testing.T) {
	const noAnchors = "anchors (&) and aliases (*) are not supported"
	for _, c := range []struct{ name, text, want, advice string }{
		{"empty", "", "f.yaml: the file is empty", "let mcp-conform init --force write a new one"},
		{"comments alone", "# nothing\n", "f.yaml: the file is empty", ""},
		{"null", "null", "f.yaml: the file is empty", ""},
		{"an end alone", "---\n...\n", "f.yaml: the file is empty", ""},
		{"huge", strings.Repeat("#", maxSize+1), "f.yaml: the file is larger than 1 MiB", ""},
		{"UTF-16", "\xff\xfej\x00", "f.yaml: the file is in UTF-16, but must be UTF-8", "save it as UTF-8"},
		{"no UTF-8", "jobs: \xff", "f.yaml: the file is not UTF-8 text", "save it as UTF-8"},
		{"a tab", "tools:\n\tcall: all", "f.yaml:2: this is not YAML: found character that cannot start any token", "indents are spaces"},
		{"not closed", "jobs: [1", "f.yaml:1: this is not YAML: did not find expected ',' or ']'", ""},
		{"two documents", "jobs: 1\n---\njobs: 2", "f.yaml:2:1: the file has a second YAML document", "remove the line ---"},
		{"a list", "- jobs", "f.yaml:1:1: the file is a list, but should be a mapping", "name: value"},
		{"a string", "jobs", `f.yaml:1:1: the file is the string "jobs", but should be a mapping`, ""},
		{"misspelt", "jobs: 1\ntimeuot: 5s", `f.yaml:2:1: the file has no key "timeuot"`, `did you mean "timeout"?`},
		{"misspelt below", "tools:\n  cal: all", `f.yaml:2:3: "tools" has no key "cal"`, `did you mean "call"?`},
		{"elsewhere", "command: x", `f.yaml:1:1: the file has no key "command"`, "did you mean target.command?"},
		{"strange", "zzzzzzzzzzzz: x", `f.yaml:1:1: the file has no key "zzzzzzzzzzzz"`, "it has target, revisions, "},
		{"a client's", "mcpServers: {}", `f.yaml:1:1: the file has no key "mcpServers"`, "use --config FILE.json"},
		{"an unknown role", "fixtures: {slwo: {tool: a}}", `f.yaml:1:12: "fixtures" has no key "slwo"`, `did you mean "slow"?`},
		{"twice", "jobs: 1\njobs: 2", `f.yaml:2:1: "jobs" is given twice`, "remove it here, or in line 1"},
		{"twice below", "tools:\n  arguments: {a: {}, a: {}}", `f.yaml:2:22: "tools.arguments.a" is given twice`, "line 2"},
		{"an alias", "jobs: &a 1\ntimeout: *a", "f.yaml:1:7: " + noAnchors, "write out"},
		{"an alias of nothing", "jobs: *a", "f.yaml: this is not YAML: unknown anchor 'a' referenced", ""},
		{"an anchor on a list", "reports: [&a json, *a]", "f.yaml:1:11: " + noAnchors, ""},
		{"an anchor on a key", "&a jobs: 1", "f.yaml:1:1: anchors (&), aliases (*) and merges (<<) are not supported", ""},
		{"a merge", "<<: {jobs: 1}", "f.yaml:1:1: anchors (&), aliases (*) and merges (<<) are not supported", ""},
		{"an alias in arguments", "tools: {arguments: {t: {a: &a [1], b: *a}}}", "f.yaml:1:28: " + noAnchors, ""},
		{"an anchor on a value", "target: {env: {A: &a b}}", `f.yaml:1:19: "target.env.A" is the string "b", but should be a string`, ""},
		{"a key that is a list", "[a]: 1", "f.yaml:1:1: a key is a list, but must be a string", "quotes"},
		{"no unit", "timeout: 10", `f.yaml:1:10: "timeout" is 10, but should be a duration`, "write its unit after it, as 10s"},
		{"no duration", "timeout: soon", `f.yaml:1:10: "timeout" is the string "soon", but should be a duration`, "such as 10s or 500ms"},
		{"a duration of nothing", "timeout: 0s", `f.yaml:1:10: "timeout" is the string "0s", but should be a duration above zero`, ""},
		{"a duration that is a list", "timeout: [5s]", `f.yaml:1:10: "timeout" is a list, but should be a duration`, ""},
		{"a duration that is nothing", "timeout:", `f.yaml:1:9: "timeout" is empty, but should be a duration`, ""},
		{"no number", "jobs: many", `f.yaml:1:7: "jobs" is the string "many", but should be a whole number from 1 on`, ""},
		{"zero", "jobs: 0", `f.yaml:1:7: "jobs" is 0, but should be a whole number from 1 on`, ""},
		{"half", "jobs: 1.5", `f.yaml:1:7: "jobs" is 1.5, but should be a whole number from 1 on`, ""},
		{"no switch", "target: {clean-env: yes}", `f.yaml:1:21: "target.clean-env" is the string "yes", but should be true or false`, ""},
		{"no choice", "fail-on: shuold", `f.yaml:1:10: "fail-on" is the string "shuold", but should be one of must, should`, `did you mean "should"?`},
		{"a choice that is a list", "fail-on: [must]", `f.yaml:1:10: "fail-on" is a list, but should be one of must, should`, ""},
		{"no revision", "revisions: 2025-06-19", `f.yaml:1:12: `, ""},
		{"no profile", "profiles: [core@1, tool@1]", `f.yaml:1:20: there is no profile "tool@1"`, "did you mean tools@1?"},
		{"a profile without its version", "profiles: core", `f.yaml:1:11: there is no profile "core"`, "did you mean core@1?"},
		{"a profile like no other", "profiles: pigeons@1", `f.yaml:1:11: there is no profile "pigeons@1"`, "the profiles are core@1, tools@1, "},
		{"a version that is a number", "implementation: {version: 1.2}", `f.yaml:1:27: "implementation.version" is 1.2, but should be a string`, `put quotes around it: "1.2"`},
		{"a number for a string", "target: {url: 5}", `f.yaml:1:15: "target.url" is 5, but should be a string`, `put quotes around it: "5"`},
		{"an empty text", "target: {url: ' '}", `f.yaml:1:15: "target.url" is an empty text`, ""},
		{"a null character", `target: {url: "a\0b"}`, `f.yaml:1:15: "target.url" contains a null character`, ""},
		{"nothing for a string", "target:\n  url:", `f.yaml:2:7: "target.url" is empty, but should be a string`, ""},
		{"nothing for a mapping", "tools:", `f.yaml:1:7: "tools" is empty, but should be a mapping`, "name: value"},
		{"a mapping for a string", "out: {a: b}", `f.yaml:1:6: "out" is a mapping, but should be a string`, ""},
		{"a list in a list", "reports: [[json]]", `f.yaml:1:11: "reports" is a list, but should be no list in a list`, ""},
		{"a mapping in a list", "reports: [{a: b}]", `f.yaml:1:11: "reports" is a mapping, but should be a string`, ""},
		{"a list for env", "target: {env: [A=b]}", `f.yaml:1:15: "target.env" is a list, but should be a mapping`, ""},
		{"a list in env", "target: {env: {A: [b]}}", `f.yaml:1:19: "target.env.A" is a list, but should be a string`, ""},
		{"two servers", "target: {command: a, url: 'http://b'}", "f.yaml:1:27: the target has a command and a URL", "start"},
		{"a quoted command", `target: {command: node 'my server.js'}`, "f.yaml:1:19: a command that contains quotes or backslashes is not split", "as a list"},
		{"an empty command", `target: {command: []}`, "f.yaml:1:19: the command is empty", ""},
		{"no number in JSON", "tools: {arguments: {t: {a: .nan}}}", `f.yaml:1:28: "tools.arguments.t.a" is ".nan", which JSON can't express`, "quotes"},
		{"a tag", "tools: {arguments: {t: {a: !mine b}}}", `f.yaml:1:28: "tools.arguments.t.a" is "b", which has an unsupported tag`, ""},
		{"arguments that are a string", "tools: {arguments: {t: a}}", `f.yaml:1:24: "tools.arguments.t" is the string "a", but should be a mapping`, ""},
		{"deep arguments", "tools: {arguments: {t: {a: " + strings.Repeat("[", 99) + strings.Repeat("]", 99) + "}}}", `f.yaml:1:93: "tools.arguments.t.a" is nested deeper than 64 levels`, "flatter"},
		{"two policies", "tools: {call: [safe, all]}", `f.yaml:1:22: "tools.call" has both safe and all`, "remove one"},
		{"called and never", "tools: {call: [a], never: [a]}", `f.yaml: the tool "a" is both in tools.call and in tools.never`, "remove"},
		{"a fixture and never", "tools: {never: [a]}\nfixtures: {slow: {tool: a}}", `f.yaml:2:25: the tool "a" is a fixture, but is also in tools.never`, "remove"},
		{"a fixture without a tool", "fixtures: {slow: {arguments: {}}}", `f.yaml:1:18: "fixtures.slow" has no "tool"`, "add tool: …"},
		{"a change without a resource", "fixtures: {changes-resource: {tool: a}}", `f.yaml:1:30: "fixtures.changes-resource" has no "resource"`, ""},
		{"a placeholder for a tool", "fixtures: {slow: {tool: NAME, arguments: {}}}", `f.yaml:1:25: "fixtures.slow.tool" still contains the placeholder NAME`, "replace it with the name of a tool of the server"},
		{"a placeholder for arguments", "fixtures:\n  progress:\n    - {tool: a, arguments: {…}}", `f.yaml:3:29: "fixtures.progress.arguments" still contains the placeholder …`, "or {} for none"},
		{"a placeholder for a URI", "fixtures: {changes-resource: {tool: a, resource: URI}}", `f.yaml:1:50: "fixtures.changes-resource.resource" still contains the placeholder URI`, "the URI of the resource"},
		{"a placeholder among tools", "tools: {call: [safe, NAME]}", `f.yaml:1:22: "tools.call" still contains the placeholder NAME`, "or remove the line"},
		{"a placeholder for a value", "prompts: {arguments: {a: {b: VALUE}}}", `f.yaml:1:30: "prompts.arguments" still contains the placeholder VALUE`, "what the server takes"},
		{"a placeholder deep in arguments", "tools: {arguments: {a: {b: [{c: …}]}}}", `f.yaml:1:33: "tools.arguments" still contains the placeholder …`, ""},
		{"no level", "fixtures: {logging: {tool: a, levels: [loud]}}", `f.yaml:1:40: "fixtures.logging.levels" is the string "loud", but should be one of emergency`, ""},
		{"a long text", "fail-on: " + strings.Repeat("x", 500), `f.yaml:1:10: "fail-on" is the string "` + strings.Repeat("x", 80) + `…", but should be`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("f.yaml", []byte(c.text))
			wrong := (*target.UsageError)(nil)
			if !errors.As(err, &wrong) {
				t.Fatalf("the error is %v", err)
			}
			got, _, _ := strings.Cut(err.Error(), "\n")
			if !strings.HasPrefix(got, c.want) || !strings.Contains(wrong.Advice, c.advice) {
				t.Errorf("the error is\n%s\nwith the advice %q; want\n%s\nwith %q", got, wrong.Advice, c.want, c.advice)
			}
		})
	}
}

// TestSeveralErrors checks that all mistakes of a file are reported at once, in their order.
func TestSeveralErrors(t *testing.T) {
	const text = "timeout: 10\njobs: many\ntools: {cal: all, never: [[a], 5]}\njobs: 2\nfixtures: {slow: {}}\nprofiles: core\nout: &x a"
	lines := func(text string) (out []string) {
		_, err := Parse("f.yaml", []byte(text))
		joined, ok := err.(interface{ Unwrap() []error })
		if !ok {
			t.Fatalf("the error is %v", err)
		}
		for _, one := range joined.Unwrap() {
			if !errors.As(one, new(*target.UsageError)) {
				t.Errorf("an error is %#v", one)
			}
			line, _, _ := strings.Cut(one.Error(), "\n")
			out = append(out, line)
		}
		return out
	}
	want := []string{
		`f.yaml:1:10: "timeout" is 10, but should be a duration`,
		`f.yaml:2:7: "jobs" is the string "many", but should be a whole number from 1 on`,
		`f.yaml:3:9: "tools" has no key "cal"`,
		`f.yaml:3:27: "tools.never" is a list, but should be no list in a list`,
		`f.yaml:3:32: "tools.never" is 5, but should be a string`,
		`f.yaml:4:1: "jobs" is given twice`,
		`f.yaml:5:18: "fixtures.slow" has no "tool"`,
		`f.yaml:7:6: anchors (&) and aliases (*) are not supported`,
	}
	if diff := cmp.Diff(want, lines(text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := lines(strings.Repeat("jobs: no\n", 30)); len(got) != 11 || got[10] != "20 more errors like these" {
		t.Errorf("of many mistakes: %q", got)
	}
}

// TestBomb checks that an alias bomb is rejected before it is expanded.
func TestBomb(t *testing.T) {
	text := "tools:\n  arguments:\n    t:\n      a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 30; i++ {
		last, this := string(rune('0'+(i-1)%10)), string(rune('0'+i%10))
		text += "      b" + this + strings.Repeat("c", i) + ": &a" + this + " [*a" + last + ", *a" + last + ", *a" + last + "]\n"
	}
	if _, err := Parse("f.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), "anchors") {
		t.Errorf("the error is %v", err)
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	if path, err := Find(dir); path != "" || err != nil {
		t.Errorf("in an empty folder %q, %v", path, err)
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	second := write("mcp-conform.yml", "jobs: 2")
	if path, err := Find(dir); path != second || err != nil {
		t.Errorf("found %q, %v", path, err)
	}
	f, err := Read(second, "shown.yml")
	if err != nil || f.Folder != dir || f.Absolute("x") != filepath.Join(dir, "x") || f.Absolute(dir) != dir || f.NamesServer() {
		t.Errorf("read %+v, %v", f, err)
	}
	write(Name, "jobs: 2")
	if _, err := Find(dir); err == nil || !strings.Contains(err.Error(), "has both mcp-conform.yaml and mcp-conform.yml") {
		t.Errorf("of two files: %v", err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none.yaml"): `the file "shown.yml" can't be read (it does not exist)`,
		dir:                             `"shown.yml" is a folder, not a file`,
		write("big.yaml", strings.Repeat("#", maxSize+100)): "shown.yml: the file is larger than 1 MiB",
	} {
		if _, err := Read(path, "shown.yml"); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("the error is %v; want %s", err, want)
		}
	}
	for name, want := range map[string]bool{"a.yaml": true, "a.YML": true, "a.json": false, "a": false} {
		if HasYAMLExtension(name) != want {
			t.Errorf("%s is taken for the wrong kind of file", name)
		}
	}
}

// filled replaces the placeholders with a user's values.
var filled = strings.NewReplacer("NAME", "work", "VALUE", "one", "{…}", "{}", "URI", "a:b")

// TestExamples checks that each example in the table is valid, and that each key has a description.
func TestExamples(t *testing.T) {
	var look func(k *Key, path []string)
	look = func(k *Key, path []string) {
		if k.About == "" {
			t.Errorf("%v says nothing of itself", path)
		}
		if k.Example != "" {
			text := strings.Join(path, ": {") + ": " + k.Example + strings.Repeat("}", len(path)-1)
			if _, err := Parse("f.yaml", []byte(filled.Replace(text))); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
		for i := range k.Keys {
			look(&k.Keys[i], append(path[:len(path):len(path)], k.Keys[i].Name))
		}
	}
	top := Keys()
	look(&top, nil)
}

// FuzzConfig checks that every text is either rejected with a message or read,
// with the same result each time.
func FuzzConfig(f *testing.F) {
	f.Add(whole)
	f.Add("a: &a [*a]")
	f.Add("fixtures: {slow: [{tool: a}, {tool: b}]}\ntools: {call: [safe]}")
	f.Add("target: {command: npx -y server, env: {A: }}\nrevisions: 2025-06-18")
	f.Add("? [a]\n: b")
	f.Add("tools: {arguments: {t: {a: 99999999999999999999999}}}")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse("f.yaml", []byte(text))
		wrong := (*target.UsageError)(nil)
		switch {
		case err == nil:
			again, err := Parse("f.yaml", []byte(text))
			if diff := cmp.Diff(file, again); err != nil || diff != "" {
				t.Errorf("read again: %v\n%s", err, diff)
			}
		case !errors.As(err, &wrong) || wrong.What == "" || !strings.HasPrefix(wrong.Where, "f.yaml"):
			t.Errorf("the error is %#v", err)
		}
	})
}
