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

// lineFaults are about lines that hold more than a message.
func lineFaults() []Fault {
	return []Fault{
		breaks("base.parse-error/comma", "a comma behind a message ends the process", incoming(followedBy(","), diesOf(1))),
		breaksAfresh("base.parse-error/word", "after a message with a word behind it nothing is answered any more", func() refserver.Seams {
			return deafAfter(followedBy(" garbage"))
		}),
		breaks("base.invalid-request/more-members", "a request with members that JSON-RPC does not define ends the process", incoming(moreMembers, diesOf(1))),
		breaks("base.request-answered/line-separators", "a line ends at U+2028, U+2029 and U+0085, too, and what can't be read then is passed over", refserver.Seams{
			Incoming: func(_ *refserver.Session, raw []byte) refserver.FrameAction {
				if bytes.ContainsAny(raw, "\u2028\u2029\u0085") {
					return refserver.Drop()
				}
				return refserver.Pass(raw)
			},
		}),
		breaksAfresh("base.error-code-integer/escape", "a URI with a malformed percent escape is refused with a code that is a text", func() refserver.Seams {
			var malformed sync.Map // requests by session and id
			key := func(s *refserver.Session, id wire.ID) string { return fmt.Sprintf("%p %s", s, id.Key()) }
			return together(
				Handle(spec.MethodResourcesRead, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
					if _, ok := malformedEscape(c); ok {
						malformed.Store(key(c.Session, c.ID), true)
						return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "URI malformed"}
					}
					return next(c)
				}),
				editError(func(o *refserver.Out) bool {
					_, ok := malformed.LoadAndDelete(key(o.Session, o.ID))
					return ok && replies()(o)
				}, func(e Members) { e["code"] = jsontext.Value(`"URIError"`) }))
		}),
		breaks("base.request-answered/blanks-behind", "a message with white space behind it is lost", refserver.Seams{
			Incoming: func(_ *refserver.Session, raw []byte) refserver.FrameAction {
				if bytes.HasSuffix(raw, []byte("\t ")) {
					return refserver.Drop()
				}
				return refserver.Pass(raw)
			},
		}),
		breaks("base.response-id-echo/nul", "an id ends before a NUL in it", echo(func(id string) string {
			if before, _, ok := strings.Cut(id, `\u0000`); ok {
				return before + `"`
			}
			return id
		})),
		breaks("base.method-not-found/inherited", "unknown methods that are members of every object in JavaScript get -32603",
			refuse("", func(c *refserver.Call) bool { return c.Method == "constructor" || c.Method == "toString" }, spec.CodeInternal, "Internal error")),
		breaksAfresh("base.request-answered/slots-lost", "each error keeps a slot; after 40 errors no request is answered", func() refserver.Seams {
			var lost sync.Map // by session
			return Handle("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
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

// legalLines are the legal variations in what is made of such lines.
func legalLines() []Fault {
	return []Fault{
		legal("text-behind-ignored", "what stands behind a message on its line is not looked at", incoming(hasMore, func(_ *refserver.Session, raw []byte) refserver.FrameAction {
			return refserver.Pass(raw[:bytes.LastIndexByte(raw, '}')+1])
		})),
		legal("more-members-dropped", "a request with members that JSON-RPC does not define is passed over", incoming(moreMembers, swallows)),
		legal("more-members-refused", "a request with members that JSON-RPC does not define is refused", incoming(moreMembers, rewrites(func(m Members) {
			delete(m, "method")
		}))),
		legal("malformed-escapes-served", "a URI with malformed percent escapes is read as it stands", Handle(spec.MethodResourcesRead, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if u, ok := malformedEscape(c); ok {
				return map[string]any{"contents": []any{map[string]any{"uri": u, "text": u, "mimeType": "text/plain"}}}, nil
			}
			return next(c)
		})),
		legal("text-behind-dropped", "a line on which text stands behind a message is passed over", incoming(hasMore, swallows)),
	}
}

func hasMore(_ *refserver.Session, f *wire.Frame) bool {
	return f.Has(wire.TrailingText) && len(f.Messages) > 0
}

func followedBy(text string) func(*refserver.Session, *wire.Frame) bool {
	return func(s *refserver.Session, f *wire.Frame) bool {
		return hasMore(s, f) && bytes.HasSuffix(bytes.TrimSpace(f.Raw), []byte("}"+text))
	}
}

// moreMembers picks the frames that hold a request with members that JSON-RPC
// does not define.
var moreMembers = single(func(m *wire.Message) bool {
	names, _ := wire.Members(m.Raw)
	return m.Kind == wire.Request && slices.ContainsFunc(names, func(name string) bool {
		return !slices.Contains([]string{"jsonrpc", "id", "method", "params"}, name)
	})
})

// malformedEscape returns the URI of a read if a percent sign in it begins no escape.
func malformedEscape(c *refserver.Call) (string, bool) {
	text, _ := wire.Text(wire.At(c.Params, "/uri"))
	_, err := url.PathUnescape(text)
	return text, err != nil
}
