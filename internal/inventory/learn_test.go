package inventory

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// oddTools are tools whose names do not reveal their roles.
const oddTools = `{"tools":[
	{"name":"t1","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}},
	{"name":"t2","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}},
	{"name":"t3","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}},
	{"name":"t4","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}},
	{"name":"t5","inputSchema":{"type":"object","required":["x"],"properties":{"x":{"pattern":"y"}}}},
	{"name":"t6","inputSchema":{"type":"object"}}
]}`

// oddServer serves oddTools: t1 is slow and reports progress, t2 logs, t3
// requests roots, t4 changes a resource, t5 cannot be called, and t6 never
// responds. One resource changes by itself.
func oddServer(called *[]string) stdio.Serve {
	return func(_ context.Context, in io.Reader, out, _ io.Writer, _ <-chan string) int {
		send := func(text string, args ...any) { _, _ = fmt.Fprintf(out, text+"\n", args...) }
		for lines := bufio.NewScanner(in); lines.Scan(); {
			m := wire.Parse([]byte(lines.Text())).Messages[0]
			if m.Kind != wire.Request {
				continue
			}
			result := `{}`
			switch m.Method {
			case spec.MethodInitialize:
				result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{},"resources":{"subscribe":true}},"serverInfo":{"name":"odd"}}`
			case spec.MethodToolsList:
				result = oneLine(oddTools)
			case spec.MethodResourcesList:
				result = `{"resources":[{"uri":"a://1","name":"1"},{"uri":"a://2","name":"2"}]}`
			case spec.MethodResourcesTemplates:
				result = `{"resourceTemplates":[]}`
			case spec.MethodToolsCall:
				name, _ := wire.Text(wire.At(m.Params(), "/name"))
				*called = append(*called, name+" "+string(wire.At(m.Params(), "/arguments")))
				result = `{"content":[]}`
				switch name {
				case "t1":
					for n := range 2 {
						time.Sleep(slowTime / 2)
						send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, wire.At(m.Params(), "/_meta/progressToken"), n)
					}
					send(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a://2"}}`)
				case "t2":
					send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`)
					send(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a://2"}}`)
				case "t3":
					send(`{"jsonrpc":"2.0","id":"r","method":"roots/list"}`)
				case "t4":
					send(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a://1"}}`)
				case "t6":
					continue
				}
			}
			send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID.Raw(), result)
		}
		return 0
	}
}

func oneLine(text string) string { return strings.ReplaceAll(text, "\n", "") }

func TestLearn(t *testing.T) {
	var called []string
	c := connect(t, oddServer(&called), spec.V20251125)
	v := Take(t.Context(), c, Config{Policy: CallAll})
	if v.HasCall(Slow) {
		t.Error("a slow tool is known before any was called")
	}
	learned := v.Learn(t.Context(), c)
	c.Close()

	v.SetLearned(func() []Learned { return learned })
	got := map[Role]string{}
	for _, role := range Roles() {
		for _, k := range v.KnownCalls(role) {
			got[role] += k.Tool + " " + string(wire.JSON(k.Arguments)) + " "
			if k.IsPromised || k.IsConfigured {
				t.Errorf("%s is taken for configured by the user", k.Tool)
			}
		}
	}
	want := map[Role]string{
		Slow: "t1 {} ", Progress: "t1 {} ", Logging: "t2 {} ", AsksRoots: "t3 {} ", ChangesResource: `t4 {"text":"text 1"} `,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("roles (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"t1 {}", "t2 {}", "t3 {}", `t4 {"text":"text"}`, "t6 {}", `t4 {"text":"text 2"}`}, called); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if tools := v.AskingTools(AsksRoots); len(tools) != 1 || tools[0].Name != "t3" {
		t.Errorf("askers: %v", tools)
	}
}

// longServer serves two tools that report progress: a responds after 2 s, and b never.
func longServer(_ context.Context, in io.Reader, out, _ io.Writer, _ <-chan string) int {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		m := wire.Parse([]byte(lines.Text())).Messages[0]
		result := `{}`
		switch name, _ := wire.Text(wire.At(m.Params(), "/name")); m.Method {
		case spec.MethodInitialize:
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"long"}}`
		case spec.MethodToolsList:
			result = `{"tools":[{"name":"a","inputSchema":{"type":"object"}},{"name":"b","inputSchema":{"type":"object"}}]}`
		case spec.MethodToolsCall:
			for n := range 2 {
				_, _ = fmt.Fprintf(out, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`+"\n", wire.At(m.Params(), "/_meta/progressToken"), n)
			}
			if name == "b" {
				continue
			}
			go func() {
				time.Sleep(2 * time.Second)
				_, _ = fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`+"\n", m.ID.Raw())
			}()
			continue
		}
		if m.Kind == wire.Request {
			_, _ = fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID.Raw(), result)
		}
	}
	return 0
}

// learnFrom returns what calls of all tools show of a server.
func learnFrom(t *testing.T, serve stdio.Serve, revision spec.Revision) []Learned {
	t.Helper()
	c := connect(t, serve, revision)
	return Take(t.Context(), c, Config{Policy: CallAll}).Learn(t.Context(), c)
}

// TestLearnLong checks that the calls which take longer than the limit are known to be long, the
// one that ended with its duration, and that none of them counts as slow.
func TestLearnLong(t *testing.T) {
	t.Parallel()
	got := map[Role]map[string]bool{}
	for _, l := range learnFrom(t, longServer, spec.V20251125) {
		if got[l.Role] == nil {
			got[l.Role] = map[string]bool{}
		}
		got[l.Role][l.Tool] = l.takes >= 2*time.Second
	}
	if diff := cmp.Diff(map[Role]map[string]bool{Long: {"a": true, "b": false}, Progress: {"a": true}}, got); diff != "" {
		t.Errorf("roles, and whether the calls ended (-want +got):\n%s", diff)
	}
}

func TestLearnsNothing(t *testing.T) {
	for name, config := range map[string]Config{
		"no tool may be called":             {Policy: CallNone},
		"the user configured it":            {Policy: CallNone, Fixtures: []Fixture{{Role: Logging, Tool: "t1"}}},
		"only a configured tool is unknown": {Policy: CallNone, Call: []string{"t5"}},
	} {
		t.Run(name, func(t *testing.T) {
			v, _ := takeInventory(t, config, `{"tools":{}}`, func(string, string) string { return oneLine(oddTools) })
			v.SetLearned(func() []Learned { t.Error("calls were made"); return nil })
			if v.HasCall(Slow) {
				t.Error("a slow tool is known")
			}
		})
	}
}

// statelessServer serves three tools in 2026-07-28: a changes the tools, b logs if the request asks
// for it, and c updates a resource. It sends changes to the subscription that requests them.
func statelessServer(_ context.Context, in io.Reader, out, _ io.Writer, _ <-chan string) int {
	send := func(text string, args ...any) { _, _ = fmt.Fprintf(out, text+"\n", args...) }
	var listening wire.ID
	notify := func(method, more string) {
		send(`{"jsonrpc":"2.0","method":%q,"params":{%s"_meta":{%q:%s}}}`, method, more, spec.MetaSubscriptionID, listening.Raw())
	}
	const cached = `,"resultType":"complete","ttlMs":0,"cacheScope":"public"`
	for lines := bufio.NewScanner(in); lines.Scan(); {
		m := wire.Parse([]byte(lines.Text())).Messages[0]
		if m.Kind != wire.Request {
			continue
		}
		result := ""
		switch name, _ := wire.Text(wire.At(m.Params(), "/name")); m.Method {
		case spec.MethodDiscover:
			result = `"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"logging":{},"resources":{"subscribe":true}}`
		case spec.MethodToolsList:
			result = `"tools":[{"name":"a","inputSchema":{"type":"object"}},{"name":"b","inputSchema":{"type":"object"}},{"name":"c","inputSchema":{"type":"object"}}]`
		case spec.MethodResourcesList:
			result = `"resources":[{"uri":"a://1","name":"1"}]`
		case spec.MethodResourcesTemplates:
			result = `"resourceTemplates":[]`
		case spec.MethodListen:
			listening = m.ID
			filter := wire.At(m.Params(), "/notifications")
			notify(spec.MethodAcknowledged, `"notifications":`+string(filter)+",")
			continue
		case spec.MethodToolsCall:
			result = `"content":[]`
			switch {
			case name == "a":
				notify(spec.MethodToolsChanged, "")
			case name == "b" && wire.At(m.Params(), spec.MetaPointer(spec.MetaLogLevel)) != nil:
				send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`)
			case name == "c":
				notify(spec.MethodResourcesUpdated, `"uri":"a://1",`)
			}
		}
		send(`{"jsonrpc":"2.0","id":%s,"result":{%s%s}}`, m.ID.Raw(), result, cached)
	}
	return 0
}

// TestLearnStateless checks that in 2026-07-28, too, calls show which tools log and which change
// something, though the server sends neither unless it is requested.
func TestLearnStateless(t *testing.T) {
	got := map[Role]string{}
	for _, l := range learnFrom(t, statelessServer, spec.V20260728) {
		got[l.Role] += l.Tool + l.Resource
	}
	if diff := cmp.Diff(map[Role]string{ChangesTools: "a", Logging: "b", ChangesResource: "ca://1"}, got); diff != "" {
		t.Errorf("roles (-want +got):\n%s", diff)
	}
}
