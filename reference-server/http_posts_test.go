package refserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

const stateless = string(spec.V20260728)

// A poster sends each message in a POST of its own, with the headers that revision
// 2026-07-28 requires, and collects the messages of all responses.
type poster struct {
	t     *testing.T
	url   string
	lines chan string
	posts sync.WaitGroup
}

// startHTTP starts a server over Streamable HTTP, which runs until the test ends.
func startHTTP(t *testing.T, o refserver.Options) *poster {
	h := refserver.NewHTTPHandler(t.Context(), o)
	server := httptest.NewServer(h)
	p := &poster{t: t, url: server.URL + "/mcp", lines: make(chan string, 10_000)}
	t.Cleanup(func() {
		h.Close()
		p.posts.Wait()
		server.Close()
	})
	return p
}

// mirrored returns the headers that repeat members of the message, in the form that
// httpClient.request takes.
func mirrored(line string) []string {
	var m struct {
		Method string
		Params struct {
			Meta      map[string]any `json:"_meta"`
			Name, URI *string
			Arguments map[string]any
		}
	}
	_ = json.Unmarshal([]byte(line), &m) // a malformed message has no headers
	headers := []string{"Mcp-Method: " + m.Method, "MCP-Protocol-Version: " + stateless}
	if v, ok := m.Params.Meta["io.modelcontextprotocol/protocolVersion"].(string); ok {
		headers[1] = "MCP-Protocol-Version: " + v
	}
	switch {
	case m.Method == spec.MethodResourcesRead && m.Params.URI != nil:
		headers = append(headers, "Mcp-Name: "+*m.Params.URI)
	case m.Params.Name != nil && (m.Method == spec.MethodToolsCall || m.Method == spec.MethodPromptsGet):
		headers = append(headers, "Mcp-Name: "+*m.Params.Name)
	}
	for name, header := range map[string]string{"region": "Region", "priority": "Priority", "dryRun": "Dry-Run"} {
		if v := m.Params.Arguments[name]; v != nil {
			headers = append(headers, fmt.Sprintf("Mcp-Param-%s: %v", header, v))
		}
	}
	return headers
}

// send posts each line, all at once.
func (p *poster) send(lines ...string) {
	p.t.Helper()
	for _, line := range lines {
		r := (&httpClient{t: p.t, url: p.url}).request("POST", line, mirrored(line)...)
		p.posts.Go(func() {
			w, err := http.DefaultClient.Do(r)
			if err != nil {
				return // the test is over
			}
			defer w.Body.Close()
			if w.Header.Get("Content-Type") != "text/event-stream" {
				if body, _ := io.ReadAll(w.Body); len(body) > 0 {
					p.lines <- string(body)
				}
				return
			}
			for in := bufio.NewScanner(w.Body); in.Scan(); {
				if data, ok := strings.CutPrefix(in.Text(), "data: "); ok {
					p.lines <- data
				}
			}
		})
	}
}

func (p *poster) nextLine() string {
	p.t.Helper()
	select {
	case line := <-p.lines:
		return line
	case <-time.After(testTimeout):
		p.t.Fatal("the server sends nothing")
		return ""
	}
}

// TestScriptsOverHTTP plays the scripts of the stateless era over Streamable HTTP,
// except those about stdio.
func TestScriptsOverHTTP(t *testing.T) {
	files, err := filepath.Glob("testdata/stateless-*.script")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts found: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".script")
		if strings.HasSuffix(name, "-stdio") {
			continue
		}
		_, lines := readScript(t, file)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			playScript(t, startHTTP(t, refserver.Options{}), lines, stateless)
		})
		if strings.HasSuffix(name, "-streams") || name == "stateless-first" {
			continue // without a stream there are neither log messages nor progress
		}
		t.Run(name+"/JSON", func(t *testing.T) {
			t.Parallel()
			playScript(t, startHTTP(t, refserver.Options{JSONOnly: true}), lines, stateless)
		})
	}
}

// metaOnly is the _meta member of a client without capabilities.
var metaOnly = metaMember(stateless, `{}`)

// TestStatelessStatuses checks the HTTP status and the error code of invalid requests,
// and that some odd but valid requests get a result.
func TestStatelessStatuses(t *testing.T) {
	p := startHTTP(t, refserver.Options{})
	client := &httpClient{t: t, url: p.url}
	request := func(method, params string) string {
		if params != "" {
			params += ","
		}
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":"x","method":%q,"params":{%s%s}}`, method, params, metaOnly)
	}
	list, discover := request("tools/list", ""), request("server/discover", "")
	echo := request("tools/call", `"name":"echo","arguments":{"text":"a"}`)
	greeting := request("resources/read", `"uri":"demo://greetings/de/Günther"`)
	route := func(arguments string) string {
		return request("tools/call", `"name":"route","arguments":{`+arguments+`}`)
	}
	const (
		mismatch    = -32020
		missingCap  = -32021
		unsupported = -32022
	)
	for _, c := range []struct {
		name, method, body string
		headers            []string // headers that differ from those of a correct request
		status, code       int      // code 0 means a result
	}{
		{"a request", "POST", list, nil, 200, 0},
		{"another letter case of a header's name", "POST", list, []string{"MCP-METHOD: tools/list"}, 200, 0},
		{"no version", "POST", list, []string{"MCP-Protocol-Version"}, 400, mismatch},
		{"no version, and server/discover", "POST", discover, []string{"MCP-Protocol-Version"}, 400, mismatch},
		{"another version than the body", "POST", list, []string{"MCP-Protocol-Version: 2025-11-25"}, 400, mismatch},
		{"another version than the header", "POST", strings.Replace(list, stateless, "2025-11-25", 1), []string{"MCP-Protocol-Version: " + stateless}, 400, mismatch},
		{"an unsupported version", "POST", strings.Replace(list, stateless, "1900-01-01", 1), nil, 400, unsupported},
		{"a version that needs a handshake", "POST", strings.Replace(list, stateless, "2025-11-25", 1), nil, 400, unsupported},
		{"an unsupported version in the header only", "POST", pingBody, []string{"MCP-Protocol-Version: 2999-01-01"}, 400, unsupported},
		{"no method", "POST", list, []string{"Mcp-Method"}, 400, mismatch},
		{"another method", "POST", list, []string{"Mcp-Method: tools/call"}, 400, mismatch},
		{"another letter case of the method", "POST", list, []string{"Mcp-Method: Tools/List"}, 400, mismatch},
		{"no name", "POST", echo, []string{"Mcp-Name"}, 400, mismatch},
		{"another name", "POST", echo, []string{"Mcp-Name: add"}, 400, mismatch},
		{"another letter case of the name", "POST", echo, []string{"Mcp-Name: Echo"}, 400, mismatch},
		{"a name in base64", "POST", echo, []string{"Mcp-Name: =?base64?ZWNobw==?="}, 200, 0},
		{"another name in base64", "POST", echo, []string{"Mcp-Name: =?base64?YWRk?="}, 400, mismatch},
		{"base64 without padding", "POST", echo, []string{"Mcp-Name: =?base64?ZWNobw?="}, 400, mismatch},
		{"no base64", "POST", echo, []string{"Mcp-Name: =?base64?%%%?="}, 400, mismatch},
		{"the mark of base64 in capitals", "POST", echo, []string{"Mcp-Name: =?BASE64?ZWNobw==?="}, 400, mismatch},
		{"a URI in base64", "POST", greeting, []string{"Mcp-Name: =?base64?ZGVtbzovL2dyZWV0aW5ncy9kZS9Hw7xudGhlcg==?="}, 200, 0},
		{"a URI beyond ASCII", "POST", greeting, nil, 400, mismatch},
		{"a name where none is needed", "POST", list, []string{"Mcp-Name: echo"}, 200, 0},
		{"no name at all", "POST", request("tools/call", ""), nil, 200, -32602},
		{"a name only in the header", "POST", request("tools/call", ""), []string{"Mcp-Name: echo"}, 400, mismatch},

		{"arguments in headers", "POST", route(`"region":"north","priority":42,"dryRun":true`), nil, 200, 0},
		{"another region", "POST", route(`"region":"north"`), []string{"Mcp-Param-Region: south"}, 400, mismatch},
		{"no region", "POST", route(`"region":"north"`), []string{"Mcp-Param-Region"}, 400, mismatch},
		{"a region only in the header", "POST", route(""), []string{"Mcp-Param-Region: north"}, 400, mismatch},
		{"a region that is null", "POST", route(`"region":null`), nil, 200, 0},
		{"a region with spaces", "POST", route(`"region":" north "`), []string{"Mcp-Param-Region: =?base64?IG5vcnRoIA==?="}, 200, 0},
		{"a region that looks like base64", "POST", route(`"region":"=?base64?eA==?="`), []string{"Mcp-Param-Region: =?base64?PT9iYXNlNjQ/ZUE9PT89?="}, 200, 0},
		{"an integer as a decimal", "POST", route(`"priority":42`), []string{"Mcp-Param-Priority: 42.0"}, 200, 0},
		{"another integer", "POST", route(`"priority":42`), []string{"Mcp-Param-Priority: 43"}, 400, mismatch},
		{"an integer in hexadecimal", "POST", route(`"priority":42`), []string{"Mcp-Param-Priority: 0x2A"}, 400, mismatch},
		{"another boolean", "POST", route(`"dryRun":true`), []string{"Mcp-Param-Dry-Run: True"}, 400, mismatch},
		{"a nested argument", "POST", request("tools/call", `"name":"route-nested","arguments":{"target":{"zone":"a"}}`), []string{"Mcp-Param-Zone: a"}, 200, 0},
		{"no header for a nested argument", "POST", request("tools/call", `"name":"route-nested","arguments":{"target":{"zone":"a"}}`), nil, 400, mismatch},
		{"a header for no argument", "POST", route(""), []string{"Mcp-Param-Other: x"}, 200, 0},

		{"no _meta", "POST", `{"jsonrpc":"2.0","id":"x","method":"tools/list","params":{}}`, nil, 400, -32602},
		{"no params", "POST", `{"jsonrpc":"2.0","id":"x","method":"server/discover"}`, nil, 400, -32602},
		{"no capabilities", "POST", strings.Replace(list, "clientCapabilities", "other", 1), nil, 400, -32602},
		{"an unknown log level", "POST", strings.Replace(list, `"io.modelcontextprotocol/clientInfo"`, `"io.modelcontextprotocol/logLevel":"loud","x"`, 1), nil, 400, -32602},
		{"a capability that is not declared", "POST", request("tools/call", `"name":"ask-sampling"`), nil, 400, missingCap},
		{"an unknown method", "POST", request("com.example/none", ""), nil, 404, -32601},
		{"ping", "POST", request("ping", ""), nil, 404, -32601},
		{"initialize", "POST", request("initialize", ""), nil, 404, -32601},
		{"an unknown tool", "POST", request("tools/call", `"name":"none"`), nil, 200, -32602},
		{"an unknown resource", "POST", request("resources/read", `"uri":"demo://none"`), nil, 200, -32602},
		{"no JSON-RPC", "POST", strings.Replace(list, `"2.0"`, `"1.0"`, 1), nil, 400, -32600},
		{"no JSON", "POST", "{", nil, 400, -32700},
		{"an array", "POST", "[" + list + "]", nil, 400, -32600},
		{"a response", "POST", `{"jsonrpc":"2.0","id":1,"result":{}}`, nil, 400, -32600},
		{"a session", "POST", list, []string{"Mcp-Session-Id: made-up"}, 200, 0},
		{"an event", "POST", list, []string{"Last-Event-ID: 1"}, 200, 0},
		{"a page of another origin", "POST", list, []string{"Origin: http://evil.example"}, 403, -32600},
	} {
		w := client.do(c.method, c.body, append(mirrored(c.body), c.headers...)...)
		var got struct {
			ID     any
			Result map[string]any
			Error  *struct{ Code int }
		}
		text := bodyText(t, w)
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Errorf("%s: %v in %s", c.name, err, text)
			continue
		}
		code := 0
		if got.Error != nil {
			code = got.Error.Code
		}
		if w.StatusCode != c.status || code != c.code || (got.Result == nil) != (c.code != 0) {
			t.Errorf("%s: got status %d and %s; want %d and code %d", c.name, w.StatusCode, text, c.status, c.code)
		}
		if got := w.Header.Get("Mcp-Session-Id"); got != "" {
			t.Errorf("%s: got session %q", c.name, got)
		}
		readable := c.status != 403 && c.code != -32700 && !strings.HasPrefix(c.body, "[") && !strings.Contains(c.body, `"result":{}`)
		if readable && got.ID != "x" && got.ID != 2.0 {
			t.Errorf("%s: the response has no id: %s", c.name, text)
		}
	}
	const cancelled = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`
	for _, c := range []struct {
		name, method, body string
		headers            []string
		status             int
	}{
		{"a notification", "POST", cancelled, mirrored(cancelled), 202},
		{"a notification of an unsupported version", "POST", cancelled, []string{"MCP-Protocol-Version: 2999-01-01"}, 400},
		{"a malformed notification", "POST", `{"jsonrpc":"1.0","method":"notifications/cancelled"}`, mirrored(cancelled), 400},
		{"GET", "GET", "", []string{"MCP-Protocol-Version: " + stateless}, 405},
		{"DELETE", "DELETE", "", []string{"MCP-Protocol-Version: " + stateless}, 405},
		{"GET of a handshake revision", "GET", "", nil, 400},
	} {
		if w := client.do(c.method, c.body, c.headers...); w.StatusCode != c.status {
			t.Errorf("%s: got status %d, want %d", c.name, w.StatusCode, c.status)
		}
	}
}

// TestStatelessStream checks that the events of a stream have no ids, and that the
// stream ends with the response.
func TestStatelessStream(t *testing.T) {
	p := startHTTP(t, refserver.Options{})
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"slow","arguments":{"durationMs":4,"steps":2},%s}}`,
		strings.Replace(metaOnly, "{", `{"progressToken":"t",`, 1))
	w := (&httpClient{t: t, url: p.url}).do("POST", body, mirrored(body)...)
	for name, want := range map[string]string{"Content-Type": "text/event-stream", "X-Accel-Buffering": "no", "Mcp-Session-Id": ""} {
		if got := w.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	text := bodyText(t, w)
	events := strings.Split(strings.TrimSuffix(text, "\n\n"), "\n\n")
	if len(events) != 3 || strings.Contains(text, "\nid:") || strings.HasPrefix(text, "id:") || !strings.Contains(events[2], `"id":3,"result"`) {
		t.Errorf("got stream %q", text)
	}
}

// TestStatelessDisconnect checks that a client cancels a request by closing the
// connection, whether or not a stream has begun.
func TestStatelessDisconnect(t *testing.T) {
	for name, meta := range map[string]string{"JSON": metaOnly, "stream": strings.Replace(metaOnly, "{", `{"progressToken":"t",`, 1)} {
		t.Run(name, func(t *testing.T) {
			started, ended := make(chan struct{}), make(chan struct{})
			p := startHTTP(t, refserver.Options{Seams: refserver.Seams{
				Handle: func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
					close(started)
					defer close(ended)
					return next(c)
				},
			}})
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"slow","arguments":{"durationMs":60000,"steps":100},%s}}`, meta)
			r := (&httpClient{t: t, url: p.url}).request("POST", body, mirrored(body)...)
			ctx, cancel := context.WithCancel(t.Context())
			p.posts.Go(func() {
				if w, err := http.DefaultClient.Do(r.WithContext(ctx)); err == nil {
					_, _ = io.ReadAll(w.Body)
					_ = w.Body.Close()
				}
			})
			<-started
			cancel()
			select {
			case <-ended:
			case <-time.After(testTimeout):
				t.Error("the call goes on without the client")
			}
		})
	}
}

// TestBothErasOnOneEndpoint checks that requests of a session and stateless requests
// have no effect on each other.
func TestBothErasOnOneEndpoint(t *testing.T) {
	s := newHTTPClient(t, refserver.Options{})
	call := func(meta, tool, arguments string) string {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":%q,"arguments":%s%s}}`, tool, arguments, meta)
		if meta == "" {
			return bodyText(t, s.do("POST", body))
		}
		return bodyText(t, s.do("POST", body, mirrored(body)...))
	}
	read := func(meta, want string) {
		t.Helper()
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":8,"method":"resources/read","params":{"uri":"demo://note"%s}}`, meta)
		var headers []string
		if meta != "" {
			headers = mirrored(body)
		}
		if got := bodyText(t, s.do("POST", body, headers...)); !strings.Contains(got, want) || strings.Contains(got, "resultType") != (meta != "") {
			t.Errorf("got %s, want it to contain %q", got, want)
		}
	}
	modern := "," + metaOnly
	call(modern, "update-resource", `{"text":"modern"}`)
	call("", "update-resource", `{"text":"session"}`)
	read(modern, `"modern"`)
	read("", `"session"`)
	if got := call(modern, "log", `{}`); strings.Contains(got, "notifications/message") {
		t.Errorf("a request without a level gets log messages: %s", got)
	}
	if got := call("", "log", `{}`); !strings.Contains(got, "notifications/message") {
		t.Errorf("a session of another revision gets no log messages: %s", got)
	}
	if w := s.do("DELETE", ""); w.StatusCode != 204 {
		t.Errorf("DELETE: got status %d", w.StatusCode)
	}
	read(modern, `"modern"`)
}

// TestStatelessRevisionAlone checks how a server without handshake revisions handles the
// messages of an older client, and how a server with handshake revisions only handles
// stateless messages.
func TestStatelessRevisionAlone(t *testing.T) {
	alone := refserver.Options{Revisions: []spec.Revision{spec.V20260728}}
	r := startStdio(t, alone)
	r.send(initializeBody)
	if got := r.nextLine(); !strings.Contains(got, `"error"`) || !strings.Contains(got, stateless) || strings.Contains(got, "2025-11-25") {
		t.Errorf("initialize got %s", got)
	}
	r.send(pingBody)
	if got := r.nextLine(); !strings.Contains(got, `"code":-32602`) {
		t.Errorf("a request without _meta got %s", got)
	}
	r.send(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + metaOnly + `}}`)
	if got := r.nextLine(); !strings.Contains(got, `"supportedVersions":["2026-07-28"]`) {
		t.Errorf("server/discover got %s", got)
	}
	r.send("{")
	if got := r.nextLine(); !strings.Contains(got, `"code":-32700`) || strings.Contains(got, `"id"`) {
		t.Errorf("a line that is not JSON got %s", got)
	}

	p := startHTTP(t, alone)
	client := &httpClient{t: t, url: p.url}
	w := client.do("POST", initializeBody)
	if got := bodyText(t, w); w.StatusCode != 400 || !strings.Contains(got, `"code":-32020`) || !strings.Contains(got, stateless) {
		t.Errorf("initialize got status %d and %s", w.StatusCode, got)
	}
	for _, method := range []string{"GET", "DELETE"} {
		if w := client.do(method, "", "Mcp-Session-Id: x"); w.StatusCode != 405 || w.Header.Get("Allow") != "POST" {
			t.Errorf("%s got status %d and Allow %q", method, w.StatusCode, w.Header.Get("Allow"))
		}
	}

	r = startStdio(t, refserver.Options{Revisions: []spec.Revision{spec.V20250618}})
	r.send(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + metaOnly + `}}`)
	if got := r.nextLine(); !strings.Contains(got, `"code":-32600`) {
		t.Errorf("without stateless revisions server/discover got %s", got)
	}
	r.send(initializeBody)
	if got := r.nextLine(); !strings.Contains(got, `"protocolVersion":"2025-06-18"`) {
		t.Errorf("a server of 2025-06-18 alone answers initialize with %s", got)
	}
}
