package faults

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

func messageFaults() []Fault {
	return []Fault{
		breaks("base.jsonrpc-2-0/missing", "answers lack the member jsonrpc", dropMember(Answers(), "jsonrpc")),
		breaks("base.jsonrpc-2-0/version-1.0", `answers carry jsonrpc "1.0"`, setMember(Answers(), "jsonrpc", `"1.0"`)),
		breaks("base.jsonrpc-2-0/number", "answers carry jsonrpc as the number 2.0", setMember(Answers(), "jsonrpc", `2.0`)),
		breaks("base.jsonrpc-2-0/initialize-missing", "the answer to initialize lacks the member jsonrpc", dropMember(Answers(spec.MethodInitialize), "jsonrpc")),
		breaks("base.jsonrpc-2-0/notification-missing", "a notification lacks the member jsonrpc",
			sendsWhenReady(`{"method":"notifications/message","params":{"level":"info","data":"ready"}}`)),
		breaks("base.jsonrpc-2-0/empty-method", "a notification comes whose method is an empty string", sendsWhenReady(`{"jsonrpc":"2.0","method":""}`)),
		breaks("base.jsonrpc-2-0/shapeless", "an object comes that is no request, notification or response", sendsWhenReady(`{"jsonrpc":"2.0","status":"ready"}`)),
		breaks("base.message-utf8/latin-1", "descriptions in lists are Latin-1", AlterBytes(lists, latin1)),
		breaks("base.message-utf8/cut-character", "the first description in a list ends inside a character",
			AlterBytes(lists, func(b []byte) []byte { return inDescription(b, "\xe2\x82") })),
		breaks("base.message-utf8/byte-order-mark", "answers begin with a byte order mark",
			AlterBytes(Answers(), func(b []byte) []byte { return append([]byte("\xef\xbb\xbf"), b...) })),
	}
}

var (
	listMethods = []string{spec.MethodToolsList, spec.MethodPromptsList, spec.MethodResourcesList, spec.MethodResourcesTemplates}
	lists       = Results(listMethods...)
)

// inDescription puts text at the head of the first description in a frame.
func inDescription(frame []byte, text string) []byte {
	return []byte(strings.Replace(string(frame), `"description":"`, `"description":"`+text, 1))
}

func latin1(frame []byte) []byte { return inDescription(frame, "d\xe9j\xe0 vu: ") }

func idFaults() []Fault {
	return []Fault{
		breaks("base.request-id-type/fraction", "its own requests have fractional ids", ownIDs(func(n int64) string { return fmt.Sprintf("%d.5", n) })),
		breaks("base.request-id-type/boolean", "its own requests have the id true", ownIDs(func(int64) string { return "true" })),
		breaks("base.request-id-type/object", "its own requests have objects as ids", ownIDs(func(n int64) string { return fmt.Sprintf(`{"n":%d}`, n) })),
		breaks("base.request-id-type/missing", "its own requests have no id", dropMember(Requests, "id")),
		breaks("base.request-id-not-null/null", "its own requests have the id null", ownIDs(func(int64) string { return "null" })),
		breaks("base.request-id-unique-per-session/always-1", "all its own requests have the id 1, two of them at once",
			together(ownIDs(func(int64) string { return "1" }), asksWhenReady(spec.MethodPing, nil))),
		breaksAfresh("base.request-id-unique-per-session/after-answer", "an id is used again after the first request was answered", func() refserver.Seams {
			return together(ownIDs(func(int64) string { return `"again"` }), onceReady(func(s *refserver.Session) {
				s.Go(func(ctx context.Context) {
					for range 2 {
						_, _ = s.SendRequest(ctx, wire.ID{}, spec.MethodPing, nil)
					}
				})
			}))
		}),

		breaks("base.response-id-echo/integer-as-string", "integer ids come back as strings", echo(func(id string) string {
			if id[0] == '"' {
				return id
			}
			return strconv.Quote(id)
		})),
		breaks("base.response-id-echo/string-as-integer", "strings that look like numbers come back as numbers", echo(func(id string) string {
			if _, err := strconv.Atoi(strings.Trim(id, `"`)); err == nil {
				return strings.Trim(id, `"`)
			}
			return id
		})),
		breaks("base.response-id-echo/fraction-truncated", "a request with id 1.5 is answered with id 1", incoming(requestWith(func(id wire.ID) bool {
			return strings.Contains(id.Raw(), ".") && !id.IsString()
		}), rewrites(func(m Members) {
			whole, _, _ := strings.Cut(string(m["id"]), ".")
			m["id"] = jsontext.Value(whole)
		}))),
		breaksAfresh("base.response-id-echo/twins", "a string of digits comes back as the number that was an id before", func() refserver.Seams {
			t := &twinIDs{}
			return together(t.seams(swallowNever), echo(func(id string) string {
				if digits := strings.Trim(id, `"`); digits != id && t.has(digits) {
					return digits
				}
				return id
			}))
		}),
		breaks("base.request-answered/stray-result-kills", "a result for a request that it never made ends the server", incoming(strayResponse(false), diesOf(1))).over(spec.Stdio),
		breaksAfresh("base.request-answered/stray-error-deafens", "after an error for a request that it never made the server answers nothing", func() refserver.Seams {
			var deaf sync.Map
			stray := strayResponse(true)
			return incoming(func(s *refserver.Session, f *wire.Frame) bool {
				if stray(s, f) {
					deaf.Store(s, true)
				}
				_, is := deaf.Load(s)
				return is
			}, swallows)
		}).over(spec.Stdio, spec.StreamableHTTP, spec.SSE),
		breaksAfresh("base.request-answered/twins", "a request whose id has the digits of another one's, and the other type, is dropped", func() refserver.Seams {
			t := &twinIDs{}
			return t.seams(t.hasTwin)
		}),
		breaks("base.response-id-echo/32-bit", "large integer ids come back cut to 32 bits", echo(func(id string) string {
			if n, err := strconv.ParseInt(id, 10, 64); err == nil {
				return strconv.Itoa(int(int32(n))) //nolint:gosec // cutting it off is the fault
			}
			return id
		})).over(ordered()...),
		breaks("base.response-id-echo/empty-string-as-null", "the empty string comes back as null", echo(func(id string) string { return replaced(id, `""`, "null") })),
		breaks("base.response-id-echo/zero-as-null", "the id 0 comes back as null", echo(func(id string) string { return replaced(id, "0", "null") })),
		breaks("base.response-id-echo/errors-as-string", "errors carry integer ids as strings", EditMessage(replies(), func(m Members) {
			m["id"] = jsontext.Value(strconv.Quote(strings.Trim(string(m["id"]), `"`)))
		})),
		breaks("base.response-id-echo/lower-case", "string ids come back in lower case", echo(strings.ToLower)),
		breaks("base.response-id-echo/trimmed", "string ids come back cut to eight characters", echo(func(id string) string {
			if len(id) > 10 && id[0] == '"' && !strings.Contains(id[:9], `\`) && utf8.ValidString(id[:9]) {
				return id[:9] + `"`
			}
			return id
		})),
		breaks("base.response-id-echo/other", "integer ids come back one higher", echo(func(id string) string {
			if n, err := strconv.ParseInt(id, 10, 64); err == nil {
				return strconv.FormatInt(n+1, 10)
			}
			return id
		})),
	}
}

// ownIDs gives the server's own requests other ids, raw JSON.
func ownIDs(raw func(n int64) string) refserver.Seams {
	return refserver.Seams{NextID: func(n int64) wire.ID { return wire.RawID(raw(n)) }}
}

// echo alters the ids of answers after initialize, raw JSON.
func echo(alter func(id string) string) refserver.Seams {
	return EditMessage(answersWithID, func(m Members) { m["id"] = jsontext.Value(alter(string(m["id"]))) })
}

// strayResponse picks results, or errors, whose id is none that the server gives
// its requests.
func strayResponse(isError bool) func(*refserver.Session, *wire.Frame) bool {
	return single(func(m *wire.Message) bool {
		return m.Kind == wire.Response && m.IsError() == isError && m.ID.IsString()
	})
}

// twinIDs are the ids of requests so far, as they were written.
type twinIDs struct {
	mu   sync.Mutex
	seen map[string]bool
}

// seams notes the ids, and drops the requests that drop picks.
func (t *twinIDs) seams(drop func(id wire.ID) bool) refserver.Seams {
	return incoming(requestWith(func(id wire.ID) bool {
		drops := drop(id)
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.seen == nil {
			t.seen = map[string]bool{}
		}
		t.seen[id.Raw()] = true
		return drops
	}), swallows)
}

func swallowNever(wire.ID) bool { return false }

func (t *twinIDs) has(raw string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seen[raw]
}

// hasTwin reports whether a request came before whose id is the same but for
// its type.
func (t *twinIDs) hasTwin(id wire.ID) bool {
	if digits := strings.Trim(id.Raw(), `"`); digits != id.Raw() {
		return t.has(digits)
	}
	return t.has(`"` + id.Raw() + `"`)
}

func answersWithID(o *refserver.Out) bool { return o.ID.Present() && Answers()(o) }

func replaced(s, from, to string) string {
	if s == from {
		return to
	}
	return s
}

// requestWith picks the frames that hold a request with such an id.
func requestWith(when func(id wire.ID) bool) func(*refserver.Session, *wire.Frame) bool {
	return single(func(m *wire.Message) bool { return m.Kind == wire.Request && when(m.ID) })
}

// single picks the frames that hold one object for which when holds.
func single(when func(m *wire.Message) bool) func(*refserver.Session, *wire.Frame) bool {
	return func(_ *refserver.Session, f *wire.Frame) bool {
		return !f.Batch && len(f.Problems) == 0 && len(f.Messages) == 1 && f.Messages[0].Members != nil && when(&f.Messages[0])
	}
}

// written drops the requests whose text when picks.
func written(when func(raw []byte) bool) refserver.Seams {
	return incoming(func(s *refserver.Session, f *wire.Frame) bool {
		return requestWith(wire.ID.Present)(s, f) && when(f.Raw)
	}, swallows)
}

func answerFaults() []Fault {
	ping := Results(spec.MethodPing)
	again := func(o *refserver.Out) { o.Frames = append(o.Frames, o.Frames[0]) }
	return []Fault{
		breaks("base.request-answered/unknown-method", "requests with an unknown method are not answered", mute(Errors(spec.CodeMethodNotFound))),
		breaks("base.request-answered/bad-params", "requests with wrong params are not answered", mute(replies(spec.CodeInvalidParams))),
		breaks("base.request-answered/string-ids", "requests with a string id are not answered", unansweredID(wire.ID.IsString)).over(ordered()...),
		breaks("base.request-answered/id-zero", "requests with id 0 are taken for notifications", unansweredID(func(id wire.ID) bool { return id.Raw() == "0" })).over(ordered()...),
		breaks("base.request-answered/empty-id", "requests with an empty string as id are taken for notifications",
			unansweredID(func(id wire.ID) bool { return id.Raw() == `""` })).over(ordered()...),
		breaks("base.request-answered/with-meta", "requests with _meta are not answered", unanswered("", func(c *refserver.Call) bool {
			return c.Method != spec.MethodInitialize && wire.At(c.Params, "/_meta") != nil
		})),
		breaks("base.request-answered/backwards", "requests that do not begin with the member jsonrpc are not answered",
			written(func(raw []byte) bool { return !bytes.HasPrefix(raw, []byte(`{"jsonrpc"`)) })).over(ordered()...),
		breaks("base.request-answered/blanks", "requests with blanks between their members are not answered",
			written(func(raw []byte) bool { return bytes.Contains(raw, []byte(`" : `)) })).over(ordered()...),
		breaks("base.request-answered/escapes", "requests whose method is written with escapes are not answered",
			written(func(raw []byte) bool { return bytes.Contains(raw, []byte(`"method":"\u`)) })).over(ordered()...),
		breaks("base.request-answered/long-dropped", "what is longer than 64 KiB is dropped",
			incoming(func(_ *refserver.Session, f *wire.Frame) bool { return len(f.Raw) > 64<<10 }, swallows)),

		breaksAfresh("base.request-answered/fifth-call", "each fifth call of a tool is lost", func() refserver.Seams {
			var calls atomic.Int32
			return unanswered(spec.MethodToolsCall, func(*refserver.Call) bool { return calls.Add(1)%5 == 0 })
		}),

		breaks("base.response-once/twice", "every answer comes twice", Outgoing(Answers(), again)),
		breaks("base.response-once/errors-twice", "every error comes twice", Outgoing(replies(), again)),
		breaks("base.response-once/again-later", "answers to ping come again 20 ms later", Outgoing(ping, func(o *refserver.Out) {
			frame := o.Frames[0]
			o.Session.Go(func(ctx context.Context) {
				if pause(ctx, 20*time.Millisecond) {
					o.Session.SendRaw(frame)
				}
			})
		})),
		breaks("base.response-once/result-then-error", "a ping gets a result and then an error", Outgoing(ping, func(o *refserver.Out) {
			o.Frames = append(o.Frames, wire.NewError(o.ID, -32603, "Internal error", nil))
		})),

		breaks("base.response-unsolicited/made-up", "a response comes that nobody asked for", sendsWhenReady(`{"jsonrpc":"2.0","id":987654,"result":{}}`)),
		breaks("base.response-unsolicited/made-up-string", "an error comes for a request that nobody sent",
			sendsWhenReady(`{"jsonrpc":"2.0","id":"nobody","error":{"code":-32603,"message":"Internal error"}}`)),
		breaks("base.response-unsolicited/to-responses", "the client's responses are answered", together(
			ownIDs(func(n int64) string { return fmt.Sprintf(`"server-%d"`, n) }),
			incoming(single(func(m *wire.Message) bool { return m.Kind == wire.Response }), func(s *refserver.Session, raw []byte) refserver.FrameAction {
				s.SendRaw(wire.NewError(wire.Parse(raw).Messages[0].ID, -32601, "Method not found", nil))
				return refserver.Pass(raw)
			}),
		)),

		breaks("base.response-result-or-error/neither", "answers to ping have neither result nor error", dropMember(ping, "result")),
		breaks("base.response-result-or-error/errors-neither", "failing requests get a response without result and error", dropMember(replies(), "error")),
		breaks("base.response-result-or-error/null-error", "answers to ping have only an error, which is null",
			AlterBytes(ping, func(b []byte) []byte { return []byte(strings.Replace(string(b), `"result":{}`, `"error":null`, 1)) })),
		breaks("base.response-not-both/null-result", "errors come with result null", setMember(replies(), "result", "null")),
		breaks("base.response-not-both/null-error", "results come with error null", setMember(Results(listMethods...), "error", "null")),
		breaks("base.response-not-both/both", "errors come with an empty result", setMember(replies(), "result", "{}")),

		breaks("base.result-is-object/null", "empty results are null", AlterBytes(Results(), func(b []byte) []byte {
			return []byte(strings.Replace(string(b), `"result":{}`, `"result":null`, 1))
		})),
		breaks("base.result-is-object/string", `a ping gets the result "pong"`, setMember(ping, "result", `"pong"`)),
		breaks("base.result-is-object/boolean", "a ping gets the result true", setMember(ping, "result", "true")),
		breaks("base.result-is-object/array", "lists come as bare arrays", EditMessage(lists, func(m Members) {
			_, r := wire.Members(m["result"])
			for _, v := range r {
				if v.Kind() == '[' {
					m["result"] = v
				}
			}
		})),
		breaks("base.request-answered/first-request-ends", "the first request after initialized ends the process", dies("", func(c *refserver.Call) bool { return c.Revision != "" && c.Method != spec.MethodInitialize })),
	}
}

func unansweredID(when func(id wire.ID) bool) refserver.Seams {
	return unanswered("", func(c *refserver.Call) bool { return c.Method != spec.MethodInitialize && when(c.ID) })
}

func errorFaults() []Fault {
	set := func(name, raw string) refserver.Seams {
		return editError(replies(), func(e Members) { e[name] = jsontext.Value(raw) })
	}
	drop := func(name string) refserver.Seams { return editError(replies(), func(e Members) { delete(e, name) }) }
	return []Fault{
		breaks("base.error-code-and-message/no-code", "errors have no code", drop("code")),
		breaks("base.error-code-and-message/no-message", "errors have no message", drop("message")),
		breaks("base.error-code-and-message/message-null", "the message of errors is null", set("message", "null")),
		breaks("base.error-code-and-message/message-object", "the message of errors is an object", set("message", `{"text":"failed"}`)),
		breaks("base.error-code-and-message/bare-text", "errors are bare strings", setMember(replies(), "error", `"Method not found"`)),
		breaks("base.error-code-integer/string", "error codes are strings", set("code", `"-32601"`)),
		breaks("base.error-code-integer/word", "error codes are words", set("code", `"METHOD_NOT_FOUND"`)),
		breaks("base.error-code-integer/fraction", "error codes are fractions", set("code", "-32601.5")),
		breaks("base.error-code-integer/null", "error codes are null", set("code", "null")),
		breaks("base.error-message-concise/stack-trace", "error messages hold a stack trace",
			set("message", `"TypeError: undefined is not a function\n    at handle (server.js:10:5)\n    at process (server.js:20:9)"`)),
		breaks("base.error-message-concise/long", "error messages are 2000 characters long", set("message", strconv.Quote(strings.Repeat("It failed. ", 200)))),
		breaks("base.error-response-id/missing", "errors have no id", dropMember(replies(), "id")),
		breaks("base.error-response-id/null", "errors have the id null", setMember(replies(), "id", "null")),
		breaks("base.error-response-id-always/missing", "errors have no id", dropMember(replies(), "id")),
		breaks("base.error-response-id-always/null", "errors have the id null", setMember(replies(), "id", "null")),

		breaks("base.method-not-found/internal-error", "unknown methods get -32603", recode(Errors(spec.CodeMethodNotFound), "-32603")),
		breaks("base.method-not-found/invalid-params", "unknown methods get -32602", recode(Errors(spec.CodeMethodNotFound), "-32602")),
		breaks("base.method-not-found/zero", "unknown methods get error code 0", recode(Errors(spec.CodeMethodNotFound), "0")),
		breaks("base.method-not-found/empty-result", "unknown methods get an empty result", servesUnknown("")),

		breaks("base.invalid-params-2024-11-05/internal-error", "wrong params get -32603", recode(replies(spec.CodeInvalidParams), "-32603")),
		breaks("base.invalid-params-2024-11-05/zero", "wrong params get error code 0", recode(replies(spec.CodeInvalidParams), "0")),
		breaks("base.invalid-params-2024-11-05/get-anything", "prompts/get and resources/read accept params without name and uri", together(
			acceptsWithout(spec.MethodPromptsGet, "name", `{"messages":[]}`),
			acceptsWithout(spec.MethodResourcesRead, "uri", `{"contents":[]}`),
		)),
		breaks("base.invalid-params-2024-11-05/call-anything", "tools/call accepts params without a name", acceptsWithout(spec.MethodToolsCall, "name", `{"content":[]}`)),
		breaks("base.invalid-params-2024-11-05/initialize-anything", "initialize is accepted without a protocolVersion", Handle(spec.MethodInitialize,
			func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				_, p := wire.Members(c.Params)
				if _, ok := wire.Text(p["protocolVersion"]); !ok {
					c.Params = jsontext.Value(`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"","version":""}}`)
				}
				return next(c)
			})),
		breaks("base.invalid-params-2024-11-05/dies", "a tools/call without params ends the process",
			dies(spec.MethodToolsCall, func(c *refserver.Call) bool { return c.Params == nil })),
	}
}

// servesUnknown answers an unknown method, or all of them, as if it were known.
func servesUnknown(method string) refserver.Seams {
	return Handle(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if err != nil && err.Code == spec.CodeMethodNotFound {
			return map[string]any{}, nil
		}
		return result, err
	})
}

// acceptsWithout answers a method whose params lack a member with a result.
func acceptsWithout(method, member, result string) refserver.Seams {
	return Handle(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if wire.At(c.Params, "/"+member) == nil {
			return jsontext.Value(result), nil
		}
		return next(c)
	})
}
