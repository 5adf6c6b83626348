package serverfeatures

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	toolListedFound  = "tools.call.listed-tool-is-found"
	toolUnknownError = "tools.call.unknown-tool-error"
	toolUnknownCode  = "tools.call.unknown-tool-code"
	toolCase         = "tools.name.case-sensitive"
	toolNotSupported = "tools.call.not-supported-error"
)

// toolsFound judges whether the server serves calls of tools that it lists, and refuses calls of
// tools that it does not list.
func toolsFound() rules.Fold {
	handle := func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
		b := catalogs.Of(s)
		name, ok := wire.Text(obs.Request.Message.ParamAt("/name"))
		arguments := obs.Request.Message.ParamAt("/arguments")
		if !ok || !isRegular(s, obs) || arguments != nil && arguments.Kind() != '{' {
			return
		}
		declared, malformed := declaresCapability(s, "tools")
		switch {
		case malformed:
		case !declared:
			if out.RequireInterpretable(obs, rules.PingControl(), toolNotSupported) {
				judgeUndeclaredCall(s, obs, out)
			}
		case obs.Request.Message.ParamAt("/task") != nil: // tasks have rules of their own
		case b.tools.seen[name] != nil:
			judgeListedCall(name, obs, out)
		case b.tools.isKnownAbsent(s, name, obs.Request, !obs.Message.IsError() && !isFailedResult(obs.Message)):
			judgeUnlistedCall(b, name, s, obs, out)
		}
	}
	return rules.Fold{Shared: readsCatalog, OnMessage: rules.Handlers{rules.ResultOf(spec.MethodToolsCall): handle, rules.ErrorTo(spec.MethodToolsCall): handle}}
}

// deviationOf returns a deviation with the request and its response as evidence.
func deviationOf(requirement string, obs *rules.Observation) verdict.Deviation {
	return verdict.Deviation{Requirement: requirement, Seen: rules.Excerpt(obs.Message.Raw), At: rules.PositionsOf(obs.Request.Event, obs.Event)}
}

// describeFlaw describes a member of a request that is missing or wrong.
func describeFlaw(name string, value jsontext.Value) string {
	if value == nil {
		return name + " is missing"
	}
	return name + " is " + rules.Excerpt(value)
}

// describeDespite describes the response to a request that has the given flaw.
func describeDespite(obs *rules.Observation, flaw string) string {
	if !obs.Message.IsError() {
		return "a result, though " + flaw
	}
	code, _ := obs.Message.ErrorCode()
	content, _ := obs.Message.Error()
	text, _ := wire.Text(content.Message)
	return "error " + strconv.FormatInt(code, 10) + " " + rules.Excerpt(wire.Quote(text)) + ", because " + flaw
}

// judgeUndeclaredCall judges the response to a call of a server that does not declare tools.
func judgeUndeclaredCall(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	switch {
	case obs.Message.IsError():
		out.MarkObserved(toolNotSupported)
	case !isFailedResult(obs.Message):
		out.MarkReportedElsewhere(toolNotSupported)
	default:
		d := deviationOf(toolNotSupported, obs)
		d.Summary, d.Permitted = "The server calls a tool without declaring tools.", "an error"
		s.ShowDeclared(&d)
		out.Report(d)
	}
}

func judgeListedCall(name string, obs *rules.Observation, out *rules.Reporter) {
	if !isUnknownNameError("tool", name, obs.Message) {
		out.MarkObserved(toolListedFound)
		return
	}
	d := deviationOf(toolListedFound, obs)
	d.Summary, d.Permitted = "The server reports a listed tool as unknown.", "a result, or an error other than an unknown tool"
	out.Report(d)
}

// judgeUnlistedCall judges a call of a tool that a complete list lacks.
func judgeUnlistedCall(b *catalog, name string, s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	if other := nameInOtherLetterCase(b.tools, name); other != "" {
		like := b.validCallControl(s, other)
		like.ByName = true
		if !out.RequireInterpretable(obs, like, toolCase) {
			return
		}
		if obs.Message.IsError() || isFailedResult(obs.Message) {
			out.MarkObserved(toolCase)
		} else {
			d := deviationOf(toolCase, obs)
			d.Summary, d.Permitted = "The server finds a tool by its name in other letter case.", "an error, as for any unknown tool"
			out.Report(d)
		}
		return
	}
	if !out.RequireInterpretable(obs, b.anyCallControl(s), toolUnknownError, toolUnknownCode) {
		return
	}
	if !obs.Message.IsError() {
		d := deviationOf(toolUnknownError, obs)
		d.Permitted = "an error, usually with code -32602"
		d.Summary = "The server calls a tool that is not listed."
		if isFailedResult(obs.Message) {
			d.Summary = "The server answers a call of an unknown tool with a result."
		}
		out.Report(d)
		out.MarkReportedElsewhere(toolUnknownCode)
		return
	}
	out.MarkObserved(toolUnknownError)
	if code, _ := obs.Message.ErrorCode(); spec.Code(code) != spec.CodeInvalidParams {
		d := deviationOf(toolUnknownCode, obs)
		d.Summary, d.Permitted = "The server refuses an unknown tool, but not with -32602.", "error -32602"
		if s.Era() == spec.Handshake { // only an example has the code; the schema of 2026-07-28 demands it
			d.Permitted += ", as in the specification's example"
			d.Weight = verdict.OnlyNote
		}
		out.Report(d)
		return
	}
	out.MarkObserved(toolUnknownCode)
}

// nameInOtherLetterCase returns a listed name that differs only in letter case, or "".
func nameInOtherLetterCase(o *listState, name string) string {
	for other := range o.seen {
		if other != name && strings.EqualFold(other, name) {
			return other
		}
	}
	return ""
}

// isUnknownNameError reports whether a response means, in one of the usual wordings, that no item
// has this name: an error, or a failed tool result with little other text.
func isUnknownNameError(thing, name string, m *wire.Message) bool {
	if m.IsError() {
		e, _ := m.Error()
		text, _ := wire.Text(e.Message)
		return deniesExistence(thing, name, text)
	}
	blocks := wire.Elements(m.ResultAt("/content"))
	if !isFailedResult(m) || len(blocks) != 1 {
		return false
	}
	text, _ := wire.Text(wire.At(blocks[0], "/text"))
	return len(text) < len(name)+80 && strings.Contains(text, name) && deniesExistence(thing, name, text)
}

// deniesExistence reports whether text says that the tool or prompt with this name does not exist.
// It is strict, because a tool may report that it did not find something else. It compiles a
// regular expression only if the text contains the name, because compiling costs more than all
// other checks of a response.
func deniesExistence(thing, name, text string) bool {
	switch {
	case !wire.ContainsFold(text, denials...):
		return false
	case namelessDenials[thing] != nil && namelessDenials[thing].MatchString(text):
		return true
	case !wire.ContainsFold(text, name):
		return false
	}
	quoted := "[\"'`<]?" + regexp.QuoteMeta(name) + "[\"'`>]?"
	return regexp.MustCompile(preamble + "(" + namelessPattern(thing) +
		"|(" + thing + ":? )?" + quoted + ":? (" + thing + " )?" + denied +
		"|" + thing + " " + denied + `(: ?` + quoted + `)?\.?$` + ")").MatchString(text)
}

const (
	preamble = `(?i)^(mcp error -?\d+: |invalid params: |error: )*`
	denied   = "(is |was )?(not found|unknown|unrecognized|does not exist|doesn't exist|not recognized)"
)

// namelessPattern returns a regular expression for strings that say that a thing does not exist,
// but do not name it.
func namelessPattern(thing string) string {
	return "(there is )?(unknown|no such|unrecognized) " + thing + `\b|` + thing + " " + denied + `\.?$`
}

// namelessDenials has the regular expressions for strings that begin with a denial without a name,
// by the kind of item.
var namelessDenials = map[string]*lazyregexp.Regexp{
	"tool":   lazyregexp.New(preamble + "(" + namelessPattern("tool") + ")"),
	"prompt": lazyregexp.New(preamble + "(" + namelessPattern("prompt") + ")"),
}

// denials are the phrases that deny the existence of something. deniesExistence looks for them
// first, because that is a cheap test.
var denials = []string{"not found", "unknown", "unrecognized", "does not exist", "doesn't exist", "not recognized", "no such"}
