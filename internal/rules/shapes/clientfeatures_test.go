package shapes_test

import "testing"

// form returns a form elicitation with these properties.
func form(properties string) string {
	return elicit(`"message":"Why","requestedSchema":{"type":"object","properties":{` + properties + `}}`)
}

// elicit returns an elicitation with these params.
func elicit(params string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{` + params + `}}`
}

func TestForms(t *testing.T) {
	const flat = "elicitation.form.flat-primitive-properties"
	run(t, []scene{
		{
			name: "a form", revision: r11, message: form(`"a":{"type":"string","minLength":1,"maxLength":3,"pattern":"b","default":"b","format":"email"},"b":{"type":"integer"},"c":{"type":"boolean","default":true}`),
			kept: flat + " elicitation.request.schema elicitation.message.explains elicitation.form.schema-valid elicitation.form.string-formats elicitation.form.satisfiable elicitation.form.defaults-fit elicitation.form.no-advanced-keywords",
		},
		{name: "no message", revision: r11, message: elicit(`"requestedSchema":{"type":"object","properties":{}}`), want: "elicitation.request.schema broken"},
		{name: "an empty message in 2025-06-18", revision: r06, message: elicit(`"message":"","requestedSchema":{"type":"object","properties":{}}`), want: "elicitation.message.explains warning"},
		{name: "no schema", revision: r11, message: elicit(`"message":"Why"`), want: "elicitation.request.schema broken"},
		{name: "an unknown mode", revision: r11, message: elicit(`"mode":"voice","message":"Why"`), want: "elicitation.request.schema broken"},
		{name: "a schema of an array", revision: r11, message: elicit(`"message":"Why","requestedSchema":{"type":"array","properties":{}}`), want: flat + " broken"},
		{name: "a field of any type", revision: r06, message: form(`"a":{"title":"A"}`), want: flat + " broken"},
		{name: "an optional field of a generator", revision: r11, message: form(`"a":{"anyOf":[{"type":"string"},{"type":"null"}]}`), want: flat + " broken"},
		{name: "a list in 2025-06-18", revision: r06, message: form(`"a":{"type":"array","items":{"type":"string","enum":["a"]}}`), want: flat + " broken"},
		{name: "a list of anything", revision: r11, message: form(`"a":{"type":"array","items":{"type":"string"}}`), want: flat + " broken"},
		{name: "a list of numbers", revision: r11, message: form(`"a":{"type":"array","items":{"type":"string","enum":[1]}}`), want: flat + " broken"},
		{name: "two multi-select fields", revision: r11, message: form(`"a":{"type":"array","items":{"type":"string","enum":["a"]}},"b":{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]},"default":["a"]}`), kept: flat + " elicitation.form.enum-forms-2025-11-25"},
		{name: "a bound that is text", revision: r11, message: form(`"a":{"type":"number","minimum":"1"}`), want: "elicitation.request.schema broken"},
		{name: "the same in 2025-06-18", revision: r06, message: form(`"a":{"type":"string","minLength":-1}`)},
		{name: "a field required twice", revision: r11, message: elicit(`"message":"Why","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}},"required":["a","a"]}`), want: "elicitation.form.schema-valid broken"},
		{name: "a field required that is not there", revision: r06, message: elicit(`"message":"Why","requestedSchema":{"type":"object","properties":{},"required":["a"]}`), want: "elicitation.form.required-known warning"},
		{name: "contradictory lengths", revision: r11, message: form(`"a":{"type":"string","minLength":3,"maxLength":2}`), want: "elicitation.form.satisfiable warning"},
		{name: "more choices than options", revision: r11, message: form(`"a":{"type":"array","minItems":2,"items":{"type":"string","enum":["a"]}}`), want: "elicitation.form.satisfiable warning"},
		{name: "equal bounds", revision: r11, message: form(`"a":{"type":"number","minimum":3,"maximum":3.0}`), kept: "elicitation.form.satisfiable"},
		{name: "a default out of range", revision: r11, message: form(`"a":{"type":"integer","maximum":3,"default":4}`), want: "elicitation.form.defaults-fit warning"},
		{name: "a default that is not a titled option", revision: r11, message: form(`"a":{"type":"string","oneOf":[{"const":"a","title":"A"}],"default":"A"}`), want: "elicitation.form.defaults-fit warning"},
		{name: "a default of the wrong type", revision: r11, message: form(`"a":{"type":"string","default":1}`), want: "elicitation.request.schema broken"},
		{name: "a default that 2025-06-18 does not have", revision: r06, message: form(`"a":{"type":"string","default":"a"}`), want: "elicitation.form.defaults-2025-06-18 note", kept: "elicitation.form.defaults-fit"},
		{name: "a default that 2025-06-18 has", revision: r06, message: form(`"a":{"type":"boolean","default":true}`), kept: "elicitation.form.defaults-2025-06-18 elicitation.form.defaults-fit"},
		{name: "all of", revision: r11, message: form(`"a":{"type":"string","allOf":[{}]}`), want: "elicitation.form.no-advanced-keywords warning"},
		{name: "any number of", revision: r11, message: form(`"a":{"type":"number","enum":[1,2]}`), want: "elicitation.form.no-advanced-keywords warning"},
		{name: "definitions", revision: r11, message: elicit(`"message":"Why","requestedSchema":{"type":"object","properties":{},"$defs":{}}`), want: "elicitation.form.no-advanced-keywords warning"},
		{name: "no further properties", revision: r11, message: elicit(`"message":"Why","requestedSchema":{"type":"object","properties":{},"additionalProperties":false}`), want: "elicitation.form.no-advanced-keywords note"},
		{name: "words of a generator", revision: r11, message: elicit(`"message":"Why","requestedSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"T","description":"D","type":"object","properties":{"a":{"type":"string","examples":["a"],"x-order":1}}}`), kept: "elicitation.form.no-advanced-keywords"},
		{name: "a choice", revision: r06, message: form(`"a":{"type":"string","enum":["a","b"],"enumNames":["A","B"]}`), kept: "elicitation.form.enum-forms-2025-06-18"},
		{name: "a name too few", revision: r06, message: form(`"a":{"type":"string","enum":["a","b"],"enumNames":["A"]}`), want: "elicitation.form.enum-forms-2025-06-18 warning"},
		{name: "a choice of 2025-11-25", revision: r06, message: form(`"a":{"type":"string","oneOf":[{"const":"a","title":"A"}]}`), want: "elicitation.form.enum-forms-2025-06-18 warning"},
		{name: "names in the old way", revision: r11, message: form(`"a":{"type":"string","enum":["a","b"],"enumNames":["A","B"]}`), want: "elicitation.form.legacy-enum-names note", kept: "elicitation.form.enum-forms-2025-11-25"},
		{name: "a choice without titles", revision: r11, message: form(`"a":{"type":"string","oneOf":[{"const":"a"}]}`), want: "elicitation.form.enum-forms-2025-11-25 warning"},
		{name: "a choice of numbers", revision: r11, message: form(`"a":{"type":"string","enum":[1,2]}`), want: "elicitation.form.enum-forms-2025-11-25 warning"},
		{name: "any of", revision: r11, message: form(`"a":{"type":"string","anyOf":[{"const":"a","title":"A"}]}`), want: "elicitation.form.enum-forms-2025-11-25 warning"},
	})
}

func TestURLs(t *testing.T) {
	fails := func(data string) string {
		return "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"a\"}}\n" +
			`< {"jsonrpc":"2.0","id":1,"error":{"code":-32042,"message":"m"` + data + `}}`
	}
	const urlMode = "elicitation.required-error.url-mode-with-id-2025-11-25"
	const lists = "elicitation.required-error.lists-elicitations-2025-11-25"
	const only = "elicitation.required-error.only-for-that-2025-11-25"
	run(t, []scene{
		{name: "a page", revision: r11, message: elicit(`"mode":"url","message":"m","url":"https://a.b/","elicitationId":"1"`), kept: "elicitation.url.valid elicitation.url.id-present-2025-11-25"},
		{name: "a path", revision: r11, message: elicit(`"mode":"url","message":"m","url":"/a","elicitationId":"1"`), want: "elicitation.url.valid broken"},
		{name: "an end without params", revision: r11, message: `{"jsonrpc":"2.0","method":"notifications/elicitation/complete"}`, want: "elicitation.complete.known-id-2025-11-25 broken"},
		{name: "no url", revision: r11, message: elicit(`"mode":"url","message":"m","elicitationId":"1"`), want: "elicitation.request.schema broken"},
		{
			name: "the error", revision: r11, message: fails(`,"data":{"elicitations":[{"mode":"url","message":"m","url":"https://a.b/","elicitationId":"1"}]}`),
			kept: urlMode + " " + lists + " " + only,
		},
		{name: "without a list", revision: r11, message: fails(`,"data":{}`), want: only + " broken"},
		{name: "with a list that is not an array", revision: r11, message: fails(`,"data":{"elicitations":{}}`), want: lists + " broken"},
		{name: "with a form", revision: r11, message: fails(`,"data":{"elicitations":[{"mode":"form","message":"m","url":"https://a.b/","elicitationId":"1"}]}`), want: urlMode + " broken"},
		{name: "with a path", revision: r11, message: fails(`,"data":{"elicitations":[{"mode":"url","message":"m","url":"a","elicitationId":"1"}]}`), want: "elicitation.url.valid broken"},
		{name: "in a revision that does not have it", revision: r06, message: fails(``)},
		{
			name: "another error for something else", revision: r11, kept: only,
			message: "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"a\"}}\n" + `< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"m"}}`,
		},
	})
}

// sample returns a sampling request with these messages and further params.
func sample(messages, params string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"messages":[` + messages + `],"maxTokens":1` + params + `}}`
}

func sampleContent(content string) string { return sample(`{"role":"user","content":`+content+`}`, "") }

func TestSampling(t *testing.T) {
	const text = `{"type":"text","text":"a"}`
	run(t, []scene{
		{name: "a text", revision: r24, message: sampleContent(text), kept: "sampling.request.schema sampling.message.role sampling.message.content-types-2024-11-05"},
		{name: "several", revision: r11, message: sampleContent(`[` + text + `]`), kept: "sampling.message.content-types-2025-11-25"},
		{name: "a resource in a tool's result", revision: r11, message: sample(`{"role":"assistant","content":{"type":"tool_use","id":"1","name":"a","input":{}}},{"role":"user","content":{"type":"tool_result","toolUseId":"1","content":[`+embedded(`"uri":"a:b","text":""`)+`]}}`, ""), kept: "sampling.message.content-types-2025-11-25 content.embedded.uri-valid"},
		{name: "a system message", revision: r11, message: sample(`{"role":"system","content":`+text+`}`, ""), want: "sampling.message.role broken"},
		{name: "no content", revision: r11, message: sample(`{"role":"user"}`, ""), want: "sampling.message.role broken"},
		{name: "no text", revision: r11, message: sampleContent(`{"type":"text"}`), want: "sampling.request.schema broken"},
		{name: "an image", revision: r06, message: sampleContent(`{"type":"image","data":"aGk=","mimeType":"image/png"}`), kept: "sampling.message.media-base64 content.image.mime-type-valid"},
		{name: "an image that is none", revision: r06, message: sampleContent(`{"type":"image","data":"?","mimeType":"image/png"}`), want: "sampling.message.media-base64 warning"},
		{name: "the type of an image", revision: r06, message: sampleContent(`{"type":"image","data":"","mimeType":"png"}`), want: "content.image.mime-type-valid warning"},
		{name: "preferences", revision: r24, message: sample("", `,"modelPreferences":{"costPriority":0,"speedPriority":1}`), kept: "sampling.priorities.range"},
		{name: "percent", revision: r24, message: sample("", `,"modelPreferences":{"costPriority":80}`), want: "sampling.priorities.range broken"},
		{name: "a tool", revision: r11, message: sample("", `,"tools":[{"name":"a","inputSchema":{"type":"object"}}]`), kept: "sampling.tools.definitions-valid"},
		{name: "a tool without a schema", revision: r11, message: sample("", `,"tools":[{"name":"a"}]`), want: "sampling.request.schema broken"},
		{name: "a progress token", revision: r24, message: sample("", `,"_meta":{"progressToken":1.5}`), want: "progress.server-token-type broken"},
		{name: "a progress token for a ping", revision: r24, message: `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"progressToken":"a"}}}`, kept: "progress.server-token-type"},
		{name: "roots", revision: r11, message: `{"jsonrpc":"2.0","id":1,"method":"roots/list"}`, kept: "roots.request.schema"},
	})
}
