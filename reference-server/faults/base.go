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

func messageFaults() []*Fault {
	return []*Fault{
		newFault("base.jsonrpc-2-0/missing", "responses lack the member jsonrpc", dropMember(Responses(), "jsonrpc")),
		newFault("base.jsonrpc-2-0/version-1.0", `responses have jsonrpc "1.0"`, setMember(Responses(), "jsonrpc", `"1.0"`)),
		newFault("base.jsonrpc-2-0/number", "responses have jsonrpc as the number 2.0", setMember(Responses(), "jsonrpc", `2.0`)),
		newFault("base.jsonrpc-2-0/initialize-missing", "the response to initialize lacks the member jsonrpc", dropMember(Responses(spec.MethodInitialize), "jsonrpc")),
		newFault("base.jsonrpc-2-0/notification-missing", "a notification lacks the member jsonrpc",
			sendLineOnInitialized(`{"method":"notifications/message","params":{"level":"info","data":"ready"}}`)),
		newFault("base.jsonrpc-2-0/empty-method", "the server sends a notification whose method is an empty string", sendLineOnInitialized(`{"jsonrpc":"2.0","method":""}`)),
		newFault("base.jsonrpc-2-0/shapeless", "the server sends an object that is not a request, notification or response", sendLineOnInitialized(`{"jsonrpc":"2.0","status":"ready"}`)),
		newFault("base.message-utf8/latin-1", "the first description in a list contains Latin-1 characters", EditBytes(isListResult, insertLatin1)),
		newFault("base.message-utf8/cut-character", "the first description in a list ends within a UTF-8 character",
			EditBytes(isListResult, func(b []byte) []byte { return insertIntoDescription(b, "\xe2\x82") })),
		newFault("base.message-utf8/byte-order-mark", "responses begin with a byte order mark",
			EditBytes(Responses(), func(b []byte) []byte { return append([]byte("\xef\xbb\xbf"), b...) })),
	}
}

var (
	listMethods  = []string{spec.MethodToolsList, spec.MethodPromptsList, spec.MethodResourcesList, spec.MethodResourcesTemplates}
	isListResult = Results(listMethods...)
)

// insertIntoDescription inserts text at the beginning of the first description in a
// frame.
func insertIntoDescription(frame []byte, text string) []byte {
	return []byte(strings.Replace(string(frame), `"description":"`, `"description":"`+text, 1))
}

func insertLatin1(frame []byte) []byte { return insertIntoDescription(frame, "d\xe9j\xe0 vu: ") }

func idFaults() []*Fault {
	return []*Fault{
		newFault("base.request-id-type/fraction", "the server's requests have fractional ids", setRequestIDs(func(n int64) string { return fmt.Sprintf("%d.5", n) })),
		newFault("base.request-id-type/boolean", "the server's requests have the id true", setRequestIDs(func(int64) string { return "true" })),
		newFault("base.request-id-type/object", "the server's requests have objects as ids", setRequestIDs(func(n int64) string { return fmt.Sprintf(`{"n":%d}`, n) })),
		newFault("base.request-id-type/missing", "the server's requests have no id", dropMember(IsServerRequest, "id")),
		newFault("base.request-id-not-null/null", "the server's requests have the id null", setRequestIDs(func(int64) string { return "null" })),
		newFault("base.request-id-unique-per-session/always-1", "all the server's requests have the id 1, two of them at once",
			combineSeams(setRequestIDs(func(int64) string { return "1" }), requestOnInitialized(spec.MethodPing, nil))),
		newFaultWithState("base.request-id-unique-per-session/after-answer", "the server reuses an id after the first request got its response", func() *refserver.Seams {
			return combineSeams(setRequestIDs(func(int64) string { return `"again"` }), onInitialized(func(s *refserver.Session) {
				s.Go(func(ctx context.Context) {
					for range 2 {
						_, _ = s.SendRequest(ctx, wire.ID{}, spec.MethodPing, nil)
					}
				})
			}))
		}),

		newFault("base.response-id-echo/integer-as-string", "integer ids are echoed as strings", editResponseIDs(func(id string) string {
			if id[0] == '"' {
				return id
			}
			return strconv.Quote(id)
		})),
		newFault("base.response-id-echo/string-as-integer", "string ids that look like numbers are echoed as numbers", editResponseIDs(func(id string) string {
			if _, err := strconv.Atoi(strings.Trim(id, `"`)); err == nil {
				return strings.Trim(id, `"`)
			}
			return id
		})),
		newFault("base.response-id-echo/fraction-truncated", "a request with id 1.5 gets a response with id 1", onIncoming(requestWithID(func(id wire.ID) bool {
			return strings.Contains(id.Raw(), ".") && !id.IsString()
		}), editMembers(func(m Members) {
			whole, _, _ := strings.Cut(string(m["id"]), ".")
			m["id"] = jsontext.Value(whole)
		}))),
		newFaultWithState("base.response-id-echo/twins", "a string id of digits is echoed as the number that an earlier request used", func() *refserver.Seams {
			t := &twinIDs{}
			return combineSeams(t.seams(never), editResponseIDs(func(id string) string {
				if digits := strings.Trim(id, `"`); digits != id && t.has(digits) {
					return digits
				}
				return id
			}))
		}),
		newFault("base.request-answered/unknown-method", "requests with an unknown method get no response", dropMessages(Errors(spec.CodeMethodNotFound))),
		newFault("base.request-answered/stray-result-kills", "a result for a request that the server never sent ends the process", onIncoming(isUnsolicitedResponse(false), exitWith(1))).overTransports(spec.Stdio),
		newFaultWithState("base.request-answered/stray-error-deafens", "after an error for a request that it never sent the server responds to nothing", func() *refserver.Seams {
			var deaf sync.Map
			isUnsolicited := isUnsolicitedResponse(true)
			return onIncoming(func(s *refserver.Session, f *wire.Frame) bool {
				if isUnsolicited(s, f) {
					deaf.Store(s, true)
				}
				_, is := deaf.Load(s)
				return is
			}, dropFrame)
		}).overTransports(spec.Stdio, spec.StreamableHTTP, spec.SSE),
		newFaultWithState("base.request-answered/twins", "a request whose id differs from an earlier one only in type is dropped", func() *refserver.Seams {
			t := &twinIDs{}
			return t.seams(t.hasTwin)
		}),
		newFault("base.response-id-echo/32-bit", "large integer ids are echoed truncated to 32 bits", editResponseIDs(func(id string) string {
			if n, err := strconv.ParseInt(id, 10, 64); err == nil {
				return strconv.Itoa(int(int32(n))) //nolint:gosec // the truncation is the fault
			}
			return id
		})).overTransports(orderedTransports()...),
		newFault("base.response-id-echo/empty-string-as-null", `the id "" is echoed as null`, editResponseIDs(func(id string) string { return replaceIfEqual(id, `""`, "null") })),
		newFault("base.response-id-echo/zero-as-null", "the id 0 is echoed as null", editResponseIDs(func(id string) string { return replaceIfEqual(id, "0", "null") })),
		newFault("base.response-id-echo/errors-as-string", "errors carry integer ids as strings", EditMessage(errorsWithID(), func(m Members) {
			m["id"] = jsontext.Value(strconv.Quote(strings.Trim(string(m["id"]), `"`)))
		})),
		newFault("base.response-id-echo/lower-case", "string ids are echoed in lower case", editResponseIDs(strings.ToLower)),
		newFault("base.response-id-echo/trimmed", "long string ids are echoed truncated to eight characters", editResponseIDs(func(id string) string {
			if len(id) > 10 && id[0] == '"' && !strings.Contains(id[:9], `\`) && utf8.ValidString(id[:9]) {
				return id[:9] + `"`
			}
			return id
		})),
		newFault("base.response-id-echo/other", "integer ids are echoed incremented by one", editResponseIDs(func(id string) string {
			if n, err := strconv.ParseInt(id, 10, 64); err == nil {
				return strconv.FormatInt(n+1, 10)
			}
			return id
		})),
	}
}

// setRequestIDs replaces the ids of the server's own requests; raw returns the id of the nth
// request as raw JSON.
func setRequestIDs(raw func(n int64) string) *refserver.Seams {
	return &refserver.Seams{NextID: func(n int64) wire.ID { return wire.RawID(raw(n)) }}
}

// editResponseIDs edits the ids, as raw JSON, of all responses except the one to initialize.
func editResponseIDs(alter func(id string) string) *refserver.Seams {
	return EditMessage(isResponseWithID, func(m Members) { m["id"] = jsontext.Value(alter(string(m["id"]))) })
}

// isUnsolicitedResponse matches responses whose id is a string: errors if isError is true,
// otherwise results. The ids of the server's requests are numbers, so such a response belongs to
// no request.
func isUnsolicitedResponse(isError bool) func(*refserver.Session, *wire.Frame) bool {
	return singleMessage(func(m *wire.Message) bool {
		return m.Kind == wire.Response && m.IsError() == isError && m.ID.IsString()
	})
}

// twinIDs records the ids of the requests so far, as raw JSON.
type twinIDs struct {
	mu   sync.Mutex
	seen map[string]bool
}

// seams returns the seams that record the ids. They drop a request if the function drop returns
// true for its id.
func (t *twinIDs) seams(drop func(id wire.ID) bool) *refserver.Seams {
	return onIncoming(requestWithID(func(id wire.ID) bool {
		drops := drop(id)
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.seen == nil {
			t.seen = map[string]bool{}
		}
		t.seen[id.Raw()] = true
		return drops
	}), dropFrame)
}

func never(wire.ID) bool { return false }

func (t *twinIDs) has(raw string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seen[raw]
}

// hasTwin reports whether an earlier request had an id that differs from this one only in its JSON
// type: the string "1" for the number 1, or the reverse.
func (t *twinIDs) hasTwin(id wire.ID) bool {
	if digits := strings.Trim(id.Raw(), `"`); digits != id.Raw() {
		return t.has(digits)
	}
	return t.has(`"` + id.Raw() + `"`)
}

func isResponseWithID(o *refserver.Out) bool { return o.ID.IsPresent() && Responses()(o) }

func replaceIfEqual(s, from, to string) string {
	if s == from {
		return to
	}
	return s
}

// requestWithID matches frames with a single request whose id satisfies the condition.
func requestWithID(when func(id wire.ID) bool) func(*refserver.Session, *wire.Frame) bool {
	return singleMessage(func(m *wire.Message) bool { return m.Kind == wire.Request && when(m.ID) })
}

// singleMessage matches frames with a single message, outside a batch, that is a valid JSON
// object and satisfies the condition.
func singleMessage(when func(m *wire.Message) bool) func(*refserver.Session, *wire.Frame) bool {
	return func(_ *refserver.Session, f *wire.Frame) bool {
		return !f.Batch && len(f.Problems) == 0 && len(f.Messages) == 1 && f.Messages[0].Members != nil && when(&f.Messages[0])
	}
}

// dropRequestsByText drops a request if the function when returns true for the bytes of the
// request.
func dropRequestsByText(when func(raw []byte) bool) *refserver.Seams {
	return onIncoming(func(s *refserver.Session, f *wire.Frame) bool {
		return requestWithID(wire.ID.IsPresent)(s, f) && when(f.Raw)
	}, dropFrame)
}

func responseFaults() []*Fault {
	ping := Results(spec.MethodPing)
	again := func(o *refserver.Out) { o.Frames = append(o.Frames, o.Frames[0]) }
	return []*Fault{
		newFault("base.request-answered/bad-params", "requests with invalid params get no response", dropMessages(errorsWithID(spec.CodeInvalidParams))),
		newFault("base.request-answered/string-ids", "requests with a string id get no response", dropByID(wire.ID.IsString)).overTransports(orderedTransports()...),
		newFault("base.request-answered/id-zero", "requests with id 0 are treated as notifications", dropByID(func(id wire.ID) bool { return id.Raw() == "0" })).overTransports(orderedTransports()...),
		newFault("base.request-answered/empty-id", "requests with an empty string as id are treated as notifications",
			dropByID(func(id wire.ID) bool { return id.Raw() == `""` })).overTransports(orderedTransports()...),
		newFault("base.request-answered/with-meta", "requests with _meta get no response", suppressResponse("", func(c *refserver.Call) bool {
			return c.Method != spec.MethodInitialize && wire.At(c.Params, "/_meta") != nil
		})),
		newFault("base.request-answered/backwards", "requests that do not begin with the member jsonrpc get no response",
			dropRequestsByText(func(raw []byte) bool { return !bytes.HasPrefix(raw, []byte(`{"jsonrpc"`)) })).overTransports(orderedTransports()...),
		newFault("base.request-answered/blanks", "requests with white space around their colons get no response",
			dropRequestsByText(func(raw []byte) bool { return bytes.Contains(raw, []byte(`" : `)) })).overTransports(orderedTransports()...),
		newFault("base.request-answered/escapes", "requests whose method is written with escapes get no response",
			dropRequestsByText(func(raw []byte) bool { return bytes.Contains(raw, []byte(`"method":"\u`)) })).overTransports(orderedTransports()...),
		newFault("base.request-answered/long-dropped", "messages longer than 64 KiB are dropped",
			onIncoming(func(_ *refserver.Session, f *wire.Frame) bool { return len(f.Raw) > 64<<10 }, dropFrame)),

		newFault("base.request-answered/all-calls", "no tools/call gets a response", suppressResponse(spec.MethodToolsCall, func(*refserver.Call) bool { return true })),
		newFault("base.request-answered/unknown-prompt", "a prompts/get that fails, such as that of an unknown prompt, gets no response", suppressErrors(spec.MethodPromptsGet)),
		newFault("base.request-answered/all-completions", "no completion/complete gets a response", suppressResponse(spec.MethodComplete, func(*refserver.Call) bool { return true })),
		newFault("base.request-answered/unknown-completion", "a completion/complete that fails, such as that for an unknown prompt, gets no response", suppressErrors(spec.MethodComplete)),
		newFault("base.request-answered/unknown-resource", "a resources/read that fails, such as that of an unknown resource, gets no response", suppressErrors(spec.MethodResourcesRead)),
		newFaultWithState("base.request-answered/fifth-call", "every fifth tools/call gets no response", func() *refserver.Seams {
			var calls atomic.Int32
			return suppressResponse(spec.MethodToolsCall, func(*refserver.Call) bool { return calls.Add(1)%5 == 0 })
		}),

		newFault("base.response-once/twice", "the server sends every response twice", EditOutgoing(Responses(), again)),
		newFault("base.response-once/errors-twice", "the server sends every error twice", EditOutgoing(errorsWithID(), again)),
		newFault("base.response-once/again-later", "the server sends the response to ping again 20 ms later", EditOutgoing(ping, func(o *refserver.Out) {
			frame := o.Frames[0]
			o.Session.Go(func(ctx context.Context) {
				if sleep(ctx, 20*time.Millisecond) {
					o.Session.SendRaw(frame)
				}
			})
		})),
		newFault("base.response-once/result-then-error", "a ping gets a result and then an error", EditOutgoing(ping, func(o *refserver.Out) {
			o.Frames = append(o.Frames, wire.NewError(o.ID, -32603, "Internal error", nil))
		})),

		newFault("base.response-unsolicited/made-up", "the server sends a result for a request that no client sent", sendLineOnInitialized(`{"jsonrpc":"2.0","id":987654,"result":{}}`)),
		newFault("base.response-unsolicited/made-up-string", "the server sends an error for a request that no client sent",
			sendLineOnInitialized(`{"jsonrpc":"2.0","id":"nobody","error":{"code":-32603,"message":"Internal error"}}`)),
		newFault("base.response-unsolicited/to-responses", "the server responds to the client's responses", combineSeams(
			setRequestIDs(func(n int64) string { return fmt.Sprintf(`"server-%d"`, n) }),
			onIncoming(singleMessage(func(m *wire.Message) bool { return m.Kind == wire.Response }), func(s *refserver.Session, raw []byte) refserver.FrameAction {
				s.SendRaw(wire.NewError(wire.Parse(raw).Messages[0].ID, -32601, "Method not found", nil))
				return refserver.Pass(raw)
			}),
		)),

		newFault("base.response-result-or-error/neither", "the response to ping has neither result nor error", dropMember(ping, "result")),
		newFault("base.response-result-or-error/errors-neither", "errors are sent as a response with neither result nor error", dropMember(errorsWithID(), "error")),
		newFault("base.response-result-or-error/null-error", "the response to ping has no result and error null",
			EditBytes(ping, func(b []byte) []byte { return []byte(strings.Replace(string(b), `"result":{}`, `"error":null`, 1)) })),
		newFault("base.response-not-both/null-result", "errors also have the result null", setMember(errorsWithID(), "result", "null")),
		newFault("base.response-not-both/null-error", "results also have the error null", setMember(Results(listMethods...), "error", "null")),
		newFault("base.response-not-both/both", "errors also have an empty result", setMember(errorsWithID(), "result", "{}")),

		newFault("base.result-is-object/null", "empty results are null", EditBytes(Results(), func(b []byte) []byte {
			return []byte(strings.Replace(string(b), `"result":{}`, `"result":null`, 1))
		})),
		newFault("base.result-is-object/string", `a ping gets the result "pong"`, setMember(ping, "result", `"pong"`)),
		newFault("base.result-is-object/boolean", "a ping gets the result true", setMember(ping, "result", "true")),
		newFault("base.result-is-object/array", "list results are bare arrays", EditMessage(isListResult, func(m Members) {
			_, r := wire.Members(m["result"])
			for _, v := range r {
				if v.Kind() == '[' {
					m["result"] = v
				}
			}
		})),
		newFault("base.request-answered/first-request-ends", "the first request after initialize ends the process", exitOnRequest("", func(c *refserver.Call) bool { return c.Revision != "" && c.Method != spec.MethodInitialize })),
	}
}

func dropByID(when func(id wire.ID) bool) *refserver.Seams {
	return suppressResponse("", func(c *refserver.Call) bool { return c.Method != spec.MethodInitialize && when(c.ID) })
}

func errorFaults() []*Fault {
	set := func(name, raw string) *refserver.Seams {
		return editError(errorsWithID(), func(e Members) { e[name] = jsontext.Value(raw) })
	}
	drop := func(name string) *refserver.Seams {
		return editError(errorsWithID(), func(e Members) { delete(e, name) })
	}
	return []*Fault{
		newFault("base.error-code-and-message/no-code", "errors have no code", drop("code")),
		newFault("base.error-code-and-message/no-message", "errors have no message", drop("message")),
		newFault("base.error-code-and-message/message-null", "the message of errors is null", set("message", "null")),
		newFault("base.error-code-and-message/message-object", "the message of errors is an object", set("message", `{"text":"failed"}`)),
		newFault("base.error-code-and-message/bare-text", "the member error is a string", setMember(errorsWithID(), "error", `"Method not found"`)),
		newFault("base.error-code-integer/string", "error codes are strings", set("code", `"-32601"`)),
		newFault("base.error-code-integer/word", "error codes are words such as METHOD_NOT_FOUND", set("code", `"METHOD_NOT_FOUND"`)),
		newFault("base.error-code-integer/fraction", "error codes are fractions", set("code", "-32601.5")),
		newFault("base.error-code-integer/null", "error codes are null", set("code", "null")),
		newFault("base.error-message-concise/stack-trace", "error messages contain a stack trace",
			set("message", `"TypeError: undefined is not a function\n    at handle (server.js:10:5)\n    at process (server.js:20:9)"`)),
		newFault("base.error-message-concise/long", "error messages are 2200 characters long", set("message", strconv.Quote(strings.Repeat("It failed. ", 200)))),
		newFault("base.error-response-id/missing", "errors have no id", dropMember(errorsWithID(), "id")),
		newFault("base.error-response-id/null", "errors have the id null", setMember(errorsWithID(), "id", "null")),
		newFault("base.error-response-id/unsupported-version", "errors -32022 have no id", dropMember(errorsWithID(spec.CodeUnsupported), "id")).inRevisions(spec.V20260728).overTransports(spec.StreamableHTTP),
		newFault("base.error-response-id/unknown-method", "errors -32601 have the id null", setMember(errorsWithID(spec.CodeMethodNotFound), "id", "null")).inRevisions(spec.V20260728).overTransports(spec.StreamableHTTP),
		newFault("base.error-response-id-always/missing", "errors have no id", dropMember(errorsWithID(), "id")),
		newFault("base.error-response-id-always/null", "errors have the id null", setMember(errorsWithID(), "id", "null")),

		newFault("base.method-not-found/internal-error", "unknown methods get -32603", setErrorCode(Errors(spec.CodeMethodNotFound), "-32603")),
		newFault("base.method-not-found/invalid-params", "unknown methods get -32602", setErrorCode(Errors(spec.CodeMethodNotFound), "-32602")),
		newFault("base.method-not-found/zero", "unknown methods get error code 0", setErrorCode(Errors(spec.CodeMethodNotFound), "0")),
		newFault("base.method-not-found/like-ping", "unknown methods and ping get the same -32603", WrapHandler("", refuseUnknownAndPing(spec.CodeInternal, "no handler"))),
		newFault("base.method-not-found/empty-result", "unknown methods get an empty result", acceptUnknownMethods("")),

		newFault("base.invalid-params-2024-11-05/internal-error", "invalid params get -32603", setErrorCode(errorsWithID(spec.CodeInvalidParams), "-32603")),
		newFault("base.invalid-params-2024-11-05/zero", "invalid params get error code 0", setErrorCode(errorsWithID(spec.CodeInvalidParams), "0")),
		newFault("base.invalid-params-2024-11-05/get-anything", "prompts/get and resources/read accept params without name and uri", combineSeams(
			acceptMissingParam(spec.MethodPromptsGet, "name", `{"messages":[]}`),
			acceptMissingParam(spec.MethodResourcesRead, "uri", `{"contents":[]}`),
		)),
		newFault("base.invalid-params-2024-11-05/call-anything", "tools/call accepts params without a name", acceptMissingParam(spec.MethodToolsCall, "name", `{"content":[]}`)),
		newFault("base.invalid-params-2024-11-05/initialize-anything", "initialize is accepted without a protocolVersion", WrapHandler(spec.MethodInitialize,
			func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				_, p := wire.Members(c.Params)
				if _, ok := wire.Text(p["protocolVersion"]); !ok {
					c.Params = jsontext.Value(`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"","version":""}}`)
				}
				return next(c)
			})),
		newFault("base.invalid-params-2024-11-05/dies", "a tools/call without params ends the process",
			exitOnRequest(spec.MethodToolsCall, func(c *refserver.Call) bool { return c.Params == nil })),
	}
}

// refuseUnknownAndPing gives the same error to unknown methods and to ping. It leaves the errors of
// tools/call alone, because the error of a tool that requires a task has the code of an unknown
// method, but another meaning.
func refuseUnknownAndPing(code spec.Code, message string) func(*refserver.Call, Handler) (any, *refserver.Error) {
	return func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if c.Method == spec.MethodPing || err != nil && err.Code == spec.CodeMethodNotFound && c.Method != spec.MethodToolsCall {
			return nil, &refserver.Error{Code: code, Message: message}
		}
		return result, err
	}
}

// acceptUnknownMethods returns an empty result for requests of a method that the server does not
// know. If method is empty, it does so for all such methods.
func acceptUnknownMethods(method string) *refserver.Seams {
	return WrapHandler(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if err != nil && err.Code == spec.CodeMethodNotFound {
			return map[string]any{}, nil
		}
		return result, err
	})
}

// acceptMissingParam returns the given result for those requests of the method whose params lack
// the member.
func acceptMissingParam(method, member, result string) *refserver.Seams {
	return WrapHandler(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if wire.At(c.Params, "/"+member) == nil {
			return jsontext.Value(result), nil
		}
		return next(c)
	})
}
