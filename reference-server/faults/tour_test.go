package faults_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// receivedFrame is one frame of the server: its messages, and the method of the request to which
// they are the response, if any.
type receivedFrame struct {
	method   string
	messages []wire.Message
}

// visitor is a client that uses everything the server offers.
type visitor struct {
	capabilities string
	pages        int                          // the page size
	reply        func(m *wire.Message) []byte // returns the response to a request of the server, or nil for none
	more         []string                     // messages that only this visitor sends
}

const all = `{"roots":{"listChanged":true},"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}}}`

// acceptingVisitor is a visitor that accepts every request of the server, but does not answer
// pings.
var acceptingVisitor = visitor{capabilities: all, pages: 100, reply: func(m *wire.Message) []byte {
	if m.Method == spec.MethodPing {
		return nil
	}
	return wire.NewResult(m.ID, map[string]any{"action": "accept", "content": map[string]any{}})
}}

// visitors returns several clients, because some faults depend on the client's responses.
func visitors() []visitor {
	refusing := func(m *wire.Message) []byte { return wire.NewError(m.ID, -1, "User rejected", nil) }
	return []visitor{
		acceptingVisitor,
		{capabilities: "{}", pages: 3, reply: refusing, more: append(oddMessages(), pageWalk()...)},
		{capabilities: all, pages: 2, reply: respondFully(), more: oddMessages()},
		taskVisitor, dawdling,
	}
}

// respondFully returns a function that responds like a client with a model, a user and roots.
func respondFully() func(m *wire.Message) []byte {
	return func(m *wire.Message) []byte {
		switch {
		case m.Method == spec.MethodRootsList:
			return wire.NewResult(m.ID, map[string]any{"roots": []any{map[string]any{"uri": "file:///mcp-conform/there/is/no/such/folder"}}})
		case m.Method == spec.MethodElicit:
			return wire.NewResult(m.ID, map[string]any{"action": "accept", "content": map[string]any{"name": "Ada"}})
		case m.Method == spec.MethodSampling && len(wire.Elements(wire.At(m.Params(), "/tools"))) > 0 && len(wire.Elements(wire.At(m.Params(), "/messages"))) < 5:
			return wire.NewResult(m.ID, map[string]any{"role": "assistant", "model": "m", "stopReason": "toolUse", "content": []any{
				map[string]any{"type": "tool_use", "id": "u1", "name": "weather", "input": map[string]any{"city": "Paris"}},
				map[string]any{"type": "tool_use", "id": "u2", "name": "weather", "input": map[string]any{"city": "Rome"}},
			}})
		case m.Method == spec.MethodSampling:
			return wire.NewResult(m.ID, map[string]any{"role": "assistant", "model": "m", "content": map[string]any{"type": "text", "text": "Yes."}})
		default:
			return wire.NewResult(m.ID, map[string]any{})
		}
	}
}

// playTour sends all messages of the visitor in a synctest bubble, where waiting takes
// no real time, and returns the server's frames. It creates the seams in the bubble
// because their channels must belong to it.
func playTour(t *testing.T, v visitor, seams func() refserver.Seams, r spec.Revision) []receivedFrame {
	t.Helper()
	var all []receivedFrame
	synctest.Test(t, func(t *testing.T) {
		ctx, leave := context.WithTimeout(t.Context(), time.Minute) // some faults wait forever
		defer leave()
		var mu sync.Mutex // guards all and replies
		var replies [][]byte
		next := func() (reply []byte) {
			mu.Lock()
			defer mu.Unlock()
			if len(replies) > 0 && len(all) < 10_000 {
				reply, replies = replies[0], replies[1:]
			}
			return reply
		}
		s := refserver.NewSession(ctx, refserver.Options{Seams: seams(), PageSizes: []int{v.pages}, RequestTimeout: time.Second}, func(o *refserver.Out) {
			mu.Lock()
			defer mu.Unlock()
			for _, raw := range o.Frames {
				h := receivedFrame{messages: wire.Parse(raw).Messages}
				if o.Kind == refserver.OutResult || o.Kind == refserver.OutError {
					h.method = o.Method
				}
				all = append(all, h)
				for _, m := range h.messages {
					if m.Kind != wire.Request {
						continue
					}
					if reply := v.reply(&m); reply != nil {
						replies = append(replies, reply)
					}
				}
			}
		})
		for _, line := range append(append([]string{initialize(string(r), v.capabilities), initialized}, questions()...), v.more...) {
			mu.Lock()
			line = withTasks(line, all)
			mu.Unlock()
			s.Deliver([]byte(line))
			synctest.Wait()
			for reply := next(); reply != nil; reply = next() {
				s.Deliver(reply)
				synctest.Wait()
			}
			time.Sleep(100 * time.Millisecond) // for slow tools
		}
		s.Close(context.Background())
	})
	return all
}

// questions returns the requests that every visitor sends.
func questions() []string {
	lines := []string{
		request("1", "tools/list", ""), request("2", "prompts/list", ""), request("3", "resources/list", ""), request("4", "resources/templates/list", ""),
		request("5", "logging/setLevel", `{"level":"debug"}`), request("6", "resources/subscribe", `{"uri":"demo://note"}`),
		request("7", "completion/complete", `{"ref":{"type":"ref/prompt","name":"greeting"},"argument":{"name":"style","value":"f"}}`),
		request("8", "completion/complete", `{"ref":{"type":"ref/resource","uri":"demo://items/{number}"},"argument":{"name":"number","value":""}}`),
		request("9", "com.example/none", ""), request("10", "tools/call", `{"name":"add","arguments":{"a":1,"b":2}}`),
		request("11", "tools/call", `{"name":"slow","arguments":{"durationMs":20,"steps":2},"_meta":{"progressToken":"t"}}`),
		request("12", "tools/call", `{"name":"trigger-list-changed"}`), request("13", "resources/read", `{"uri":"demo://items/1"}`),
	}
	for i, name := range []string{"echo", "content", "fail", "log", "update-resource", "ask-ping", "ask-roots", "ask-sampling", "ask-sampling-media", "ask-elicitation", "ask-elicitation-fields", "ask-elicitation-url"} {
		arguments := "{}"
		if name == "echo" {
			arguments = `{"text":"é"}`
		}
		lines = append(lines, request(fmt.Sprint(20+i), "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, arguments)))
	}
	for i, name := range []string{"hello", "greeting", "conversation", "picture", "document", "sound", "everything"} {
		lines = append(lines, request(fmt.Sprint(40+i), "prompts/get", fmt.Sprintf(`{"name":%q,"arguments":{"name":"Ada"}}`, name)))
	}
	for i, uri := range []string{"demo://text/hello", "demo://image/dot", "demo://json/object", "demo://note"} {
		lines = append(lines, request(fmt.Sprint(60+i), "resources/read", fmt.Sprintf(`{"uri":%q}`, uri)))
	}
	return append(lines, request("70", "resources/unsubscribe", `{"uri":"demo://note"}`))
}

// longBatch returns a batch of fifty pings.
func longBatch() string {
	var pings []string
	for i := range 50 {
		pings = append(pings, request(fmt.Sprint(500+i), "ping", ""))
	}
	return "[" + strings.Join(pings, ",") + "]"
}

// oddMessages returns messages that cause errors, change settings or cancel requests.
func oddMessages() []string {
	lines := []string{
		`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`,
		`{"jsonrpc":"2.0","method":"notifications/com.example.unknown"}`, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"none","progress":1}}`,
		`{"jsonrpc":"2.0","method":"com.example/unknown"}`, longBatch(),
		`{"jsonrpc" : "2.0" , "id" : 88 , "method" : "ping"}`, `{"jsonrpc":"2.0","id":89,"method":"\u0070ing"}`,
	}
	for i, q := range [][2]string{
		{"tools/call", `{"name":"ask-sampling-tools"}`}, {"tools/call", `{"name":"ask-elicitation-required"}`}, {"tools/call", `{"name":"ask-elicitation-required"}`},
		{"tools/call", `{"name":"none"}`}, {"tools/call", `{"name":"ECHO","arguments":{"text":"a"}}`}, {"tools/call", `{"name":"echo","arguments":{"text":5}}`},
		{"tools/call", `{"name":"echo","arguments":{"text":"a","more":1}}`}, {"tools/call", `{"name":"echo"}`}, {"tools/call", `{"name":"echo","arguments":[]}`},
		{"tools/call", "{}"}, {"tools/call", ""}, {"tools/call", `{"name":"trigger-list-changed","arguments":{"list":"prompts"}}`},
		{"tools/call", `{"name":"trigger-list-changed","arguments":{"list":"resources"}}`}, {"tools/call", `{"name":"distance","arguments":{"from":["x","y"],"to":[3,4]}}`},
		{"tools/call", `{"name":"distance","arguments":{"from":[0,0],"to":[3,4]}}`},
		{"prompts/get", `{"name":"none"}`}, {"prompts/get", `{"name":"greeting"}`}, {"prompts/get", `{"name":"greeting","arguments":{}}`}, {"prompts/get", `{"name":"greeting","arguments":{"name":5}}`},
		{"prompts/get", "{}"}, {"prompts/get", `{"name":"mcp-conform-no-such-prompt"}`},
		{"resources/read", `{"uri":"demo://none"}`}, {"resources/read", `{"uri":"demo://no-such-resource"}`}, {"resources/read", `{"uri":""}`}, {"resources/read", `{"uri":"demo://a\u0000b"}`},
		{"resources/read", "{}"}, {"resources/read", `{"uri":5}`}, {"resources/subscribe", `{"uri":"demo://none"}`}, {"resources/templates/list", "{}"}, {"tools/list", "{}"},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"none"},"argument":{"name":"a","value":""}}`}, {"completion/complete", "{}"},
		{"completion/complete", `{"ref":{"type":"ref/other"},"argument":{"name":"a","value":""}}`},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"greeting"},"argument":{"name":"style","value":5}}`},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"greeting"},"argument":{"name":"style","value":""},"context":{"arguments":{"name":"Ada"}}}`},
		{"logging/setLevel", `{"level":"verbose"}`}, {"logging/setLevel", `{"level":"error"}`}, {"tools/call", `{"name":"log"}`},
		{"tools/call", `{"name":"fail","_meta":{"progressToken":""}}`}, {"ping", "{}"}, {"ping", `{"_meta":{"x":1}}`}, {"shutdown", ""}, {"exit", ""}, {"initialize", "{}"}, {"ping", ""},
		{"tools/call", `{"name":"add","arguments":{"a":0,"b":0}}`}, {"tools/call", `{"name":"add","arguments":{"a":-1,"b":-1}}`},
		{"tools/call", `{"name":"echo","arguments":{"text":"a\u0000b"}}`}, {"resources/unsubscribe", `{"uri":"demo://note"}`},
		{"tools/call", `{"name":"echo","arguments":{"text":"` + strings.Repeat("long ", 4000) + `"}}`},
	} {
		lines = append(lines, request(fmt.Sprint(100+i), q[0], q[1]))
	}
	return append(lines, request("90", "tools/call", `{"name":"slow","arguments":{"durationMs":60000,"steps":100},"_meta":{"progressToken":0}}`),
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"90"}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":90}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":90}}`, request(`""`, "ping", ""), request("0", "ping", ""), request(`"91"`, "ping", ""))
}

// pageWalk returns requests for second pages with valid, invalid and foreign cursors.
func pageWalk() []string {
	cursor := func(text string) string {
		return fmt.Sprintf(`{"cursor":%q}`, base64.RawURLEncoding.EncodeToString([]byte(text)))
	}
	return []string{
		request("200", "tools/list", cursor("tools/list@3")), request("201", "resources/list", cursor("resources/list@3")), request("202", "prompts/list", cursor("prompts/list@3")),
		request("203", "resources/templates/list", cursor("resources/templates/list@3")), request("204", "prompts/list", cursor("tools/list@3")), request("205", "tools/list", `{"cursor":"made up"}`),
		request("206", "resources/list", `{"cursor":5}`), request("207", "tools/list", cursor("tools/list@3")),
		request("208", "tools/list", `{"cursor":"mcp-conform-made-up"}`), request("209", "ping", ""),
	}
}

// faultless returns the seams of the server without faults.
func faultless() refserver.Seams { return refserver.Seams{} }
