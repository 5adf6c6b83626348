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

// legalShapes are the legal variations in the shape of what is offered and
// answered.
func legalShapes() []Fault {
	const tools, prompts, resources, templates = spec.MethodToolsList, spec.MethodPromptsList, spec.MethodResourcesList, spec.MethodResourcesTemplates
	const read, get, call, complete = spec.MethodResourcesRead, spec.MethodPromptsGet, spec.MethodToolsCall, spec.MethodComplete
	newer := from(spec.V20250618)
	each := func(method, name string, values ...any) refserver.Seams {
		return listed(method, inTurn(func(v any) edit { return put(name, v) }, values...))
	}
	notes := func(name string, values ...any) refserver.Seams {
		return listed(resources, inTurn(func(v any) edit { return inside("annotations", put(name, v)) }, values...))
	}
	completion := func(e edit) refserver.Seams { // of prompts: what completes a template has to be there
		return Handle(complete, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			result, err := next(c)
			if kind, _ := wire.Text(wire.At(c.Params, "/ref/type")); err != nil || kind != "ref/prompt" {
				return result, err
			}
			r := plain(result)
			inside("completion", e)(r)
			return r, nil
		})
	}
	rest := leaveOut("title", "description", "icons", "annotations", "mimeType", "size", "_meta")
	return []Fault{
		// Members that no revision knows, and those that may be left out.
		legal("members-everywhere", "every object that may have other members has some", EditResult("", func(r map[string]any) {
			if len(r) > 0 { // an empty result has to stay empty
				addEverywhere(r)
			}
		})),
		legal("bare-resources", "resources and templates have only a name and a URI", together(listed(resources, rest), listed(templates, rest))),
		legal("bare-contents", "what is read has only a URI and its content", listed(read, leaveOut("mimeType"))),
		legal("bare-arguments", "arguments of prompts have only a name", listed(prompts, inEach("arguments", leaveOut("title", "description", "required")))),
		legal("no-titles", "nothing has a title", together(listed(tools, leaveOut("title")), listed(prompts, leaveOut("title")), listed(resources, leaveOut("title")),
			EditResult(spec.MethodInitialize, inside("serverInfo", leaveOut("title"))))).in(newer...),
		legal("empty-texts", "titles, descriptions and the server's name are empty", together(
			listed(tools, both(put("title", ""), put("description", ""))), listed(prompts, both(put("title", ""), put("description", ""))),
			listed(resources, both(put("name", ""), put("description", ""))), EditResult(spec.MethodInitialize, func(r map[string]any) {
				r["instructions"], r["serverInfo"] = "", map[string]any{"name": "", "version": ""}
			}))),
		legal("odd-texts", "titles and descriptions hold all that strings can hold", together(
			listed(tools, both(put("title", "\u0000\u202e🙂"), put("description", strings.Repeat("line\r\n\t", 2000)))),
			listed(resources, both(put("name", " a/b:c\n"), put("description", "{\"json\":true}"))),
		)),
		legal("empty-lists", "all lists are empty", together(EditResult(tools, put("tools", []any{})), EditResult(prompts, put("prompts", []any{})),
			EditResult(resources, put("resources", []any{})), EditResult(templates, put("resourceTemplates", []any{})), onePage())),
		legal("empty-arguments", "prompts without arguments have an empty list of them", listed(prompts, func(p map[string]any) {
			if p["arguments"] == nil {
				p["arguments"] = []any{}
			}
		})),
		legal("free-names", "the names of tools are whatever they like", renamedTool("fail", "fail (always), échoue/!")).in(beforeNewest()...),
		legal("deep-meta", "_meta nests a hundred levels", EditResult("", inside("_meta", put("com.example/deep", raw(strings.Repeat(`[{"a":`, 50)+"null"+strings.Repeat("}]", 50)))))),

		legal("ahead-2024-11-05", "members that later revisions brought hold what they may not hold there", together(aheadOfTime(
			"title", "icons", "outputSchema", "execution", "websiteUrl", "structuredContent", "lastModified", "message"),
			listed(tools, put("annotations", []any{})), listed(prompts, put("_meta", "x")))).in(spec.V20241105),
		legal("ahead-2025-03-26", "members that later revisions brought hold what they may not hold there", aheadOfTime(
			"title", "icons", "outputSchema", "execution", "websiteUrl", "structuredContent", "lastModified")).in(spec.V20250326),
		legal("ahead-2025-06-18", "members that later revisions brought hold what they may not hold there", aheadOfTime("icons", "execution", "websiteUrl")).in(spec.V20250618),

		// Annotations, hints and icons.
		legal("priority-bounds", "priorities are exactly 0 and 1, in several spellings", notes("priority",
			raw("0"), raw("1"), raw("1.0"), raw("0e0"), raw("1E0"), raw("-0.0"), raw("5e-10"))),
		legal("audiences", "audiences are empty, or name a role twice", notes("audience", []any{}, []any{"user", "user"}, []any{"assistant"})),
		legal("annotations-empty", "annotations are empty, or hold what no revision knows", together(
			each(resources, "annotations", map[string]any{}, map[string]any{"x-colour": "red", "importance": nil}),
			inTools("", put("annotations", map[string]any{})), inPrompts("", put("annotations", map[string]any{"priority": 1, "x": []any{}})))),
		legal("annotations-on-the-resource", "annotations of embedded resources stand inside the resource", together(
			inTools("resource", inside("resource", put("annotations", map[string]any{"audience": []any{"user"}, "priority": 0.7}))),
			inPrompts("resource", inside("resource", put("annotations", map[string]any{"audience": []any{"user"}, "priority": 0.7}))))),
		legal("dates", "lastModified is written in all ways of ISO 8601", notes("lastModified",
			"2025-01-12", "2025-01-12T15:00:58+02:00", "2025-01-12T15:00:58.123456Z", "20250112T150058Z", "2025-01-12T15:00Z", "2025-W02-7", "2025-012", "2025-01-12T15:00:58,5-0530")).in(newer...),
		legal("hints-odd", "hints of tools are none, or say that a tool which reads only destroys", listed(tools, func(t map[string]any) {
			if hints, ok := t["annotations"].(map[string]any); ok && hints["readOnlyHint"] == true {
				hints["destructiveHint"], hints["x-cost"] = true, 3
			} else {
				t["annotations"] = map[string]any{}
			}
		})).in(callable()...),
		legal("icons-odd", "icons are none, of any size, theme and image type, by http and as data in capitals", together(listed(tools, put("icons", []any{})),
			each(prompts, "icons", raw(`[{"src":"https://example.com/i.svg"},{"src":"http://[::1]:8080/i.png?s=1#f","sizes":["any","1x1","0512x512"],"theme":"dark"}]`)),
			each(resources, "icons", raw(`[{"src":"DATA:image/PNG;base64,iVBORw0KGgo=","mimeType":"image/png","sizes":[],"theme":"light","x":1}]`)),
			each(templates, "icons", raw(`[{"src":"data:image/svg+xml;charset=utf-8;base64,PHN2Zy8%2B","mimeType":"image/svg+xml; charset=utf-8"}]`)))).in(spec.V20251125),

		// Addresses and types.
		legal("uris", "resources have URIs of many schemes", readdressed(
			"urn:isbn:0451450523", "data:text/plain;charset=utf-8,Hello%2C%20world.", "file:///c:/a%20b/%E4%B8%96.txt", "http://[2001:db8::1%25eth0]:8080/x;y=1?q=a+b&c=%23#f",
			"mailto:someone@example.com", "a+b.c-1://~user/(x)/!$&'*,;=:@", "X:")),
		legal("mime-types", "MIME types have parameters, suffixes and capitals", each(resources, "mimeType", mimeTypes...)),
		legal("templates", "a template has every operator of RFC 6570", oddTemplate("demo://operators/{+path}{#fragment}{.ext}{/segments*}{;parameter}{?query,lang}{&more*}{prefix:3}{a.b,x_1}{%41}")),

		// Content.
		legal("empty-text", "text is empty, in what is read and in what tools and prompts return", together(listed(resources, leaveOut("size")), listed(read, having("text", put("text", ""))), inPrompts("text", put("text", "")),
			inTools("text", func(b map[string]any) {
				if text, _ := b["text"].(string); !strings.HasPrefix(text, "{") && !strings.Contains(text, " ") {
					b["text"] = ""
				}
			}))),
		legal("empty-base64", "images and blobs are empty", together(inTools("image", put("data", "")), inPrompts("image", put("data", "")), inPrompts("audio", put("data", "")),
			inTools("resource", inside("resource", having("blob", put("blob", "")))))),
		legal("no-messages", "a prompt has no messages", EditResult(get, put("messages", []any{}))),
		legal("several-contents", "reading one resource gives several contents", EditResult(read, func(r map[string]any) {
			r["contents"] = append(r["contents"].([]any), map[string]any{"uri": "demo://other", "text": ""}, map[string]any{"uri": "urn:x:y", "blob": "", "mimeType": "inode/x-empty"})
		})),
		legal("bare-link", "tools return links that are listed nowhere", together(inTools("resource_link", becomes(`{"type":"resource_link","name":"","uri":"https://example.com/page"}`)))).in(newer...),
		legal("structured-extras", "structured content has more than the output schema names", summed(func(r map[string]any) {
			r["structuredContent"] = raw(`{"sum":3,"unit":null,"more":{"a":[]}}`)
			r["content"] = []any{textBlock(" { \"more\" : {\"a\":[]},\n\"unit\": null, \"sum\": 3.0e0 } ")}
		})).in(newer...),
		legal("structured-last", "the text of structured content comes after other blocks", summed(func(r map[string]any) {
			r["content"] = append([]any{textBlock("The sum is"), map[string]any{"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}}, r["content"].([]any)...)
		})).in(newer...),

		// Schemas of tools.
		legal("schema-references", "an inputSchema refers to its definitions and names its dialect", editTool("echo", put("inputSchema", raw(`{
			"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://example.com/echo","title":"Echo","type":"object","$comment":"x",
			"properties":{"text":{"$ref":"#/$defs/text"}},"required":["text"],"$defs":{"text":{"type":"string","x-order":1,"examples":["a"]}},"unevaluatedProperties":false}`)))),
		legal("schema-draft-07", "an inputSchema is of draft-07, with what later dialects have dropped", editTool("distance", func(t map[string]any) {
			t["inputSchema"] = raw(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","required":["from","to"],"definitions":{"point":{
				"type":"array","items":[{"type":"number"},{"type":"number"}],"additionalItems":false,"minItems":2}},
				"properties":{"from":{"$ref":"#/definitions/point"},"to":{"$ref":"#/definitions/point"}},"dependencies":{"from":["to"]}}`)
		})).in(beforeNewest()...),
		legal("schema-booleans", "schemas inside an inputSchema are true and false", editTool("echo", put("inputSchema", raw(`{"type":"object","required":["text"],"properties":{
			"text":{"type":"string","not":false,"allOf":[true]},"any":{},"list":{"type":"array","items":true,"contains":true}},"patternProperties":{"^x-":true},"additionalProperties":true,
			"if":true,"then":true,"else":false}`)))),
		legal("schema-numbers", "bounds in an inputSchema are written with a point", editTool("slow", func(t map[string]any) {
			t["inputSchema"] = raw(`{"type":"object","properties":{"steps":{"type":"integer","minimum":1.0,"maximum":1e2,"multipleOf":1.0}},"minProperties":0.0,"required":[]}`)
		})),
		legal("schema-empty", "a tool without arguments has an inputSchema with a type alone", editTool("fail", put("inputSchema", map[string]any{"type": "object"}))),

		// Completions.
		legal("completion-hundred", "completions are exactly a hundred, with a greater total and no hasMore", completion(func(m map[string]any) {
			clear(m)
			m["values"], m["total"] = slices.Repeat([]any{"again"}, 100), raw("1e3")
		})),
		legal("completion-more", "completions say that there are more, and not how many", completion(func(m map[string]any) {
			clear(m)
			m["values"], m["hasMore"], m["x-source"] = []any{"", " ", "é"}, true, nil
		})),
		legal("completion-none", "completions are always none", completion(func(m map[string]any) {
			clear(m)
			m["values"], m["total"], m["hasMore"] = []any{}, raw("0.0"), false
		})),
	}
}

var mimeTypes = []any{
	"text/plain; charset=utf-8", "application/vnd.example.note+json;version=1", "TEXT/HTML", "inode/directory", `multipart/mixed; boundary="a b"`, "x-world/x-3dmf", "application/x.a-b_c!#$&^1",
}

func textBlock(text string) map[string]any { return map[string]any{"type": "text", "text": text} }

func both(first, second edit) edit { return func(m map[string]any) { first(m); second(m) } }

// inTurn gives each thing, known by its URI or name, one of the values, and
// always the same one.
func inTurn(e func(value any) edit, values ...any) edit {
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

// addEverywhere adds a member to v and to the objects in it, but for those
// whose members all have a meaning.
func addEverywhere(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			addEverywhere(e)
		}
	case map[string]any:
		for name, inner := range v {
			switch name {
			case "inputSchema", "outputSchema", "structuredContent", "_meta", "experimental":
			default:
				addEverywhere(inner)
			}
		}
		v["x-more"] = map[string]any{"null": nil, "deep": []any{[]any{}, false}}
	}
}

// aheadOfTime gives what is listed, read, called and gotten members of later
// revisions, which are none yet, and so may hold anything.
func aheadOfTime(names ...string) refserver.Seams {
	ahead := func(m map[string]any) {
		for _, name := range names {
			m[name] = []any{nil, false}
		}
	}
	var several []refserver.Seams
	for method := range listMembers {
		several = append(several, listed(method, ahead))
	}
	return together(append(several, inTools("", ahead), inPrompts("", ahead), EditResult(spec.MethodToolsCall, ahead),
		EditResult(spec.MethodInitialize, inside("serverInfo", ahead)), sent(spec.MethodProgress, ahead))...)
}

// onePage forgets the cursors.
func onePage() refserver.Seams { return EditResult("", leaveOut("nextCursor")) }

// renamedTool calls a tool by another name.
func renamedTool(name, other string) refserver.Seams {
	return together(editTool(name, put("name", other)), Handle(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if asked, _ := wire.Text(wire.At(c.Params, "/name")); asked == other {
			_, p := wire.Members(c.Params)
			p["name"] = wire.Quote(name)
			c.Params = wire.JSON(p)
		}
		return next(c)
	}))
}

// readdressed gives resources other URIs, by which they can be read.
func readdressed(uris ...string) refserver.Seams {
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
	return together(Handle("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if uri, ok := wire.Text(wire.At(c.Params, "/uri")); ok {
			_, p := wire.Members(c.Params)
			p["uri"] = wire.Quote(swap(uri, uris, known))
			c.Params = wire.JSON(p)
		}
		return next(c)
	}), listed(spec.MethodResourcesList, outward), listed(spec.MethodResourcesRead, outward),
		inTools("resource", inside("resource", outward)), inTools("resource_link", outward), inPrompts("resource", inside("resource", outward)), inPrompts("resource_link", outward),
		sent(spec.MethodResourcesUpdated, outward))
}

// oddTemplate adds a template to the list, completes its variables with
// nothing, and reads what can be made of it.
func oddTemplate(text string) refserver.Seams {
	prefix, _, _ := strings.Cut(text, "{")
	return together(EditResult(spec.MethodResourcesTemplates, func(r map[string]any) {
		if _, more := r["nextCursor"]; !more {
			r["resourceTemplates"] = append(r["resourceTemplates"].([]any), map[string]any{"uriTemplate": text, "name": "odd"})
		}
	}), Handle(spec.MethodComplete, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if uri, _ := wire.Text(wire.At(c.Params, "/ref/uri")); uri == text {
			return raw(`{"completion":{"values":[]}}`), nil
		}
		return next(c)
	}), Handle(spec.MethodResourcesRead, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if uri, _ := wire.Text(wire.At(c.Params, "/uri")); strings.HasPrefix(uri, prefix) {
			return map[string]any{"contents": []any{map[string]any{"uri": uri, "text": "An operator."}}}, nil
		}
		return next(c)
	}))
}

// legalPermitted are the variations that no other table has.
func legalPermitted() []Fault {
	return []Fault{
		legal("another-type", "images are said to be of a type that they are not", together(inTools("image", put("mimeType", "image/jpeg")), inPrompts("image", put("mimeType", "image/webp")))),
		legal("prompt-with-link", "a prompt holds a link to a resource that is listed nowhere", EditResult(spec.MethodPromptsGet, func(r map[string]any) {
			r["messages"] = append(r["messages"].([]any), map[string]any{
				"role": "user", "content": map[string]any{"type": "resource_link", "uri": "demo://elsewhere", "name": "elsewhere"},
			})
		})).in(from(spec.V20250618)...),
		legal("embedded-once", "what tools embed can't be read later", inTools("resource", inside("resource", put("uri", "demo://of-the-moment/1")))),
		legal("no-unsubscribe", "resources/unsubscribe is unknown, and subscriptions last as long as the session",
			refuse(spec.MethodResourcesUnsubscribe, session, spec.CodeMethodNotFound, "Method not found")),
	}
}
