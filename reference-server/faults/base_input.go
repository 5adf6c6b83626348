package faults

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

const nullIDError = `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}`

func notificationFaults() []*Fault {
	answers := func(when func(n *refserver.Notification) bool, line string) *refserver.Seams {
		return afterNotification(when, func(n *refserver.Notification) { n.Session.SendRaw([]byte(line)) })
	}
	unknown := func(n *refserver.Notification) bool {
		return !slices.Contains([]string{spec.MethodInitialized, spec.MethodCancelled, spec.MethodProgress, spec.MethodRootsChanged, spec.MethodTasksStatus}, n.Method)
	}
	isUnknown := func(m *wire.Message) bool {
		return m.Kind == wire.Notification && unknown(&refserver.Notification{Method: m.Method})
	}
	return []*Fault{
		newFault("base.notification-no-id/integer", "a notification has an id",
			sendLineOnInitialized(`{"jsonrpc":"2.0","id":4711,"method":"notifications/message","params":{"level":"info","data":"ready"}}`)),
		newFault("base.notification-no-id/null", "a notification has the id null",
			sendLineOnInitialized(`{"jsonrpc":"2.0","id":null,"method":"notifications/message","params":{"level":"info","data":"ready"}}`)),

		newFault("base.notification-no-response/null-id-result", "every notification gets a result with id null",
			answers(func(*refserver.Notification) bool { return true }, `{"jsonrpc":"2.0","id":null,"result":{}}`)),
		newFault("base.notification-no-response/unknown-refused", "unknown notifications get an error with id null", answers(unknown, nullIDError)),
		newFault("base.notification-no-response/plain-name-refused", "notifications whose method does not begin with notifications/ get an error with id null",
			answers(func(n *refserver.Notification) bool { return !strings.HasPrefix(n.Method, "notifications/") }, nullIDError)),
		newFault("base.notification-no-response/initialized-refused", "notifications/initialized gets an error with id null", answers(hasMethod(spec.MethodInitialized), nullIDError)),
		newFault("base.notification-no-response/no-id-error", "unknown notifications get an error without id",
			answers(unknown, `{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"}}`)),
		newFault("base.notification-no-response/bad-params", "notifications with invalid params get an error with id null", answers(func(n *refserver.Notification) bool {
			id := cancelledRequestID(n)
			wrongID := n.Method == spec.MethodCancelled && !id.IsString() && !id.IsInteger()
			return wrongID || n.Params != nil && n.Params.Kind() != '{'
		}, `{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"Invalid params"}}`)),

		newFault("base.unknown-notification-harmless/dies", "an unknown notification ends the process",
			onIncoming(singleMessage(isUnknown), exitWith(1))), // at once, before later messages are answered
		newFaultWithState("base.unknown-notification-harmless/deaf", "after an unknown notification the server responds to nothing", func() *refserver.Seams {
			return silentAfter(singleMessage(isUnknown))
		}),
	}
}

// silentAfter drops the first frame that matches, and every frame after it.
func silentAfter(when func(*refserver.Session, *wire.Frame) bool) *refserver.Seams {
	var deaf atomic.Bool
	return &refserver.Seams{Incoming: func(s *refserver.Session, raw []byte) refserver.FrameAction {
		if deaf.Load() || when(s, wire.Parse(raw)) {
			deaf.Store(true)
			return refserver.Drop()
		}
		return refserver.Pass(raw)
	}}
}

// isNotJSON matches frames that are not JSON, except blank ones.
func isNotJSON(_ *refserver.Session, f *wire.Frame) bool {
	return !f.IsReadable() && !f.Has(wire.Empty)
}

// isInvalidRequest matches frames with one object that has an id and resembles a
// request, but is invalid: its jsonrpc is not "2.0" or it has no method.
var isInvalidRequest = singleMessage(func(m *wire.Message) bool {
	version, _ := wire.Text(m.Member("jsonrpc"))
	return m.ID.IsPresent() && m.Kind != wire.Response && (version != "2.0" || m.Method == "")
})

// isInvalidRequestError matches the errors for frames that are JSON but not a valid
// request.
func isInvalidRequestError(o *refserver.Out) bool {
	return o.Method == "" && Errors(spec.CodeInvalidRequest)(o)
}

func malformedFaults() []*Fault {
	parse := Errors(spec.CodeParse)
	return []*Fault{
		newFault("base.parse-error/silent", "a line that is not JSON gets no response", dropMessages(parse)),
		newFault("base.parse-error/exits-0", "a line that is not JSON ends the process with exit code 0", onIncoming(isNotJSON, exitWith(0))),
		newFault("base.parse-error/exits-1", "a line that is not JSON ends the process with exit code 1", onIncoming(isNotJSON, exitWith(1))),
		newFaultWithState("base.parse-error/deaf", "after a line that is not JSON the server responds to nothing", func() *refserver.Seams { return silentAfter(isNotJSON) }),
		newFault("base.parse-error/invented-id", "a line that is not JSON gets an error with id 0", EditBytes(parse, func(b []byte) []byte {
			return wire.NewError(wire.IntID(0), int64(spec.CodeParse), "Parse error", nil)
		})),
		newFault("base.parse-error/internal-error", "a line that is not JSON gets -32603", setErrorCode(parse, "-32603")),
		newFault("base.parse-error/invalid-request", "a line that is not JSON gets -32600", setErrorCode(parse, "-32600")),

		newFault("base.invalid-request/silent", "JSON that is not a valid request gets no response", dropMessages(isInvalidRequestError)),
		newFault("base.invalid-request/dies", "JSON that is not a valid request ends the process", onIncoming(isInvalidRequest, exitWith(1))),
		newFaultWithState("base.invalid-request/deaf", "after JSON that is not a valid request the server responds to nothing", func() *refserver.Seams { return silentAfter(isInvalidRequest) }),
		newFault("base.invalid-request/internal-error", "JSON that is not a valid request gets -32603", setErrorCode(isInvalidRequestError, "-32603")),
		newFault("base.invalid-request/id-lost", "JSON that is not a valid request gets an error with id null", setMember(isInvalidRequestError, "id", "null")),
		newFault("base.invalid-request/any-version", "requests with a missing or wrong jsonrpc are served",
			onIncoming(isInvalidRequest, editMembers(func(m Members) { m["jsonrpc"] = jsontext.Value(`"2.0"`) }))),
		newFault("base.invalid-request/any-case", "member names are matched in any case: METHOD is read as method",
			onIncoming(isInvalidRequest, editMembers(func(m Members) {
				for name, v := range m {
					if lower := strings.ToLower(name); m[lower] == nil {
						m[lower] = v
					}
				}
			}))),
		newFault("base.invalid-request/boolean-id", "a request with the id true is served", acceptIllegalID("true")),
		newFault("base.invalid-request/object-id", "a request with the id {} is served", acceptIllegalID("{}")),
		newFault("base.request-null-id-rejected/served", "a request with id null is served", acceptIllegalID("null")),
	}
}

// acceptIllegalID makes the server accept requests whose id is the JSON text raw, which is not a
// valid id, and echo that id. Inside the server all these requests have the same string id instead.
func acceptIllegalID(raw string) *refserver.Seams {
	inside := wire.StringID("illegal " + raw)
	return combineSeams(
		onIncoming(requestWithID(func(id wire.ID) bool { return id.Raw() == raw }), editMembers(func(m Members) { m["id"] = jsontext.Value(inside.Raw()) })),
		setMember(func(o *refserver.Out) bool { return o.ID == inside && Responses()(o) }, "id", raw),
	)
}

func batchFaults() []*Fault {
	batch := func(_ *refserver.Session, f *wire.Frame) bool { return f.Batch && len(f.Messages) > 0 }
	empty := func(_ *refserver.Session, f *wire.Frame) bool { return f.Batch && len(f.Messages) == 0 }
	every := func(kind func(m *wire.Message) bool, all bool) func(*refserver.Session, *wire.Frame) bool {
		return func(_ *refserver.Session, f *wire.Frame) bool {
			n := 0
			for i := range f.Messages {
				if kind(&f.Messages[i]) {
					n++
				}
			}
			return f.Batch && n > 0 && (!all || n == len(f.Messages))
		}
	}
	notifications := every(func(m *wire.Message) bool { return m.Kind == wire.Notification }, true)
	spoilt := every(func(m *wire.Message) bool { return m.Kind == wire.Invalid }, false)
	answers := func(line string) func(*refserver.Session, []byte) refserver.FrameAction {
		return func(s *refserver.Session, _ []byte) refserver.FrameAction {
			s.SendRaw([]byte(line))
			return refserver.Drop()
		}
	}
	const refused = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request"}}`
	elements := func(f func(e [][]byte) [][]byte) *refserver.Seams {
		return EditBytes(isBatchResponse, func(frame []byte) []byte { return joinArray(f(splitArray(frame))) })
	}
	return []*Fault{
		newFault("base.batch-receive/refused", "batches are refused", onIncoming(batch, answers(refused))),
		newFault("base.batch-receive/silent", "batches get no response", onIncoming(batch, dropFrame)),
		newFault("base.batch-receive/dies", "a batch ends the process", onIncoming(batch, exitWith(1))),
		newFault("base.batch-receive/first-only", "the server handles only the first message of a batch", onIncoming(batch, func(_ *refserver.Session, raw []byte) refserver.FrameAction {
			return refserver.Pass(joinArray(splitArray(raw)[:1]))
		})),
		newFault("base.batch-receive/one-missing", "the array of responses to a batch lacks the last one", elements(func(e [][]byte) [][]byte {
			return e[:max(1, len(e)-1)]
		})),
		newFault("base.batch-receive/ten-at-most", "the array of responses to a long batch lacks all after the tenth", elements(func(e [][]byte) [][]byte {
			return e[:min(len(e), 10)]
		})),
		newFault("base.batch-responses-complete/one-twice", "the array of responses to a batch contains the first one twice", elements(func(e [][]byte) [][]byte { return append(e, e[0]) })),
		newFault("base.batch-responses-complete/one-more", "a notification in a batch gets a response with id null", elements(func(e [][]byte) [][]byte {
			return append(e, []byte(nullIDError))
		})),
		newFault("base.batch-only-notifications-silent/empty-array", "a batch of notifications gets []", onIncoming(notifications, answers("[]"))),
		newFault("base.batch-only-notifications-silent/error", "a batch of notifications gets an error", onIncoming(notifications, answers(refused))),
		newFault("base.batch-empty-array/silent", "an empty batch gets no response", onIncoming(empty, dropFrame)),
		newFault("base.batch-empty-array/empty-array", "an empty batch gets []", onIncoming(empty, answers("[]"))),
		newFault("base.batch-empty-array/array", "an empty batch gets an array with an error", onIncoming(empty, answers("["+refused+"]"))),
		newFault("base.batch-empty-array/dies", "an empty batch ends the process", onIncoming(empty, exitWith(1))),
		newFault("base.batch-invalid-members/all-refused", "one invalid member makes the server refuse the whole batch", onIncoming(spoilt, answers(refused))),
		newFault("base.batch-invalid-members/all-dropped", "one invalid member makes the server drop the whole batch", onIncoming(spoilt, dropFrame)),
		newFault("base.batch-not-emitted/arrays-of-one", "every response is an array with one element", EditBytes(Responses(), func(b []byte) []byte { return joinArray([][]byte{b}) })),
		newFault("base.batch-not-emitted/errors-in-arrays", "every error is an array with one element", EditBytes(errorsWithID(), func(b []byte) []byte { return joinArray([][]byte{b}) })),
		newFault("base.batch-not-emitted/every-answer", "every response is an array with one element", EditBytes(Responses(), func(b []byte) []byte { return joinArray([][]byte{b}) })),
	}
}

// isBatchResponse matches the arrays of responses to batches.
func isBatchResponse(o *refserver.Out) bool { return o.Kind == refserver.OutBatch }

func splitArray(array []byte) [][]byte {
	var out [][]byte
	for _, e := range wire.Elements(array) {
		out = append(out, e)
	}
	return out
}

func joinArray(elements [][]byte) []byte {
	parts := make([]string, len(elements))
	for i, e := range elements {
		parts[i] = string(e)
	}
	return []byte("[" + strings.Join(parts, ",") + "]")
}
