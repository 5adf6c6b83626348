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

// A connection is a connection to a server, over any transport, on which a script is
// played.
type connection interface {
	send(lines ...string)
	nextLine() string
}

// initialize performs the handshake.
func (r *stdioServer) initialize(revision, capabilities string) {
	r.t.Helper()
	r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"open","method":"initialize","params":{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"test","version":"1"}}}`, revision, capabilities))
	if got := r.nextLine(); !strings.Contains(got, `"protocolVersion":"`+revision+`"`) {
		r.t.Fatalf("initialize got %s", got)
	}
	r.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// TestScripts plays the scripts in testdata. Each line of a script is blank or one of:
//
//	revisions: A B   (only the first line) runs the script in these revisions; by default in
//	                 all that have a handshake
//	# TEXT           is a comment
//	open CAPS        performs the handshake, declaring CAPS; in a stateless revision, $META
//	                 is replaced by a _meta member with CAPS from now on
//	> LINE           sends LINE; $REV is replaced by the revision
//	< JSON           expects a message
//	quiet            sends a ping, or server/discover, and expects no message before its
//	                 response
//
// Consecutive expectations may be met in any order. An expected object may omit
// members; the value "absent" means that the member must not exist. "*" matches any
// value. "$A", or any other capital, matches any value the first time and the same
// value from then on. A message that matches no expectation fails the test.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.script")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts found: %v", err)
	}
	for _, file := range files {
		revisions, lines := readScript(t, file)
		for _, revision := range revisions {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".script")+"/"+revision, func(t *testing.T) {
				t.Parallel()
				startStdio(t, refserver.Options{RequestTimeout: scriptTimeout}).play(lines, revision)
			})
		}
	}
}

// scriptTimeout is short, for scripts in which the client never responds.
const scriptTimeout = 300 * time.Millisecond

// readScript returns the revisions and the lines of a script.
func readScript(t *testing.T, file string) (revisions, lines []string) {
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

func (r *stdioServer) play(lines []string, revision string) {
	playScript(r.t, r, lines, revision)
}

func playScript(t *testing.T, r connection, lines []string, revision string) {
	t.Helper()
	var send []string
	var want []any
	named := bindings{}
	stateless := spec.Revision(revision).Era() == spec.Stateless
	meta := metaMember(revision, `{}`)
	flush := func() {
		if len(send) > 0 {
			r.send(send...)
			send = nil
		}
		for len(want) > 0 {
			line := r.nextLine()
			var got any
			if err := json.Unmarshal([]byte(line), &got); err != nil {
				t.Fatalf("%v in %s", err, line)
			}
			i := slices.IndexFunc(want, func(w any) bool { return named.matches(w, got) })
			if i < 0 {
				t.Fatalf("got  %s\nwant one of %s\nwith %s", line, toJSON(want), toJSON(named))
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
			if meta = metaMember(revision, rest); !stateless {
				r.(*stdioServer).initialize(revision, rest)
			}
		case ">":
			if len(want) > 0 {
				flush()
			}
			send = append(send, strings.ReplaceAll(named.substitute(rest), "$META", meta))
		case "<":
			var w any
			if err := json.Unmarshal([]byte(rest), &w); err != nil {
				t.Fatalf("line %d: %v", n+1, err)
			}
			want = append(want, w)
		case "quiet":
			flush()
			send = []string{`{"jsonrpc":"2.0","id":"fence","method":"ping"}`}
			if stateless {
				send = []string{`{"jsonrpc":"2.0","id":"fence","method":"server/discover","params":{` + meta + `}}`}
			}
			want = []any{map[string]any{"id": "fence", "result": map[string]any{}}}
			flush()
		default:
			t.Fatalf("line %d: unknown verb %q", n+1, verb)
		}
	}
	flush()
}

// metaMember returns a _meta member that declares capabilities.
func metaMember(revision, capabilities string) string {
	return fmt.Sprintf(`"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},`+
		`"io.modelcontextprotocol/clientCapabilities":%s}`, revision, capabilities)
}

func toJSON(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// bindings maps the names of a script, such as $A, to their values.
type bindings map[string]any

func isName(v any) bool {
	text, ok := v.(string)
	return ok && len(text) == 2 && text[0] == '$' && 'A' <= text[1] && text[1] <= 'Z'
}

// substitute replaces names with their string values.
func (n bindings) substitute(line string) string {
	for name, value := range n {
		if text, ok := value.(string); ok {
			line = strings.ReplaceAll(line, name, text)
		}
	}
	return line
}

// matches reports whether got matches want, and if so binds the names in want.
func (n bindings) matches(want, got any) bool {
	trial := maps.Clone(n)
	if !trial.match(want, got) {
		return false
	}
	maps.Copy(n, trial)
	return true
}

func (n bindings) match(want, got any) bool {
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
