package target

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func TestSplitCommand(t *testing.T) {
	for _, c := range []struct {
		text string
		goos string
		want []string
	}{
		{"npm start", "", []string{"npm", "start"}},
		{"  npm\tstart\r ", "", []string{"npm", "start"}},
		{"", "", nil},
		{`a 'b c' "d e" f\ g`, "", []string{"a", "b c", "d e", "f g"}},
		{`a'b'"c"d ''`, "", []string{"abcd", ""}},
		{`"a\"b\\c\d" '\'`, "", []string{`a"b\c\d`, `\`}},
		{`'|&;<>()$x' "(|;)" \| a\`, "", []string{"|&;<>()$x", "(|;)", "|", `a\`}},
		{"5$ $ a$, x=~ *.js {port} #", "", []string{"5$", "$", "a$,", "x=~", "*.js", "{port}", "#"}},
		{`C:\bin\serve.exe "a\b\"c" 'd'`, "windows", []string{`C:\bin\serve.exe`, `a\b"c`, "d"}},
	} {
		got, err := splitCommand("--start", c.text, c.goos)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
		}
		var texts []string
		for _, w := range got {
			texts = append(texts, w.text)
		}
		if diff := cmp.Diff(c.want, texts); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.text, diff)
		}
	}
}

// TestSplitCommandReadsWhatIsQuoted checks that splitCommand reverses quoteAll.
func TestSplitCommandReadsWhatIsQuoted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		argv := rapid.SliceOfN(rapid.StringMatching(`[ -~]{0,8}`), 1, 4).Draw(t, "argv")
		got, err := splitCommand("--start", quoteAll(argv), "linux")
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, w := range got {
			texts = append(texts, w.text)
		}
		if diff := cmp.Diff(argv, texts, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("words (-written +read):\n%s", diff)
		}
	})
}

func TestStart(t *testing.T) {
	for _, c := range []struct {
		name string
		world
		argv    []string
		set     []string // variables of the environment
		unset   string
		display string
		args    []string
	}{
		{
			"a fixed port", world{typed: []string{"--start", "npm start", "http://localhost:3000/mcp"}},
			[]string{"npm", "start"}, []string{"LANG=C"}, "PORT",
			"http://localhost:3000/mcp (npm start)", []string{"--start", "npm start", "http://localhost:3000/mcp"},
		},
		{
			"a port in a variable", world{typed: []string{"--start", "npm start", "--env", "PORT={port}", "--env", "TOKEN=" + hidden, "http://localhost:{port}/mcp"}},
			[]string{"npm", "start"}, []string{"PORT=4711", "TOKEN=" + hidden, "LANG=C"}, "",
			"http://localhost:{port}/mcp (npm start)",
			[]string{"--env", "PORT={port}", "--env", "TOKEN", "--start", "npm start", "http://localhost:{port}/mcp"},
		},
		{
			"assignments before the command", world{typed: []string{"--start", "PORT={port} A='b c' serve", "--env", "A=x", "http://localhost:{port}/mcp"}},
			[]string{"serve"}, []string{"PORT=4711", "A=b c"}, "",
			"http://localhost:{port}/mcp (serve)",
			[]string{"--env", "A", "--start", "PORT={port} A='b c' serve", "http://localhost:{port}/mcp"},
		},
		{
			"a port in an argument, and a clean environment",
			world{typed: []string{"--start", `~/serve 'two words' "~" --port={port}`, "--clean-env", "--ready", "90s", "http://localhost:{port}/mcp"}},
			[]string{"HERE/home/serve", "two words", "~", "--port=4711"}, []string{"HOME=HERE/home"}, "LANG",
			"http://localhost:{port}/mcp (HERE/home/serve 'two words' '~' '--port={port}')",
			[]string{"--clean-env", "--start", `~/serve 'two words' "~" --port={port}`, "--ready", "1m30s", "http://localhost:{port}/mcp"},
		},
		{
			"a secret among the arguments", world{typed: []string{"--start", "serve --token " + hidden, "http://localhost:3000/mcp"}},
			[]string{"serve", "--token", hidden}, nil, "",
			"http://localhost:3000/mcp (serve --token REDACTED)",
			[]string{"--start", "serve --token REDACTED", "http://localhost:3000/mcp"},
		},
		{
			"what is inherited holds no mark", world{typed: []string{"--start", "serve {port}", "http://localhost:{port}/mcp"}, environ: []string{"PATH=/bin", "X={port}"}},
			[]string{"serve", "4711"}, []string{"X={port}"}, "",
			"http://localhost:{port}/mcp (serve '{port}')", []string{"--start", "serve {port}", "http://localhost:{port}/mcp"},
		},
		{
			"a file that has the URL",
			world{files: config(`{"mcpServers": {"a": {"url": "http://localhost:3000/mcp"}}}`), typed: []string{"--start", "serve", "--cwd", "HERE", "--config", "HERE/.mcp.json"}},
			[]string{"serve"}, nil, "",
			"http://localhost:3000/mcp (serve)", []string{"--start", "serve", "--config", "HERE/.mcp.json", "--server", "a", "--cwd", "HERE"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			target, here, err := c.resolve(t)
			if err != nil {
				t.Fatal(err)
			}
			argv, dir, env := target.Start.Command("4711")
			if diff := cmp.Diff(fill(c.argv, here), argv); diff != "" {
				t.Errorf("the command (-want +got):\n%s", diff)
			}
			if dir != here {
				t.Errorf("it starts in %s", dir)
			}
			for _, kv := range fill(c.set, here) {
				if !slices.Contains(env, kv) {
					t.Errorf("%s is not set, but %q", kv, env)
				}
			}
			if c.unset != "" && slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, c.unset+"=") }) {
				t.Errorf("%s is set", c.unset)
			}
			if diff := cmp.Diff(strings.ReplaceAll(c.display, "HERE", here), target.Display()); diff != "" {
				t.Errorf("it is shown (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(fill(c.args, here), target.Args()); diff != "" {
				t.Errorf("it is named again by (-want +got):\n%s", diff)
			}
			if got, want := target.URLAt("4711"), strings.ReplaceAll(target.URL, "{port}", "4711"); got != want || target.NeedsFreePort() != strings.Contains(target.URL, "{port}") {
				t.Errorf("the URL is %s", got)
			}
		})
	}
}
