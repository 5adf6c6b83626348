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

// toolFailures judges failures of listed tools called with valid arguments.
func toolFailures() rules.Fold {
	// checkArguments returns the name of the tool, and whether the call has valid arguments.
	checkArguments := func(s *rules.Session, obs *rules.Observation) (name string, ok bool) {
		name, _ = wire.Text(obs.Request.Message.ParamAt("/name"))
		input, arguments := wire.At(catalogs.Of(s).tools.seen[name], "/inputSchema"), obs.Request.Message.ParamAt("/arguments")
		return name, input.Kind() == '{' && arguments.Kind() == '{' && acceptsArguments(s, input, arguments)
	}
	asTask := func(obs *rules.Observation) bool { return obs.Request.Message.ParamAt("/task") != nil }
	return rules.Fold{Shared: readsCatalog, OnMessage: rules.Handlers{
		rules.ErrorTo(spec.MethodToolsCall): func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
			if !isRegular(s, obs) || asTask(obs) {
				return
			}
			if name, ok := checkArguments(s, obs); ok {
				judgeErrorFailure(name, obs, out)
			}
		},
		rules.ResultOf(spec.MethodToolsCall): func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
			if !isRegular(s, obs) || asTask(obs) || !isFailedResult(obs.Message) {
				return
			}
			if name, ok := checkArguments(s, obs); ok && !isUnknownNameError("tool", name, obs.Message) {
				out.MarkObserved(toolFailureIsResult)
			}
			judgeResultFailure(obs, out)
		},
	}}
}

// judgeErrorFailure judges an error in response to a call with valid arguments. It is unknown
// whether the tool or the server failed: only a code outside the reserved range points to the tool.
func judgeErrorFailure(name string, obs *rules.Observation, out *rules.Reporter) {
	code, ok := obs.Message.ErrorCode()
	d := deviationOf(toolFailureIsResult, obs)
	d.Permitted = "a result with isError true, if the tool failed"
	switch {
	case !ok || isUnknownNameError("tool", name, obs.Message):
	case code < -32768 || code > -32000:
		d.Summary = "The server's tool fails with a JSON-RPC error, not with isError."
		out.Report(d)
	case spec.Code(code) == spec.CodeInternal:
		d.Summary = "The server answers a valid call with an internal error."
		d.Weight = verdict.OnlyNote
		out.Report(d)
	}
}

func judgeResultFailure(obs *rules.Observation, out *rules.Reporter) {
	content, structured := obs.Message.ResultAt("/content"), obs.Message.ResultAt("/structuredContent")
	if content.Kind() != '[' {
		return // another rule reports that
	}
	if names, _ := wire.Members(structured); len(names) > 0 || slices.ContainsFunc(wire.Elements(content), explainsFailure) {
		out.MarkObserved(toolFailureExplains)
		return
	}
	d := deviationOf(toolFailureExplains, obs)
	d.Summary, d.Permitted = "The server's tool fails without a message.", "content that says what went wrong"
	out.Report(d)
}

// explainsFailure reports whether a content block may explain a failure: it is not a text block, or
// its text is not blank.
func explainsFailure(block jsontext.Value) bool {
	text, ok := wire.Text(wire.At(block, "/text"))
	return !ok || strings.TrimSpace(text) != ""
}

// toolResources judges the resources in tool results: embedded resources by the capabilities that
// the server declares, and links by the responses to the client's reads of them.
func toolResources() rules.Fold {
	linked := map[string]*rules.Observation{}
	read := func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
		uri, _ := wire.Text(obs.Request.Message.ParamAt("/uri"))
		link := linked[uri]
		if link == nil || !isRegular(s, obs) || !s.ServerDeclared("resources") {
			return
		}
		if !obs.Message.IsError() {
			out.MarkObserved(toolLinkFetchable)
			return
		}
		if code, _ := obs.Message.ErrorCode(); spec.Code(code) == spec.CodeInternal {
			return // the resource may exist
		}
		d := deviationOf(toolLinkFetchable, obs)
		d.Summary, d.Permitted = "The server does not find a resource that its tool links to.", "its contents; a link may also be meant for the client alone, as file:// often is"
		d.Weight = verdict.OnlyNote
		d.At = rules.PositionsOf(link.Request.Event, link.Event, obs.Request.Event, obs.Event)
		out.Report(d)
	}
	return rules.Fold{OnMessage: rules.Handlers{
		rules.ResultOf(spec.MethodToolsCall): func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
			if !isRegular(s, obs) {
				return
			}
			for _, block := range wire.Elements(obs.Message.ResultAt("/content")) {
				switch kind, _ := wire.Text(wire.At(block, "/type")); kind {
				case "resource":
					judgeEmbedded(s, obs, out)
				case "resource_link":
					uri, _ := wire.Text(wire.At(block, "/uri"))
					if scheme, _, _ := strings.Cut(strings.ToLower(uri), ":"); scheme != "http" && scheme != "https" && scheme != "" {
						linked[uri] = obs
					}
				}
			}
		},
		rules.ResultOf(spec.MethodResourcesRead): read,
		rules.ErrorTo(spec.MethodResourcesRead):  read,
	}}
}

func judgeEmbedded(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	switch declared, malformed := declaresCapability(s, "resources"); {
	case malformed:
	case declared:
		out.MarkObserved(toolEmbedded)
	default:
		d := deviationOf(toolEmbedded, obs)
		d.Summary, d.Permitted = "The server's tool embeds a resource, but resources are not declared.", "the capability resources"
		s.ShowDeclared(&d)
		out.Report(d)
	}
}
