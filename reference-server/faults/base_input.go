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

func notificationFaults() []Fault {
	answers := func(when func(n *refserver.Notification) bool, line string) refserver.Seams {
		return notified(when, func(n *refserver.Notification) { n.Session.SendRaw([]byte(line)) })
	}
	unknown := func(n *refserver.Notification) bool {
		return !slices.Contains([]string{spec.MethodInitialized, spec.MethodCancelled, spec.MethodProgress, spec.MethodRootsChanged, spec.MethodTasksStatus}, n.Method)
	}
	return []Fault{
		breaks("base.notification-no-id/integer", "a notification has an id",
			sendsWhenReady(`{"jsonrpc":"2.0","id":4711,"method":"notifications/message","params":{"level":"info","data":"ready"}}`)),
		breaks("base.notification-no-id/null", "a notification has the id null",
			sendsWhenReady(`{"jsonrpc":"2.0","id":null,"method":"notifications/message","params":{"level":"info","data":"ready"}}`)),

		breaks("base.notification-no-response/null-id-result", "every notification gets a result with id null",
			answers(func(*refserver.Notification) bool { return true }, `{"jsonrpc":"2.0","id":null,"result":{}}`)),
		breaks("base.notification-no-response/unknown-refused", "unknown notifications get an error with id null", answers(unknown, nullIDError)),
		breaks("base.notification-no-response/plain-name-refused", "notifications whose method does not begin with notifications/ get an error with id null",
			answers(func(n *refserver.Notification) bool { return !strings.HasPrefix(n.Method, "notifications/") }, nullIDError)),
		breaks("base.notification-no-response/initialized-refused", "initialized gets an error with id null", answers(method(spec.MethodInitialized), nullIDError)),
		breaks("base.notification-no-response/no-id-error", "unknown notifications get an error without id",
			answers(unknown, `{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"}}`)),
		breaks("base.notification-no-response/bad-params", "notifications with wrong params get an error with id null", answers(func(n *refserver.Notification) bool {
			id := cancelledIn(n)
			wrongID := n.Method == spec.MethodCancelled && !id.IsString() && !id.IsInteger()
			return wrongID || n.Params != nil && n.Params.Kind() != '{'
		}, `{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"Invalid params"}}`)),

		breaks("base.unknown-notification-harmless/dies", "an unknown notification ends the process",
			notified(unknown, func(n *refserver.Notification) { n.Session.Exit(1) })),
		breaksAfresh("base.unknown-notification-harmless/deaf", "after an unknown notification nothing is answered any more", func() refserver.Seams {
			return deafAfter(single(func(m *wire.Message) bool {
				return m.Kind == wire.Notification && unknown(&refserver.Notification{Method: m.Method})
			}))
		}),
	}
}

// deafAfter swallows all that follows a frame for which when holds, and the
// frame itself.
func deafAfter(when func(*refserver.Session, *wire.Frame) bool) refserver.Seams {
	var deaf atomic.Bool
	return refserver.Seams{Incoming: func(s *refserver.Session, raw []byte) refserver.FrameAction {
		if deaf.Load() || when(s, wire.Parse(raw)) {
			deaf.Store(true)
			return refserver.Drop()
		}
		return refserver.Pass(raw)
	}}
}

// noJSON picks the frames that hold no JSON value, blank ones aside.
func noJSON(_ *refserver.Session, f *wire.Frame) bool { return !f.Readable() && !f.Has(wire.Empty) }

// noRequest picks the frames whose one object looks like a request, is none
// and has an id that could be used.
var noRequest = single(func(m *wire.Message) bool {
	version, _ := wire.Text(m.Member("jsonrpc"))
	return m.ID.Present() && m.Kind != wire.Response && (version != "2.0" || m.Method == "")
})

// refusals are the errors to readable frames that hold no request.
func refusals(o *refserver.Out) bool { return o.Method == "" && Errors(spec.CodeInvalidRequest)(o) }

func malformedFaults() []Fault {
	parse := Errors(spec.CodeParse)
	return []Fault{
		breaks("base.parse-error/silent", "a line that is no JSON is not answered", mute(parse)),
		breaks("base.parse-error/exits-0", "a line that is no JSON ends the process with 0", incoming(noJSON, diesOf(0))),
		breaks("base.parse-error/exits-1", "a line that is no JSON ends the process with 1", incoming(noJSON, diesOf(1))),
		breaksAfresh("base.parse-error/deaf", "after a line that is no JSON nothing is answered any more", func() refserver.Seams { return deafAfter(noJSON) }),
		breaks("base.parse-error/invented-id", "a line that is no JSON gets an error with id 0", AlterBytes(parse, func(b []byte) []byte {
			return wire.NewError(wire.IntID(0), int64(spec.CodeParse), "Parse error", nil)
		})),
		breaks("base.parse-error/internal-error", "a line that is no JSON gets -32603", recode(parse, "-32603")),
		breaks("base.parse-error/invalid-request", "a line that is no JSON gets -32600", recode(parse, "-32600")),

		breaks("base.invalid-request/silent", "what is JSON and no request is not answered", mute(refusals)),
		breaks("base.invalid-request/dies", "what is JSON and no request ends the process", incoming(noRequest, diesOf(1))),
		breaksAfresh("base.invalid-request/deaf", "after what is JSON and no request nothing is answered any more", func() refserver.Seams { return deafAfter(noRequest) }),
		breaks("base.invalid-request/internal-error", "what is JSON and no request gets -32603", recode(refusals, "-32603")),
		breaks("base.invalid-request/id-lost", "what is JSON and no request is refused with id null", setMember(refusals, "id", "null")),
		breaks("base.invalid-request/any-version", "requests with a missing or wrong jsonrpc are served",
			incoming(noRequest, rewrites(func(m Members) { m["jsonrpc"] = jsontext.Value(`"2.0"`) }))),
		breaks("base.invalid-request/any-case", "member names are read in any case: METHOD is method",
			incoming(noRequest, rewrites(func(m Members) {
				for name, v := range m {
					if lower := strings.ToLower(name); m[lower] == nil {
						m[lower] = v
					}
				}
			}))),
		breaks("base.invalid-request/boolean-id", "a request with the id true is served", servesID("true")),
		breaks("base.invalid-request/object-id", "a request with the id {} is served", servesID("{}")),
		breaks("base.request-null-id-rejected/served", "a request with id null is served", servesID("null")),
	}
}

// servesID serves requests whose id is the given illegal one, and echoes it.
// Inside the server such a request has an id that nobody else uses.
func servesID(raw string) refserver.Seams {
	inside := wire.StringID("illegal " + raw)
	return together(
		incoming(requestWith(func(id wire.ID) bool { return id.Raw() == raw }), rewrites(func(m Members) { m["id"] = jsontext.Value(inside.Raw()) })),
		setMember(func(o *refserver.Out) bool { return o.ID == inside && Answers()(o) }, "id", raw),
	)
}

func batchFaults() []Fault {
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
	elements := func(f func(e [][]byte) [][]byte) refserver.Seams {
		return AlterBytes(batches, func(frame []byte) []byte { return array(f(split(frame))) })
	}
	return []Fault{
		breaks("base.batch-receive/refused", "batches are refused", incoming(batch, answers(refused))),
		breaks("base.batch-receive/silent", "batches are not answered", incoming(batch, swallows)),
		breaks("base.batch-receive/dies", "a batch ends the process", incoming(batch, diesOf(1))),
		breaks("base.batch-receive/first-only", "only the first message of a batch is heeded", incoming(batch, func(_ *refserver.Session, raw []byte) refserver.FrameAction {
			return refserver.Pass(array(split(raw)[:1]))
		})),
		breaks("base.batch-receive/one-missing", "the last answer of a batch is missing", elements(func(e [][]byte) [][]byte {
			return e[:max(1, len(e)-1)]
		})),
		breaks("base.batch-receive/ten-at-most", "of the answers of a long batch those from the eleventh on are missing", elements(func(e [][]byte) [][]byte {
			return e[:min(len(e), 10)]
		})),
		breaks("base.batch-responses-complete/one-twice", "the first answer of a batch is there twice", elements(func(e [][]byte) [][]byte { return append(e, e[0]) })),
		breaks("base.batch-responses-complete/one-more", "a batch's notification is answered with id null", elements(func(e [][]byte) [][]byte {
			return append(e, []byte(nullIDError))
		})),
		breaks("base.batch-only-notifications-silent/empty-array", "a batch of notifications gets []", incoming(notifications, answers("[]"))),
		breaks("base.batch-only-notifications-silent/error", "a batch of notifications gets an error", incoming(notifications, answers(refused))),
		breaks("base.batch-empty-array/silent", "an empty batch is not answered", incoming(empty, swallows)),
		breaks("base.batch-empty-array/empty-array", "an empty batch gets []", incoming(empty, answers("[]"))),
		breaks("base.batch-empty-array/array", "an empty batch gets an array with an error", incoming(empty, answers("["+refused+"]"))),
		breaks("base.batch-empty-array/dies", "an empty batch ends the process", incoming(empty, diesOf(1))),
		breaks("base.batch-invalid-members/all-refused", "one invalid member has the whole batch refused", incoming(spoilt, answers(refused))),
		breaks("base.batch-invalid-members/all-dropped", "one invalid member has the whole batch dropped", incoming(spoilt, swallows)),
		breaks("base.batch-not-emitted/arrays-of-one", "every answer is an array of one", AlterBytes(Answers(), func(b []byte) []byte { return array([][]byte{b}) })),
		breaks("base.batch-not-emitted/errors-in-arrays", "errors are arrays of one", AlterBytes(replies(), func(b []byte) []byte { return array([][]byte{b}) })),
		breaks("base.batch-not-emitted/every-answer", "answers are arrays of one", AlterBytes(Answers(), func(b []byte) []byte { return array([][]byte{b}) })),
	}
}

// batches picks the arrays that answer batches.
func batches(o *refserver.Out) bool { return o.Kind == refserver.OutBatch }

func split(array []byte) [][]byte {
	var out [][]byte
	for _, e := range wire.Elements(array) {
		out = append(out, e)
	}
	return out
}

func array(elements [][]byte) []byte {
	parts := make([]string, len(elements))
	for i, e := range elements {
		parts[i] = string(e)
	}
	return []byte("[" + strings.Join(parts, ",") + "]")
}
