package shapes_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// tool returns a list with one tool.
func tool(members string) string { return `{"tools":[{` + members + `}]}` }

func TestTools(t *testing.T) {
	schema := func(input string) string { return tool(`"name":"a","inputSchema":` + input) }
	output := func(output string) string {
		return tool(`"name":"a","inputSchema":{"type":"object","additionalProperties":false},"outputSchema":` + output)
	}
	run(t, []scene{
		{name: "a tool", revision: r11, asked: list, message: tool(`"name":"a","inputSchema":{"type":"object","properties":{"a":{}}}`), kept: "tools.list.result-schema tools.input-schema.object-not-null base.json-schema-valid base.json-schema-recommended-dialect"},
		{name: "hints", revision: r03, asked: list, message: tool(`"name":"a","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"destructiveHint":false}`), kept: "tools.annotations.dependent-hints"},
		{name: "a hint that is text", revision: r03, asked: list, message: tool(`"name":"a","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"yes"}`), want: "tools.list.result-schema broken"},
		{name: "hints in 2024-11-05", revision: r24, asked: list, message: tool(`"name":"a","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"yes"}`)},

		{name: "no schema", revision: r11, asked: list, message: tool(`"name":"a"`), want: "tools.input-schema.object-not-null broken"},
		{name: "no schema in 2025-06-18", revision: r06, asked: list, message: tool(`"name":"a"`), want: "tools.list.result-schema broken"},
		{name: "no type", revision: r11, asked: list, message: schema(`{}`), want: "tools.input-schema.object-not-null broken"},
		{name: "a schema of a string", revision: r11, asked: list, message: schema(`{"type":"string"}`), want: "tools.input-schema.object-not-null broken"},
		{name: "a schema of a list of types", revision: r11, asked: list, message: schema(`{"type":["object"],"properties":{"a":{}}}`), want: "tools.input-schema.object-not-null broken"},
		{name: "a property that is true", revision: r11, asked: list, message: schema(`{"type":"object","properties":{"a":true}}`), want: "tools.list.result-schema broken"},
		{name: "an unknown type", revision: r11, asked: list, message: schema(`{"type":"object","properties":{"a":{"type":"text"}}}`), want: "base.json-schema-valid broken"},
		{name: "the same in 2025-03-26", revision: r03, asked: list, message: schema(`{"type":"object","properties":{"a":{"type":"text"}}}`), want: "tools.input-schema.is-json-schema-2024-11-05 warning"},
		{name: "draft-04 without a word", revision: r11, asked: list, message: schema(`{"type":"object","properties":{"a":{"type":"number","minimum":1,"exclusiveMinimum":true}}}`), want: "base.json-schema-valid broken"},
		{name: "draft-04 by name", revision: r11, asked: list, message: schema(`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"a":{"type":"number","minimum":1,"exclusiveMinimum":true}}}`), want: "base.json-schema-recommended-dialect note", kept: "base.json-schema-valid"},
		{name: "an unknown dialect", revision: r11, asked: list, message: schema(`{"$schema":"https://example.com/schema","type":"object","properties":{"a":{"type":"text"}}}`), want: "base.json-schema-recommended-dialect note"},
		{name: "required as a word", revision: r11, asked: list, message: schema(`{"type":"object","properties":{"a":{}},"required":"a"}`), want: "tools.list.result-schema broken"},
		{name: "no parameters", revision: r11, asked: list, message: schema(`{"type":"object","additionalProperties":false}`), kept: "tools.input-schema.no-parameters-form"},
		{name: "no parameters and any", revision: r11, asked: list, message: schema(`{"type":"object"}`), want: "tools.input-schema.no-parameters-form note"},
		{name: "a keyword with an unknown effect", revision: r11, asked: list, message: schema(`{"type":"object","allOf":[{}]}`)},

		{name: "an output schema", revision: r06, asked: list, message: output(`{"type":"object"}`), kept: "tools.output-schema.root-object-2025-06-18 tools.output-schema.valid"},
		{name: "an output schema without a type", revision: r11, asked: list, message: output(`{"properties":{}}`), want: "tools.output-schema.root-object-2025-06-18 broken"},
		{name: "an output schema that is none", revision: r06, asked: list, message: output(`{"type":"object","properties":{"a":{"type":"text"}}}`), want: "tools.output-schema.valid warning"},
		{name: "the same in 2025-11-25", revision: r11, asked: list, message: output(`{"type":"object","properties":{"a":{"type":"text"}}}`), want: "base.json-schema-valid broken"},
		{name: "an output schema before there was one", revision: r03, asked: list, message: output(`1`)},
		{name: "an unknown task support", revision: r06, asked: list, message: tool(`"name":"a","inputSchema":{"type":"object"},"execution":{"taskSupport":"maybe"}`)},
	})
}

func TestStructuredContent(t *testing.T) {
	const listed = "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n" +
		`< {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{"type":"object","additionalProperties":false},"outputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}]}}` + "\n"
	called := func(id int, result string) string {
		return fmt.Sprintf("> {\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"a\"}}\n< {\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":%s}\n", id, id, result)
	}
	const points = "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n" +
		`< {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"p","inputSchema":{"type":"object","properties":{"at":{"type":"array","prefixItems":[{"type":"number"},{"type":"number"}],"maxItems":2}}}}]}}` + "\n"
	drawn := func(id int, at, result string) string {
		return fmt.Sprintf("> {\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"p\",\"arguments\":{\"at\":%s}}}\n< {\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":%s}\n", id, at, id, result)
	}
	const changed = `< {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n"
	const sound = `{"content":[{"type":"text","text":"Hello"},{"type":"text","text":" {\"n\" : 1.0}"}],"structuredContent":{"n":1}}`
	const present, conforms, copied = "tools.structured.present", "tools.structured.conforms", "tools.structured.text-copy"
	run(t, []scene{
		{name: "as the outputSchema requires", revision: r06, message: listed + called(2, sound), kept: present + " " + conforms + " " + copied + " tools.structured.object-only-2025-06-18"},
		{name: "nothing", revision: r11, message: listed + called(2, `{"content":[]}`), want: present + " broken"},
		{name: "nothing in an error", revision: r11, message: listed + called(2, `{"content":[{"type":"text","text":"no"}],"isError":true}`)},
		{name: "nothing after a change", revision: r11, message: listed + changed + called(2, `{"content":[]}`)},
		{name: "nothing in 2025-03-26", revision: r03, message: listed + called(2, `{"content":[]}`)},
		{name: "something else", revision: r11, message: listed + called(2, `{"content":[{"type":"text","text":"{\"n\":\"1\"}"}],"structuredContent":{"n":"1"}}`), want: conforms + " broken"},
		{name: "a list", revision: r11, message: listed + called(2, `{"content":[],"structuredContent":[1]}`), want: "tools.structured.object-only-2025-06-18 broken"},
		{name: "no copy", revision: r11, message: listed + called(2, `{"content":[{"type":"text","text":"one"}],"structuredContent":{"n":1}}`), want: copied + " warning"},
		{name: "a copy of something else", revision: r11, message: listed + called(2, `{"content":[{"type":"text","text":"{\"n\":2}"}],"structuredContent":{"n":1}}`), want: copied + " warning"},
		{name: "a point", revision: r11, message: strings.ReplaceAll(points, `"prefixItems":`, `"items":false,"prefixItems":`) + drawn(2, `[1,2]`, `{"content":[]}`), kept: "base.json-schema-2020-12"},
		{name: "a point of words, refused", revision: r11, message: points + drawn(2, `["1","2"]`, `{"content":[{"type":"text","text":"no"}],"isError":true}`), kept: "base.json-schema-2020-12"},
		{name: "a point of words", revision: r11, message: points + drawn(2, `["1","2"]`, `{"content":[]}`), want: "base.json-schema-2020-12 warning"},
		{name: "a point refused", revision: r11, message: strings.ReplaceAll(points, `"prefixItems":`, `"items":false,"prefixItems":`) + drawn(2, `[1,2]`, `{"content":[{"type":"text","text":"no"}],"isError":true}`), want: "base.json-schema-2020-12 note"},
		{name: "a point of words in 2025-06-18", revision: r06, message: points + drawn(2, `["1","2"]`, `{"content":[]}`)},
		{name: "without an outputSchema", revision: r11, message: called(2, sound), kept: copied},
		{name: "without an outputSchema, without a copy", revision: r11, message: called(2, `{"content":[],"structuredContent":{"n":1}}`), want: copied + " warning"},
		{name: "a task", revision: r11, message: listed + "> {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"a\",\"task\":{}}}\n" + `< {"jsonrpc":"2.0","id":2,"result":{"task":{"taskId":"1","status":"working","createdAt":"2025-01-01T00:00:00Z","lastUpdatedAt":"2025-01-01T00:00:00Z","ttl":null}}}`},
	})
}

func TestOffers(t *testing.T) {
	listed := func(uri string) string { return `{"resources":[{"uri":"` + uri + `","name":"n"}]}` }
	complete := func(members string) string { return `{"completion":{` + members + `}}` }
	many := func(n int) string { return `"values":["` + strings.Repeat(`a","`, n-1) + `a"]` }
	run(t, []scene{
		{name: "a resource", revision: r06, asked: resources, message: listed("app+x://a/%20b?c#d"), kept: "resources.list.result-schema resources.uri.valid resources.uri.custom-scheme-rfc3986"},
		{name: "a path", revision: r06, asked: resources, message: listed("/a/b"), want: "resources.uri.valid warning"},
		{name: "a path with a colon", revision: r06, asked: resources, message: listed("a/b:c"), want: "resources.uri.valid warning"},
		{name: "a space", revision: r06, asked: resources, message: listed("file:///a b"), want: "resources.uri.valid warning"},
		{name: "an underscore in 2025-03-26", revision: r03, asked: resources, message: listed("my_app://a"), want: "resources.uri.valid warning"},
		{name: "an international one", revision: r06, asked: resources, message: listed("file:///é"), kept: "resources.uri.valid"},
		{name: "a directory", revision: r24, asked: resources, message: `{"resources":[{"uri":"a:b","name":"n","mimeType":"inode/directory"}]}`, kept: "content.mime-type.syntax"},
		{name: "a template", revision: r24, asked: templates, message: `{"resourceTemplates":[{"uriTemplate":"a://{+b}/{c*}{?d,e:3}","name":"n"}]}`, kept: "resources.templates.result-schema resources.templates.uri-template-valid"},
		{name: "a template of other braces", revision: r24, asked: templates, message: `{"resourceTemplates":[{"uriTemplate":"a://{b","name":"n"}]}`, want: "resources.templates.uri-template-valid warning"},
		{name: "a text", revision: r24, asked: read, message: `{"contents":[{"uri":"a:b","text":"a"},{"uri":"a:c","blob":"aGk="}]}`, kept: "resources.read.result-schema resources.read.text-or-blob resources.read.blob-base64 resources.uri.valid"},
		{name: "both", revision: r24, asked: read, message: `{"contents":[{"uri":"a:b","text":"","blob":""}]}`, want: "resources.read.text-or-blob warning"},
		{name: "a blob that is none", revision: r24, asked: read, message: `{"contents":[{"uri":"a:b","blob":"a-b_"}]}`, want: "resources.read.blob-base64 broken"},
		{name: "a read of a path", revision: r24, asked: read, message: `{"contents":[{"uri":"b","text":""}]}`, want: "resources.uri.valid warning"},
		{name: "an update", revision: r24, message: `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:b"}}`, kept: "resources.updated.schema resources.uri.valid"},
		{name: "an update of nothing", revision: r24, message: `{"jsonrpc":"2.0","method":"notifications/resources/updated"}`, want: "resources.updated.schema broken"},
		{name: "prompts", revision: r24, asked: spec.MethodPromptsList, message: `{"prompts":[{"name":"a","arguments":[{"name":"b","required":true}]}]}`, kept: "prompts.list.result-schema"},
		{name: "a prompt's role", revision: r24, asked: get, message: `{"messages":[{"role":"system","content":{"type":"text","text":"a"}}]}`, want: "prompts.get.result-schema broken"},

		{name: "values", revision: r24, asked: spec.MethodComplete, message: complete(many(100) + `,"total":101,"hasMore":true`), kept: "completion.result-schema completion.values.max-100 completion.total.not-below-values completion.has-more.consistent"},
		{name: "a total too low", revision: r24, asked: spec.MethodComplete, message: complete(many(2) + `,"total":1,"hasMore":true`), want: "completion.total.not-below-values warning"},
		{name: "no more of more", revision: r24, asked: spec.MethodComplete, message: complete(many(2) + `,"total":3,"hasMore":false`), want: "completion.has-more.consistent warning"},
		{name: "more of no more", revision: r24, asked: spec.MethodComplete, message: complete(many(2) + `,"total":2,"hasMore":true`), want: "completion.has-more.consistent warning"},
		{name: "a total that is text", revision: r24, asked: spec.MethodComplete, message: complete(many(2) + `,"total":"1"`), want: "completion.result-schema broken"},

		{name: "a level is set", revision: r24, asked: spec.MethodSetLevel, message: `{"_meta":{}}`, kept: "logging.set-level.empty-result"},
		{name: "a level is set, and repeated in the result", revision: r24, asked: spec.MethodSetLevel, message: `{"level":"info"}`, want: "logging.set-level.empty-result warning"},
		{name: "unsubscribed", revision: r24, asked: spec.MethodResourcesUnsubscribe, message: `{"ok":true}`, want: "resources.unsubscribe.confirmed warning"},
	})
}

func TestNotifications(t *testing.T) {
	notification := func(method, params string) string {
		return `{"jsonrpc":"2.0","method":"notifications/` + method + `","params":{` + params + `}}`
	}
	run(t, []scene{
		{name: "a log message", revision: r24, message: notification("message", `"level":"notice","data":null`), kept: "logging.message.schema"},
		{name: "no data", revision: r24, message: notification("message", `"level":"info","message":""`), want: "logging.message.schema broken"},
		{name: "progress", revision: r03, message: notification("progress", `"progressToken":1,"progress":0.5,"message":"half"`), kept: "progress.notification-schema progress.message-useful"},
		{name: "progress as text", revision: r24, message: notification("progress", `"progressToken":1,"progress":"50%"`), want: "progress.notification-schema broken"},
		{name: "an empty message", revision: r03, message: notification("progress", `"progressToken":1,"progress":1,"message":""`), want: "progress.message-useful warning"},
		{name: "an empty message in 2024-11-05", revision: r24, message: notification("progress", `"progressToken":1,"progress":1,"message":""`)},
		{name: "a cancellation of something", revision: r11, message: notification("cancelled", `"requestId":1`), kept: "cancellation.request-id-present"},
		{name: "a cancellation of nothing", revision: r11, message: notification("cancelled", ``), want: "cancellation.request-id-present broken"},
		{name: "a cancellation of nothing in 2025-06-18", revision: r06, message: notification("cancelled", ``)},
		{name: "a notification of an extension", revision: r11, message: notification("x", `"_meta":1`)},
		{name: "params that are none", revision: r11, message: `{"jsonrpc":"2.0","method":"notifications/message","params":null}`, want: "base.jsonrpc-2-0 broken"},
	})
}
