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

// legalMessages returns the legal variations in what responses look like, and in which requests get
// one.
func legalMessages() []*Fault {
	older := olderRevisions()
	return []*Fault{
		newVariationWithState("rate-limited", "every third request gets a server-defined error, after the first few", limitRate).inRevisions(spec.Revisions()...),
		newVariation("more-members", "results have members that no revision defines", EditResult("", func(r map[string]any) {
			if len(r) > 0 { // the specification requires an empty result to stay empty
				r["x-adapter"] = map[string]any{"version": 2}
			}
		})),
		newVariation("meta-in-results", "all results have _meta, even empty ones", EditResult("", func(r map[string]any) {
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
		newVariation("ids-first", "the members of messages are in another order, with white space between them", EditBytes(AnyMessage, reorderAndSpace)),
		newVariation("escaped", "every character of every string is escaped", EditBytes(AnyMessage, escapeStrings)),
		newVariation("carriage-return", "lines end in CR LF", EditOutgoing(AnyMessage, func(o *refserver.Out) { o.Terminator = "\r\n" })),
		newVariation("error-data-null", "errors have data that is null", editError(isErrorWithFreeData, func(e Members) { e["data"] = jsontext.Value("null") })),
		newVariation("error-data", "errors have data", editError(isErrorWithFreeData, func(e Members) { e["data"] = jsontext.Value(`{"hint":["look","again"]}`) })),
		newVariation("other-error-messages", "error messages are in another language", editError(Errors(), func(e Members) {
			e["message"] = jsontext.Value(`"Das ging leider schief."`)
		})),
		newVariation("null-error-id", "errors to unreadable messages have the id null", setMember(func(o *refserver.Out) bool {
			return !o.ID.IsPresent() && Errors()(o)
		}, "id", "null")).inRevisions(spec.V20251125),
		newVariation("huge-ids-rounded", "integer ids beyond 2^53 are echoed rounded", editResponseIDs(func(id string) string {
			if n, err := strconv.ParseInt(id, 10, 64); err == nil && (n > 1<<53 || n < -1<<53) {
				return strconv.FormatInt(int64(float64(n)), 10)
			}
			return id
		})),
		newVariationWithState("early-lists-refused", "list requests before notifications/initialized get an error", func() *refserver.Seams {
			return refuseEarlyLists(func(*refserver.Call) {}, func(*refserver.Call) bool { return false })
		}),
		newVariation("huge-ids-ignored", "the server ignores requests whose integer id is beyond 2^53", onIncoming(requestWithID(func(id wire.ID) bool {
			n, err := strconv.ParseInt(id.Raw(), 10, 64)
			return err == nil && (n > 1<<53 || n < -1<<53)
		}), dropFrame)),
		newVariation("arguments-refused", "invalid tool arguments get an isError result", WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			result, err := next(c)
			if err != nil && wire.At(c.Params, "/name").Kind() == '"' && !strings.Contains(err.Message, "no such tool") && !hasMalformedParams(c) {
				return map[string]any{"isError": true, "content": []any{map[string]any{"type": "text", "text": err.Message}}}, nil
			}
			return result, err
		})).inRevisions(older...),
		newVariationWithState("out-of-order", "every second response is delayed by 15 ms", func() *refserver.Seams {
			var n atomic.Int64
			return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				result, err := next(c)
				if n.Add(1)%2 == 0 {
					sleep(c.Context(), 15*time.Millisecond)
				}
				return result, err
			})
		}),
		newVariation("batch-answers-apart", "the responses to a batch are sent one by one", EditOutgoing(isBatchResponse, func(o *refserver.Out) { o.Frames = splitArray(o.Frames[0]) })).inRevisions(spec.V20250326),
		newVariation("long-batches-refused", "a batch of more than twenty messages gets one error", onIncoming(func(_ *refserver.Session, f *wire.Frame) bool {
			return f.Batch && len(f.Messages) > 20
		}, func(s *refserver.Session, _ []byte) refserver.FrameAction {
			s.SendRaw([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Too many messages"}}`))
			return refserver.Drop()
		})).inRevisions(spec.V20250326),
		newVariation("answers-in-arrays", "every response is an array with one element, in the revision that does not mention batches", EditBytes(Responses(), func(b []byte) []byte { return joinArray([][]byte{b}) })).inRevisions(spec.V20241105),
		newVariation("batch-ignored", "batches get no response in revisions without batches", onIncoming(func(s *refserver.Session, f *wire.Frame) bool {
			return f.Batch && !s.Revision().HasBatches()
		}, dropFrame)).inRevisions(spec.V20241105, spec.V20250618, spec.V20251125),
		newVariation("batch-taken-apart", "the members of a batch get single responses in revisions without batches", onIncoming(func(s *refserver.Session, f *wire.Frame) bool {
			return f.Batch && len(f.Messages) > 0 && s.Revision() != "" && !s.Revision().HasBatches()
		}, func(s *refserver.Session, raw []byte) refserver.FrameAction {
			for _, e := range splitArray(raw) {
				s.Deliver(e)
			}
			return refserver.Drop()
		})).inRevisions(spec.V20241105, spec.V20250618, spec.V20251125),
		newVariation("busy-but-for-lists", "unknown methods and ping get the same error, that the server is busy, and lists are served",
			WrapHandler("", refuseUnknownAndPing(-32000, "the server is busy, try again later"))).inRevisions(spec.HandshakeRevisions()...),
	}
}

// legalServerMessages returns the legal variations in the messages that the server sends
// unprompted.
func legalServerMessages() []*Fault {
	return []*Fault{
		newVariation("string-ids", "the server's requests have string ids", setRequestIDs(func(n int64) string { return fmt.Sprintf(`"server/%d"`, n) })),
		newVariation("negative-ids", "the server's requests have negative ids", setRequestIDs(func(n int64) string { return strconv.FormatInt(-n, 10) })),
		newVariation("same-ids-as-the-client", "the server's requests use ids that the client may also be using", setRequestIDs(func(n int64) string { return strconv.FormatInt(n-1, 10) })),
		newVariation("pings", "the server pings the client after notifications/initialized and every 5 s", combineSeams(
			pingEvery(5*time.Second), onInitialized(func(s *refserver.Session) {
				s.Go(func(ctx context.Context) { _, _ = s.SendRequest(ctx, wire.ID{}, spec.MethodPing, nil) })
			}))),
		newVariation("pings-before-initialized", "the server pings the client right after the response to initialize", EditOutgoing(Results(spec.MethodInitialize), func(o *refserver.Out) {
			o.Frames = append(o.Frames, wire.NewRequest(wire.StringID("early"), spec.MethodPing, nil))
		})).overTransports(orderedTransports()...),
		newVariation("logs-at-once", "log messages follow right after the response to initialize", appendLines(Results(spec.MethodInitialize),
			`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"debug","data":null}}`,
			`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"emergency","logger":"x","data":[1,{"a":"b"}]}}`)).overTransports(orderedTransports()...),
		newVariation("unknown-notifications-logged", "a notification whose method lacks the prefix notifications/ gets a log message",
			afterNotification(func(n *refserver.Notification) bool { return !strings.HasPrefix(n.Method, "notifications/") }, func(n *refserver.Notification) {
				n.Session.SendRaw([]byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"emergency","data":"unknown notification"}}`))
			})),
		newVariation("lists-change-often", "the server sends list_changed before every response", prependLines(isSessionResponse,
			`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, `{"jsonrpc":"2.0","method":"notifications/prompts/list_changed","params":{}}`)),
	}
}

// isErrorWithFreeData matches the errors whose data the specification does not define.
func isErrorWithFreeData(o *refserver.Out) bool {
	return Errors()(o) && !Errors(spec.CodeURLElicitation)(o)
}

func hasMalformedParams(c *refserver.Call) bool {
	arguments := wire.At(c.Params, "/arguments")
	return c.Params.Kind() != '{' || arguments != nil && arguments.Kind() != '{'
}

// reorderAndSpace reverses the members of a message and puts white space between all
// tokens.
func reorderAndSpace(frame []byte) []byte {
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

// escapeStrings escapes every character of all strings and member names.
func escapeStrings(frame []byte) []byte {
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
		case r == '\\': // already an escape
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
