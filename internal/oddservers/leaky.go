package oddservers

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
)

// leaky runs a server that repeats secrets in every value that a server can choose. Usage:
//
//	leaky FILE                 over stdio
//	leaky FILE http ADDRESS    over Streamable HTTP
//	leaky FILE sse ADDRESS     over HTTP+SSE
//
// FILE contains the secrets, one per line.
func leaky(args []string) int {
	text, err := os.ReadFile(args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	l := &leak{secrets: strings.Split(strings.TrimSpace(string(text)), "\n")}
	if len(args) < 3 || args[1] != "http" && args[1] != "sse" {
		return l.serveStdio()
	}
	listener, err := net.Listen("tcp", args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Fprintln(os.Stderr, l.allSpellings())
	fmt.Fprintln(os.Stderr, http.Serve(listener, l)) //nolint:gosec // the server lives only as long as a test
	return 1
}

type leak struct {
	secrets []string
	streams sync.Map // SSE streams by session id
}

// Spellings returns a secret in each encoding in which leaky repeats it, and in which the tests
// search for it.
func Spellings(s string) []string {
	var percent, lower, unicode, mixed strings.Builder
	for i, c := range []byte(s) {
		fmt.Fprintf(&percent, "%%%02X", c)
		fmt.Fprintf(&lower, "%%%02x", c)
		fmt.Fprintf(&unicode, `\u%04x`, c)
		if i%2 == 0 {
			fmt.Fprintf(&mixed, `%%%02x`, c)
		} else {
			mixed.WriteByte(c)
		}
	}
	quoted, _ := json.Marshal(s)
	out := []string{s, percent.String(), lower.String(), unicode.String(), mixed.String(), url.QueryEscape(s), html.EscapeString(s),
		strings.Trim(string(quoted), `"`), strings.Trim(strconv.Quote(s), `"`)}
	for shift := range 3 {
		padded := []byte(strings.Repeat("-", shift) + s)
		whole := base64.RawStdEncoding.EncodeToString(padded)
		out = append(out, whole[(shift*8+5)/6:len(padded)*8/6], base64.RawURLEncoding.EncodeToString(padded)[(shift*8+5)/6:len(padded)*8/6])
	}
	return out
}

// allSpellings returns every secret in every spelling.
func (l *leak) allSpellings() string {
	var out []string
	for _, s := range l.secrets {
		out = append(out, Spellings(s)...)
	}
	return strings.Join(out, " ")
}

// rawSecrets returns the secrets unchanged, separated by spaces.
func (l *leak) rawSecrets() string { return strings.Join(l.secrets, " ") }

// answer returns the frames that the server sends in response to a message.
func (l *leak) answer(frame []byte) [][]byte {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			ProtocolVersion string `json:"protocolVersion"`
			Cursor          string `json:"cursor"`
			Name            string `json:"name"`
		} `json:"params"`
	}
	if json.Unmarshal(frame, &m) != nil {
		return [][]byte{l.message("id", nil, "error", map[string]any{"code": -32700, "message": l.allSpellings()})}
	}
	if m.Method == "" {
		return nil
	}
	var out [][]byte
	if m.Method != "initialize" && m.Method != "notifications/initialized" {
		for _, s := range l.secrets { // split across two frames
			for _, half := range []string{s[:len(s)/2], s[len(s)/2:]} {
				out = append(out, l.message("method", "notifications/message", "params", map[string]any{"level": "info", "data": half, "logger": l.rawSecrets()}))
			}
		}
	}
	all, first := l.allSpellings(), m.Params.Cursor == ""
	page := func(name string, items ...any) any {
		result := map[string]any{name: items}
		if first {
			result["nextCursor"] = all
		}
		return result
	}
	var result any
	switch m.Method {
	case "initialize":
		result = map[string]any{
			"protocolVersion": m.Params.ProtocolVersion, "serverInfo": map[string]any{"name": all, "version": l.rawSecrets(), "title": all}, "instructions": all,
			"capabilities": map[string]any{"tools": map[string]any{}, "resources": map[string]any{}, "prompts": map[string]any{}, "logging": map[string]any{}, "experimental": map[string]any{l.rawSecrets(): map[string]any{}}},
		}
	case "ping":
		result = map[string]any{"extra": all}
	case "tools/list":
		schema := map[string]any{"type": "object", "properties": map[string]any{l.rawSecrets(): map[string]any{"type": "string", "description": all, "default": all}}}
		result = page("tools", map[string]any{"name": fmt.Sprint(l.rawSecrets(), first), "description": all, "inputSchema": schema, "annotations": map[string]any{"readOnlyHint": true}},
			map[string]any{"name": all, "inputSchema": map[string]any{"type": all}})
	case "tools/call":
		result = map[string]any{"content": []any{map[string]any{"type": "text", "text": all}, map[string]any{"type": all, "data": base64.StdEncoding.EncodeToString([]byte(all))}}}
	case "resources/list":
		result = page("resources", map[string]any{"uri": "x://" + url.PathEscape(l.rawSecrets()), "name": all, "mimeType": all})
	case "resources/templates/list":
		result = page("resourceTemplates", map[string]any{"uriTemplate": "x://{" + l.rawSecrets(), "name": all})
	case "prompts/list":
		result = page("prompts", map[string]any{"name": l.rawSecrets(), "description": all, "arguments": []any{map[string]any{"name": all}}})
	default:
		return append(out, l.message("id", m.ID, "error", map[string]any{"code": all, "message": all, "data": map[string]any{l.rawSecrets(): all}}))
	}
	if m.ID == nil {
		return append(out, l.message("id", all, "result", result))
	}
	return append(out, l.message("id", m.ID, "result", result), l.message("id", l.secrets[0]+m.Method, "method", all))
}

func (l *leak) message(pairs ...any) []byte {
	m := map[string]any{"jsonrpc": "2.0"}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	var out bytes.Buffer
	_ = json.NewEncoder(&out).Encode(m)
	return bytes.TrimSpace(out.Bytes())
}

func (l *leak) serveStdio() int {
	for _, s := range l.secrets { // split across two writes
		fmt.Fprint(os.Stderr, "token: ", s[:3])
		fmt.Fprintln(os.Stderr, s[3:], l.allSpellings())
	}
	fmt.Println("ready: " + l.allSpellings())
	in := json.NewDecoder(os.Stdin)
	for {
		var frame json.RawMessage
		if err := in.Decode(&frame); err != nil {
			if err == io.EOF {
				return 0
			}
			fmt.Println(l.allSpellings(), err)
			return 3
		}
		for _, f := range l.answer(frame) {
			_, _ = os.Stdout.Write(append(f, '\n'))
		}
	}
}

// ServeHTTP implements http.Handler for both transports.
func (l *leak) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Echo", strings.Join(Spellings(l.secrets[0]), " "))
	h.Set("Set-Cookie", "sid="+url.QueryEscape(l.rawSecrets()))
	h.Set("Mcp-Session-Id", url.QueryEscape(l.secrets[0]))
	body, _ := io.ReadAll(r.Body)
	switch {
	case r.Method == http.MethodGet && r.URL.Path == "/sse":
		h.Set("Content-Type", "text/event-stream")
		id := url.QueryEscape(l.secrets[0] + r.RemoteAddr)
		out := make(chan []byte, 1000)
		l.streams.Store(id, out)
		_, _ = fmt.Fprintf(w, ": %s\nevent: endpoint\ndata: /messages?session_id=%s\n\n", l.allSpellings(), url.QueryEscape(id))
		for {
			w.(http.Flusher).Flush()
			select {
			case frame := <-out:
				_, _ = fmt.Fprintf(w, "id: %s\nevent: message\ndata: %s\n\n", l.rawSecrets(), frame)
			case <-r.Context().Done():
				return
			}
		}
	case r.URL.Path == "/messages":
		if out, ok := l.streams.Load(r.URL.Query().Get("session_id")); ok {
			for _, f := range l.answer(body) {
				out.(chan []byte) <- f
			}
			w.WriteHeader(http.StatusAccepted)
			_, _ = io.WriteString(w, l.allSpellings())
			return
		}
		http.Error(w, l.allSpellings(), http.StatusNotFound)
	case r.Method != http.MethodPost || r.URL.Path == "/sse":
		http.Error(w, l.allSpellings(), http.StatusMethodNotAllowed)
	case !bytes.Contains(body, []byte(`"id"`)):
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, l.allSpellings())
	default:
		h.Set("Content-Type", "text/event-stream")
		for _, f := range l.answer(body) {
			_, _ = fmt.Fprintf(w, ": %s\nid: %s\ndata: %s\n\n", l.rawSecrets(), l.rawSecrets(), f)
		}
	}
}
