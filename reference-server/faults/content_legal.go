package faults

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// legalShapes returns the legal variations in the shape of list items and results.
func legalShapes() []*Fault {
	const tools, prompts, resources, templates = spec.MethodToolsList, spec.MethodPromptsList, spec.MethodResourcesList, spec.MethodResourcesTemplates
	const read, get, call, complete = spec.MethodResourcesRead, spec.MethodPromptsGet, spec.MethodToolsCall, spec.MethodComplete
	newer := sinceRevision(spec.V20250618)
	each := func(method, name string, values ...any) *refserver.Seams {
		return editListItems(method, alternateValues(func(v any) edit { return setValue(name, v) }, values...))
	}
	notes := func(name string, values ...any) *refserver.Seams {
		return editListItems(resources, alternateValues(func(v any) edit { return editMember("annotations", setValue(name, v)) }, values...))
	}
	completion := func(e edit) *refserver.Seams { // only for prompts, because each value for a template must lead to a readable resource
		return WrapHandler(complete, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			result, err := next(c)
			if kind, _ := wire.Text(wire.At(c.Params, "/ref/type")); err != nil || kind != "ref/prompt" {
				return result, err
			}
			r := decodeObject(result)
			editMember("completion", e)(r)
			return r, nil
		})
	}
	rest := omitMembers("title", "description", "icons", "annotations", "mimeType", "size", "_meta")
	return []*Fault{
		// Additional members, and missing optional ones.
		newVariation("members-everywhere", "every object that may have additional members has one", EditResult("", func(r map[string]any) {
			if len(r) > 0 { // the specification requires an empty result to stay empty
				addMemberEverywhere(r)
			}
		})),
		newVariation("bare-resources", "resources and templates have only a name and a URI", combineSeams(editListItems(resources, rest), editListItems(templates, rest))),
		newVariation("bare-contents", "contents of resources have only a URI and text or blob", editListItems(read, omitMembers("mimeType"))),
		newVariation("bare-arguments", "arguments of prompts have only a name", editListItems(prompts, editItems("arguments", omitMembers("title", "description", "required")))),
		newVariation("no-titles", "tools, prompts, resources and the server have no title", combineSeams(editListItems(tools, omitMembers("title")), editListItems(prompts, omitMembers("title")), editListItems(resources, omitMembers("title")),
			EditResult(spec.MethodInitialize, editMember("serverInfo", omitMembers("title"))))).inRevisions(newer...),
		newVariation("empty-texts", "titles, descriptions, and the names of resources and of the server are empty", combineSeams(
			editListItems(tools, applyBoth(setValue("title", ""), setValue("description", ""))), editListItems(prompts, applyBoth(setValue("title", ""), setValue("description", ""))),
			editListItems(resources, applyBoth(setValue("name", ""), setValue("description", ""))), EditResult(spec.MethodInitialize, func(r map[string]any) {
				r["instructions"], r["serverInfo"] = "", map[string]any{"name": "", "version": ""}
			}))),
		newVariation("odd-texts", "titles and descriptions contain control characters, emoji and many lines", combineSeams(
			editListItems(tools, applyBoth(setValue("title", "\u0000\u202e🙂"), setValue("description", strings.Repeat("line\r\n\t", 2000)))),
			editListItems(resources, applyBoth(setValue("name", " a/b:c\n"), setValue("description", "{\"json\":true}"))),
		)),
		newVariation("empty-lists", "all lists are empty", combineSeams(EditResult(tools, setValue("tools", []any{})), EditResult(prompts, setValue("prompts", []any{})),
			EditResult(resources, setValue("resources", []any{})), EditResult(templates, setValue("resourceTemplates", []any{})), removeCursors())),
		newVariation("empty-arguments", "prompts without arguments have an empty list of them", editListItems(prompts, func(p map[string]any) {
			if p["arguments"] == nil {
				p["arguments"] = []any{}
			}
		})),
		newVariation("free-names", "the name of a tool contains arbitrary characters", renameListedTool("fail", "fail (always), échoue/!")).inRevisions(olderRevisions()...),
		newVariation("deep-meta", "_meta is nested 100 levels deep", EditResult("", editMember("_meta", setValue("com.example/deep", rawJSON(strings.Repeat(`[{"a":`, 50)+"null"+strings.Repeat("}]", 50)))))),

		newVariation("ahead-2024-11-05", "members that only later revisions define have values that those revisions do not permit", combineSeams(addLaterMembers(
			"title", "icons", "outputSchema", "execution", "websiteUrl", "structuredContent", "lastModified", "message"),
			editListItems(tools, setValue("annotations", []any{})), editListItems(prompts, setValue("_meta", "x")))).inRevisions(spec.V20241105),
		newVariation("ahead-2025-03-26", "members that only later revisions define have values that those revisions do not permit", addLaterMembers(
			"title", "icons", "outputSchema", "execution", "websiteUrl", "structuredContent", "lastModified")).inRevisions(spec.V20250326),
		newVariation("ahead-2025-06-18", "members that only later revisions define have values that those revisions do not permit", addLaterMembers("icons", "execution", "websiteUrl")).inRevisions(spec.V20250618),

		// Annotations, hints and icons.
		newVariation("priority-bounds", "priorities are exactly 0 and 1, in several notations", notes("priority",
			rawJSON("0"), rawJSON("1"), rawJSON("1.0"), rawJSON("0e0"), rawJSON("1E0"), rawJSON("-0.0"), rawJSON("5e-10"))),
		newVariation("audiences", "audiences are empty or contain a role twice", notes("audience", []any{}, []any{"user", "user"}, []any{"assistant"})),
		newVariation("annotations-empty", "annotations are empty or contain members that no revision defines", combineSeams(
			each(resources, "annotations", map[string]any{}, map[string]any{"x-colour": "red", "importance": nil}),
			editToolBlocks("", setValue("annotations", map[string]any{})), editPromptBlocks("", setValue("annotations", map[string]any{"priority": 1, "x": []any{}})))),
		newVariation("annotations-on-the-resource", "annotations of embedded resources are inside the resource", combineSeams(
			editToolBlocks("resource", editMember("resource", setValue("annotations", map[string]any{"audience": []any{"user"}, "priority": 0.7}))),
			editPromptBlocks("resource", editMember("resource", setValue("annotations", map[string]any{"audience": []any{"user"}, "priority": 0.7}))))),
		newVariation("dates", "lastModified uses every notation of ISO 8601", notes("lastModified",
			"2025-01-12", "2025-01-12T15:00:58+02:00", "2025-01-12T15:00:58.123456Z", "20250112T150058Z", "2025-01-12T15:00Z", "2025-W02-7", "2025-012", "2025-01-12T15:00:58,5-0530")).inRevisions(newer...),
		newVariation("hints-odd", "hints of tools are empty or contradictory", editListItems(tools, func(t map[string]any) {
			if hints, ok := t["annotations"].(map[string]any); ok && hints["readOnlyHint"] == true {
				hints["destructiveHint"], hints["x-cost"] = true, 3
			} else {
				t["annotations"] = map[string]any{}
			}
		})).inRevisions(revisionsWithReadOnlyHint()...),
		newVariation("icons-odd", "icons are empty, or use every size, theme and kind of source", combineSeams(editListItems(tools, setValue("icons", []any{})),
			each(prompts, "icons", rawJSON(`[{"src":"https://example.com/i.svg"},{"src":"http://[::1]:8080/i.png?s=1#f","sizes":["any","1x1","0512x512"],"theme":"dark"}]`)),
			each(resources, "icons", rawJSON(`[{"src":"DATA:image/PNG;base64,iVBORw0KGgo=","mimeType":"image/png","sizes":[],"theme":"light","x":1}]`)),
			each(templates, "icons", rawJSON(`[{"src":"data:image/svg+xml;charset=utf-8;base64,PHN2Zy8%2B","mimeType":"image/svg+xml; charset=utf-8"}]`)))).inRevisions(spec.V20251125),

		// URIs and MIME types.
		newVariation("uris", "resources have URIs of many schemes", mapURIs(
			"urn:isbn:0451450523", "data:text/plain;charset=utf-8,Hello%2C%20world.", "file:///c:/a%20b/%E4%B8%96.txt", "http://[2001:db8::1%25eth0]:8080/x;y=1?q=a+b&c=%23#f",
			"mailto:someone@example.com", "a+b.c-1://~user/(x)/!$&'*,;=:@", "X:")),
		newVariation("mime-types", "MIME types have parameters, suffixes and upper case", each(resources, "mimeType", mimeTypes...)),
		newVariation("templates", "a template has every operator of RFC 6570", addTemplate("demo://operators/{+path}{#fragment}{.ext}{/segments*}{;parameter}{?query,lang}{&more*}{prefix:3}{a.b,x_1}{%41}")),

		// Content.
		newVariation("empty-text", "text is empty in resources and prompts, and in some results of tools", combineSeams(editListItems(resources, omitMembers("size")), editListItems(read, ifHas("text", setValue("text", ""))), editPromptBlocks("text", setValue("text", "")),
			editToolBlocks("text", func(b map[string]any) {
				if text, _ := b["text"].(string); !strings.HasPrefix(text, "{") && !strings.Contains(text, " ") {
					b["text"] = ""
				}
			}))),
		newVariation("empty-base64", "images, audio in prompts, and blobs from tools are empty", combineSeams(editToolBlocks("image", setValue("data", "")), editPromptBlocks("image", setValue("data", "")), editPromptBlocks("audio", setValue("data", "")),
			editToolBlocks("resource", editMember("resource", ifHas("blob", setValue("blob", "")))))),
		newVariation("no-messages", "a prompt has no messages", EditResult(get, setValue("messages", []any{}))),
		newVariation("several-contents", "resources/read returns several contents", EditResult(read, func(r map[string]any) {
			r["contents"] = append(r["contents"].([]any), map[string]any{"uri": "demo://other", "text": ""}, map[string]any{"uri": "urn:x:y", "blob": "", "mimeType": "inode/x-empty"})
		})),
		newVariation("bare-link", "tools return links to resources that are not listed", combineSeams(editToolBlocks("resource_link", replaceObject(`{"type":"resource_link","name":"","uri":"https://example.com/page"}`)))).inRevisions(newer...),
		newVariation("structured-extras", "structured content has members that the output schema does not define", editResultOfAdd(func(r map[string]any) {
			r["structuredContent"] = rawJSON(`{"sum":3,"unit":null,"more":{"a":[]}}`)
			r["content"] = []any{textBlock(" { \"more\" : {\"a\":[]},\n\"unit\": null, \"sum\": 3.0e0 } ")}
		})).inRevisions(newer...),
		newVariation("structured-last", "the text of structured content comes after other blocks", editResultOfAdd(func(r map[string]any) {
			r["content"] = append([]any{textBlock("The sum is"), map[string]any{"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}}, r["content"].([]any)...)
		})).inRevisions(newer...),

		// Schemas of tools.
		newVariation("schema-references", "an inputSchema uses $ref and declares its dialect", editTool("echo", setValue("inputSchema", rawJSON(`{
			"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://example.com/echo","title":"Echo","type":"object","$comment":"x",
			"properties":{"text":{"$ref":"#/$defs/text"}},"required":["text"],"$defs":{"text":{"type":"string","x-order":1,"examples":["a"]}},"unevaluatedProperties":false}`)))),
		newVariation("schema-draft-07", "an inputSchema is draft-07, with keywords that later dialects removed", editTool("distance", func(t map[string]any) {
			t["inputSchema"] = rawJSON(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","required":["from","to"],"definitions":{"point":{
				"type":"array","items":[{"type":"number"},{"type":"number"}],"additionalItems":false,"minItems":2}},
				"properties":{"from":{"$ref":"#/definitions/point"},"to":{"$ref":"#/definitions/point"}},"dependencies":{"from":["to"]}}`)
		})).inRevisions(olderRevisions()...),
		newVariation("schema-booleans", "an inputSchema contains the schemas true and false", editTool("echo", setValue("inputSchema", rawJSON(`{"type":"object","required":["text"],"properties":{
			"text":{"type":"string","not":false,"allOf":[true]},"any":{},"list":{"type":"array","items":true,"contains":true}},"patternProperties":{"^x-":true},"additionalProperties":true,
			"if":true,"then":true,"else":false}`)))),
		newVariation("schema-numbers", "bounds in an inputSchema are written with a decimal point", editTool("slow", func(t map[string]any) {
			t["inputSchema"] = rawJSON(`{"type":"object","properties":{"steps":{"type":"integer","minimum":1.0,"maximum":1e2,"multipleOf":1.0}},"minProperties":0.0,"required":[]}`)
		})),
		newVariation("schema-empty", "a tool without arguments has an inputSchema with only a type", editTool("fail", setValue("inputSchema", map[string]any{"type": "object"}))),

		// Completions.
		newVariation("completion-hundred", "completion returns exactly 100 values, with a greater total and no hasMore", completion(func(m map[string]any) {
			clear(m)
			m["values"], m["total"] = slices.Repeat([]any{"again"}, 100), rawJSON("1e3")
		})),
		newVariation("completion-more", "completion returns hasMore without total", completion(func(m map[string]any) {
			clear(m)
			m["values"], m["hasMore"], m["x-source"] = []any{"", " ", "é"}, true, nil
		})),
		newVariation("completion-none", "completion never returns values", completion(func(m map[string]any) {
			clear(m)
			m["values"], m["total"], m["hasMore"] = []any{}, rawJSON("0.0"), false
		})),
	}
}

var mimeTypes = []any{
	"text/plain; charset=utf-8", "application/vnd.example.note+json;version=1", "TEXT/HTML", "inode/directory", `multipart/mixed; boundary="a b"`, "x-world/x-3dmf", "application/x.a-b_c!#$&^1",
}

func textBlock(text string) map[string]any { return map[string]any{"type": "text", "text": text} }

func applyBoth(first, second edit) edit { return func(m map[string]any) { first(m); second(m) } }

// alternateValues returns an edit that assigns the values in turn to the objects that it meets, and
// edits each object with the edit that e returns for its value. An object, identified by its URI or
// name, keeps its value.
func alternateValues(e func(value any) edit, values ...any) edit {
	var mu sync.Mutex
	turns := map[string]int{}
	return func(m map[string]any) {
		thing := fmt.Sprint(m["uri"], m["uriTemplate"], m["name"])
		mu.Lock()
		turn, known := turns[thing]
		if !known {
			turn = len(turns) % len(values)
			turns[thing] = turn
		}
		mu.Unlock()
		e(values[turn])(m)
	}
}

// addMemberEverywhere adds a member to v and to all objects in it, except objects such as
// schemas, in which every member has a meaning.
func addMemberEverywhere(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			addMemberEverywhere(e)
		}
	case map[string]any:
		for name, inner := range v {
			switch name {
			case "inputSchema", "outputSchema", "structuredContent", "_meta", "experimental":
			default:
				addMemberEverywhere(inner)
			}
		}
		v["x-more"] = map[string]any{"null": nil, "deep": []any{[]any{}, false}}
	}
}

// addLaterMembers adds to list items, contents, content blocks, results of tools/call, serverInfo
// and progress the members that a later revision defines. In the negotiated revision they are
// additional members, so any value is permitted.
func addLaterMembers(names ...string) *refserver.Seams {
	ahead := func(m map[string]any) {
		for _, name := range names {
			m[name] = []any{nil, false}
		}
	}
	var several []*refserver.Seams
	for method := range listMembers {
		several = append(several, editListItems(method, ahead))
	}
	return combineSeams(append(several, editToolBlocks("", ahead), editPromptBlocks("", ahead), EditResult(spec.MethodToolsCall, ahead),
		EditResult(spec.MethodInitialize, editMember("serverInfo", ahead)), editSentParams(spec.MethodProgress, ahead))...)
}

// removeCursors removes nextCursor from all results.
func removeCursors() *refserver.Seams { return EditResult("", omitMembers("nextCursor")) }

// mapURIs gives resources the URIs uris instead of their own in results and updates, and accepts
// them in requests.
func mapURIs(uris ...string) *refserver.Seams {
	known := []string{"demo://text/hello", "demo://image/dot", "demo://text/unicode", "demo://json/object", "demo://note", "demo://roots"}
	swap := func(text string, from, to []string) string {
		if i := slices.Index(from, text); i >= 0 && i < len(to) {
			return to[i]
		}
		return text
	}
	outward := func(m map[string]any) {
		uri, _ := m["uri"].(string)
		m["uri"] = swap(uri, known, uris)
	}
	return combineSeams(WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if uri, ok := wire.Text(wire.At(c.Params, "/uri")); ok {
			_, p := wire.Members(c.Params)
			p["uri"] = wire.Quote(swap(uri, uris, known))
			c.Params = wire.JSON(p)
		}
		return next(c)
	}), editListItems(spec.MethodResourcesList, outward), editListItems(spec.MethodResourcesRead, outward),
		editToolBlocks("resource", editMember("resource", outward)), editToolBlocks("resource_link", outward), editPromptBlocks("resource", editMember("resource", outward)), editPromptBlocks("resource_link", outward),
		editSentParams(spec.MethodResourcesUpdated, outward))
}

// addTemplate adds a template, given as a URI template, to the list. completion/complete returns no
// values for its variables. resources/read succeeds for each URI that begins like the template, up
// to its first variable.
func addTemplate(text string) *refserver.Seams {
	prefix, _, _ := strings.Cut(text, "{")
	return combineSeams(EditResult(spec.MethodResourcesTemplates, func(r map[string]any) {
		if _, more := r["nextCursor"]; !more {
			r["resourceTemplates"] = append(r["resourceTemplates"].([]any), map[string]any{"uriTemplate": text, "name": "odd"})
		}
	}), WrapHandler(spec.MethodComplete, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if uri, _ := wire.Text(wire.At(c.Params, "/ref/uri")); uri == text {
			return rawJSON(`{"completion":{"values":[]}}`), nil
		}
		return next(c)
	}), WrapHandler(spec.MethodResourcesRead, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if uri, _ := wire.Text(wire.At(c.Params, "/uri")); strings.HasPrefix(uri, prefix) {
			return map[string]any{"contents": []any{map[string]any{"uri": uri, "text": "An operator."}}}, nil
		}
		return next(c)
	}))
}

// legalMiscellaneous returns the legal variations that belong to no other table.
func legalMiscellaneous() []*Fault {
	return []*Fault{
		newVariation("another-type", "images have a MIME type that does not match their data", combineSeams(editToolBlocks("image", setValue("mimeType", "image/jpeg")), editPromptBlocks("image", setValue("mimeType", "image/webp")))),
		newVariation("prompt-with-link", "every prompt contains a link to a resource that is not listed", EditResult(spec.MethodPromptsGet, func(r map[string]any) {
			r["messages"] = append(r["messages"].([]any), map[string]any{
				"role": "user", "content": map[string]any{"type": "resource_link", "uri": "demo://elsewhere", "name": "elsewhere"},
			})
		})).inRevisions(sinceRevision(spec.V20250618)...),
		newVariation("embedded-once", "resources that tools embed can't be read later", editToolBlocks("resource", editMember("resource", setValue("uri", "demo://of-the-moment/1")))),
		newVariation("no-unsubscribe", "resources/unsubscribe gets -32601, and subscriptions last as long as the session",
			refuseCalls(spec.MethodResourcesUnsubscribe, isInitialized, spec.CodeMethodNotFound, "Method not found")),
	}
}
