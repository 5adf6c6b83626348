package base_test

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/suites/base"
)

func TestRequests(t *testing.T) {
	const (
		found  = "base.method-not-found: The server does not answer an unknown method with -32601. (warning)"
		served = "base.invalid-params-2024-11-05: The server serves a request with a missing or mistyped parameter. (warning)"
		ends   = "base.invalid-params-2024-11-05: The server exits at a missing or mistyped parameter. (warning)"
	)
	for _, m := range []suitetest.Misbehaviour{
		{Name: "unknown methods refused", Case: "errors.unknown-methods", Kept: []string{"base.method-not-found"}},
		{Name: "unknown methods with code 0", Case: "errors.unknown-methods", Want: []string{found}, Seams: refuse("", 0)},
		{Name: "unknown methods served", Case: "errors.unknown-methods", Want: []string{found}, Seams: serve("com.example")},
		{Name: "case of methods ignored", Case: "errors.unknown-methods", Want: []string{found}, Seams: serve("Ping")},
		{Name: "bad params refused", Case: "errors.invalid-params", Kept: []string{"base.invalid-params-2024-11-05"}},
		{
			Name: "bad params with another code", Case: "errors.invalid-params", Seams: refuse("tools/call", spec.CodeInternal),
			Want: []string{"base.invalid-params-2024-11-05: The server refuses a missing or mistyped parameter, but not with -32602. (note)"},
		},
		{
			Name: "bad params as a failed tool", Case: "errors.invalid-params", Seams: handle(func(c *refserver.Call, next handler) (any, *refserver.Error) {
				if _, named := wire.Text(wire.At(c.Params, "/name")); c.Method == spec.MethodToolsCall && !named {
					return map[string]any{"content": []any{}, "isError": true}, nil
				}
				return next(c)
			}),
			Want: []string{"base.invalid-params-2024-11-05: The server refuses a missing or mistyped parameter in a tool result. (note)"},
		},
		{Name: "bad params served by tools", Case: "errors.invalid-params", Seams: serve("tools/call"), Want: []string{served}},
		{Name: "bad params served by prompts", Case: "errors.invalid-params", Seams: serve("prompts/get"), Want: []string{served}},
		{Name: "bad params served by resources", Case: "errors.invalid-params", Seams: serve("resources/read"), Want: []string{served}},
		{Name: "bad params deadly", Case: "errors.invalid-params", Seams: dieOf(`"method":"prompts/get"}`), Want: []string{ends}},
		{Name: "initialize refused", Case: "errors.invalid-initialize", Kept: []string{"base.invalid-params-2024-11-05"}},
		{
			Name: "initialize without params served", Case: "errors.invalid-initialize", Want: []string{served},
			Seams: incoming(func(raw []byte) refserver.FrameAction {
				return refserver.Pass(bytes.Replace(raw, []byte(`"params":{}`),
					[]byte(`"params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}`), 1))
			}),
		},
		{
			Name: "mistyped version served", Case: "errors.invalid-initialize", Want: []string{served},
			Seams: incoming(func(raw []byte) refserver.FrameAction {
				return refserver.Pass(bytes.Replace(raw, []byte(`"protocolVersion":5`), []byte(`"protocolVersion":"2025-11-25"`), 1))
			}),
		},
		{Name: "mistyped version deadly", Case: "errors.invalid-initialize", Seams: dieOf(`"protocolVersion":5`), Want: []string{ends}},
	} {
		m.Try(t, base.Cases())
	}
}

func TestMalformed(t *testing.T) {
	const (
		parse   = "base.parse-error: The server "
		invalid = "base.invalid-request: The server "
	)
	all := []string{"base.parse-error", "base.invalid-request", "base.request-null-id-rejected", "base.batch-refused-when-undefined"}
	for _, m := range []suitetest.Misbehaviour{
		{Name: "refused as foreseen", Kept: all},
		{Name: "refused as foreseen, with batches", Revision: spec.V20250326, Kept: all[:3]},
		{
			Name: "all that is not a request swallowed", Seams: incoming(onMalformed(swallow)),
			Want: []string{parse + "does not answer a non-JSON line with the specified error. (warning)", invalid + "does not answer an invalid request with the specified error. (warning)"},
		},
		{
			Name: "all that is not a request deadly", Seams: incoming(onMalformed(die)),
			Want: []string{
				parse + "exits at a non-JSON line. (warning)", invalid + "exits at an invalid request. (warning)",
				"base.batch-refused-when-undefined: The server exits at a batch in a revision without batches. (note)",
			},
		},
		{
			Name: "text deadly, and nothing else", Seams: dieOf("this is not JSON"),
			Want: []string{parse + "exits at a non-JSON line. (warning)"}, Kept: all[1:],
		},
		{Name: "byte order mark deadly", Seams: dieOf("\xef\xbb\xbf"), Want: []string{parse + "exits at a non-JSON line. (warning)"}},
		{Name: "empty line deadly", Seams: incoming(func(raw []byte) refserver.FrameAction {
			if len(raw) == 0 {
				return refserver.ExitWith(1)
			}
			return refserver.Pass(raw)
		}), Want: []string{parse + "exits at a non-JSON line. (warning)"}},
		{Name: "bytes that are not UTF-8 deadly", Seams: dieOf("\xff"), Want: []string{parse + "exits at a non-JSON line. (warning)"}},
		{
			Name: "deaf after half an object", Seams: deafAfterLine(`{"jsonrpc":`),
			Want: []string{parse + "stops answering after a non-JSON line. (warning)"}, Kept: all[1:],
		},
		{
			Name: "text refused with the wrong code", Seams: rewrite("this is not JSON", "5"),
			Want: []string{parse + "does not answer a non-JSON line with the specified error. (warning)"},
		},
		{
			Name: "text answered with an invented id", Seams: rewrite("this is not JSON", `{"jsonrpc":"2.0","id":"invented","method":"x"}`),
			Want: []string{parse + "does not answer a non-JSON line with the specified error. (warning)"},
		},
		{
			Name: "requests without jsonrpc served", Seams: rewrite(`{"id"`, `{"jsonrpc":"2.0","id"`),
			Want:  []string{invalid + "does not answer an invalid request with the specified error. (warning)"},
			Shown: []string{`{"id":`},
		},
		{
			Name: "JSON-RPC 1.0 served", Seams: rewrite(`{"jsonrpc":"1.0"`, `{"jsonrpc":"2.0"`),
			Want:  []string{invalid + "does not answer an invalid request with the specified error. (warning)"},
			Shown: []string{`"jsonrpc":"1.0"`},
		},
		{
			Name: "number taken for method", Seams: rewrite(`"method":5`, `"method":"ping"`),
			Want:  []string{invalid + "does not answer an invalid request with the specified error. (warning)"},
			Shown: []string{`"method":5`},
		},
		{
			Name: "text taken for params", Seams: rewrite(`"params":"text"`, `"params":{}`),
			Want:  []string{invalid + "does not answer an invalid request with the specified error. (warning)"},
			Shown: []string{`"params":"text"`},
		},
		{
			Name: "several taken for requests", Seams: incoming(func(raw []byte) refserver.FrameAction {
				raw = bytes.Replace(raw, []byte(`"Method"`), []byte(`"method"`), 1)
				return refserver.Pass(bytes.Replace(raw, []byte(`{"jsonrpc":"1.0"`), []byte(`{"jsonrpc":"2.0"`), 1))
			}),
			Want:  []string{invalid + "does not answer an invalid request with the specified error. (warning)"},
			Shown: []string{`"jsonrpc":"1.0"`, `"Method"`},
		},
		{
			Name: "capitals ignored", Seams: rewrite(`"Method"`, `"method"`),
			Want:  []string{invalid + "does not answer an invalid request with the specified error. (warning)"},
			Shown: []string{`"Method"`},
		},
		{
			Name: "fraction cut off", Seams: rewrite(`.5,`, `,`), // judged by a rule
		},
		{
			Name: "fraction served", Seams: serveID(".5"),
			Want: []string{"base.invalid-request: The server serves a request whose id has a fraction. (note)"},
		},
		{
			Name: "object served", Seams: serveID("{}"),
			Want:  []string{invalid + "does not answer an invalid request with the specified error. (warning)"},
			Shown: []string{`"id":{}`},
		},
		{
			Name: "refused without the id", Seams: func() refserver.Seams {
				return refserver.Seams{Outgoing: func(o *refserver.Out) {
					for i, f := range o.Frames {
						if m := wire.Parse(f).Messages[0]; m.IsError() && m.ID.Present() {
							o.Frames[i] = bytes.Replace(f, []byte(`"id":`+m.ID.Raw()), []byte(`"id":null`), 1)
						}
					}
				}}
			},
			Want: []string{invalid + "does not answer an invalid request with the specified error. (warning)"},
		},
		{
			Name: "null taken for an id", Seams: serveID("null"),
			Want: []string{"base.request-null-id-rejected: The server serves a request with id null. (warning)"},
		},
		{
			Name: "number swallowed", Seams: incoming(func(raw []byte) refserver.FrameAction {
				if string(raw) == "5" {
					return refserver.Drop()
				}
				return refserver.Pass(raw)
			}), Want: []string{invalid + "does not answer an invalid request with the specified error. (warning)"},
		},
	} {
		m.Case = "errors.malformed"
		m.Try(t, base.Cases())
	}
}

// serveID serves requests whose illegal id ends with end, and responds with that id.
func serveID(end string) func() refserver.Seams {
	const stand = `"stands for it"`
	return func() refserver.Seams {
		var raw []byte // set once, before that request is handled
		return refserver.Seams{
			Incoming: func(_ *refserver.Session, frame []byte) refserver.FrameAction {
				f := wire.Parse(frame)
				if len(f.Problems) > 0 || f.Batch || !strings.HasSuffix(f.Messages[0].ID.Raw(), end) {
					return refserver.Pass(frame)
				}
				raw = []byte(`"id":` + f.Messages[0].ID.Raw())
				return refserver.Pass(bytes.Replace(frame, raw, []byte(`"id":`+stand), 1))
			},
			Outgoing: func(o *refserver.Out) {
				for i, f := range o.Frames {
					if bytes.Contains(f, []byte(stand)) {
						o.Frames[i] = bytes.Replace(f, []byte(`"id":`+stand), raw, 1)
					}
				}
			},
		}
	}
}

func onMalformed(f func([]byte) refserver.FrameAction) func([]byte) refserver.FrameAction {
	return func(raw []byte) refserver.FrameAction {
		frame := wire.Parse(raw)
		if len(frame.Problems) == 0 && !frame.Batch {
			m := frame.Messages[0]
			version, _ := wire.Text(m.Member("jsonrpc"))
			sound := m.Kind == wire.Notification || m.Kind == wire.Request && (m.ID.IsString() || m.ID.IsInteger())
			if m.Kind == wire.Response { // the client's own responses are legal
				return refserver.Pass(raw)
			}
			if sound && m.Method != "" && version == "2.0" && m.Params().Kind() != '"' {
				return refserver.Pass(raw)
			}
		}
		return f(raw)
	}
}

func TestMalformedOverHTTP(t *testing.T) {
	for _, m := range []suitetest.Misbehaviour{
		{Name: "refused by a status", Kept: []string{"base.invalid-request"}},
		{Name: "what is not an object is answered on a stream to come back to", Seams: polls("5"), Kept: []string{"base.invalid-request"}},
		{Name: "the session ends while lines are sent", Seams: forgets("5")},
		{Name: "an error without an id comes when the next lines are sent", Seams: late, Kept: []string{"base.invalid-request"}},
		{
			Name: "what was sent is shown, not the head of its request", Seams: refusesMethod5, Shown: []string{`"method":5}`},
			Want: []string{"base.invalid-request: The server does not answer an invalid request with the specified error. (warning)"},
		},
	} {
		m.Case, m.Transport = "errors.malformed", spec.StreamableHTTP
		m.Try(t, base.Cases())
	}
}

// late delays the response to a request whose method is a number until an object with only an id
// has come. All later requests wait for that response.
func late() refserver.Seams {
	next, told := make(chan struct{}), make(chan struct{})
	var begun, over sync.Once
	return refserver.Seams{HTTP: func(w http.ResponseWriter, r *http.Request, h http.Handler) {
		body := read(r)
		wait := func(c chan struct{}) {
			select {
			case <-c:
			case <-r.Context().Done():
			}
		}
		switch {
		case strings.Contains(body, `"method":5`):
			wait(next)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the method is a number"}}`)
			_ = http.NewResponseController(w).Flush()
			over.Do(func() { close(told) })
			return
		case idAlone.MatchString(body):
			begun.Do(func() { close(next) })
			w.WriteHeader(http.StatusAccepted)
			return
		}
		select {
		case <-next:
			wait(told)
		default:
		}
		h.ServeHTTP(w, r)
	}}
}

// refusesMethod5 refuses a request whose method is a number with an unexpected code.
func refusesMethod5() refserver.Seams {
	return refserver.Seams{HTTP: func(w http.ResponseWriter, r *http.Request, h http.Handler) {
		body := read(r)
		if !strings.Contains(body, `"method":5}`) {
			h.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, strings.Replace(body, `"method":5`, `"error":{"code":-32000,"message":"the method is a number"}`, 1))
	}}
}

var idAlone = regexp.MustCompile(`^\{"jsonrpc":"2.0","id":[0-9]+\}$`)

// polls answers a body with a stream that ends before any message.
func polls(body string) func() refserver.Seams {
	return onBody(body, func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "id: poll-1\nretry: 50\ndata:\n\n")
	})
}

func onBody(body string, f func(http.ResponseWriter)) func() refserver.Seams {
	return func() refserver.Seams {
		return refserver.Seams{HTTP: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if read(r) == body {
				f(w)
				return
			}
			next.ServeHTTP(w, r)
		}}
	}
}

// forgets ends each session that receives the body.
func forgets(body string) func() refserver.Seams {
	return func() refserver.Seams {
		var over sync.Map
		return refserver.Seams{HTTP: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			session := r.Header.Get("Mcp-Session-Id")
			if read(r) == body {
				over.Store(session, true)
			}
			if _, gone := over.Load(session); gone {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusNotFound)
				_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`)
				return
			}
			next.ServeHTTP(w, r)
		}}
	}
}

// read returns the body of a request, and restores it for other readers.
func read(r *http.Request) string {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return string(body)
}

func answer(method string, result any) func() refserver.Seams {
	return handle(func(c *refserver.Call, next handler) (any, *refserver.Error) {
		if strings.HasPrefix(c.Method, method) {
			return result, nil
		}
		return next(c)
	})
}

func serve(method string) func() refserver.Seams { return answer(method, map[string]any{}) }

// refuse changes the error code for a method; an empty method means all.
func refuse(method string, code spec.Code) func() refserver.Seams {
	return handle(func(c *refserver.Call, next handler) (any, *refserver.Error) {
		result, err := next(c)
		if err != nil && (method == "" || c.Method == method) {
			err = &refserver.Error{Code: code, Message: err.Message}
		}
		return result, err
	})
}
