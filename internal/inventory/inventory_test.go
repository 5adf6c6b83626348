package inventory

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// pages returns the raw result for a list request with the given cursor, which
// is "(none)" for the first page. An empty result means an error response.
type pages func(method, cursor string) string

// takeInventory takes the inventory of a server with these capabilities and pages, and
// returns the requests that the server received.
func takeInventory(t *testing.T, config Config, capabilities string, p pages) (v *Inventory, asked []string) {
	t.Helper()
	return takeInventoryIn(t, spec.V20251125, config, capabilities, p)
}

func takeInventoryIn(t *testing.T, r spec.Revision, config Config, capabilities string, p pages) (v *Inventory, asked []string) {
	t.Helper()
	serve := func(_ context.Context, in io.Reader, out, _ io.Writer, _ <-chan string) int {
		for lines := bufio.NewScanner(in); lines.Scan(); {
			m := wire.Parse([]byte(lines.Text())).Messages[0]
			if m.Kind != wire.Request {
				continue
			}
			result := `{"protocolVersion":"2025-11-25","capabilities":` + capabilities + `,"serverInfo":{"name":"listed"}}`
			switch m.Method {
			case spec.MethodInitialize:
			case spec.MethodDiscover:
				result = `{"supportedVersions":["2026-07-28"],"capabilities":` + capabilities + `}`
			default:
				cursor, ok := wire.Text(wire.At(m.Params(), "/cursor"))
				if !ok {
					cursor = "(none)"
				}
				asked = append(asked, m.Method+" "+cursor)
				result = p(m.Method, cursor)
			}
			answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID.Raw(), result)
			if result == "" {
				answer = string(wire.NewError(m.ID, -32603, "no", nil))
			}
			_, _ = io.WriteString(out, answer+"\n")
		}
		return 0
	}
	c := connect(t, serve, r)
	v = Take(t.Context(), c, config)
	c.Close() // so that the server no longer appends to asked
	return v, asked
}

// connect starts a server and returns a conversation that is ready for requests. It is closed at the
// end of the test, or earlier by the caller.
func connect(t *testing.T, serve stdio.Serve, r spec.Revision) *client.Conversation {
	t.Helper()
	c, err := client.Open(t.Context(), stdio.InProcess("test", serve), client.Options{Revision: r})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if err := c.Handshake(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestEmptyCursorIsFollowed checks that an empty cursor is one like any other since 2026-07-28.
func TestEmptyCursorIsFollowed(t *testing.T) {
	v, asked := takeInventoryIn(t, spec.V20260728, Config{Policy: CallNone}, `{"tools":{}}`, func(_, cursor string) string {
		if cursor == "" {
			return `{"tools":[{"name":"b"}]}`
		}
		return `{"tools":[{"name":"a"}],"nextCursor":""}`
	})
	if diff := cmp.Diff([]string{"a", "b"}, names(v.Tools)); diff != "" || len(v.Incomplete) > 0 {
		t.Errorf("asked %v, incomplete %v, tools (-want +got):\n%s", asked, v.Incomplete, diff)
	}
}

func names(tools []Tool) []string {
	var out []string
	for _, t := range tools {
		out = append(out, t.Name)
	}
	return out
}

func TestTakeRequestsDeclaredLists(t *testing.T) {
	v, asked := takeInventory(t, Config{Policy: CallSafe}, `{"tools":{},"resources":{"subscribe":true},"prompts":{},"logging":{}}`, func(method, _ string) string {
		return map[string]string{
			"tools/list":               `{"tools":[{"name":"t","annotations":{"readOnlyHint":true}}]}`,
			"resources/list":           `{"resources":[{"uri":"u"}]}`,
			"resources/templates/list": `{"resourceTemplates":[{"uriTemplate":"u/{x}"}]}`,
			"prompts/list":             `{"prompts":[{"name":"p"}]}`,
		}[method]
	})
	wantAsked := []string{"tools/list (none)", "resources/list (none)", "resources/templates/list (none)", "prompts/list (none)"}
	if diff := cmp.Diff(wantAsked, asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	wantTools := []Tool{{Name: "t", ReadOnly: true, Raw: []byte(`{"name":"t","annotations":{"readOnlyHint":true}}`)}}
	if diff := cmp.Diff(wantTools, v.Tools, cmpopts.IgnoreUnexported(Tool{})); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	wantLists := [][]string{{"u"}, {"u/{x}"}, {"p"}}
	if diff := cmp.Diff(wantLists, [][]string{v.Resources, v.Templates, v.Prompts}); diff != "" || len(v.Incomplete) > 0 {
		t.Errorf("incomplete %v; lists (-want +got):\n%s", v.Incomplete, diff)
	}
	if v.Server.Name != "listed" || !v.Declares("resources.subscribe") || v.Declares("resources.listChanged") || v.Declares("completions") {
		t.Errorf("the server is %+v", v.Server)
	}
	if v, asked = takeInventory(t, Config{Policy: CallSafe}, `{"logging":{},"tools":false}`, nil); len(asked) > 0 || len(v.Incomplete) > 0 {
		t.Errorf("asked %v, incomplete %v", asked, v.Incomplete)
	}
}

func TestWalk(t *testing.T) {
	const circle, long, refused = "a cursor was repeated, so no further page was requested", "the list is very long, so no further page was requested", "the list was not answered with a result"
	page := func(name, next string) string {
		return fmt.Sprintf(`{"tools":[{"name":%q}],"nextCursor":%s}`, name, next)
	}
	for _, c := range []struct {
		name       string
		pages      pages
		tools      []string // nil: only count
		count      int
		asked      int
		incomplete string
	}{
		{"one page", func(_, _ string) string { return `{"tools":[{"name":"a"},{"name":"b"}]}` }, []string{"a", "b"}, 2, 1, ""},
		{"pages", func(_, cursor string) string {
			return map[string]string{"(none)": page("a", `"1"`), "1": page("b", `"2\u0000"`), "2\x00": `{"tools":[{"name":"c"}]}`}[cursor]
		}, []string{"a", "b", "c"}, 3, 3, ""},
		{"the cursor null", func(_, _ string) string { return page("a", "null") }, []string{"a"}, 1, 1, ""},
		{"a cursor that is not a string", func(_, _ string) string { return page("a", "7") }, []string{"a"}, 1, 1, ""},
		{"an empty cursor", func(_, _ string) string { return page("a", `""`) }, []string{"a"}, 1, 1, "the next cursor is an empty string, so no further page was requested"},
		{"the same cursor for ever", func(_, _ string) string { return page("a", `"1"`) }, []string{"a", "a"}, 2, 2, circle},
		{"a circle of two", func(_, cursor string) string {
			return map[string]string{"(none)": page("a", `"1"`), "1": page("b", `"2"`), "2": page("c", `"1"`)}[cursor]
		}, []string{"a", "b", "c"}, 3, 3, circle},
		{"no end", func(_, cursor string) string { return page("a", `"`+cursor+`+"`) }, nil, maxPages, maxPages, "the list did not end within 200 pages, so no further page was requested"},
		{"a last page just in time", func(_, cursor string) string {
			if len(cursor) == len("(none)")+maxPages-1 {
				return `{"tools":[{"name":"last"}]}`
			}
			return page("a", `"`+cursor+`+"`)
		}, nil, maxPages, maxPages, ""},
		{"an endless page", func(_, _ string) string {
			return `{"tools":[` + strings.Repeat(`{"name":"a"},`, maxItems) + `{"name":"b"}]}`
		}, nil, maxItems, 1, long},
		{"an error", func(_, _ string) string { return "" }, nil, 0, 1, refused},
		{"an error on the second page", func(_, cursor string) string {
			if cursor == "(none)" {
				return page("a", `"1"`)
			}
			return ""
		}, []string{"a"}, 1, 2, refused},
		{"items of all sorts", func(_, _ string) string {
			return `{"tools":[1,null,"x",[],{},{"name":null},{"name":7},{"name":""},{"name":"a","annotations":[]},{"name":"b","annotations":{"readOnlyHint":"true"}}]}`
		}, []string{"", "a", "b"}, 3, 1, ""},
		{"no list", func(_, _ string) string { return `{"tools":{"name":"a"}}` }, nil, 0, 1, ""},
		{"no object", func(_, _ string) string { return `[]` }, nil, 0, 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, asked := takeInventory(t, Config{Policy: CallNone}, `{"tools":{}}`, c.pages)
			got := names(v.Tools)
			if c.tools != nil {
				if diff := cmp.Diff(c.tools, got); diff != "" {
					t.Errorf("tools (-want +got):\n%s", diff)
				}
			}
			if len(got) != c.count || len(asked) != c.asked {
				t.Errorf("%d tools after %d requests", len(got), len(asked))
			}
			if v.Incomplete["tools/list"] != c.incomplete {
				t.Errorf("incomplete is %q", v.Incomplete)
			}
		})
	}
}

func TestCallable(t *testing.T) {
	tools := `{"tools":[{"name":"reads","annotations":{"readOnlyHint":true}},{"name":"writes","annotations":{"readOnlyHint":false}},{"name":"silent"},{"name":"odd","annotations":{"readOnlyHint":1}}]}`
	for policy, want := range map[Policy][]string{
		CallSafe: {"reads"}, CallAll: {"reads", "writes", "silent", "odd"}, CallNone: nil, "": nil, "unknown": nil,
	} {
		v, _ := takeInventory(t, Config{Policy: policy}, `{"tools":{}}`, func(_, _ string) string { return tools })
		if diff := cmp.Diff(want, names(v.Callable())); diff != "" {
			t.Errorf("%q lets call (-want +got):\n%s", policy, diff)
		}
		for _, name := range []string{"reads", "writes", "absent"} {
			tool, ok := v.Tool(name)
			if allowed := strings.Contains(strings.Join(want, " "), name); ok != allowed || ok && tool.Name != name {
				t.Errorf("%q gives the tool %s: %v", policy, name, ok)
			}
		}
	}
	if v := Empty(); v.Declares("tools") || v.Callable() != nil || v.Incomplete == nil {
		t.Errorf("of nothing the inventory is %+v", v)
	}
}
