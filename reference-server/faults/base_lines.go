package faults

import (
	"bytes"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// lineFaults returns the faults that show with unusual lines: text after a message, or unusual
// members, characters, ids or methods. One of the faults shows only after many errors.
func lineFaults() []*Fault {
	return []*Fault{
		newFault("base.parse-error/comma", "a comma after a message ends the process", onIncoming(hasTrailing(","), exitWith(1))),
		newFaultWithState("base.parse-error/word", "after a message with trailing text the server responds to nothing", func() *refserver.Seams {
			return silentAfter(hasTrailing(" garbage"))
		}),
		newFault("base.invalid-request/more-members", "a request with members that JSON-RPC does not define ends the process", onIncoming(hasUndefinedMembers, exitWith(1))),
		newFault("base.request-answered/line-separators", "the server also splits lines at U+2028, U+2029 and U+0085, and ignores the fragments", &refserver.Seams{
			Incoming: func(_ *refserver.Session, raw []byte) refserver.FrameAction {
				if bytes.ContainsAny(raw, "\u2028\u2029\u0085") {
					return refserver.Drop()
				}
				return refserver.Pass(raw)
			},
		}),
		newFaultWithState("base.error-code-integer/escape", "a URI with a malformed percent escape gets an error with a string as code", func() *refserver.Seams {
			var malformed sync.Map // requests, by session and id
			key := func(s *refserver.Session, id wire.ID) string { return fmt.Sprintf("%p %s", s, id.Key()) }
			return combineSeams(
				WrapHandler(spec.MethodResourcesRead, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
					if _, ok := malformedEscape(c); ok {
						malformed.Store(key(c.Session, c.ID), true)
						return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "URI malformed"}
					}
					return next(c)
				}),
				editError(func(o *refserver.Out) bool {
					_, ok := malformed.LoadAndDelete(key(o.Session, o.ID))
					return ok && errorsWithID()(o)
				}, func(e Members) { e["code"] = jsontext.Value(`"URIError"`) }))
		}),
		newFault("base.request-answered/blanks-behind", "a message with trailing white space is dropped", &refserver.Seams{
			Incoming: func(_ *refserver.Session, raw []byte) refserver.FrameAction {
				if bytes.HasSuffix(raw, []byte("\t ")) {
					return refserver.Drop()
				}
				return refserver.Pass(raw)
			},
		}),
		newFault("base.response-id-echo/nul", "an id is echoed only up to a NUL in it", editResponseIDs(func(id string) string {
			if before, _, ok := strings.Cut(id, `\u0000`); ok {
				return before + `"`
			}
			return id
		})),
		newFault("base.response-id-echo/combining", "an id with a combining accent is echoed in its composed form", editResponseIDs(func(id string) string {
			return strings.ReplaceAll(id, "e\u0301", "é")
		})),
		newFault("base.method-not-found/inherited", "unknown methods named like JavaScript's object members get -32603",
			refuseCalls("", func(c *refserver.Call) bool { return c.Method == "constructor" || c.Method == "toString" }, spec.CodeInternal, "Internal error")),
		newFaultWithState("base.request-answered/slots-lost", "each error leaks a slot; after 40 errors the server responds to nothing", func() *refserver.Seams {
			var lost sync.Map // the number of leaked slots, by session
			return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				counter, _ := lost.LoadOrStore(c.Session, new(atomic.Int64))
				n := counter.(*atomic.Int64)
				if n.Load() >= 40 {
					return nil, refserver.NoResponse
				}
				result, err := next(c)
				if err != nil {
					n.Add(1)
				}
				return result, err
			})
		}),
	}
}

// legalLines returns the legal variations in handling lines that contain more than a
// plain message.
func legalLines() []*Fault {
	return []*Fault{
		newVariation("text-behind-ignored", "the server ignores text after a message on its line", onIncoming(hasTrailingText, func(_ *refserver.Session, raw []byte) refserver.FrameAction {
			return refserver.Pass(raw[:bytes.LastIndexByte(raw, '}')+1])
		})),
		newVariation("more-members-dropped", "the server drops a request with members that JSON-RPC does not define", onIncoming(hasUndefinedMembers, dropFrame)),
		newVariation("more-members-refused", "the server refuses a request with members that JSON-RPC does not define", onIncoming(hasUndefinedMembers, editMembers(func(m Members) {
			delete(m, "method")
		}))),
		newVariation("malformed-escapes-served", "the server reads a URI with malformed percent escapes literally", WrapHandler(spec.MethodResourcesRead, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if u, ok := malformedEscape(c); ok {
				return map[string]any{"contents": []any{map[string]any{"uri": u, "text": u, "mimeType": "text/plain"}}}, nil
			}
			return next(c)
		})),
		newVariation("text-behind-dropped", "the server drops a line that has text after a message", onIncoming(hasTrailingText, dropFrame)),
	}
}

func hasTrailingText(_ *refserver.Session, f *wire.Frame) bool {
	return f.Has(wire.TrailingText) && len(f.Messages) > 0
}

func hasTrailing(text string) func(*refserver.Session, *wire.Frame) bool {
	return func(s *refserver.Session, f *wire.Frame) bool {
		return hasTrailingText(s, f) && bytes.HasSuffix(bytes.TrimSpace(f.Raw), []byte("}"+text))
	}
}

// hasUndefinedMembers matches frames with a request that contains members that JSON-RPC
// does not define.
var hasUndefinedMembers = singleMessage(func(m *wire.Message) bool {
	names, _ := wire.Members(m.Raw)
	return m.Kind == wire.Request && slices.ContainsFunc(names, func(name string) bool {
		return !slices.Contains([]string{"jsonrpc", "id", "method", "params"}, name)
	})
})

// malformedEscape returns the URI of resources/read and reports whether it contains a
// percent sign that begins no valid escape.
func malformedEscape(c *refserver.Call) (string, bool) {
	text, _ := wire.Text(wire.At(c.Params, "/uri"))
	_, err := url.PathUnescape(text)
	return text, err != nil
}
