package target

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// hidden is a secret that no error may contain.
const hidden = "ghp_0123456789abcdefABCDEF0123456789abcd"

var mistakes = []struct {
	name string
	world
}{
	{"nothing", world{}},
	{"an empty variable in quotes", world{typed: []string{""}}},
	{"only spaces", world{typed: []string{" \t"}}},
	{"nothing behind the dashes", world{typed: []string{"--"}}},
	{"an empty command with arguments", world{typed: []string{"--", "", "--port", "1", "--token", hidden}}},
	{"a command that vanished before its flags", world{typed: words("-- -y some-server --api-key=" + hidden)}},
	{"arguments without dashes", world{typed: words("npx -y some-server --access-token " + hidden)}},
	{"arguments on both sides of the dashes", world{typed: words("npx -- -y some-server " + hidden)}},
	{"a command in quotes", world{typed: []string{"npx -y some-server --token=" + hidden}}},
	{"an npm package", world{typed: words("@scope/some-server")}},
	{"a URL without its scheme", world{typed: words("localhost:3000/mcp")}},
	{"an address and a port", world{typed: words("127.0.0.1:3000")}},
	{"a configuration file as command", world{files: config("{}"), typed: words(".mcp.json")}},
	{"a folder", world{files: map[string]string{"server/": ""}, typed: words("./server")}},
	{"a script without mode", world{files: map[string]string{"server.js": ""}, typed: words("./server.js")}},
	{"a script without mode, with arguments", world{files: map[string]string{"server.py": ""}, typed: words("-- ./server.py --token=" + hidden)}},
	{"a script without #!", world{files: map[string]string{"x:server.mjs": "import 'x'"}, typed: words("./server.mjs")}},
	{"an empty script", world{files: map[string]string{"x:server.ts": ""}, typed: words("./server.ts")}},
	{"a script by its bare name", world{files: map[string]string{"x:server.py": "#!"}, typed: words("server.py")}},
	{"a program by its bare name", world{files: map[string]string{"x:my-server": "#!"}, typed: words("my-server")}},
	{"a script on Windows", world{files: map[string]string{"x:server.py": "#!"}, typed: words("./server.py"), goos: "windows"}},
	{"a jar", world{files: map[string]string{"server.jar": "PK"}, typed: words("./server.jar")}},

	{"a URL and more", world{typed: words("https://example.com/mcp --header Authorization:" + hidden)}},
	{"a URL of another kind", world{typed: words("ws://user:" + hidden + "@example.com/mcp")}},
	{"a URL without host", world{typed: words("http:///mcp")}},
	{"a URL that can't be read", world{typed: words("http://[::1/mcp?token=" + hidden)}},
	{"a URL and --cwd", world{typed: words("--cwd HERE https://example.com/mcp")}},
	{"a URL and --env", world{typed: words("--env A=" + hidden + " https://example.com/mcp")}},

	{"a port mark without --start", world{typed: words("http://localhost:{port}/mcp")}},
	{"--ready without --start", world{typed: words("--ready 10s http://localhost:3000/mcp")}},
	{"--ready that is none", world{typed: words("--start x --ready -1s http://localhost:3000/mcp")}},
	{"--start with a command", world{typed: words("--start x -- npx -y some-server")}},
	{"--start with a command of a file", world{files: config(`{"mcpServers": {"a": {"command": "x"}}}`), typed: words("--start x --server a")}},
	{"--start without URL", world{typed: words("--start x")}},
	{"--ready with a command", world{typed: words("--ready 5s ./x")}},
	{"--start with nothing", world{typed: []string{"--start", " ", "http://localhost:3000/mcp"}}},
	{"--start with variables alone", world{typed: []string{"--start", "PORT=3000", "http://localhost:3000/mcp"}}},
	{"--start with what a shell does", world{typed: []string{"--start", "API_KEY=" + hidden + " npm start 2>&1 | tee log", "http://localhost:3000/mcp"}}},
	{"--start with a variable of a shell", world{typed: []string{"--start", `serve --port "$PORT"`, "http://localhost:3000/mcp"}}},
	{"--start with an open quote", world{typed: []string{"--start", "serve 'it", "http://localhost:3000/mcp"}}},
	{"--start with a NUL", world{typed: []string{"--start", "serve\x00it", "http://localhost:3000/mcp"}}},
	{"--start with a script that is not a program", world{files: map[string]string{"server.js": ""}, typed: []string{"--start", "./server.js --token " + hidden, "http://localhost:3000/mcp"}}},
	{"a port that the server is not told", world{typed: []string{"--start", "npm start", "http://localhost:{port}/mcp"}}},
	{"a port that is inherited", world{typed: []string{"--start", "npm start", "http://localhost:{port}/mcp"}, environ: []string{"PORT={port}"}}},
	{"a port that the URL does not name", world{typed: []string{"--start", "serve --port {port}", "http://localhost:3000/mcp"}}},
	{"a mark elsewhere in the URL", world{typed: []string{"--start", "serve --port {port}", "http://localhost:3000/{port}"}}},

	{"--env without name", world{typed: []string{"--env", "=" + hidden, "x"}}},
	{"--env with spaces", world{typed: []string{"--env", "TOKEN = " + hidden, "x"}}},
	{"--env that is not set", world{typed: words("--env TOKEN x")}},
	{"--env that is a value", world{typed: words("--env " + hidden + " x")}},
	{"--env with NUL", world{typed: []string{"--env", "TOKEN=" + hidden + "\x00", "x"}}},
	{"--cwd that is not there", world{typed: words("--cwd nowhere x")}},
	{"--cwd that is a file", world{files: config("{}"), typed: words("--cwd .mcp.json x")}},
	{"a command that is not in --cwd", world{files: map[string]string{"data/": "", "x:my-server": "#!"}, typed: words("--cwd data ./my-server")}},
	{"--input without file", world{typed: words("--input a=" + hidden + " ./x")}},

	{"two servers", world{typed: words("--config f.json --server s -- npx --token " + hidden)}},
	{"--config of spaces", world{typed: []string{"--config", " "}}},
	{"no such file", world{typed: words("--config nowhere.json")}},
	{"a folder as file", world{files: map[string]string{"project/": ""}, typed: words("--config project/")}},
	{"an empty file", world{files: config("// nothing\n"), typed: words("--config .mcp.json")}},
	{"a file in UTF-16", world{files: config("\xff\xfe{\x00}\x00"), typed: words("--config .mcp.json")}},
	{"broken JSON", world{files: config("{\n  \"mcpServers\": {\n    \"ä\": { \"command\" \"npx\" }\n  }\n}\n"), typed: words("--config .mcp.json")}},
	{"JSON cut short", world{files: config("{\n  \"mcpServers\": {"), typed: words("--config .mcp.json")}},
	{"a comment that never ends", world{files: config("{ /* \n}"), typed: words("--config .mcp.json")}},
	{"two commas", world{files: config(`{"mcpServers": {"s": {"args": [1,,]}}}`), typed: words("--config .mcp.json")}},
	{"a list of servers", world{files: config(`[]`), typed: words("--config .mcp.json")}},
	{"servers that are a list", world{files: config(`{"mcpServers": []}`), typed: words("--config .mcp.json")}},
	{"no servers at all", world{files: config(`{"editor.fontSize": 12}`), typed: words("--config .mcp.json")}},
	{"one server without name", world{files: config(`{"command": "npx"}`), typed: words("--config .mcp.json")}},
	{"servers without key", world{files: config(`{"s": {"command": "npx"}}`), typed: words("--config .mcp.json")}},
	{"an empty list of servers", world{files: config(`{"mcpServers": {}}`), typed: words("--config .mcp.json")}},
	{"several servers and no name", world{files: config(`{"mcpServers": {"one": {}, "two": {}}}`), typed: words("--config .mcp.json")}},
	{"a misspelt name", world{files: config(`{"mcpServers": {"github": {}, "files": {}}}`), typed: words("--config .mcp.json --server gihtub")}},
	{"another name", world{files: config(`{"mcpServers": {"github": {}, "files": {}}}`), typed: words("--config .mcp.json --server weather")}},
	{"--server and no file", world{typed: words("--server github")}},
	{"--server in no file", world{files: map[string]string{".mcp.json": `{"mcpServers": {"one": {}}}`, ".vscode/mcp.json": `{"servers": {"two": {}}}`}, typed: words("--server three")}},
	{"--server and a broken file", world{files: map[string]string{".cursor/mcp.json": `{`}, typed: words("--server three")}},

	{"a server that is a string", world{files: config(`{"mcpServers": {"s": "npx"}}`), typed: words("--config .mcp.json")}},
	{"neither command nor url", world{files: config(`{"mcpServers": {"s": {"args": []}}}`), typed: words("--config .mcp.json")}},
	{"both command and url", world{files: config(`{"mcpServers": {"s": {"command": "a", "url": "http://b"}}}`), typed: words("--config .mcp.json")}},
	{"an unknown type", world{files: config(`{"mcpServers": {"s": {"type": "websocket", "url": "http://b"}}}`), typed: words("--config .mcp.json")}},
	{"a type without url", world{files: config(`{"mcpServers": {"s": {"type": "http", "command": "a"}}}`), typed: words("--config .mcp.json")}},
	{"a type without command", world{files: config(`{"mcpServers": {"s": {"type": "stdio", "url": "http://b"}}}`), typed: words("--config .mcp.json")}},
	{"a command that is a list", world{files: config("{\"mcpServers\": {\"s\": {\n\t\"command\": [\"npx\"]}}}"), typed: words("--config .mcp.json")}},
	{"a command that is a number", world{files: config(`{"mcpServers": {"s": {"command": 7}}}`), typed: words("--config .mcp.json")}},
	{"an empty command", world{files: config(`{"mcpServers": {"s": {"command": " "}}}`), typed: words("--config .mcp.json")}},
	{"a command with arguments in it", world{files: config(`{"mcpServers": {"s": {"command": "npx -y server --token=` + hidden + `", "args": ["x"]}}}`), typed: words("--config .mcp.json")}},
	{"a command that is a script", world{files: map[string]string{".mcp.json": `{"mcpServers": {"s": {"command": "./server.js", "args": ["--key", "` + hidden + `"]}}}`, "server.js": ""}, typed: words("--config .mcp.json")}},
	{"a command that is a folder", world{files: map[string]string{".mcp.json": `{"mcpServers": {"s": {"command": "./dist"}}}`, "dist/": ""}, typed: words("--config .mcp.json")}},
	{"args that are a string", world{files: config(`{"mcpServers": {"s": {"command": "npx", "args": "-y server"}}}`), typed: words("--config .mcp.json")}},
	{"an argument that is a number", world{files: config(`{"mcpServers": {"s": {"command": "npx", "args": ["--port", 8080]}}}`), typed: words("--config .mcp.json")}},
	{"env that is a list", world{files: config(`{"mcpServers": {"s": {"command": "npx", "env": ["A=` + hidden + `"]}}}`), typed: words("--config .mcp.json")}},
	{"a variable that is a list", world{files: config(`{"mcpServers": {"s": {"command": "npx", "env": {"A": ["` + hidden + `"]}}}}`), typed: words("--config .mcp.json")}},
	{"a variable that can't be one", world{files: config(`{"mcpServers": {"s": {"command": "npx", "env": {"A=B": "` + hidden + `"}}}}`), typed: words("--config .mcp.json")}},
	{"a cwd that is not there", world{files: config(`{"mcpServers": {"s": {"command": "npx", "cwd": "sub"}}}`), typed: words("--config .mcp.json")}},
	{"an envFile that is not there", world{files: config(`{"mcpServers": {"s": {"command": "npx", "envFile": ".env"}}}`), typed: words("--config .mcp.json")}},
	{"an envFile that is a folder", world{files: config(`{"mcpServers": {"s": {"command": "npx", "envFile": "HERE"}}}`), typed: words("--config .mcp.json")}},
	{"a url without host", world{files: config(`{"mcpServers": {"s": {"url": "https:///?token=` + hidden + `"}}}`), typed: words("--config .mcp.json")}},
	{"a url and --cwd", world{files: config(`{"mcpServers": {"s": {"url": "https://example.com"}}}`), typed: words("--config .mcp.json --cwd HERE")}},

	{"a variable that is not set", world{files: config(`{"mcpServers": {"s": {"command": "npx", "env": {"T": "${TOKEN}"}}}}`), typed: words("--config .mcp.json")}},
	{"home unknown", world{files: config(`{"mcpServers": {"s": {"command": "${userHome}/x"}}}`), typed: words("--config .mcp.json"), environ: []string{"A=b"}}},
	{"all that is missing", world{files: map[string]string{".vscode/mcp.json": `{
  "inputs": [{"id": "api key", "type": "promptString", "description": "Key for\tthe API", "password": true},
    {"id": "mode", "type": "pickString", "options": ["fast", {"label": "Slow", "value": "slow"}]}],
  "servers": {"s": {"command": "npx",
    "args": ["${input:api key}", "${input:api key}", "${input:mode}", "${config:editor.fontSize}"],
    "env": {"T": "${env:TOKEN}", "U": "${input:other}"}}}}`}, typed: words("--config .vscode/mcp.json --input mode=medium")}},
	{"--input that is misspelt", world{files: config(`{"inputs": [{"id": "api-key", "default": "x"}], "servers": {"s": {"command": "npx"}}}`), typed: words("--config .mcp.json --input apikey=" + hidden)}},
	{"--input of another name", world{files: config(`{"inputs": [{"id": "api-key"}], "servers": {"s": {"command": "npx"}}}`), typed: words("--config .mcp.json --input something=" + hidden)}},
	{"--input that nothing asks for", world{files: config(`{"servers": {"s": {"command": "npx"}}}`), typed: words("--config .mcp.json --input a=" + hidden)}},
	{"--input without id", world{files: config(`{"servers": {"s": {"command": "npx"}}}`), typed: words("--config .mcp.json --input =" + hidden)}},
	{"--input that is not set", world{files: config(`{"servers": {"s": {"command": "npx"}}}`), typed: words("--config .mcp.json --input api-key")}},
}

// TestMistakes compares every error with testdata/errors.golden, which is meant to be read
// from top to bottom.
func TestMistakes(t *testing.T) {
	var got strings.Builder
	for _, m := range mistakes {
		target, here, err := m.resolve(t)
		if err == nil {
			t.Errorf("%s: no error, but the target %s", m.name, target.Display())
			continue
		}
		var usage *UsageError
		if !errors.As(err, &usage) || usage.What == "" || usage.Advice == "" {
			t.Errorf("%s: not a whole usage error: %#v", m.name, err)
		}
		text := strings.ReplaceAll(err.Error(), here, "HERE")
		if strings.Contains(text, "0123456789abcdef") {
			t.Errorf("%s: the text shows a secret: %s", m.name, text)
		}
		fmt.Fprintf(&got, "== %s\n%s\n\n", m.name, text)
	}
	golden := filepath.Join("testdata", "errors.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("the texts changed (-golden +now; -update rewrites them):\n%s", diff)
	}
}

func TestNoCurrentFolder(t *testing.T) {
	_, err := Resolve(Options{Dash: -1, Args: []string{"x"}, Getwd: func() (string, error) { return "", os.ErrNotExist }})
	want := "the current folder can't be found: file does not exist\nchange to a folder that exists and try again"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
