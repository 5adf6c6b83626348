package serverfeatures

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	toolFailureIsResult = "tools.call.execution-error-is-result"
	toolFailureExplains = "tools.call.execution-error-explains"
	toolEmbedded        = "tools.embedded-resource.needs-resources-capability"
	toolLinkFetchable   = "tools.resource-link.fetchable"
)

// toolFailures judges failures of listed tools whose arguments are in order.
func toolFailures() rules.Fold {
	// inOrder reports whether nothing is wrong with a call.
	inOrder := func(s *rules.Session, h *rules.Heard) (name string, ok bool) {
		_, params := wire.Members(h.Asked.Message.Params())
		name, _ = wire.Text(params["name"])
		input, arguments := wire.At(catalogs.Of(s).tools.seen[name], "/inputSchema"), params["arguments"]
		return name, input.Kind() == '{' && arguments.Kind() == '{' && fits(s.Revision(), input, arguments)
	}
	asTask := func(h *rules.Heard) bool { return wire.At(h.Asked.Message.Params(), "/task") != nil }
	return rules.Fold{Reads: readsCatalog, Hear: rules.Hears{
		rules.ErrorTo(spec.MethodToolsCall): func(s *rules.Session, h *rules.Heard, out *rules.Out) {
			if !regular(s, h) || asTask(h) {
				return
			}
			if name, ok := inOrder(s, h); ok {
				failedByError(name, h, out)
			}
		},
		rules.ResultOf(spec.MethodToolsCall): func(s *rules.Session, h *rules.Heard, out *rules.Out) {
			if !regular(s, h) || asTask(h) || !failed(h.Message) {
				return
			}
			if name, ok := inOrder(s, h); ok && !saysUnknown("tool", name, h.Message) {
				out.Subject(toolFailureIsResult)
			}
			failedByResult(h, out)
		},
	}}
}

// failedByError can't know whether the tool failed or the server did: only a
// code of the author's own choice speaks for the tool.
func failedByError(name string, h *rules.Heard, out *rules.Out) {
	code, ok := h.Message.ErrorCode()
	d := about(toolFailureIsResult, h)
	d.Permitted = "a result with isError true, if the tool failed"
	switch {
	case !ok || saysUnknown("tool", name, h.Message):
	case code < -32768 || code > -32000:
		d.Summary = "The server's tool fails with a JSON-RPC error, not with isError."
		out.Found(d)
	case spec.Code(code) == spec.CodeInternal:
		d.Summary = "The server answers a valid call with an internal error."
		d.Weight = verdict.OnlyNote
		out.Found(d)
	}
}

func failedByResult(h *rules.Heard, out *rules.Out) {
	content, structured := wire.At(h.Message.Result(), "/content"), wire.At(h.Message.Result(), "/structuredContent")
	if content.Kind() != '[' {
		return // another finding
	}
	if names, _ := wire.Members(structured); len(names) > 0 || slices.ContainsFunc(wire.Elements(content), tells) {
		out.Subject(toolFailureExplains)
		return
	}
	d := about(toolFailureExplains, h)
	d.Summary, d.Permitted = "The server's tool fails without a message.", "content that says what went wrong"
	out.Found(d)
}

// tells reports whether a content block holds anything.
func tells(block jsontext.Value) bool {
	text, ok := wire.Text(wire.At(block, "/text"))
	return !ok || strings.TrimSpace(text) != ""
}

// toolResources judges the resources in results of tools: embedded ones by
// what the server declares, links by reading them.
func toolResources() rules.Fold {
	linked := map[string]*rules.Heard{}
	read := func(s *rules.Session, h *rules.Heard, out *rules.Out) {
		uri, _ := wire.Text(wire.At(h.Asked.Message.Params(), "/uri"))
		link := linked[uri]
		if link == nil || !regular(s, h) || !s.ServerDeclared("resources") {
			return
		}
		if !h.Message.IsError() {
			out.Subject(toolLinkFetchable)
			return
		}
		if code, _ := h.Message.ErrorCode(); spec.Code(code) == spec.CodeInternal {
			return // it may well be there
		}
		d := about(toolLinkFetchable, h)
		d.Summary, d.Permitted = "The server does not find a resource that its tool links to.", "its contents; a link may also be meant for the client alone, as file:// often is"
		d.Weight = verdict.OnlyNote
		d.At = rules.At(link.Asked.Event, link.Event, h.Asked.Event, h.Event)
		out.Found(d)
	}
	return rules.Fold{Hear: rules.Hears{
		rules.ResultOf(spec.MethodToolsCall): func(s *rules.Session, h *rules.Heard, out *rules.Out) {
			if !regular(s, h) {
				return
			}
			for _, block := range wire.Elements(wire.At(h.Message.Result(), "/content")) {
				switch kind, _ := wire.Text(wire.At(block, "/type")); kind {
				case "resource":
					embeddedResource(s, h, out)
				case "resource_link":
					uri, _ := wire.Text(wire.At(block, "/uri"))
					if scheme, _, _ := strings.Cut(strings.ToLower(uri), ":"); scheme != "http" && scheme != "https" && scheme != "" {
						linked[uri] = h
					}
				}
			}
		},
		rules.ResultOf(spec.MethodResourcesRead): read,
		rules.ErrorTo(spec.MethodResourcesRead):  read,
	}}
}

func embeddedResource(s *rules.Session, h *rules.Heard, out *rules.Out) {
	switch yes, spoiled := declares(s, "resources"); {
	case spoiled:
	case yes:
		out.Subject(toolEmbedded)
	default:
		d := about(toolEmbedded, h)
		d.Summary, d.Permitted = "The server's tool embeds a resource, but resources are not declared.", "the capability resources"
		d.At = rules.At(s.Initialize.Event, h.Asked.Event, h.Event)
		out.Found(d)
	}
}
