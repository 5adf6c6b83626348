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

// Buried returns faults that no case shows, because they require a sequence of requests, a boundary
// value, a race or a rare value. They serve to measure which faults the fuzzer finds. The function
// All does not include them.
func Buried() []Fault {
	var out []Fault
	for _, f := range slices.Concat(buriedValues(), buriedIDFaults(), buriedSequences(), buriedRaces(), buriedTasks(), buriedStateless()) {
		out = append(out, *f)
	}
	return out
}

// editMatchingResults edits the results of the requests of a method that match.
func editMatchingResults(method string, when func(c *refserver.Call) bool, do func(r map[string]any)) *refserver.Seams {
	return WrapHandler(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if err != nil || !when(c) {
			return result, err
		}
		r := decodeObject(result)
		do(r)
		return r, nil
	})
}

// hasMatchingParam matches requests whose params have, at the JSON pointer, a string for which the
// function fits returns true.
func hasMatchingParam(pointer string, fits func(s string) bool) func(c *refserver.Call) bool {
	return func(c *refserver.Call) bool {
		s, ok := wire.Text(wire.At(c.Params, pointer))
		return ok && fits(s)
	}
}

// callOf matches calls of a tool with arguments for which the function fits returns true.
func callOf(tool string, fits func(arguments jsontext.Value) bool) func(c *refserver.Call) bool {
	return func(c *refserver.Call) bool {
		name, _ := wire.Text(wire.At(c.Params, "/name"))
		return name == tool && fits(wire.At(c.Params, "/arguments"))
	}
}

// buriedValues returns the faults that show only with rare values.
func buriedValues() []*Fault {
	return []*Fault{
		newFault("tools.structured.conforms/large-sum", "the structured sum of a number written with 16 or more characters is a string",
			editMatchingResults(spec.MethodToolsCall, callOf("add", func(a jsontext.Value) bool {
				return len(wire.At(a, "/a")) >= 16 || len(wire.At(a, "/b")) >= 16
			}), func(r map[string]any) {
				if r["structuredContent"] != nil {
					r["structuredContent"] = map[string]any{"sum": "a large number"}
				}
			})).inRevisions(spec.V20250618, spec.V20251125),
		newFault("tools.call.result-schema/echo-of-nul", "echo of a text with NUL returns a block without text",
			editMatchingResults(spec.MethodToolsCall, callOf("echo", func(a jsontext.Value) bool {
				s, _ := wire.Text(wire.At(a, "/text"))
				return strings.Contains(s, "\x00")
			}), func(r map[string]any) { r["content"] = []any{map[string]any{"type": "text"}} })),
		newFault("completion.values.max-100/long-value", "completion of a value of 255 to 260 bytes returns 101 values",
			editMatchingResults(spec.MethodComplete, hasMatchingParam("/argument/value", func(s string) bool { return len(s) >= 255 && len(s) <= 260 }), func(r map[string]any) {
				values := make([]any, 0, 101)
				for range 101 {
					values = append(values, "value")
				}
				r["completion"] = map[string]any{"values": values}
			})),
		newFault("prompts.get.result-schema/empty-argument", "an empty prompt argument produces a message without role",
			editMatchingResults(spec.MethodPromptsGet, func(c *refserver.Call) bool {
				return bytes.Contains(wire.At(c.Params, "/arguments"), []byte(`:""`))
			}, func(r map[string]any) {
				r["messages"] = []any{map[string]any{"content": map[string]any{"type": "text", "text": ""}}}
			})),
		newFault("base.error-code-integer/long-method", "an unknown method of 300 bytes or more gets an error with a string as code",
			EditOutgoing(func(o *refserver.Out) bool { return len(o.Method) >= 300 && Errors()(o) }, func(o *refserver.Out) {
				o.Frames[0] = bytes.Replace(o.Frames[0], []byte(`"code":-32601`), []byte(`"code":"-32601"`), 1)
			})),
		newFault("resources.read.result-schema/templated-minus", "resources/read of a URI that ends in /-1 returns no contents",
			editMatchingResults(spec.MethodResourcesRead, hasMatchingParam("/uri", func(s string) bool { return strings.HasSuffix(s, "/-1") }),
				func(r map[string]any) { delete(r, "contents") })),
		newFault("base.request-answered/deep-meta", "params with more than 100 nested arrays end the process",
			WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if bytes.Contains(c.Params, []byte(strings.Repeat("[", 101))) {
					c.Session.Exit(1)
					return nil, refserver.NoResponse
				}
				return next(c)
			})),
		newFault("base.request-answered/exact-kibibyte", "a line of 1,024 to 1,055 bytes is dropped", &refserver.Seams{
			Incoming: func(_ *refserver.Session, raw []byte) refserver.FrameAction {
				if len(raw) >= 1024 && len(raw) < 1056 {
					return refserver.Drop()
				}
				return refserver.Pass(raw)
			},
		}),
		newFault("stdio.no-embedded-newlines/line-separator", "U+2028 in a tool's text is sent as a newline",
			EditBytes(Results(spec.MethodToolsCall), func(frame []byte) []byte {
				frame = bytes.ReplaceAll(frame, []byte("\u2028"), []byte("\n"))
				return bytes.ReplaceAll(frame, []byte(`\u2028`), []byte("\n"))
			})),
		newFault("tools.list.result-schema/empty-meta", "tools/list with an empty _meta returns tools null", WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			result, err := next(c)
			if err != nil || string(wire.At(c.Params, "/_meta")) != "{}" || c.Method != spec.MethodToolsList {
				return result, err
			}
			r := decodeObject(result)
			r["tools"] = nil
			return r, nil
		})),
	}
}

// buriedIDFaults returns the faults that show only with rare ids.
func buriedIDFaults() []*Fault {
	respondWithID := func(alter func(id wire.ID) string) *refserver.Seams {
		return EditOutgoing(Responses(), func(o *refserver.Out) {
			if raw := alter(o.ID); raw != o.ID.Raw() {
				_, m := wire.Members(o.Frames[0])
				m["id"] = jsontext.Value(raw)
				o.Frames[0] = wire.JSON(m)
			}
		})
	}
	return []*Fault{
		newFault("base.response-id-echo/negative", "a negative id of four or more digits is echoed without its sign", respondWithID(func(id wire.ID) string {
			if id.IsInteger() && len(id.Raw()) >= 5 {
				return strings.TrimPrefix(id.Raw(), "-")
			}
			return id.Raw()
		})),
		newFault("base.response-id-echo/long", "an id of more than 500 bytes is echoed truncated", respondWithID(func(id wire.ID) string {
			if s, ok := wire.Text(jsontext.Value(id.Raw())); ok && len(s) > 500 {
				return string(wire.Quote(strings.ToValidUTF8(s[:128], "")))
			}
			return id.Raw()
		})),
		newFault("base.response-id-echo/int32", "an integer id from 2^31 up to 3,000,000,000 is echoed as a negative number", respondWithID(func(id wire.ID) string {
			if id.IsInteger() && len(id.Raw()) == 10 && id.Raw() >= "2147483648" && id.Raw() < "3000000000" {
				return "-" + id.Raw()
			}
			return id.Raw()
		})),
		newFaultWithState("base.response-id-echo/digits", "a string id of digits is echoed as the number that an earlier request used", func() *refserver.Seams {
			var mu sync.Mutex
			seen := map[string]bool{}
			return respondWithID(func(id wire.ID) string {
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
