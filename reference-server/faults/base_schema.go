package faults

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

func metaFaults() []*Fault {
	key := func(key string) *refserver.Seams {
		return EditResult(spec.MethodToolsList, func(r map[string]any) {
			for _, tool := range objectsIn(r, "tools") {
				tool["_meta"] = map[string]any{key: true}
			}
		})
	}
	result := func(key string) *refserver.Seams {
		return EditResult("", func(r map[string]any) { r["_meta"] = map[string]any{key: true} })
	}
	return []*Fault{
		newFault("base.meta-key-prefix/digit-first", "a prefix label in _meta of tools begins with a digit", key("com.1example/key")),
		newFault("base.meta-key-prefix/hyphen-last", "a prefix label in _meta of tools ends with a hyphen", key("com.example-/key")),
		newFault("base.meta-key-prefix/two-slashes", "a key in _meta of results has two slashes", result("com.example/group/key")),
		newFault("base.meta-key-prefix/empty-label", "a prefix in _meta of tools has an empty label", key("com..example/key")),
		newFault("base.meta-key-prefix/address", "a key in _meta of results is a web address", result("https://example.com/key")),
		newFault("base.meta-key-name/underscore-first", "a key in _meta of tools begins with an underscore", key("_internal")),
		newFault("base.meta-key-name/dollar", "a key in _meta of results begins with a dollar sign", result("$ref")),
		newFault("base.meta-key-name/not-ascii", "a key in _meta of tools is not ASCII", key("com.example/café")),
		newFault("base.meta-key-name/space", "a key in _meta of results contains a space", result("com.example/my key")),
		newFault("base.meta-reverse-dns/forward", "a prefix in _meta of tools is a domain name that is not reversed", key("example.com/key")),
		newFault("base.meta-reserved-prefix-2025-06-18/mcp.dev", "a key in _meta of tools uses the reserved prefix mcp.dev/", key("mcp.dev/reference")),
		newFault("base.meta-reserved-prefix-2025-06-18/api.modelcontextprotocol.org", "a key in _meta of results uses the reserved prefix api.modelcontextprotocol.org/",
			result("api.modelcontextprotocol.org/reference")),
		newFault("base.meta-reserved-prefix-2025-11-25/io.modelcontextprotocol", "a key in _meta of tools uses the reserved prefix io.modelcontextprotocol/",
			key("io.modelcontextprotocol/reference")),
		newFault("base.meta-reserved-prefix-2025-11-25/dev.mcp", "a key in _meta of results uses the reserved prefix dev.mcp/", result("dev.mcp/reference")),
	}
}

func schemaFaults() []*Fault {
	property := func(tool, property, keyword string, value any) *refserver.Seams {
		return editTool(tool, func(t map[string]any) {
			p := t["inputSchema"].(map[string]any)["properties"].(map[string]any)
			p[property].(map[string]any)[keyword] = value
		})
	}
	distance := func(f func(valid bool, result any) (any, *refserver.Error)) *refserver.Seams {
		return WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			result, err := next(c)
			name, _ := wire.Text(wire.At(c.Params, "/name"))
			if err != nil || name != "distance" {
				return result, err
			}
			return f(decodeObject(result)["isError"] == nil, result)
		})
	}
	said := func(text string) map[string]any {
		return map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}}
	}
	return []*Fault{
		newFault("base.json-schema-valid/unknown-type", "a tool's schema has a type that does not exist", property("echo", "text", "type", "text")),
		newFault("base.json-schema-valid/boolean-bound", "a tool's schema has a boolean exclusiveMinimum, as in draft 4", property("add", "a", "exclusiveMinimum", true)),
		newFault("base.json-schema-valid/tuple-items", "a tool's schema writes a tuple as before 2020-12", property("distance", "from", "items", []any{
			map[string]any{"type": "number"}, map[string]any{"type": "number"},
		})),
		newFault("base.json-schema-valid/required-flag", "a tool's schema marks a property as required with a boolean", property("echo", "text", "required", true)),
		newFault("base.json-schema-valid/output", "a tool's output schema has a type that does not exist", editTool("add", func(t map[string]any) {
			t["outputSchema"].(map[string]any)["properties"] = map[string]any{"sum": map[string]any{"type": "double"}}
		})),
		newFault("base.json-schema-2020-12/ignored", "a tool accepts points that its prefixItems forbids", distance(func(valid bool, result any) (any, *refserver.Error) {
			if !valid {
				return withMember(said(`{"distance":0}`), "structuredContent", map[string]any{"distance": 0}), nil
			}
			return result, nil
		})),
		newFault("base.json-schema-2020-12/refused", "a tool refuses points that its prefixItems permits", combineSeams(
			property("distance", "from", "items", false), // without prefixItems this would permit no elements
			distance(func(valid bool, result any) (any, *refserver.Error) {
				if valid {
					return withMember(said("from must be empty"), "isError", true), nil
				}
				return result, nil
			}),
		)),
		newFault("base.json-schema-recommended-dialect/draft-07", "a tool's schema declares draft-07", editTool("echo", func(t map[string]any) {
			t["inputSchema"].(map[string]any)["$schema"] = "http://json-schema.org/draft-07/schema#"
		})),
	}
}

// editTool edits a tool in the results of tools/list.
func editTool(name string, edit func(t map[string]any)) *refserver.Seams {
	return EditResult(spec.MethodToolsList, func(r map[string]any) {
		for _, t := range objectsIn(r, "tools") {
			if t["name"] == name {
				edit(t)
			}
		}
	})
}

func withMember(m map[string]any, name string, value any) map[string]any {
	m[name] = value
	return m
}
