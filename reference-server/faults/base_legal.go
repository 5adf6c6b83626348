package faults

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// legalMessages is how answers may look.
func legalMessages() []Fault {
	older := beforeNewest()
	return []Fault{
		legalAfresh("rate-limited", "every third request gets an error of the server's own once a few were served", limited),
		legal("more-members", "results have members that no revision knows", EditResult("", func(r map[string]any) {
			if len(r) > 0 { // an empty result has to stay empty
				r["x-adapter"] = map[string]any{"version": 2}
			}
		})),
		legal("meta-in-results", "results have _meta, the empty ones too", EditResult("", func(r map[string]any) {
			meta, _ := r["_meta"].(map[string]any)
			if meta == nil {
				meta = map[string]any{}
				r["_meta"] = meta
			}
			maps.Copy(meta, map[string]any{
				"com.example/took-ms": 3, "com.example.mcp/x": nil, "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
				"plain": true, "com.example/a.b_c-d": []any{}, "com.example/": 1,
			})
		})),
		legal("ids-first", "the members of messages come in another order, with blanks", AlterBytes(Everything, spaced)),
		legal("escaped", "each character of a text or a name is escaped", AlterBytes(Everything, escaped)),
		legal("carriage-return", "lines end in CR LF", Outgoing(Everything, func(o *refserver.Out) { o.Terminator = "\r\n" })),
		legal("error-data-null", "errors have data that is null", editError(dataIsFree, func(e Members) { e["data"] = jsontext.Value("null") })),
		legal("error-data", "errors have data", editError(dataIsFree, func(e Members) { e["data"] = jsontext.Value(`{"hint":["look","again"]}`) })),
		legal("other-error-messages", "errors say everything in another language", editError(Errors(), func(e Members) {
			e["message"] = jsontext.Value(`"Das ging leider schief."`)
		})),
		legal("null-error-id", "errors to what can't be read have the id null", setMember(func(o *refserver.Out) bool {
			return !o.ID.Present() && Errors()(o)
		}, "id", "null")).in(spec.V20251125),
		legal("huge-ids-rounded", "integer ids beyond 2^53 come back rounded", echo(func(id string) string {
			if n, err := strconv.ParseInt(id, 10, 64); err == nil && (n > 1<<53 || n < -1<<53) {
				return strconv.FormatInt(int64(float64(n)), 10)
			}
			return id
		})),
		legalAfresh("early-lists-refused", "the lists are refused before initialized", func() refserver.Seams {
			return earlyLists(func(*refserver.Call) {}, func(*refserver.Call) bool { return false })
		}),
		legal("huge-ids-ignored", "requests whose integer id is beyond 2^53 are ignored", incoming(requestWith(func(id wire.ID) bool {
			n, err := strconv.ParseInt(id.Raw(), 10, 64)
			return err == nil && (n > 1<<53 || n < -1<<53)
		}), swallows)),
		legal("arguments-refused", "wrong arguments of tools get an isError result", Handle(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			result, err := next(c)
			if err != nil && wire.At(c.Params, "/name").Kind() == '"' && !strings.Contains(err.Message, "no such tool") && !malformed(c) {
				return map[string]any{"isError": true, "content": []any{map[string]any{"type": "text", "text": err.Message}}}, nil
			}
			return result, err
		})).in(older...),
		legalAfresh("out-of-order", "every other answer is held back for 15 ms", func() refserver.Seams {
			var n atomic.Int64
			return Handle("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				result, err := next(c)
				if n.Add(1)%2 == 0 {
					pause(c.Context(), 15*time.Millisecond)
				}
				return result, err
			})
		}),
		legal("batch-answers-apart", "the answers to a batch come one by one", Outgoing(batches, func(o *refserver.Out) { o.Frames = split(o.Frames[0]) })).in(spec.V20250326),
		legal("long-batches-refused", "a batch of more than twenty messages is refused as a whole", incoming(func(_ *refserver.Session, f *wire.Frame) bool {
			return f.Batch && len(f.Messages) > 20
		}, func(s *refserver.Session, _ []byte) refserver.FrameAction {
			s.SendRaw([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Too many messages"}}`))
			return refserver.Drop()
		})).in(spec.V20250326),
		legal("answers-in-arrays", "every answer is an array of one where nothing is said of batches", AlterBytes(Answers(), func(b []byte) []byte { return array([][]byte{b}) })).in(spec.V20241105),
		legal("batch-ignored", "batches are not answered where there are none", incoming(func(s *refserver.Session, f *wire.Frame) bool {
			return f.Batch && !s.Revision().Batches()
		}, swallows)).in(spec.V20241105, spec.V20250618, spec.V20251125),
		legal("batch-taken-apart", "the members of a batch are answered one by one where there are none", incoming(func(s *refserver.Session, f *wire.Frame) bool {
			return f.Batch && len(f.Messages) > 0 && s.Revision() != "" && !s.Revision().Batches()
		}, func(s *refserver.Session, raw []byte) refserver.FrameAction {
			for _, e := range split(raw) {
				s.Deliver(e)
			}
			return refserver.Drop()
		})).in(spec.V20241105, spec.V20250618, spec.V20251125),
	}
}

// legalOwn is what the server may say by itself.
func legalOwn() []Fault {
	return []Fault{
		legal("string-ids", "its own requests have string ids", ownIDs(func(n int64) string { return fmt.Sprintf(`"server/%d"`, n) })),
		legal("negative-ids", "its own requests have negative ids", ownIDs(func(n int64) string { return strconv.FormatInt(-n, 10) })),
		legal("same-ids-as-the-client", "its own requests have ids that a client may be using", ownIDs(func(n int64) string { return strconv.FormatInt(n-1, 10) })),
		legal("pings", "the client is pinged once it has said initialized, and every 5 s", together(
			pinging(5*time.Second), onceReady(func(s *refserver.Session) {
				s.Go(func(ctx context.Context) { _, _ = s.SendRequest(ctx, wire.ID{}, spec.MethodPing, nil) })
			}))),
		legal("pings-before-initialized", "the client is pinged right behind the answer to initialize", Outgoing(Results(spec.MethodInitialize), func(o *refserver.Out) {
			o.Frames = append(o.Frames, wire.NewRequest(wire.StringID("early"), spec.MethodPing, nil))
		})).over(ordered()...),
		legal("logs-at-once", "log messages come right behind the answer to initialize", after(Results(spec.MethodInitialize),
			`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"debug","data":null}}`,
			`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"emergency","logger":"x","data":[1,{"a":"b"}]}}`)).over(ordered()...),
		legal("unknown-notifications-logged", "a notification whose method does not begin with notifications/ gets a log message",
			notified(func(n *refserver.Notification) bool { return !strings.HasPrefix(n.Method, "notifications/") }, func(n *refserver.Notification) {
				n.Session.SendRaw([]byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"emergency","data":"unknown notification"}}`))
			})),
		legal("lists-change-often", "the lists are said to have changed before every answer", before(opened,
			`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, `{"jsonrpc":"2.0","method":"notifications/prompts/list_changed","params":{}}`)),
	}
}

// dataIsFree picks the errors whose data the specification leaves to the server.
func dataIsFree(o *refserver.Out) bool { return Errors()(o) && !Errors(spec.CodeURLElicitation)(o) }

func malformed(c *refserver.Call) bool {
	arguments := wire.At(c.Params, "/arguments")
	return c.Params.Kind() != '{' || arguments != nil && arguments.Kind() != '{'
}

// spaced writes a message with its id first and blanks between all tokens.
func spaced(frame []byte) []byte {
	names, m := wire.Members(frame)
	if m == nil {
		return frame
	}
	parts := []string{}
	for i := len(names) - 1; i >= 0; i-- {
		v := m[names[i]].Clone()
		if v.Indent(jsontext.WithIndent("")) == nil {
			parts = append(parts, fmt.Sprintf("%s \t: %s", wire.Quote(names[i]), strings.ReplaceAll(string(v), "\n", " ")))
		}
	}
	return []byte(" { " + strings.Join(parts, " , ") + " } ")
}

// escaped writes every character of a text or a name as an escape.
func escaped(frame []byte) []byte {
	var b strings.Builder
	quoted := false
	for rest := string(frame); rest != ""; {
		r, n := utf8.DecodeRuneInString(rest)
		switch {
		case r == '"':
			quoted = !quoted
			b.WriteByte('"')
		case !quoted:
			b.WriteString(rest[:n])
		case r == '\\': // it is an escape already
			n = len(`\n`)
			if rest[1] == 'u' {
				n = len(`\u000a`)
			}
			b.WriteString(rest[:n])
		default:
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		}
		rest = rest[n:]
	}
	return []byte(b.String())
}
