package sdk

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/skip"
)

// TestRecogniseScripts checks that the SDK of a script is recognised by the packages around it. The
// files are created in a temporary folder, whose path replaces {} in argv.
func TestRecogniseScripts(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("node is a shell script here")
	}
	bin := t.TempDir()
	for _, name := range []string{"node", "wrapper"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	sdk1 := func(version string) string {
		return `{"name":"@modelcontextprotocol/sdk","version":"` + version + `"}`
	}
	depends := func(names ...string) string {
		return `{"name":"s","dependencies":{"` + strings.Join(names, `":"^1.0.0","`) + `":"^1.0.0"}}`
	}
	const one, two = "@modelcontextprotocol/sdk", "@modelcontextprotocol/server"
	for name, c := range map[string]struct {
		files map[string]string
		argv  string
		want  string
	}{
		"next to it":           {map[string]string{"package.json": depends(one), "a.js": "", "node_modules/" + one + "/package.json": sdk1("1.32.2")}, "node {}/a.js", "typescript-sdk 1.32.2"},
		"seen from the folder": {map[string]string{"package.json": depends(one), "a.js": "", "node_modules/" + one + "/package.json": sdk1("1.32.2")}, "node a.js", "typescript-sdk 1.32.2"},
		"behind a flag":        {map[string]string{"package.json": depends(one), "a.mjs": "", "node_modules/" + one + "/package.json": sdk1("1.25.0")}, "node --no-warnings {}/a.mjs http", "typescript-sdk 1.25.0"},
		"further up": {map[string]string{
			"node_modules/server/package.json": depends(one), "node_modules/server/dist/index.js": "", "node_modules/" + one + "/package.json": sdk1("1.30.0"),
		}, "node {}/node_modules/server/dist/index.js", "typescript-sdk 1.30.0"},
		"the nearest counts": {map[string]string{
			"node_modules/server/package.json": depends(one), "node_modules/server/index.js": "",
			"node_modules/server/node_modules/" + one + "/package.json": sdk1("1.26.0"), "node_modules/" + one + "/package.json": sdk1("1.30.0"),
		}, "node {}/node_modules/server/index.js", "typescript-sdk 1.26.0"},
		"a manifest of the folder dist": {map[string]string{
			"package.json": depends(one), "dist/package.json": `{"type":"commonjs"}`, "dist/a.js": "", "node_modules/" + one + "/package.json": sdk1("1.32.2"),
		}, "node {}/dist/a.js", "typescript-sdk 1.32.2"},
		"the script names one of two": {map[string]string{
			"package.json": depends(one, two), "a.js": "import x from '" + two + "/stdio'",
			"node_modules/" + one + "/package.json": sdk1("1.32.2"), "node_modules/" + two + "/package.json": `{"name":"` + two + `","version":"2.4.0"}`,
		}, "node {}/a.js", "typescript-sdk-2 2.4.0"},
		"the script names none of two": {map[string]string{
			"package.json": depends(one, two), "a.js": "import './b.js' // " + two + "-everything",
			"node_modules/" + one + "/package.json": sdk1("1.32.2"), "node_modules/" + two + "/package.json": `{"name":"` + two + `","version":"2.4.0"}`,
		}, "node {}/a.js", ""},
		"a peer dependency": {map[string]string{
			"package.json": `{"name":"s","peerDependencies":{"` + one + `":"^1.0.0"}}`, "a.js": "", "node_modules/" + one + "/package.json": sdk1("1.32.2"),
		}, "node {}/a.js", "typescript-sdk 1.32.2"},
		"no release":             {map[string]string{"package.json": depends(one), "a.js": "", "node_modules/" + one + "/package.json": sdk1("1.32.2-beta.1")}, "node {}/a.js", ""},
		"installed, not used":    {map[string]string{"package.json": depends("zod"), "a.js": "", "node_modules/" + one + "/package.json": sdk1("1.32.2")}, "node {}/a.js", ""},
		"used, not installed":    {map[string]string{"package.json": depends(one), "a.js": ""}, "node {}/a.js", ""},
		"another package":        {map[string]string{"package.json": depends(one), "a.js": "", "node_modules/" + one + "/package.json": `{"name":"fork","version":"1.32.2"}`}, "node {}/a.js", ""},
		"a damaged manifest":     {map[string]string{"package.json": "{", "a.js": "", "node_modules/" + one + "/package.json": sdk1("1.32.2")}, "node {}/a.js", ""},
		"an argument of another": {map[string]string{"package.json": depends(one), "a.js": "", "node_modules/" + one + "/package.json": sdk1("1.32.2")}, "wrapper {}/a.js", ""},
		"no such program":        {nil, "nothing {}/a.js", ""},
		"no script":              {nil, "node {}/a.js", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for path, text := range c.files {
				path = filepath.Join(dir, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			got := ""
			if u := Recognise(strings.Fields(strings.ReplaceAll(c.argv, "{}", dir)), dir); u != nil {
				got = u.String()
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if Recognise(nil, "") != nil {
		t.Error("an SDK is recognised in no command")
	}
}

// TestRecogniseRealServers checks that the SDKs of the pinned servers are
// recognised.
func TestRecogniseRealServers(t *testing.T) {
	dir, err := filepath.Abs("../../fixtures/servers")
	if err != nil {
		t.Fatal(err)
	}
	for argv, want := range map[string]string{
		"./go-sdk/go-sdk-server":      "go-sdk 1.8.0",
		"./go-sdk/go-sdk-server-1.1":  "go-sdk 1.1.0",
		"./mcp-go/mcp-go-server":      "mcp-go 1.2.1",
		"./mcp-go/mcp-go-server-0.32": "mcp-go 0.32.0",
		"node sdk.mjs .":              "typescript-sdk 1.32.2",
		"node sdk-2.mjs":              "typescript-sdk-2 2.4.0",
		"node node_modules/@modelcontextprotocol/server-memory/dist/index.js": "typescript-sdk 1.32.2",
		"node node_modules/tavily-mcp/build/index.js":                         "typescript-sdk 1.26.0",
	} {
		t.Run(want, func(t *testing.T) {
			words := strings.Fields(argv)
			needs := words[len(words)-1]
			if words[0] == "node" && !strings.HasPrefix(needs, "node_modules/") {
				needs = "node_modules" // the script is in the repository, the SDK is not
			}
			if _, err := os.Stat(filepath.Join(dir, needs)); err != nil {
				skip.Missing(t, "real server", "it is not installed; fixtures/servers/install.sh does that")
			}
			if u := Recognise(words, dir); u == nil || u.String() != want {
				t.Errorf("%s: got %v, want %s", argv, u, want)
			}
		})
	}
}

// TestThisProgramHasNoSDK checks that this program, which is linked with an SDK, does not
// count as a server that is built with it: its reference server is not.
func TestThisProgramHasNoSDK(t *testing.T) {
	for path, want := range map[string]int{"example.com/server": 1, "github.com/mcp-conform/mcp-conform": 0} {
		info := &debug.BuildInfo{
			Main: debug.Module{Path: path},
			Deps: []*debug.Module{{Path: "github.com/modelcontextprotocol/go-sdk", Version: "v1.8.0"}},
		}
		if got := sdksOfModules(info); len(got) != want {
			t.Errorf("%s: %d SDKs, want %d", path, len(got), want)
		}
	}
}
