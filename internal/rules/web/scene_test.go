package web_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/rules/web"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// scene is what follows the handshake, and what is found in it. Lines that
// begin with = stand for exchanges as they usually are:
//
//	= post N BODY      a POST with all headers; = get N, = delete N and = init N
//	                   likewise
//	= json N BODY      answered with 200 and JSON
//	= sse N            answered with 200 and an event stream
//	= status N STATUS  answered without a body
//	= hello            the handshake, in the exchanges 901 and 902
//
// A line below them that begins with + is one more header; - takes one away.
type scene struct {
	name     string
	revision spec.Revision // 2025-11-25 where empty
	script   string
	want     []string // "requirement outcome", sorted
}

const session = "7f3c9a52-41d8-4b60-9e0c-5d2f8a1b6c34"

func (s scene) rev() spec.Revision {
	if s.revision == "" {
		return spec.V20251125
	}
	return s.revision
}

// expand writes the lines that begin with = in full.
func expand(rev spec.Revision, script string) string {
	var out []string
	for _, line := range strings.Split(script, "\n") {
		line = strings.TrimLeft(line, "\t")
		switch word, rest, _ := strings.Cut(line, " "); word {
		case "=":
			out = append(out, exchange(rev, rest)...)
		case "+":
			out = slices.Insert(out, headEnd(out), "    "+rest)
		case "-":
			for i := headEnd(out) - 1; strings.HasPrefix(out[i], "    "); i-- {
				if strings.HasPrefix(out[i], "    "+rest+":") {
					out = slices.Delete(out, i, i+1)
					break
				}
			}
		default:
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

// headEnd returns where the last head of a request ends.
func headEnd(lines []string) int {
	for i := len(lines) - 1; i >= 0; i-- {
		if strings.HasPrefix(lines[i], "    ") {
			return i + 1
		}
	}
	return len(lines)
}

func exchange(rev spec.Revision, text string) []string {
	what, rest, _ := strings.Cut(text, " ")
	n, rest, _ := strings.Cut(rest, " ")
	host := "    Host: localhost:3000"
	own := []string{host, "    Mcp-Session-Id: " + session, "    MCP-Protocol-Version: " + string(rev)}
	if rev == spec.V20250326 {
		own = own[:2]
	}
	both := []string{"    Accept: application/json, text/event-stream", "    Content-Type: application/json"}
	switch what {
	case "post":
		return slices.Concat([]string{n + "> POST /mcp HTTP/1.1"}, own, both, []string{n + ">> " + rest})
	case "get":
		return slices.Concat([]string{n + "> GET /mcp HTTP/1.1"}, own, []string{"    Accept: text/event-stream"})
	case "delete":
		return slices.Concat([]string{n + "> DELETE /mcp HTTP/1.1"}, own)
	case "init":
		return slices.Concat([]string{n + "> POST /mcp HTTP/1.1", host}, both, []string{
			fmt.Sprintf(`%s>> {"jsonrpc":"2.0","id":"i%[1]s","method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, n, rev),
		})
	case "json":
		return []string{n + "< HTTP/1.1 200 OK", "    Content-Type: application/json", n + "<< " + rest, n + "! complete"}
	case "sse":
		return []string{n + "< HTTP/1.1 200 OK", "    Content-Type: text/event-stream"}
	case "status":
		return []string{n + "< HTTP/1.1 " + rest, n + "! complete"}
	case "hello":
		welcome := fmt.Sprintf(`{"jsonrpc":"2.0","id":"i901","result":{"protocolVersion":%q,"capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}}`, rev)
		return slices.Concat(exchange(rev, "init 901"), []string{"901< HTTP/1.1 200 OK", "    Content-Type: application/json", "    Mcp-Session-Id: " + session, "901<< " + welcome, "901! complete"},
			exchange(rev, `post 902 {"jsonrpc":"2.0","method":"notifications/initialized"}`), exchange(rev, "status 902 202 Accepted"))
	default:
		panic("unknown line = " + text)
	}
}

// all are the rules that look at any transcript, and those of the package.
func all() []rules.Rule { return slices.Concat(rules.Base(), web.Rules()) }

func judge(t *testing.T, rev spec.Revision, transport spec.Transport, script string) ([]rules.Result, []*transcript.Event) {
	t.Helper()
	r, err := transcript.ParseScript(script)
	if err != nil {
		t.Fatalf("%v, of\n%s", err, script)
	}
	return rules.Judge(all(), r.Events, rev, transport), r.Events
}

// said returns the findings, one for all deviations with the same summary.
func said(results []rules.Result) []string {
	var out []string
	seen := map[string]bool{}
	for _, r := range results {
		q := spec.Requirements().Lookup(r.Requirement)
		for _, d := range r.Deviations {
			if key := r.Requirement + d.Summary; !seen[key] {
				seen[key] = true
				out = append(out, r.Requirement+" "+d.Outcome(q, r.Revision).String())
			}
		}
	}
	slices.Sort(out)
	return out
}

func run(t *testing.T, scenes []scene) {
	t.Helper()
	for _, s := range scenes {
		t.Run(s.name, func(t *testing.T) {
			results, events := judge(t, s.rev(), spec.StreamableHTTP, expand(s.rev(), s.script))
			if diff := cmp.Diff(s.want, said(results)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			for _, r := range results {
				for _, d := range r.Deviations {
					if !strings.HasSuffix(d.Summary, ".") || d.Permitted == "" || d.Seen == "" {
						t.Errorf("a deviation is not told in full: %+v", d)
					}
					if len(d.At) == 0 || !slices.IsSorted(d.At) || d.At[0] < 0 || slices.Max(d.At) >= len(events) {
						t.Errorf("%s: positions %v of %d events", d.Summary, d.At, len(events))
					}
				}
			}
		})
	}
}
