package oddservers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
)

// alterResponses returns seams that replace each response, except that to initialize, with the
// result of f.
func alterResponses(f func(frame []byte) []byte) refserver.Seams {
	return *faults.EditBytes(faults.Responses(), f)
}

// withID returns a response with its id replaced by id, which is raw JSON. It returns a frame that
// is not an object unchanged.
func withID(frame []byte, id string) []byte {
	var m map[string]json.RawMessage
	if json.Unmarshal(frame, &m) != nil {
		return frame
	}
	m["id"] = json.RawMessage(id)
	out, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return out
}

// replaceResults returns seams that replace the results of a method. result returns the JSON of
// result number n, counted from 0.
func replaceResults(method string, result func(n int) string) refserver.Seams {
	calls := make(chan int, 1)
	calls <- 0
	return *faults.EditBytes(faults.Results(method), func(frame []byte) []byte {
		n := <-calls
		calls <- n + 1
		var m map[string]json.RawMessage
		if json.Unmarshal(frame, &m) != nil {
			return frame
		}
		// encoding/json rejects deeply nested values, so the message is
		// formatted by hand.
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m["id"], result(n))
	})
}

// once returns a function that always returns the same string. The first call gets the string from
// make.
func once(make func() string) func(int) string {
	text := ""
	return func(int) string {
		if text == "" {
			text = make()
		}
		return text
	}
}

// toolListWith returns a tool list with one tool for each schema. All of them have readOnlyHint, so
// that the harness may call them.
func toolListWith(schemas ...string) string {
	var tools []string
	for i, schema := range schemas {
		tools = append(tools, fmt.Sprintf(`{"name":"tool-%d","annotations":{"readOnlyHint":true},"inputSchema":%s}`, i, schema))
	}
	return `{"tools":[` + strings.Join(tools, ",") + `]}`
}

// joinItems calls item for the numbers from 0 to n-1, and joins the results with commas.
func joinItems(n int, item func(i int) string) string {
	var b bytes.Buffer
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(item(i))
	}
	return b.String()
}

// exponentialSchema returns a schema with 2^n paths through its references.
func exponentialSchema(keyword string, n int) string {
	return `{"type":"object","$defs":{` + joinItems(n, func(i int) string {
		return fmt.Sprintf(`"d%d":{"%s":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, keyword, i+1, i+1)
	}) + fmt.Sprintf(`,"d%d":{"type":"object"}},"%s":[{"$ref":"#/$defs/d0"}]}`, n, keyword)
}

// hostileSchemas returns input schemas whose evaluation costs far more than
// their size suggests.
func hostileSchemas() []string {
	required := func(schema string) string {
		return `{"type":"object","properties":{"a":` + schema + `},"required":["a"]}`
	}
	return []string{
		exponentialSchema("allOf", 40), exponentialSchema("anyOf", 40), exponentialSchema("oneOf", 40),
		required(exponentialSchema("allOf", 30)),
		`{"type":"object","$ref":"#"}`,
		`{"type":"object","allOf":[{"$ref":"#"},{"$ref":"#/allOf/0"}]}`,
		required(`{"$ref":"#/properties/a"}`),
		`{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`,
		required(`{"type":"string","pattern":"^(a+)+$","minLength":40}`),
		required(`{"type":"string","pattern":"^(([a-z]{1,1000}){1,1000}){1,1000}$"}`),
		required(`{"type":"string","pattern":"` + strings.Repeat("(a|", 5000) + "b" + strings.Repeat(")*", 5000) + `"}`),
		required(`{"enum":[` + joinItems(100_000, func(i int) string { return fmt.Sprintf(`"value-%d"`, i) }) + `]}`),
		required(`{"type":"string","minLength":1000000000}`),
		required(`{"type":"array","minItems":1000000000,"items":{"type":"array","minItems":1000000}}`),
		`{"type":"object","minProperties":1000000000}`,
		`{"type":"object","required":[` + joinItems(50_000, func(i int) string { return fmt.Sprintf(`"m%d"`, i) }) + `]}`,
		`{"type":"object","properties":{` + joinItems(50_000, func(i int) string { return fmt.Sprintf(`"m%d":{"type":"string"}`, i) }) + `}}`,
		strings.Repeat(`{"type":"object","required":["a"],"properties":{"a":`, 3000) + `{}` + strings.Repeat(`}}`, 3000),
		strings.Repeat(`{"type":"object","allOf":[`, 3000) + `{}` + strings.Repeat(`]}`, 3000),
		strings.Repeat(`{"not":`, 5000) + `{}` + strings.Repeat(`}`, 5000),
		`{"type":"object","if":` + exponentialSchema("anyOf", 25) + `,"then":` + exponentialSchema("oneOf", 25) + `}`,
		required(`{"type":"number","multipleOf":1e-300,"minimum":1e308}`),
		required(`{"type":"integer","minimum":` + strings.Repeat("9", 100_000) + `}`),
		`{"type":"object","patternProperties":{` + joinItems(2000, func(i int) string { return fmt.Sprintf(`"^(a+)+%d$":{"type":"string"}`, i) }) + `}}`,
	}
}

// combiningMarks returns n letters, each with a thousand combining marks, mixed with bidirectional
// controls, line separators and zero-width characters.
func combiningMarks(n int) string {
	return strings.Repeat("a"+strings.Repeat("\u0301", 1000)+"\u202e\u2066\u200b\ufeff\u2028\u2029\u0085\U000e0041\ufdfd\U0001f468\u200d", n)
}

// escapes contains terminal control sequences, and markup of other formats.
const escapes = `\u001b[2J\u001b]0;owned\u0007\u009b31m\u001bP+q544e\u001b\\\r\n::error::owned\n</script><script>alert(1)</script>]]>&lt;|](javascript:x)`

// Shapes are servers that conform except that some of their responses are
// meant to break the client. They run over any transport.
var Shapes = map[string]func() refserver.Seams{
	"deep results": func() refserver.Seams {
		return replaceResults(spec.MethodToolsList, once(func() string { return `{"tools":` + nestedBrackets("[", "]", 2_000_000) + `}` }))
	},
	"deep objects": func() refserver.Seams {
		return replaceResults(spec.MethodToolsCall, once(func() string {
			return `{"content":[],"structuredContent":` + strings.Repeat(`{"a":`, 8000) + "1" + strings.Repeat("}", 8000) + `}`
		}))
	},
	"hostile schemas": func() refserver.Seams {
		return replaceResults(spec.MethodToolsList, once(func() string { return toolListWith(hostileSchemas()...) }))
	},
	"hostile output schemas": func() refserver.Seams {
		return replaceResults(spec.MethodToolsList, once(func() string {
			return `{"tools":[` + joinItems(len(hostileSchemas()), func(i int) string {
				return fmt.Sprintf(`{"name":"tool-%d","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"},"outputSchema":%s}`, i, hostileSchemas()[i])
			}) + `]}`
		}))
	},
	"a thousand exponential schemas": func() refserver.Seams {
		return replaceResults(spec.MethodToolsList, once(func() string {
			var all []string
			for i := range 1000 {
				all = append(all, exponentialSchema([]string{"allOf", "anyOf", "oneOf"}[i%3], 12+i%20))
			}
			return toolListWith(all...)
		}))
	},
	"pages without end": func() refserver.Seams {
		return replaceResults(spec.MethodToolsList, func(n int) string {
			return fmt.Sprintf(`{"tools":[{"name":"t%d","inputSchema":{"type":"object"}}],"nextCursor":"c%d"}`, n, n+1)
		})
	},
	"large pages without end": func() refserver.Seams {
		return replaceResults(spec.MethodResourcesList, func(n int) string {
			return `{"resources":[` + joinItems(2000, func(i int) string {
				return fmt.Sprintf(`{"uri":"test://%d/%d","name":"%d"}`, n, i, i)
			}) + fmt.Sprintf(`],"nextCursor":"c%d"}`, n+1)
		})
	},
	"100,000 tools": func() refserver.Seams {
		return replaceResults(spec.MethodToolsList, once(func() string {
			return `{"tools":[` + joinItems(100_000, func(i int) string {
				return fmt.Sprintf(`{"name":"t%d","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}}`, i)
			}) + `]}`
		}))
	},
	"huge names": func() refserver.Seams {
		return replaceResults(spec.MethodToolsList, once(func() string {
			return `{"tools":[` + joinItems(8, func(i int) string {
				return fmt.Sprintf(`{"name":"%d%s","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}}`, i, strings.Repeat("n", 1<<20))
			}) + `]}`
		}))
	},
	"a cursor of 10 MB": func() refserver.Seams {
		return replaceResults(spec.MethodToolsList, once(func() string {
			return `{"tools":[],"nextCursor":"` + strings.Repeat("c", 10<<20) + `"}`
		}))
	},
	"a resource of 15 MiB": func() refserver.Seams {
		return replaceResults(spec.MethodResourcesRead, once(func() string {
			return `{"contents":[{"uri":"test://a","mimeType":"application/octet-stream","blob":"` + strings.Repeat("QUJD", 15<<20/4) + `"}]}`
		}))
	},
	"a call of 15 MiB": func() refserver.Seams {
		return replaceResults(spec.MethodToolsCall, once(func() string {
			return `{"content":[` + joinItems(300_000, func(int) string { return `{"type":"text","text":"0123456789"}` }) + `]}`
		}))
	},
	"a million members": func() refserver.Seams {
		return replaceResults(spec.MethodToolsList, once(func() string {
			return `{"tools":[],` + joinItems(500_000, func(i int) string { return fmt.Sprintf(`"m%d":1`, i) }) + `}`
		}))
	},
	"a million equal members": func() refserver.Seams {
		return replaceResults(spec.MethodToolsList, once(func() string {
			return `{` + joinItems(1_000_000, func(int) string { return `"tools":[]` }) + `}`
		}))
	},
	"wrong in a million places": func() refserver.Seams {
		return replaceResults(spec.MethodToolsList, once(func() string {
			return `{"tools":[` + joinItems(500_000, func(int) string { return `{"name":1}` }) + `]}`
		}))
	},
	"huge numbers": func() refserver.Seams {
		return replaceResults(spec.MethodToolsList, once(func() string {
			return `{"tools":[],"ttl":1e999999999,"n":` + strings.Repeat("9", 1<<20) + `,"f":0.` + strings.Repeat("3", 1<<20) + `}`
		}))
	},
	"bombs of Unicode": func() refserver.Seams {
		text, err := json.Marshal(combiningMarks(50))
		if err != nil {
			panic(err)
		}
		return replaceResults(spec.MethodToolsList, once(func() string {
			return `{"tools":[` + joinItems(50, func(i int) string {
				return fmt.Sprintf(`{"name":%s,"title":%s,"description":%s,"inputSchema":{"type":"object","properties":{%s:{"type":1}}}}`, text, text, text, text)
			}) + `]}`
		}))
	},
	"escape sequences": func() refserver.Seams {
		s := replaceResults(spec.MethodToolsList, func(int) string {
			return `{"tools":[{"name":"` + escapes + `","title":"` + escapes + `","inputSchema":{"type":"` + escapes + `"}}],"nextCursor":"` + escapes + `"}`
		})
		s.Incoming = nil
		return s
	},
	"long errors": func() refserver.Seams {
		return alterResponses(func(frame []byte) []byte {
			var m struct{ ID json.RawMessage }
			_ = json.Unmarshal(frame, &m)
			return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"%s","data":"%s"}}`, m.ID, strings.Repeat("e", 1<<20), strings.Repeat("d", 1<<20))
		})
	},
	"huge templates": func() refserver.Seams {
		return replaceResults(spec.MethodResourcesTemplates, once(func() string {
			return `{"resourceTemplates":[{"name":"a","uriTemplate":"test://` + joinItems(20_000, func(i int) string { return fmt.Sprintf(`{a%d*}`, i) }) + `"},{"name":"b","uriTemplate":"test://` + strings.Repeat("{", 100_000) + `"}]}`
		}))
	},
	"huge handshakes": func() refserver.Seams {
		return *faults.EditBytes(func(o *refserver.Out) bool { return o.Method == spec.MethodInitialize && o.Kind == refserver.OutResult }, func(frame []byte) []byte {
			return bytes.Replace(frame, []byte(`"serverInfo":{`), []byte(`"instructions":"`+strings.Repeat("i", 12<<20)+`","serverInfo":{"title":"`+strings.Repeat("t", 2<<20)+`",`), 1)
		})
	},
}
