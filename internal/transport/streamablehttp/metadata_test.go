package streamablehttp_test

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const tools = `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"query","inputSchema":{"type":"object","properties":{` +
	`"region":{"type":"string","x-mcp-header":"Region"},"sql":{"type":"string"},"deep":{"type":"object","properties":{"limit":{"type":"integer","x-mcp-header":"Limit"}}},` +
	`"dry":{"type":"boolean","x-mcp-header":"Dry"}}}}]}}`

// TestMetadataHeaders checks that the headers of a POST repeat members of the message in
// 2026-07-28, and that those of the handshake era do not.
func TestMetadataHeaders(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	request := func(method, params string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s%s}}`, method, params, meta)
	}
	call := func(arguments string) string {
		return request("tools/call", `"name":"query","arguments":{`+arguments+`},`)
	}
	for _, c := range []struct {
		name string
		body string
		want map[string]string
	}{
		{"method", request("tools/list", ""), map[string]string{"Mcp-Method": "tools/list"}},
		{"name", request("prompts/get", `"name":"greet",`), map[string]string{"Mcp-Method": "prompts/get", "Mcp-Name": "greet"}},
		{"uri", request("resources/read", `"uri":"file:///a",`), map[string]string{"Mcp-Method": "resources/read", "Mcp-Name": "file:///a"}},
		{"name beyond ASCII", request("prompts/get", `"name":"grüß",`), map[string]string{"Mcp-Method": "prompts/get", "Mcp-Name": "=?base64?Z3LDvMOf?="}},
		{"name with a space at its end", request("prompts/get", `"name":"a ",`), map[string]string{"Mcp-Method": "prompts/get", "Mcp-Name": "=?base64?YSA=?="}},
		{"name like an encoded one", request("prompts/get", `"name":"=?base64?YQ==?=",`), map[string]string{"Mcp-Method": "prompts/get", "Mcp-Name": "=?base64?PT9iYXNlNjQ/WVE9PT89?="}},
		{"no name", request("prompts/get", ""), map[string]string{"Mcp-Method": "prompts/get"}},
		{"method with a newline", request("a\nb", ""), map[string]string{"Mcp-Method": "ab"}},
		{"arguments", call(`"region":"eu","sql":"select","deep":{"limit":42},"dry":true`), map[string]string{
			"Mcp-Method": "tools/call", "Mcp-Name": "query", "Mcp-Param-Region": "eu", "Mcp-Param-Limit": "42", "Mcp-Param-Dry": "true",
		}},
		{"null and absent arguments", call(`"region":null`), map[string]string{"Mcp-Method": "tools/call", "Mcp-Name": "query"}},
		{"no metadata", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, map[string]string{"Mcp-Method": "tools/list"}},
		{"another version", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01"}}}`, map[string]string{"Mcp-Method": "tools/list", "MCP-Protocol-Version": "2099-01-01"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := headersOf(t, request("tools/list", ""), c.body)
			if c.want["MCP-Protocol-Version"] == "" {
				c.want["MCP-Protocol-Version"] = "2026-07-28"
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("headers (-want +got):\n%s", diff)
			}
		})
	}
	handshake := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`
	if got := headersOf(t, handshake, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`); len(got) > 0 {
		t.Errorf("in the handshake era: %v", got)
	}
}

// headersOf sends two messages and returns those headers of the second that repeat its
// members.
func headersOf(t *testing.T, first, second string) map[string]string {
	t.Helper()
	var mu sync.Mutex
	var last http.Header
	l, rec := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		mu.Lock()
		last = r.Header
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, tools)
	}))
	for n, body := range []string{first, second} {
		send(t, l, body)
		answered := 0
		await(t, rec, func(e *transcript.Event) bool {
			if responds("1")(e) {
				answered++
			}
			return answered > n
		})
	}
	got := map[string]string{}
	mu.Lock()
	defer mu.Unlock()
	for _, name := range []string{"MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Param-Region", "Mcp-Param-Limit", "Mcp-Param-Dry"} {
		if v, there := last[http.CanonicalHeaderKey(name)]; there {
			got[name] = v[0]
		}
	}
	return got
}

// TestCloseResponse checks that closing the response of a request ends only that exchange, and that
// the reason is recorded.
func TestCloseResponse(t *testing.T) {
	gone := make(chan struct{})
	l, record := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	}))
	send(t, l, `{"jsonrpc":"2.0","id":"x","method":"subscriptions/listen"}`)
	if l.CloseResponse(wire.IntID(1), "") {
		t.Error("a request that was never sent has a response to close")
	}
	if !l.CloseResponse(wire.StringID("x"), "too late") {
		t.Error("the request has no response to close")
	}
	await(t, record, func(e *transcript.Event) bool { return e.Kind == transcript.Over && e.Reason == "too late" })
	<-gone
}

// TestCloseResponseAfterRedirect checks that closing the response ends the exchange to which the
// request was redirected.
func TestCloseResponseAfterRedirect(t *testing.T) {
	arrived, gone := make(chan struct{}), make(chan struct{})
	l, record := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		if r.URL.Path != "/moved" {
			http.Redirect(w, r, "/moved", http.StatusTemporaryRedirect)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		close(arrived)
		<-r.Context().Done()
		close(gone)
	}))
	send(t, l, `{"jsonrpc":"2.0","id":"x","method":"subscriptions/listen"}`)
	<-arrived
	for open := true; open; { // the link may learn of the second exchange later than the server
		l.CloseResponse(wire.StringID("x"), "too late")
		select {
		case <-gone:
			open = false
		case <-time.After(time.Millisecond):
		}
	}
	await(t, record, func(e *transcript.Event) bool { return e.Kind == transcript.Over && e.Reason == "too late" })
}
