package target

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// seen is the part of a target that tests compare.
type seen struct {
	Argv, Env, Args, Notices, Secrets []string
	Dir, URL, Name, Source, Display   string
	Headers                           map[string]string
	Transport                         spec.Transport
}

func look(t Target, here string) seen {
	without := func(s string) string { return strings.ReplaceAll(s, here, "HERE") }
	all := func(list []string) []string {
		var out []string
		for _, s := range list {
			out = append(out, without(s))
		}
		return out
	}
	return seen{
		Argv: all(t.Argv), Env: all(t.Env), Args: all(t.Args()), Notices: all(t.Notices), Secrets: all(t.secrets.List()),
		Dir: without(t.Dir), URL: t.URL, Name: without(t.Name), Source: without(t.Source), Display: without(t.Display()),
		Headers: t.Headers, Transport: t.Transport,
	}
}

// outer is the environment of a world whose environ is nil.
var outer = []string{"PATH=HERE/bin", "HOME=HERE/home", "LANG=C"}

func with(env ...string) []string { return slices.Concat(outer, env) }

func TestCommandLine(t *testing.T) {
	program := map[string]string{"x:my-server": "#!/bin/sh", "data/": "", "x:my server": "#!/bin/sh"}
	tests := []struct {
		name string
		world
		want seen
	}{
		{"a path", world{files: program, typed: words("./my-server")},
			seen{Argv: []string{"./my-server"}, Dir: "HERE", Env: outer, Args: words("-- ./my-server"), Display: "./my-server"}},
		{"a path with a space", world{files: program, typed: []string{"./my server"}},
			seen{Argv: []string{"./my server"}, Dir: "HERE", Env: outer, Args: []string{"--", "./my server"}, Display: "'./my server'"}},
		{"a name in PATH", world{files: map[string]string{"x:bin/my-server": "", "my-server": ""}, typed: words("my-server")},
			seen{Argv: []string{"my-server"}, Dir: "HERE", Env: outer, Args: words("-- my-server"), Display: "my-server"}},
		{"a name that is nowhere", world{typed: words("my-server")},
			seen{Argv: []string{"my-server"}, Dir: "HERE", Env: outer, Args: words("-- my-server"), Display: "my-server"}},
		{"an executable script", world{files: map[string]string{"x:server.py": "#!/usr/bin/env python3"}, typed: words("./server.py")},
			seen{Argv: []string{"./server.py"}, Dir: "HERE", Env: outer, Args: words("-- ./server.py"), Display: "./server.py"}},
		{"argv stays as it is", world{typed: []string{"--", "npx", "-y", "s", "--flag", "", "a b", "--env", "--", "it's", "\x1b[1m"}},
			seen{Argv: []string{"npx", "-y", "s", "--flag", "", "a b", "--env", "--", "it's", "\x1b[1m"}, Dir: "HERE", Env: outer,
				Args:    []string{"--", "npx", "-y", "s", "--flag", "", "a b", "--env", "--", "it's", "\x1b[1m"},
				Display: `npx -y s --flag '' 'a b' --env -- 'it'\''s' $'\x1b[1m'`}},
		{"--env and --cwd", world{files: program, typed: words("--env A=1=2 --env LANG --env API_KEY=abcdef --env A= --cwd data -- npx s")},
			seen{Argv: words("npx s"), Dir: "HERE/data", Env: with("A=", "API_KEY=abcdef"), Secrets: []string{"abcdef"},
				Args: words("--env A --env LANG --env API_KEY --cwd data -- npx s"), Display: "npx s"}},
		{"--clean-env", world{typed: words("--clean-env --env A=1 -- npx s")},
			seen{Argv: words("npx s"), Dir: "HERE", Env: []string{"PATH=HERE/bin", "HOME=HERE/home", "A=1"},
				Args: words("--env A --clean-env -- npx s"), Display: "npx s"}},
		{"--clean-env on Windows", world{goos: "windows", environ: words("Path=C:\\bin SYSTEMROOT=C:\\Windows =C:=C:\\x OneDrive=x"), typed: words("--clean-env --env path=D:\\bin -- npx s")},
			seen{Argv: words("npx s"), Dir: "HERE", Env: words("PATH=D:\\bin SystemRoot=C:\\Windows"),
				Args: words("--env path --clean-env -- npx s"), Display: "npx s"}},
		{"the drives of Windows stay", world{goos: "windows", environ: words("=C:=C:\\x A=1 a=2 nonsense"), typed: words("-- npx s")},
			seen{Argv: words("npx s"), Dir: "HERE", Env: words("=C:=C:\\x A=2"), Args: words("-- npx s"), Display: "npx s"}},
		{"secrets in arguments", world{typed: words("--env T -- s --token=abcdef --api-key ghijkl --port 1 " + hidden + " --url=http://u:mnopqr@h/?key=stuvwx&a=b"), environ: []string{"T=" + hidden}},
			seen{Argv: words("s --token=abcdef --api-key ghijkl --port 1 " + hidden + " --url=http://u:mnopqr@h/?key=stuvwx&a=b"), Dir: "HERE", Env: []string{"T=" + hidden},
				Secrets: []string{hidden, "abcdef", "ghijkl", "mnopqr", "stuvwx"},
				Args:    words("--env T -- s --token=REDACTED --api-key REDACTED --port 1 REDACTED --url=http://u:REDACTED@h/?key=REDACTED&a=b"),
				Display: "s --token=REDACTED --api-key REDACTED --port 1 REDACTED '--url=http://u:REDACTED@h/?key=REDACTED&a=b'"}},
		{"a secret of --env among the arguments", world{typed: words("--env TOKEN=plainword -- s --say plainword")},
			seen{Argv: words("s --say plainword"), Dir: "HERE", Env: with("TOKEN=plainword"), Secrets: []string{"plainword"},
				Args: words("--env TOKEN -- s --say REDACTED"), Display: "s --say REDACTED"}},
		{"a URL", world{typed: words("HTTPS://example.com/mcp?api_key=a%20bcdefg")},
			seen{URL: "HTTPS://example.com/mcp?api_key=a%20bcdefg", Args: words("HTTPS://example.com/mcp?api_key=REDACTED"),
				Secrets: []string{"a%20bcdefg", "a bcdefg"}, Display: "HTTPS://example.com/mcp?api_key=REDACTED"}},
		{"a URL behind the dashes", world{typed: words("-- http://localhost:3000/mcp")},
			seen{URL: "http://localhost:3000/mcp", Args: words("http://localhost:3000/mcp"), Display: "http://localhost:3000/mcp"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			target, here, err := test.resolve(t)
			if err != nil {
				t.Fatal(err)
			}
			test.want.Name, test.want.Source = test.want.Display, "command line"
			if diff := cmp.Diff(test.want, look(target, here)); diff != "" {
				t.Errorf("target (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConfigurationFiles(t *testing.T) {
	tests := []struct {
		name string
		world
		want seen
	}{
		{"Claude Code, the only server", world{files: config(`{"mcpServers": {"files": {
			"command": "${BIN:-npx}", "args": ["-y", "files@${VERSION}", "${LANG:-x}", "$LANG", "${}", "${1}", "${open"],
			"env": {"HOME_OF": "${HOME}", "COUNT": 12.50, "DEBUG": true, "LANG": null, "NESTED": "${TRICK}"}}}}`),
			environ: with("VERSION=2", "TRICK=${HOME}"), typed: words("--config .mcp.json")},
			seen{Argv: []string{"npx", "-y", "files@2", "C", "$LANG", "${}", "${1}", "${open"}, Dir: "HERE", Name: "files",
				Env:    []string{"PATH=HERE/bin", "HOME=HERE/home", "VERSION=2", "TRICK=${HOME}", "HOME_OF=HERE/home", "COUNT=12.50", "DEBUG=true", "NESTED=${HOME}"},
				Source: `server "files" in .mcp.json`, Args: words("--config .mcp.json --server files"), Display: "npx -y files@2 C '$LANG' '${}' '${1}' '${open'"}},
		{"--env gives what a file leaves open, and wins", world{files: config(`{"mcpServers": {"s": {"command": "s", "env": {"A": "file", "B": "${SECRET_KEY}"}}}}`),
			typed: words("--config .mcp.json --server s --env A=flag --env SECRET_KEY=abcdef")},
			seen{Argv: words("s"), Dir: "HERE", Name: "s", Env: with("A=flag", "B=abcdef", "SECRET_KEY=abcdef"), Secrets: []string{"abcdef"},
				Source: `server "s" in .mcp.json`, Args: words("--config .mcp.json --server s --env A --env SECRET_KEY"), Display: "s"}},
		{"Cursor", world{files: map[string]string{".cursor/mcp.json": `{"mcpServers": {"s": {"type": "stdio", "command": "${workspaceFolder}/run",
			"args": ["${userHome}", "${workspaceFolderBasename}x", "a${/}b${pathSeparator}c", "~"], "env": {"K": "${env:LANG}", "PATH": "/only"}, "envFile": ".env"}}}`, ".env": "E=1\nK=lost\n"},
			typed: words("--config HERE/.cursor/mcp.json --clean-env")},
			seen{Argv: []string{"HERE/run", "HERE/home", "BASEx", "a/b/c", "~"}, Dir: "HERE", Name: "s",
				Env: []string{"PATH=/only", "HOME=HERE/home", "E=1", "K=C"}, Source: `server "s" in HERE/.cursor/mcp.json`,
				Args: words("--config HERE/.cursor/mcp.json --server s --clean-env"), Display: "HERE/run HERE/home BASEx a/b/c '~'"}},
		{"VS Code", world{files: map[string]string{"sub/": "", ".vscode/mcp.json": `{
			// the servers of this project
			"inputs": [{"type": "promptString", "id": "api-key", "password": true}, {"type": "promptString", "id": "level", "default": "high"},
				{"type": "pickString", "id": "mode", "options": ["fast", "slow"], "default": "slow"}, {"id": "from-env"}, "odd",],
			"servers": {"s": {"type": "stdio", "command": "~/run", "cwd": "sub", /* as it is */ "disabled": true, "sandboxEnabled": true,
				"args": ["${input:api-key}", "${input:level}", "${input:mode}", "${input:from-env}", "~/x", "${LANG}", "${file}"],
				"env": {"PATH": "/more", "K": "${input:api-key}"},},},}`},
			environ: with("MCP_CONFORM_INPUT_FROM_ENV=here"), typed: words("--server s --input api-key=abc=defgh --input level=low")},
			seen{Argv: []string{"HERE/home/run", "abc=defgh", "low", "slow", "here", "HERE/home/x", "${LANG}", "${file}"}, Dir: "HERE/sub", Name: "s",
				Env:     []string{"PATH=HERE/bin:/more", "HOME=HERE/home", "LANG=C", "MCP_CONFORM_INPUT_FROM_ENV=here", "K=abc=defgh"},
				Secrets: []string{"abc=defgh"}, Source: `server "s" in .vscode/mcp.json (found in the current folder)`,
				Args:    words("--config .vscode/mcp.json --server s --input api-key --input level"),
				Display: "HERE/home/run REDACTED low slow here HERE/home/x '${LANG}' '${file}'",
				Notices: []string{
					`the sandbox that .vscode/mcp.json asks for is not set up: server "s" runs with your rights`,
					`server "s" is disabled in .vscode/mcp.json, but is used because it was named`}}},
		{"VS Code's settings", world{files: map[string]string{"settings.json": `{"mcp": {"inputs": [{"id": "a", "default": "b"}], "servers": {"s": {"command": "s", "args": ["${input:a}"]}}}}`},
			typed: words("--config settings.json")},
			seen{Argv: words("s b"), Dir: "HERE", Name: "s", Env: outer, Source: `server "s" in settings.json`, Args: words("--config settings.json --server s"), Display: "s b"}},
		{"VS Code's settings, dotted", world{files: map[string]string{"settings.json": "\uFEFF" + `{"mcp.servers": {"s": {"command": "s"}}}`},
			typed: words("--config settings.json")},
			seen{Argv: words("s"), Dir: "HERE", Name: "s", Env: outer, Source: `server "s" in settings.json`, Args: words("--config settings.json --server s"), Display: "s"}},
		{"the file that has the server", world{files: map[string]string{".mcp.json": `{"mcpServers": {"a": {"command": "a"}}}`, ".cursor/mcp.json": `{"mcpServers": {"b": {"command": "b"}, "a": {"command": "z"}}}`},
			typed: words("--server b --cwd .cursor")},
			seen{Argv: words("b"), Dir: "HERE/.cursor", Name: "b", Env: outer, Source: `server "b" in .cursor/mcp.json (found in the current folder)`,
				Args: words("--config .cursor/mcp.json --server b --cwd .cursor"), Display: "b"}},
		{"the first of two with one name", world{files: map[string]string{".mcp.json": `{"mcpServers": {"a": {"command": "a"}}}`, ".cursor/mcp.json": `{"mcpServers": {"a": {"command": "z"}}}`},
			typed: words("--server a")},
			seen{Argv: words("a"), Dir: "HERE", Name: "a", Env: outer, Source: `server "a" in .mcp.json (found in the current folder)`,
				Args: words("--config .mcp.json --server a"), Display: "a"}},
		{"a home path that the shell left", world{files: map[string]string{"home/c.json": `{"mcpServers": {"a\u001b": {"command": "a", "cwd": "~"}}}`}, typed: words("--config ~/c.json")},
			seen{Argv: words("a"), Dir: "HERE/home", Name: `a\x1b`, Env: outer, Source: `server "a\x1b" in ~/c.json`, Args: words("--config ~/c.json --server a\x1b"), Display: "a"}},
		{"HTTP", world{files: config(`{"mcpServers": {"s": {"type": "http", "url": "https://${HOST:-example.com}/mcp?key=${API_KEY}", "headers": {"Authorization": "Bearer ${API_KEY}", "X-Team": "blue"}}}}`),
			environ: []string{"API_KEY=abcdef"}, typed: words("--config .mcp.json")},
			seen{URL: "https://example.com/mcp?key=abcdef", Headers: map[string]string{"Authorization": "Bearer abcdef", "X-Team": "blue"}, Transport: spec.StreamableHTTP,
				Secrets: []string{"abcdef"}, Name: "s", Source: `server "s" in .mcp.json`, Args: words("--config .mcp.json --server s"), Display: "https://example.com/mcp?key=REDACTED"}},
		{"SSE", world{files: config(`{"mcpServers": {"s": {"type": "sse", "url": "http://h/sse", "command": "ignored"}}}`), typed: words("--config .mcp.json")},
			seen{URL: "http://h/sse", Headers: map[string]string{}, Transport: spec.SSE, Name: "s", Source: `server "s" in .mcp.json`, Args: words("--config .mcp.json --server s"), Display: "http://h/sse"}},
		{"a URL of no type", world{files: config(`{"mcpServers": {"s": {"url": "http://h/"}}}`), typed: words("--config .mcp.json")},
			seen{URL: "http://h/", Headers: map[string]string{}, Name: "s", Source: `server "s" in .mcp.json`, Args: words("--config .mcp.json --server s"), Display: "http://h/"}},
		{"the last of two names", world{files: config(`{"mcpServers": {"s": {"command": "a"}, "s": {"command": "b"}}}`), typed: words("--config .mcp.json")},
			seen{Argv: words("b"), Dir: "HERE", Env: outer, Name: "s", Source: `server "s" in .mcp.json`, Args: words("--config .mcp.json --server s"), Display: "b"}},
		{"a script found through the PATH of the file", world{files: map[string]string{".mcp.json": `{"mcpServers": {"s": {"command": "run.py", "env": {"PATH": "HERE/tools"}}}}`, "run.py": "", "x:tools/run.py": "#!"}, typed: words("--config .mcp.json")},
			seen{Argv: words("run.py"), Dir: "HERE", Env: []string{"PATH=HERE/tools", "HOME=HERE/home", "LANG=C"}, Name: "s", Source: `server "s" in .mcp.json`, Args: words("--config .mcp.json --server s"), Display: "run.py"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			target, here, err := test.resolve(t)
			if err != nil {
				t.Fatal(err)
			}
			base := here[strings.LastIndex(here, "/")+1:]
			got := look(target, here)
			for i := range got.Argv {
				got.Argv[i] = strings.ReplaceAll(got.Argv[i], base+"x", "BASEx")
			}
			got.Display = strings.ReplaceAll(got.Display, base+"x", "BASEx")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("target (-want +got):\n%s", diff)
			}
		})
	}
}
