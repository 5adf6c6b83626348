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
	for _, m := range []suitetest.Misbehaviour{
		{Name: "unknown methods refused", Case: "errors.unknown-methods", Kept: []string{"base.method-not-found"}},
		{Name: "bad params refused", Case: "errors.invalid-params", Kept: []string{"base.invalid-params-2024-11-05"}},
		{
			Name: "bad params as a failed tool", Case: "errors.invalid-params", Seams: handle(func(c *refserver.Call, next handler) (any, *refserver.Error) {
				if _, named := wire.Text(wire.At(c.Params, "/name")); c.Method == spec.MethodToolsCall && !named {
					return map[string]any{"content": []any{}, "isError": true}, nil
				}
				return next(c)
			}),
			Want: []string{"base.invalid-params-2024-11-05: The server refuses a missing or mistyped parameter in a tool result. (note)"},
		},
		{Name: "initialize refused", Case: "errors.invalid-initialize", Kept: []string{"base.invalid-params-2024-11-05"}},
		{
			Name: "mistyped version deadly", Case: "errors.invalid-initialize", Seams: dieOf(`"protocolVersion":5`),
			Want: []string{"base.invalid-params-2024-11-05: The server exits at a missing or mistyped parameter. (warning)"},
		},
	} {
		m.Try(t, base.Cases())
	}
}

func TestMalformed(t *testing.T) {
	all := []string{"base.parse-error", "base.invalid-request", "base.request-null-id-rejected", "base.batch-refused-when-undefined"}
	for _, m := range []suitetest.Misbehaviour{
		{Name: "refused as foreseen", Kept: all},
		{Name: "refused as foreseen, with batches", Revision: spec.V20250326, Kept: all[:3]},
		{
			Name: "batch deadly", Seams: incoming(onBatch(die)),
			Want: []string{"base.batch-refused-when-undefined: The server exits at a batch in a revision without batches. (note)"},
		},
		{
			Name: "several taken for requests", Seams: incoming(func(raw []byte) refserver.FrameAction {
				raw = bytes.Replace(raw, []byte(`"Method"`), []byte(`"method"`), 1)
				return refserver.Pass(bytes.Replace(raw, []byte(`{"jsonrpc":"1.0"`), []byte(`{"jsonrpc":"2.0"`), 1))
			}),
			Want:  []string{"base.invalid-request: The server does not answer an invalid request as specified. (warning)"},
			Shown: []string{`"jsonrpc":"1.0"`, `"Method"`},
		},
		{
			Name: "fraction cut off", Seams: rewrite(`.5,`, `,`), // judged by a rule
		},
		{
			Name: "fraction served", Seams: serveID(".5"),
			Want: []string{"base.invalid-request: The server serves a request whose id has a fraction. (note)"},
		},
	} {
		m.Case = "errors.malformed"
		m.Try(t, base.Cases())
	}
}

// serveID serves requests whose illegal id ends with end, and responds with that id.
func serveID(end string) func() refserver.Seams {
	const placeholder = `"placeholder"`
	return func() refserver.Seams {
		var raw []byte // set once, before that request is handled
		return refserver.Seams{
			Incoming: func(_ *refserver.Session, frame []byte) refserver.FrameAction {
				f := wire.Parse(frame)
				if len(f.Problems) > 0 || f.Batch || !strings.HasSuffix(f.Messages[0].ID.Raw(), end) {
					return refserver.Pass(frame)
				}
				raw = []byte(`"id":` + f.Messages[0].ID.Raw())
				return refserver.Pass(bytes.Replace(frame, raw, []byte(`"id":`+placeholder), 1))
			},
			Outgoing: func(o *refserver.Out) {
				for i, f := range o.Frames {
					if bytes.Contains(f, []byte(placeholder)) {
						o.Frames[i] = bytes.Replace(f, []byte(`"id":`+placeholder), raw, 1)
					}
				}
			},
		}
	}
}

func TestMalformedOverHTTP(t *testing.T) {
	for _, m := range []suitetest.Misbehaviour{
		{Name: "refused by a status", Kept: []string{"base.invalid-request"}},
		{Name: "a line that is not an object is answered on a stream that can be resumed", Seams: polls("5"), Kept: []string{"base.invalid-request"}},
		{Name: "the session ends while lines are sent", Seams: forgets("5")},
		{Name: "an error without an id comes when the next lines are sent", Seams: late, Kept: []string{"base.invalid-request"}},
		{
			Name: "the line is shown, not the head of its request", Seams: refusesMethod5, Shown: []string{`"method":5}`},
			Want: []string{"base.invalid-request: The server does not answer an invalid request as specified. (warning)"},
		},
	} {
		m.Case, m.Transport = "errors.malformed", spec.StreamableHTTP
		m.Try(t, base.Cases())
	}
}

// late delays the response to a request whose method is a number until an object with only an id
// has come. All later requests wait for that response.
func late() refserver.Seams {
	next, responded := make(chan struct{}), make(chan struct{})
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
			over.Do(func() { close(responded) })
			return
		case idAlone.MatchString(body):
			begun.Do(func() { close(next) })
			w.WriteHeader(http.StatusAccepted)
			return
		}
		select {
		case <-next:
			wait(responded)
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
