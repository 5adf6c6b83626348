package target

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/redact"
)

// value draws a JSON value whose strings contain the syntax characters of JSONC.
func value(depth int) *rapid.Generator[any] {
	text := rapid.StringOfN(rapid.SampledFrom([]rune(`/*,]}[{:"\ ä`+"\n")), 0, 8, -1)
	leaf := rapid.OneOf(rapid.Just(any(nil)), rapid.Map(rapid.Bool(), toAny), rapid.Map(rapid.Float64Range(-1e6, 1e6), toAny), rapid.Map(text, toAny))
	if depth == 0 {
		return leaf
	}
	return rapid.OneOf(leaf,
		rapid.Map(rapid.SliceOfN(value(depth-1), 0, 4), toAny),
		rapid.Map(rapid.MapOfN(text, value(depth-1), 0, 4), toAny))
}

func toAny[T any](v T) any { return v }

func TestPlainJSONLeavesJSONAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, err := json.MarshalIndent(value(3).Draw(t, "value"), "", rapid.SampledFrom([]string{"", "\t"}).Draw(t, "indent"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(text), string(standardizeJSON(text))); diff != "" {
			t.Fatalf("JSON was changed:\n%s", diff)
		}
	})
}

// TestPlainJSONKeepsMeaning inserts comments and trailing commas into JSON, and
// checks that standardizeJSON removes them without changing the value.
func TestPlainJSONKeepsMeaning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := value(3).Draw(t, "value")
		space := rapid.SampledFrom([]string{"", " ", "\n", "// \" ] , *\n", "/* , } \" // */", "/**/", "/*\n*/ "})
		comma := rapid.SampledFrom([]string{"", ","})
		var write func(v any) string
		write = func(v any) string {
			gap := func() string { return space.Draw(t, "space") }
			var items []string
			open, shut := "[", "]"
			switch v := v.(type) {
			case []any:
				for _, item := range v {
					items = append(items, write(item))
				}
			case map[string]any:
				open, shut = "{", "}"
				for name, item := range v {
					items = append(items, gap()+marshal(name)+gap()+":"+write(item))
				}
				slices.Sort(items)
			default:
				return gap() + marshal(v) + gap()
			}
			text := gap() + open + strings.Join(items, ",") + gap()
			if len(items) > 0 {
				text += comma.Draw(t, "comma") + gap()
			}
			return text + shut + gap()
		}
		text := write(v)
		plain := standardizeJSON([]byte(text))
		if len(plain) != len(text) {
			t.Fatalf("places moved: %q became %q", text, plain)
		}
		for i := range plain {
			if plain[i] != text[i] && (plain[i] != ' ' || text[i] == '\n') {
				t.Fatalf("byte %d of %q became %q", i, text, plain)
			}
		}
		var got any
		if err := json.Unmarshal(plain, &got); err != nil {
			t.Fatalf("%q became %q: %v", text, plain, err)
		}
		if diff := cmp.Diff(marshal(v), marshal(got)); diff != "" {
			t.Fatalf("%q became %q:\n%s", text, plain, diff)
		}
	})
}

func marshal(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// TestSecretsStayHidden puts a secret in every place where there can be one, and checks
// that no output for people contains it.
func TestSecretsStayHidden(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[a-z][A-Za-z0-9]{10,20}9`).Draw(t, "secret")
		issued := rapid.SampledFrom([]string{"sk-", "ghp_", "github_pat_", "sbp_", "xoxb-", "glpat-", "npm_"}).Draw(t, "prefix") + secret
		forms := [][]string{
			{"--token=" + secret}, {"--token", secret}, {"--figma-api-key=" + secret}, {"--access-token", secret}, {"-password", secret},
			{"--dbPassword=" + secret}, {"-e", "API_KEY=" + secret}, {"--header", "Authorization: Bearer " + secret}, {"--header=X-Api-Key: " + secret},
			{"Bearer " + secret}, {"postgres://me:" + secret + "@h/db"}, {"http://h/?a=b&access_token=" + secret + "#x"}, {"Server=h;Password=" + secret + ";User=u"},
			{`{"a": 1, "apiKey": "` + secret + `"}`}, {issued}, {"--x=" + issued}, {"a," + issued + ",b"}, {"eyJhbGciOiJI." + secret + ".c2ln"},
			{"--header=Authorization: Bearer " + secret}, {"--header=Authorization=Bearer " + secret}, {"npx a --header 'Authorization: Bearer " + secret + "' --b"},
			{`{"headers":{"Authorization":"Bearer ` + secret + `"}}`}, {"curl -H 'Cookie: a=b; sid=" + secret + "'"}, {"--header=Cookie: a=b; sid=" + secret},
		}
		form := rapid.SampledFrom(forms).Draw(t, "form")
		argv := slices.Concat([]string{"server", "--verbose"}, form, []string{"--port", "80"})
		target, err := Resolve(Options{Dash: 0, Args: argv, Environ: []string{"PATH=/bin"}, Getwd: func() (string, error) { return "/nowhere", nil }})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(target.Argv, argv) {
			t.Fatalf("argv was changed: %q", target.Argv)
		}
		shown := target.Display() + "\n" + target.Name + "\n" + strings.Join(target.Args(), "\n")
		if strings.Contains(shown, secret) {
			t.Fatalf("the secret %s is shown: %s", secret, shown)
		}
		if !strings.Contains(shown, "--port 80") || !strings.Contains(shown, "server --verbose") {
			t.Fatalf("more than the secret is hidden: %s", shown)
		}
		if !slices.ContainsFunc(target.secrets.List(), func(s string) bool { return strings.Contains(s, secret) }) {
			t.Fatalf("the secret %s is none of %q", secret, target.secrets.List())
		}
	})
}

// TestInnocentArgumentsStay checks that replay commands keep ordinary arguments: users have
// to type redacted ones again.
func TestInnocentArgumentsStay(t *testing.T) {
	args := []string{
		"-y", "@scope/sk-learn-mcp-server", "@modelcontextprotocol/server-everything", "npx", "--max-token-count=5", "--no-token", "x", "--port", "8080",
		"host:8080", "-v", "key:/data", "C:\\work", "--mode=fast", "git+ssh://git@github.com/a/b", "http://localhost:3000/mcp?session=1", "--keyboard=de",
		"a=b", "--token-limit", "100", "", "--", "monkey", "monkey=banana", "server@2026.8.31", "--auth-mode", "none", "{\"level\": \"high\"}", "task-aaaaaaaaaaaaaaaa1",
	}
	if diff := cmp.Diff(args, new(redact.Secrets).RedactArgs(args)); diff != "" {
		t.Errorf("redacted (-given +shown):\n%s", diff)
	}
}

// TestArgsNameTheTargetAgain checks that resolving the result of Args gives the same target.
func TestArgsNameTheTargetAgain(t *testing.T) {
	word := rapid.OneOf(rapid.SampledFrom([]string{"--", "--env", "--config", "-y", "a b", "", "$X", "'", "https://h/x"}), rapid.StringMatching(`[ -~ä]{1,6}`))
	environ := []string{"PATH=/bin", "A=1", "B=2"}
	// Redacted arguments can't be resolved again.
	words := rapid.SliceOfN(word, 0, 5).Filter(func(argv []string) bool {
		return slices.Equal(new(redact.Secrets).RedactArgs(argv), argv)
	})
	rapid.Check(t, func(t *rapid.T) {
		argv := append([]string{"server"}, words.Draw(t, "argv")...)
		o := Options{Args: argv, Env: rapid.SliceOf(rapid.SampledFrom([]string{"A", "B", "A=1"})).Draw(t, "env"), CleanEnv: rapid.Bool().Draw(t, "clean")}
		o.Environ, o.Getwd = environ, func() (string, error) { return "/nowhere", nil }
		first, err := Resolve(o)
		if err != nil {
			t.Fatal(err)
		}
		again := options(first.Args())
		again.Environ, again.Getwd = environ, o.Getwd
		second, err := Resolve(again)
		if err != nil {
			t.Fatalf("%q: %v", first.Args(), err)
		}
		if diff := cmp.Diff(look(first, "\x00"), look(second, "\x00")); diff != "" {
			t.Fatalf("%q names another target:\n%s", first.Args(), diff)
		}
	})
}

// TestDamagedConfigurationFiles changes a valid file at any position, and checks that the result
// is a target or an error for the user.
func TestDamagedConfigurationFiles(t *testing.T) {
	good := `{"inputs": [{"id": "a", "default": "b", "options": ["b"]}], /* c */ "mcp": {"servers": {"s": {"command": "s"}}},
		"servers": {"s": {"type": "stdio", "command": "s", "args": ["${input:a}", "${env:A}"], "env": {"A": null, "B": 1, "C": "${userHome}"}, "cwd": "/",},},} // end`
	piece := rapid.SampledFrom([]string{"", "{", "}", "[", "]", ",", ":", `"`, "/*", "//", "null", "1", "\\", "${", "\x00", "\xff", "\n"})
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.IntRange(0, len(good)).Draw(t, "from")
		to := min(len(good), from+rapid.IntRange(0, 9).Draw(t, "length"))
		text := good[:from] + piece.Draw(t, "piece") + good[to:]
		doc, err := parseDocument([]byte(text), "f.json")
		var entries []entry
		if err == nil {
			entries, err = doc.servers()
		}
		var e entry
		if err == nil {
			e, err = selectEntry(entries, "s", "f.json")
		}
		if err == nil {
			r := &resolver{here: "/", outer: newEnviron([]string{"A=1", "HOME=/h"}, "linux"), secrets: &redact.Secrets{}, Options: Options{goos: "linux"}}
			_, err = r.entryTarget(e, "test")
		}
		var usage *UsageError
		if err != nil && (!errors.As(err, &usage) || usage.Advice == "") {
			t.Fatalf("%q: %#v", text, err)
		}
	})
}
