package refserver_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// open does the handshake.
func (r *running) open(revision, capabilities string) {
	r.t.Helper()
	r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"open","method":"initialize","params":{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"test","version":"1"}}}`, revision, capabilities))
	if got := r.line(); !strings.Contains(got, `"protocolVersion":"`+revision+`"`) {
		r.t.Fatalf("initialize got %s", got)
	}
	r.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// TestScripts plays the conversations in testdata. A script is read line by
// line:
//
//	revisions: A B   runs it once for each; without it, for every one
//	open CAPS        does the handshake, declaring CAPS
//	> LINE           sends LINE; $REV stands for the revision
//	< JSON           what must come back
//	quiet            a ping shows that nothing else came
//
// Expectations that follow each other are met in any order. An expected
// object may leave members out, but for those of params, result and error
// that it names as "absent"; "*" is any value, and "$A", with any capital, the
// value that had this name before, or from now on. Everything that comes must
// have been expected.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.script")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts found: %v", err)
	}
	for _, file := range files {
		revisions, lines := script(t, file)
		for _, revision := range revisions {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".script")+"/"+revision, func(t *testing.T) {
				t.Parallel()
				start(t, refserver.Options{AskTimeout: scriptPatience}).play(lines, revision)
			})
		}
	}
}

// scriptPatience is short, for scripts in which the client never answers;
// the others answer at once.
const scriptPatience = 300 * time.Millisecond

// script reads a script: the revisions it is for, and its lines.
func script(t *testing.T, file string) (revisions, lines []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines = strings.Split(string(text), "\n")
	if names, ok := strings.CutPrefix(lines[0], "revisions: "); ok {
		lines[0] = ""
		return strings.Fields(names), lines
	}
	for _, r := range spec.HandshakeRevisions() {
		revisions = append(revisions, string(r))
	}
	return revisions, lines
}

func (r *running) play(lines []string, revision string) {
	var send []string
	var want []any
	named := names{}
	flush := func() {
		if len(send) > 0 {
			r.send(send...)
			send = nil
		}
		for len(want) > 0 {
			line := r.line()
			var got any
			if err := json.Unmarshal([]byte(line), &got); err != nil {
				r.t.Fatalf("%v in %s", err, line)
			}
			i := slices.IndexFunc(want, func(w any) bool { return named.fits(w, got) })
			if i < 0 {
				r.t.Fatalf("got  %s\nwant one of %s\nwith %s", line, show(want), show(named))
			}
			want = slices.Delete(want, i, i+1)
		}
	}
	for n, line := range lines {
		line = strings.ReplaceAll(line, "$REV", revision)
		verb, rest, _ := strings.Cut(line, " ")
		switch verb {
		case "", "#":
		case "open":
			flush()
			r.open(revision, rest)
		case ">":
			if len(want) > 0 {
				flush()
			}
			send = append(send, named.fill(rest))
		case "<":
			var w any
			if err := json.Unmarshal([]byte(rest), &w); err != nil {
				r.t.Fatalf("line %d: %v", n+1, err)
			}
			want = append(want, w)
		case "quiet":
			flush()
			send = []string{`{"jsonrpc":"2.0","id":"fence","method":"ping"}`}
			want = []any{map[string]any{"id": "fence", "result": map[string]any{}}}
			flush()
		default:
			r.t.Fatalf("line %d: %q is no verb", n+1, verb)
		}
	}
	flush()
}

func show(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// names are the values that a script has given a name, such as $A.
type names map[string]any

func isName(v any) bool {
	text, ok := v.(string)
	return ok && len(text) == 2 && text[0] == '$' && 'A' <= text[1] && text[1] <= 'Z'
}

// fill puts texts in the place of their names.
func (n names) fill(line string) string {
	for name, value := range n {
		if text, ok := value.(string); ok {
			line = strings.ReplaceAll(line, name, text)
		}
	}
	return line
}

// fits reports whether got is what a script wants, and only then keeps the
// names that it gave.
func (n names) fits(want, got any) bool {
	trial := maps.Clone(n)
	if !trial.match(want, got) {
		return false
	}
	maps.Copy(n, trial)
	return true
}

func (n names) match(want, got any) bool {
	switch want := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return false
		}
		for name, w := range want {
			v, present := g[name]
			if w == "absent" {
				if present {
					return false
				}
				continue
			}
			if !present || !n.match(w, v) {
				return false
			}
		}
		return true
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(want) {
			return false
		}
		for i := range want {
			if !n.match(want[i], g[i]) {
				return false
			}
		}
		return true
	default:
		if isName(want) {
			name := want.(string)
			if _, given := n[name]; !given {
				n[name] = got
			}
			return n[name] == got
		}
		return want == "*" || want == got
	}
}
