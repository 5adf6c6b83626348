package sweep

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/target"
)

func TestReadLists(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, text string
		want       []Entry
	}{
		"our own format": {"list.yaml", `
servers:
  - name: weather
    command: [npx, -y, weather-mcp@1.2.0]
    revision: 2025-06-18
    profile: [core@1, tools@1]
    env: API_KEY
    max-time: 5m
  - name: team/local
    command: [./server, --flag]
    cwd: data
  - name: remote
    url: https://example.com/mcp
    transport: sse
  - name: started
    url: http://127.0.0.1:{port}/mcp
    start: node server.js
    env: PORT={port}
`, []Entry{
			{Name: "weather", Folder: "weather", Args: []string{"--", "npx", "-y", "weather-mcp@1.2.0"}, Env: []string{"API_KEY"}, MaxTime: 5 * 60e9,
				Flags: []string{"--revision", "2025-06-18", "--profile", "core@1", "--profile", "tools@1"}},
			{Name: "team/local", Folder: "team~local", Args: []string{"--", "DIR/server", "--flag"}, Flags: []string{"--cwd", "DIR/data"}},
			{Name: "remote", Folder: "remote", URL: "https://example.com/mcp", Args: []string{"https://example.com/mcp"}, Flags: []string{"--transport", "sse"}},
			{Name: "started", Folder: "started", Env: []string{"PORT={port}"}, Args: []string{"--start", "node server.js", "http://127.0.0.1:{port}/mcp"}, Flags: []string{"--transport", "auto"}},
		}},
		"our own format as JSON":       {"list.json", `{"servers": [{"name": "a", "command": ["a"]}]}`, []Entry{{Name: "a", Folder: "a", Args: []string{"--", "a"}}}},
		"JSON with escaped surrogates": {"list.json", `{"servers": [{"name": "a", "command": ["a", "\ud83d\ude00"]}]}`, []Entry{{Name: "a", Folder: "a", Args: []string{"--", "a", "\U0001F600"}}}},
		"a client's file": {".mcp.json", `{
	// a comment
	"mcpServers": {"a b": {"command": "x", "args": ["y"]}, "c": {"type": "http", "url": "https://c.example/mcp"}}}`, []Entry{
			{Name: "a b", Folder: "a b", Args: []string{"--config", "DIR/.mcp.json", "--server", "a b"}},
			{Name: "c", Folder: "c", URL: "https://c.example/mcp", Args: []string{"--config", "DIR/.mcp.json", "--server", "c"}},
		}},
		"VS Code's file": {"mcp.json", `{"servers": {"a": {"command": "x"}}}`, []Entry{{Name: "a", Folder: "a", Args: []string{"--config", "DIR/mcp.json", "--server", "a"}}}},
		"an alias for a value": {"list.yaml", "servers:\n- {name: a, command: [a], env: &e [A=1]}\n- {name: b, command: [b], env: *e}", []Entry{
			{Name: "a", Folder: "a", Args: []string{"--", "a"}, Env: []string{"A=1"}}, {Name: "b", Folder: "b", Args: []string{"--", "b"}, Env: []string{"A=1"}},
		}},
		"a page with other keys": {"page.json", `{"servers": [{"server": {"name": "x/remote", "remotes": [{"type": "sse", "url": "https://r.example"}]}}], "next": "x"}`, []Entry{
			{Name: "x/remote", Folder: "x~remote", URL: "https://r.example", Args: []string{"https://r.example"}, Flags: []string{"--transport", "sse"}},
		}},
		"server.json of npm": {"server.json", `{"name": "io.github.me/weather", "version": "1.0.0", "packages": [
			{"registryType": "mcpb", "identifier": "https://example.com/x.mcpb", "transport": {"type": "stdio"}},
			{"registryType": "npm", "identifier": "@me/weather", "version": "1.0.1", "transport": {"type": "stdio"},
			 "runtimeArguments": [{"type": "named", "name": "--max-old-space-size", "value": "1"}],
			 "packageArguments": [{"type": "positional", "value": "serve"}, {"type": "named", "name": "--units", "default": "si"}, {"type": "named", "name": "--city"}],
			 "environmentVariables": [{"name": "LEVEL", "default": "info"}, {"name": "PROXY"}]}]}`, []Entry{
			{Name: "io.github.me/weather", Folder: "io.github.me~weather", Args: []string{"--", "npx", "-y", "@me/weather@1.0.1", "serve", "--units", "si"},
				Env: []string{"LEVEL=info"}, Package: "npm:@me/weather", Version: "1.0.1"},
		}},
		"a page of the registry": {"page.json", `{"servers": [
			{"server": {"name": "x/pypi", "version": "2", "packages": [{"registryType": "pypi", "identifier": "w", "version": "2", "transport": {"type": "stdio"}}]},
			 "_meta": {"io.modelcontextprotocol.registry/official": {"status": "active", "isLatest": true}}},
			{"server": {"name": "x/pypi", "version": "1", "packages": []}, "_meta": {"io.modelcontextprotocol.registry/official": {"isLatest": false}}},
			{"server": {"name": "x/gone", "version": "1"}, "_meta": {"io.modelcontextprotocol.registry/official": {"status": "deleted"}}},
			{"server": {"name": "x/oci", "packages": [{"registryType": "oci", "identifier": "ghcr.io:443/x/y:1.0", "transport": {"type": "stdio"}, "environmentVariables": [{"name": "A", "value": "1"}]}]}},
			{"server": {"name": "x/old", "packages": [{"registry_type": "oci", "identifier": "docker.io/x/y", "version": "3"}]}},
			{"server": {"name": "x/remote", "version": "1", "remotes": [{"type": "streamable-http", "url": "https://r.example/mcp", "headers": [{"name": "X-Region", "default": "eu"}]}]}}
		], "metadata": {"count": 5}}`, []Entry{
			{Name: "x/pypi", Folder: "x~pypi", Args: []string{"--", "uvx", "w@2"}, Package: "pypi:w", Version: "2"},
			{Name: "x/oci", Folder: "x~oci", Args: []string{"--", "docker", "run", "-i", "--rm", "-e", "A", "ghcr.io:443/x/y:1.0"}, Env: []string{"A=1"}, Package: "oci:ghcr.io:443/x/y:1.0"},
			{Name: "x/old", Folder: "x~old", Args: []string{"--", "docker", "run", "-i", "--rm", "docker.io/x/y:3"}, Package: "oci:docker.io/x/y", Version: "3"},
			{Name: "x/remote", Folder: "x~remote", URL: "https://r.example/mcp", Args: []string{"https://r.example/mcp"}, Flags: []string{"--transport", "http", "--header", "X-Region: eu"}, Version: "1"},
		}},
		"pages that jq collected": {"pages.json", `[{"servers": [{"name": "a", "command": ["a"]}]}, {"servers": [{"name": "b", "command": ["b"]}]}]`, []Entry{
			{Name: "a", Folder: "a", Args: []string{"--", "a"}}, {Name: "b", Folder: "b", Args: []string{"--", "b"}},
		}},
		"what a registry names and can't be run": {"registry.json", `[
			{"name": "x/needs-key", "packages": [{"registryType": "npm", "identifier": "k", "environmentVariables": [{"name": "KEY", "isRequired": true}]}]},
			{"name": "x/needs-argument", "packages": [{"registryType": "npm", "identifier": "k", "packageArguments": [{"type": "positional", "valueHint": "dir", "isRequired": true}]}]},
			{"name": "x/flag", "packages": [{"registryType": "oci", "identifier": "--privileged"}]},
			{"name": "x/mounts", "packages": [{"registryType": "oci", "identifier": "k", "runtimeArguments": [{"type": "named", "name": "-v", "value": "/:/host", "isRequired": true}]}]},
			{"name": "x/token", "remotes": [{"type": "sse", "url": "https://x.example", "headers": [{"name": "Authorization", "isRequired": true, "isSecret": true}]}]},
			{"name": "x/template", "remotes": [{"type": "sse", "url": "https://{tenant}.example"}]},
			{"name": "x/home", "packages": [{"registryType": "npm", "identifier": "k", "environmentVariables": [{"name": "HOME", "value": "/root"}]}]},
			{"name": "x/fake", "remotes": [{"type": "sse", "url": "--reference"}]},
			{"server": {"name": "x/nothing"}}]`, []Entry{
			{Name: "x/needs-key", Folder: "x~needs-key", Unusable: "npm package: needs the variable KEY; name it under env in a list of mcp-conform's own format"},
			{Name: "x/needs-argument", Folder: "x~needs-argument", Unusable: "npm package: needs a value for the argument dir"},
			{Name: "x/flag", Folder: "x~flag", Unusable: `oci package: its identifier "--privileged" can't be used`},
			{Name: "x/mounts", Folder: "x~mounts", Unusable: "oci package: it requires arguments for its runtime"},
			{Name: "x/token", Folder: "x~token", Unusable: "remote: needs the header Authorization"},
			{Name: "x/template", Folder: "x~template", Unusable: "remote: its URL needs a value"},
			{Name: "x/home", Folder: "x~home", Unusable: "npm package: sets the variable HOME"},
			{Name: "x/fake", Folder: "x~fake", Unusable: `remote: "--reference" is not a URL that begins with http:// or https://`},
			{Name: "x/nothing", Folder: "x~nothing", Unusable: "the registry names neither a package nor a remote"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, c.file)
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := ReadLists(path)
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				if len(got[i].text) == 0 {
					t.Errorf("server %s has no identity", got[i].Name)
				}
				for _, texts := range [][]string{got[i].Args, got[i].Flags} {
					for j := range texts {
						texts[j] = filepath.ToSlash(strings.ReplaceAll(texts[j], dir, "DIR"))
					}
				}
			}
			if diff := cmp.Diff(c.want, got, cmpopts.IgnoreUnexported(Entry{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestHintCwd checks for which commands a hint names a file next to the list.
func TestHintCwd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"server.js", "serve", "conf.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for entry, want := range map[string]string{
		"command: [node, server.js]":               "server.js is next to the list: set cwd: . to start the command there",
		"command: [x, --config=conf.json]":         "conf.json is next to the list: set cwd: . to start the command there",
		"start: node ./server.js, url: 'http://x'": "./server.js is next to the list: set cwd: . to start the command there",
		"command: [serve]":                         "serve is next to the list: write ./serve",
		"command: [./serve]":                       "",
		"command: [node, server.js], cwd: .":       "",
		"command: [node, other.js, '', .]":         "",
		"command: [node, /server.js]":              "",
		"url: 'http://server.js'":                  "",
	} {
		path := filepath.Join(dir, "list.yaml")
		if err := os.WriteFile(path, []byte("servers: [{name: a, "+entry+"}]"), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ReadLists(path)
		if err != nil {
			t.Fatal(err)
		}
		if hint := got[0].hintCwd(); hint != want {
			t.Errorf("%s: %q, not %q", entry, hint, want)
		}
	}
}

// TestListErrors checks that errors name the file, the line and the server.
func TestListErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"two documents":       {"servers: [{name: a, command: [a]}]\n---\nservers: [{name: b, command: [b]}]", "list.yaml:2:1: the list has a second YAML document"},
		"two lists":           {"servers: [{name: a, command: [a]}]\nservers: [{name: b, command: [b]}]", `list.yaml:2:1: "servers" is given twice`},
		"an empty page":       {"{\"servers\": null}", "list.yaml: the list has no servers"},
		"no YAML":             {"{", "list.yaml:1: this is not YAML: did not find expected node content"},
		"empty":               {"", "list.yaml is empty"},
		"no servers":          {"servers: []", "list.yaml: the list has no servers"},
		"something else":      {"a: b", "list.yaml:1:1: it has no list of servers"},
		"a word":              {"servers: no", "list.yaml:1:10: servers is not a list"},
		"an entry of text":    {"servers: [a]", "list.yaml:1:11: an entry of the list is not a mapping"},
		"no name":             {"servers: [{command: [a]}]", "list.yaml:1:11: a server has no name"},
		"neither":             {"servers:\n- name: a", `list.yaml:2:3: server "a": it needs either a command or a url`},
		"both":                {"servers: [{name: a, command: [a], url: 'http://x'}]", `server "a": it needs either a command or a url`},
		"an unknown key":      {"servers: [{name: a, comand: [a]}]", `server "a": unknown key "comand"`},
		"a misspelled list":   {"server:\n- {name: a, command: [a]}", `list.yaml:1:1: unknown key "server"`},
		"a key of entries":    {"servers: [{name: a, command: [a]}]\nprofile: core@1", `list.yaml:2:1: unknown key "profile" next to servers`},
		"another key":         {"defaults: {}\nservers: [{name: a, command: [a]}]", `list.yaml:1:1: unknown key "defaults" next to servers`},
		"a client's YAML":     {"mcpServers: {a: {command: a}}", `list.yaml:1:1: it has the key mcpServers`},
		"an alias":            {"servers:\n- &a {name: a, command: [a]}\n- *a", `list.yaml:3:3: the alias *a can't be an entry`},
		"an alias to itself":  {"servers: &a [*a]", `list.yaml:1:14: the alias *a can't be an entry`},
		"a merge key":         {"servers:\n- &a {name: a, command: [a]}\n- {<<: *a, name: b}", `list.yaml:3:4: server "b": merges (<<) are not supported`},
		"an unknown alias":    {"servers: [*a]", `list.yaml: this is not YAML: unknown anchor 'a' referenced`},
		"a command of text":   {"servers:\n- name: a\n  command: npx -y @a/b", `list.yaml:3:12: server "a": "command" is the string "npx -y @a/b", but should be a list` + "\n" + `write command: [npx, "-y", "@a/b"]`},
		"a command in quotes": {"servers: [{name: a, command: 'a \"b c\"'}]", "\nwrite it as in command: [node, server.js]"},
		"a list in a command": {"servers: [{name: a, command: [[a]]}]", `"command" is a list, but should be no list in a list`},
		"an alias of a word":  {"servers:\n- {name: &a a, command: [a]}\n- {name: b, command: *a}", `list.yaml:3:22: server "b": "command" is the string "a", but should be a list`},
		"variables":           {"servers: [{name: a, command: [a], env: {A: b}}]", `server "a": "env" is a mapping, but should be a string, or a list of strings`},
		"a name of two":       {"servers: [{name: [a, b], command: [a]}]", `list.yaml:1:18: "name" is a list, but should be a string`},
		"a key twice":         {"servers:\n- name: a\n  command: [a]\n  command: [b]", `list.yaml:4:3: server "a": "command" is given twice`},
		"no server.json":      {"servers: [{server: {name: a, packages: {b: c}}}]", "list.yaml:1:20: this is not a server.json of a registry: line 1 has a mapping where another kind of value is expected"},
		"an unknown revision": {"servers: [{name: a, command: [a], revision: 2020-01-01}]", `server "a": `},
		"an unknown profile":  {"servers: [{name: a, command: [a], profile: all@1}]", `server "a": there is no profile "all@1"`},
		"a time":              {"servers: [{name: a, command: [a], max-time: 5}]", `server "a": "max-time" is 5, but should be a duration`},
		"cwd of a URL":        {"servers: [{name: a, url: 'http://x', cwd: b}]", `server "a": cwd or env is given, but nothing is started`},
		"a flag as a URL":     {"servers: [{name: a, url: --reference}]", `server "a": url "--reference" is not a URL`},
		"a URL of no host":    {"servers: [{name: a, url: example.com/mcp}]", `server "a": url "example.com/mcp" is not a URL`},
		"no such transport":   {"servers: [{name: a, url: 'http://x', transport: http2}]", `server "a": "transport" is the string "http2", but should be one of auto, http, sse`},
		"a start without URL": {"servers: [{name: a, command: [a], start: b}]", `server "a": start is given, but no url`},
		"a variable":          {"servers: [{name: a, command: [a], env: [=b]}]", `server "a": env "=b" names no variable`},
		"up":                  {"servers: [{name: ../a, command: [a]}]", `the name of server "../a" can't be used`},
		"up later":            {"servers: [{name: a/../../b, command: [a]}]", `the name of server "a/../../b" can't be used`},
		"absolute":            {"servers: [{name: /a, command: [a]}]", `the name of server "/a" can't be used`},
		"hidden":              {"servers: [{name: .a, command: [a]}]", `the name of server ".a" can't be used`},
		"the escape":          {"servers: [{name: a~b, command: [a]}]", `the name of server "a~b" can't be used`},
		"a device":            {"servers: [{name: Nul.txt, command: [a]}]", `the name of server "Nul.txt" can't be used: it is the name of a device`},
		"a dot at the end":    {"servers: [{name: a., command: [a]}]", `it ends with a dot or a space`},
		"long":                {"servers: [{name: " + strings.Repeat("a", 201) + ", command: [a]}]", `it has 201 characters; at most 200 are allowed`},
		"double":              {"servers: [{name: a, command: [a]}, {name: a, command: [b]}]", `list.yaml:1:36: two servers have the name "a"`},
		"differing in case":   {"servers: [{name: a/b, command: [a]}, {name: A/b, command: [b]}]", `servers "a/b" and "A/b" differ only in case`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "list.yaml")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := ReadLists(path); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, without %s", err, c.want)
			}
		})
	}
	if _, err := ReadLists("no-such-file"); err == nil || !strings.Contains(err.Error(), "the list no-such-file can't be read: no such file") {
		t.Errorf("a missing list: %v", err)
	}
}

// TestAllMistakesOfAList checks that all mistakes are reported at once, with the place of each.
func TestAllMistakesOfAList(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	_, err := ReadLists(write("a.yaml", `jobs: 1
servers:
- name: a
  command: node x.js
  env: {A: b}
- name: a
  comand: [b]
- b
- name: b
  command: [c]
  revision: 1999
  profile: all@1
- {server: {name: x/y, packages: 1}}
`), write("b.yaml", "servers: [{name: b, url: 'http://x'}]"), filepath.Join(dir, "c.yaml"))
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatal(err)
	}
	var got []string
	for _, one := range joined.Unwrap() {
		if !errors.As(one, new(*target.UsageError)) {
			t.Errorf("an error is %#v", one)
		}
		line, _, _ := strings.Cut(strings.ReplaceAll(one.Error(), dir+string(filepath.Separator), ""), "\n")
		got = append(got, line)
	}
	want := []string{
		`a.yaml:1:1: unknown key "jobs" next to servers`,
		`a.yaml:4:12: server "a": "command" is the string "node x.js", but should be a list`,
		`a.yaml:5:8: server "a": "env" is a mapping, but should be a string, or a list of strings`,
		`a.yaml:7:3: server "a": unknown key "comand"`,
		`a.yaml:8:3: an entry of the list is not a mapping`,
		`a.yaml:9:3: server "b": "1999" is not a published revision; known are 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28`,
		`a.yaml:9:3: server "b": there is no profile "all@1"`,
		`a.yaml:13:12: this is not a server.json of a registry: line 13 has a number where another kind of value is expected`,
		`the list c.yaml can't be read: no such file or directory`,
		`a.yaml:6:3: two servers have the name "a"`,
		`b.yaml:1:11: two servers have the name "b"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAListTakesScalarsAsWritten checks that what looks like a number or a date needs no quotes.
func TestAListTakesScalarsAsWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "list.yaml")
	if err := os.WriteFile(path, []byte("servers: [{name: 7, command: [sleep, 0x10, 1.50, true, ''], env: 2025-06-18, cwd: , max-time: , profile: ~}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := ReadLists(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []Entry{{Name: "7", Folder: "7", Args: []string{"--", "sleep", "0x10", "1.50", "true", ""}, Env: []string{"2025-06-18"}}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Entry{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestFoldersStayInside is a law: whatever the names, each has a folder of its own, directly
// below the folder of servers.
func TestFoldersStayInside(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.StringMatching(`[a-cA-C./~\\ -]{0,5}|\PC{0,5}`), 1, 8).Draw(t, "names")
		foreign := rapid.Bool().Draw(t, "foreign")
		entries := make([]Entry, len(names))
		for i, name := range names {
			entries[i].Name, entries[i].isForeign = name, foreign
		}
		entries, errs := nameFolders(entries)
		if len(errs) > 0 && !foreign {
			return
		}
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		taken := map[string]bool{}
		for _, e := range entries {
			if taken[strings.ToLower(e.Folder)] {
				t.Fatalf("two servers have the folder %q", e.Folder)
			}
			taken[strings.ToLower(e.Folder)] = true
			if e.Folder == "" || strings.HasPrefix(e.Folder, ".") || strings.ContainsAny(e.Folder, `/\`) || filepath.Dir(filepath.Join("x", e.Folder)) != "x" {
				t.Fatalf("server %q has the folder %q", e.Name, e.Folder)
			}
		}
	})
}

func TestOptOut(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "optout.txt")
	if err := os.WriteFile(path, []byte("# asked by mail\nio.github.me/weather\n\nExample.com # all of it\n*.example.org\nhttps://host.example/private/\nbare.example/mcp\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := ReadOptOut(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		e    Entry
		want string
	}{
		{Entry{Name: "io.github.me/weather"}, "io.github.me/weather"},
		{Entry{Name: "io.github.me/weather2"}, ""},
		{Entry{Name: "a", URL: "https://EXAMPLE.com:8443/mcp"}, "Example.com"},
		{Entry{Name: "a", URL: "https://sub.example.com/mcp"}, ""},
		{Entry{Name: "a", URL: "https://sub.example.org/mcp"}, "*.example.org"},
		{Entry{Name: "a", URL: "https://example.org/mcp"}, ""},
		{Entry{Name: "a", URL: "https://host.example/private/mcp"}, "https://host.example/private/"},
		{Entry{Name: "a", URL: "https://host.example/private"}, "https://host.example/private/"},
		{Entry{Name: "a", URL: "https://host.example/private-not"}, ""},
		{Entry{Name: "a", Args: []string{"--", "example.com"}}, ""},
		{Entry{Name: "a", URL: "HTTPS://me@Host.Example.:443/private/mcp"}, "https://host.example/private/"},
		{Entry{Name: "a", URL: "https://host.example:8443/private/mcp"}, ""},
		{Entry{Name: "a", URL: "https://example.com./mcp"}, "Example.com"},
		{Entry{Name: "a", URL: "http://bare.example/mcp/2"}, "bare.example/mcp"},
		{Entry{Name: "a", URL: "https://bare.example/other"}, ""},
		{Entry{Name: "a", Args: []string{"--start", "proxy", "https://example.com/mcp"}}, "Example.com"},
		{Entry{Name: "a", Args: []string{"--start", "x", "http://127.0.0.1:{port}/mcp"}}, ""},
	} {
		if got := o.matchingRule(&c.e); got != c.want {
			t.Errorf("%s %s matches %q, not %q", c.e.Name, c.e.URL, got, c.want)
		}
	}
	if err := os.WriteFile(path, []byte("*example.org\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadOptOut(path); err == nil || !strings.Contains(err.Error(), `"*example.org" matches no server`) {
		t.Errorf("a rule without effect: %v", err)
	}
}

// TestNamesOfARegistry checks that names which the user can't change never refuse a registry's
// list, and that a server which two pages repeat is judged once.
func TestNamesOfARegistry(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "page.json")
	var servers []string
	for _, name := range []string{"io.x/a", "io.x/A", "io.x/-b", "con.x/c", `io.x/\u0007`, "io.x/a"} {
		servers = append(servers, `{"name":"`+name+`","version":"1","packages":[{"registryType":"npm","identifier":"x","version":"1"}]}`)
	}
	if err := os.WriteFile(path, []byte("["+strings.Join(servers, ",")+"]"), 0o600); err != nil {
		t.Fatal(err)
	}
	entries, err := ReadLists(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		if !isFolderOf(e.Folder, e.Name) {
			t.Errorf("merge refuses the folder %q of %q", e.Folder, e.Name)
		}
		got = append(got, e.Name+" "+e.Folder)
	}
	want := []string{
		"io.x/a io.x~a", "io.x/A _io_x_A-dc963806fffc1400", "io.x/-b _io_x_-b-c76a0f9cbb378a6d", "con.x/c _con_x_c-8706f018e513bacb", "io.x/_ io.x~_",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("folders (-want +got):\n%s", diff)
	}
}
