package faults

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// Buried returns faults that no case of a run shows, for they take a sequence,
// a boundary, a race or a rare value: by them it is measured what the fuzzer
// finds. They are not among All.
func Buried() []Fault {
	return slices.Concat(buriedValues(), buriedIDs(), buriedSequences(), buriedRaces(), buriedTasks())
}

// LookupBuried returns the buried fault with the given id.
func LookupBuried(id string) (Fault, bool) {
	all := Buried()
	i := slices.IndexFunc(all, func(f Fault) bool { return f.ID == id })
	if i < 0 {
		return Fault{}, false
	}
	return all[i], true
}

// oddly answers the calls of a method for which when holds by what do makes of
// the right result.
func oddly(method string, when func(c *refserver.Call) bool, do func(r map[string]any)) refserver.Seams {
	return Handle(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if err != nil || !when(c) {
			return result, err
		}
		r := plain(result)
		do(r)
		return r, nil
	})
}

// paramText reports whether a text among the params fits.
func paramText(pointer string, fits func(s string) bool) func(c *refserver.Call) bool {
	return func(c *refserver.Call) bool {
		s, ok := wire.Text(wire.At(c.Params, pointer))
		return ok && fits(s)
	}
}

// callOf reports whether a tool is called with arguments that fit.
func callOf(tool string, fits func(arguments jsontext.Value) bool) func(c *refserver.Call) bool {
	return func(c *refserver.Call) bool {
		name, _ := wire.Text(wire.At(c.Params, "/name"))
		return name == tool && fits(wire.At(c.Params, "/arguments"))
	}
}

// buriedValues show for rare values alone.
func buriedValues() []Fault {
	return []Fault{
		breaks("tools.structured.conforms/large-sum", "a sum from 2^53 on is a text",
			oddly(spec.MethodToolsCall, callOf("add", func(a jsontext.Value) bool {
				return len(wire.At(a, "/a")) >= 16 || len(wire.At(a, "/b")) >= 16
			}), func(r map[string]any) {
				if r["structuredContent"] != nil {
					r["structuredContent"] = map[string]any{"sum": "a large number"}
				}
			})).in(spec.V20250618, spec.V20251125),
		breaks("tools.call.result-schema/echo-of-nul", "the echo of a text with a NUL is no block of content",
			oddly(spec.MethodToolsCall, callOf("echo", func(a jsontext.Value) bool {
				s, _ := wire.Text(wire.At(a, "/text"))
				return strings.Contains(s, "\x00")
			}), func(r map[string]any) { r["content"] = []any{map[string]any{"type": "text"}} })),
		breaks("completion.values.max-100/long-value", "the completions of a value of 255 to 260 bytes are a hundred and one",
			oddly(spec.MethodComplete, paramText("/argument/value", func(s string) bool { return len(s) >= 255 && len(s) <= 260 }), func(r map[string]any) {
				values := make([]any, 0, 101)
				for range 101 {
					values = append(values, "value")
				}
				r["completion"] = map[string]any{"values": values}
			})),
		breaks("prompts.get.result-schema/empty-argument", "an empty argument of a prompt makes a message without a role",
			oddly(spec.MethodPromptsGet, func(c *refserver.Call) bool {
				return bytes.Contains(wire.At(c.Params, "/arguments"), []byte(`:""`))
			}, func(r map[string]any) {
				r["messages"] = []any{map[string]any{"content": map[string]any{"type": "text", "text": ""}}}
			})),
		breaks("base.error-code-integer/long-method", "an unknown method of 300 bytes and more is refused with a code that is a text",
			Outgoing(func(o *refserver.Out) bool { return len(o.Method) >= 300 && Errors()(o) }, func(o *refserver.Out) {
				o.Frames[0] = bytes.Replace(o.Frames[0], []byte(`"code":-32601`), []byte(`"code":"-32601"`), 1)
			})),
		breaks("resources.read.result-schema/templated-minus", "what a template makes of -1 is read without its contents",
			oddly(spec.MethodResourcesRead, paramText("/uri", func(s string) bool { return strings.HasSuffix(s, "/-1") }),
				func(r map[string]any) { delete(r, "contents") })),
		breaks("base.request-answered/deep-meta", "what is nested more than a hundred deep ends the server",
			Handle("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if bytes.Contains(c.Params, []byte(strings.Repeat("[", 101))) {
					c.Session.Exit(1)
					return nil, refserver.NoResponse
				}
				return next(c)
			})),
		breaks("base.request-answered/exact-kibibyte", "a line of 1,024 to 1,055 bytes is lost", refserver.Seams{
			Incoming: func(_ *refserver.Session, raw []byte) refserver.FrameAction {
				if len(raw) >= 1024 && len(raw) < 1056 {
					return refserver.Drop()
				}
				return refserver.Pass(raw)
			},
		}),
		breaks("stdio.no-embedded-newlines/line-separator", "a text with U+2028 is sent back with a newline in its place",
			AlterBytes(Results(spec.MethodToolsCall), func(frame []byte) []byte {
				frame = bytes.ReplaceAll(frame, []byte("\u2028"), []byte("\n"))
				return bytes.ReplaceAll(frame, []byte(`\u2028`), []byte("\n"))
			})),
		breaks("tools.list.result-schema/empty-meta", "an empty _meta makes a list that is null", Handle("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			result, err := next(c)
			if err != nil || string(wire.At(c.Params, "/_meta")) != "{}" || c.Method != spec.MethodToolsList {
				return result, err
			}
			r := plain(result)
			r["tools"] = nil
			return r, nil
		})),
	}
}

// buriedIDs show for rare ids alone.
func buriedIDs() []Fault {
	reply := func(alter func(id wire.ID) string) refserver.Seams {
		return Outgoing(Answers(), func(o *refserver.Out) {
			if raw := alter(o.ID); raw != o.ID.Raw() {
				_, m := wire.Members(o.Frames[0])
				m["id"] = jsontext.Value(raw)
				o.Frames[0] = wire.JSON(m)
			}
		})
	}
	return []Fault{
		breaks("base.response-id-echo/negative", "a negative id of four digits and more comes back without its sign", reply(func(id wire.ID) string {
			if id.IsInteger() && len(id.Raw()) >= 5 {
				return strings.TrimPrefix(id.Raw(), "-")
			}
			return id.Raw()
		})),
		breaks("base.response-id-echo/long", "an id of more than 500 bytes comes back cut", reply(func(id wire.ID) string {
			if s, ok := wire.Text(jsontext.Value(id.Raw())); ok && len(s) > 500 {
				return string(wire.Quote(strings.ToValidUTF8(s[:128], "")))
			}
			return id.Raw()
		})),
		breaks("base.response-id-echo/combining", "an id with a combining accent comes back composed", reply(func(id wire.ID) string {
			return strings.ReplaceAll(id.Raw(), "e\u0301", "é")
		})),
		breaks("base.response-id-echo/int32", "an integer id from 2^31 on wraps around", reply(func(id wire.ID) string {
			if id.IsInteger() && len(id.Raw()) == 10 && id.Raw() >= "2147483648" && id.Raw() < "3000000000" {
				return "-" + id.Raw()
			}
			return id.Raw()
		})),
		breaksAfresh("base.response-id-echo/digits", "a text of digits comes back as the number that was asked with before", func() refserver.Seams {
			var mu sync.Mutex
			seen := map[string]bool{}
			return reply(func(id wire.ID) string {
				mu.Lock()
				defer mu.Unlock()
				seen[id.Raw()] = true
				if s, ok := wire.Text(jsontext.Value(id.Raw())); ok && s != "" && seen[s] && id.IsString() {
					return s
				}
				return id.Raw()
			})
		}),
	}
}
