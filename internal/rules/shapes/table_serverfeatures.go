package shapes

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
	"github.com/mcp-conform/mcp-conform/internal/schema"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// offerRows returns the rows of what a server offers: tools, resources, prompts and completion.
func offerRows() []row {
	const resources = spec.MethodResourcesList + " " + spec.MethodResourcesRead + " " + spec.MethodResourcesUpdated
	const uris = "Resource.uri ResourceContents.uri ResourceUpdatedNotification.uri"
	return []row{
		{
			in: strings.Join(listMethods, " "), elsewhere: true, // pagination.next-cursor.string
			place: "ListToolsResult.nextCursor ListResourcesResult.nextCursor ListResourceTemplatesResult.nextCursor ListPromptsResult.nextCursor",
		},

		{
			in: spec.MethodToolsList, place: "Tool.inputSchema", ids: "tools.input-schema.object-not-null", when: isSchemaItself,
			observedAt: "Tool", summary: "The server's tool has no inputSchema.", ifPresent: "The server's tool has an inputSchema that is not of type object.",
		},
		{
			in: spec.MethodToolsList, place: "Tool.outputSchema", ids: "tools.output-schema.root-object-2025-06-18", when: isSchemaItself,
			summary: "The server's tool has an outputSchema that is not of type object.",
		},
		{
			in: spec.MethodToolsList, place: "Tool.inputSchema", kinds: kinds(schema.NotDialect), ids: "tools.input-schema.is-json-schema-2024-11-05",
			summary: "The server's tool has an inputSchema that is not a JSON Schema.",
		},
		{
			in: spec.MethodToolsList, place: "Tool.outputSchema", kinds: kinds(schema.NotDialect), ids: "tools.output-schema.valid",
			summary: "The server's tool has an outputSchema that is not a JSON Schema.",
		},
		{
			in: spec.MethodToolsList, place: "Tool.inputSchema Tool.outputSchema", kinds: kinds(schema.NotDialect), ids: "base.json-schema-valid",
			summary: "The server's tool has a schema that is invalid in its dialect.",
		},
		{
			in: spec.MethodToolsCall, place: "CallToolResult.structuredContent", ids: "tools.structured.object-only-2025-06-18",
			summary: "The server's structuredContent is not an object.",
		},

		{
			in: resources, place: uris, kinds: kinds(schema.NotURI), ids: "resources.uri.custom-scheme-rfc3986", when: hasBadScheme,
			summary:   "The server's resource URI has a malformed scheme.",
			permitted: "a scheme of letters, digits, +, - and ., the first a letter (RFC 3986, section 3.1)",
			fix:       "Rename the scheme: use - instead of _, and begin it with a letter.",
		},
		{in: resources, place: uris, kinds: kinds(schema.NotURI), ids: "resources.uri.valid", summary: "The server's resource URI is not valid."},
		{
			in: spec.MethodResourcesTemplates, place: "ResourceTemplate.uriTemplate", kinds: kinds(schema.NotTemplate),
			ids: "resources.templates.uri-template-valid", fixOf: templateFix, summary: "The server's uriTemplate is not a URI template.",
		},

		{
			in: spec.MethodComplete, place: "Completion.values", kinds: kinds(schema.TooMany), ids: "completion.values.max-100",
			summary: "The server's completion has more than 100 values.",
		},
	}
}

// isSchemaItself reports whether the schema or its type is wrong, not something in its
// properties.
func isSchemaItself(v schema.Violation) bool {
	path := strings.Split(v.Place, ".")
	return len(path) == 2 || len(path) == 3 && path[2] == "type"
}

// hasBadScheme reports whether an invalid URI begins with an invalid scheme.
func hasBadScheme(v schema.Violation) bool {
	scheme, _, ok := strings.Cut(strings.Trim(v.Seen, `"`), ":")
	if !ok || strings.ContainsAny(scheme, "/?#") {
		return false
	}
	for i, b := range []byte(scheme) {
		letter := 'a' <= b|0x20 && b|0x20 <= 'z'
		if !letter && (i == 0 || !('0' <= b && b <= '9') && b != '+' && b != '-' && b != '.') {
			return true
		}
	}
	return scheme == ""
}

// variablePattern matches a variable that has a pattern, such as {id:[0-9]+}. The routers of web
// frameworks permit this form, but URI templates do not.
var variablePattern = lazyregexp.New(`\{(\w+)(:[^{}]+|<[^{}]+>|\([^{}]+\))\}`)

// templateFix returns the fix of a URI template that has a pattern for a variable.
func templateFix(v schema.Violation) string {
	text, _ := wire.Text(jsontext.Value(v.Seen))
	m := variablePattern.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return "Write {" + m[1] + "} instead of " + m[0] + ": URI templates have no patterns for variables."
}
