package serverfeatures

import (
	"regexp"
	"strings"
	"unicode"

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

// toolsFound judges by the names in calls alone.
func toolsFound() rules.Fold {
	hear := func(s *rules.Session, h *rules.Heard, out *rules.Out) {
		b := catalogs.Of(s)
		name, ok := wire.Text(wire.At(h.Asked.Message.Params(), "/name"))
		arguments := wire.At(h.Asked.Message.Params(), "/arguments")
		if !ok || !regular(s, h) || arguments != nil && arguments.Kind() != '{' {
			return
		}
		declared, spoiled := declares(s, "tools")
		switch {
		case spoiled:
		case !declared:
			if out.Telling(h, rules.AnyPing(), toolNotSupported) {
				undeclaredCall(h, out)
			}
		case wire.At(h.Asked.Message.Params(), "/task") != nil: // what a task may be made of is another matter
		case b.tools.seen[name] != nil:
			listedCall(name, h, out)
		case b.tools.lacks(s, name, h.Asked, !h.Message.IsError() && !failed(h.Message)):
			unlistedCall(b, name, s, h, out)
		}
	}
	return rules.Fold{Reads: readsCatalog, Hear: rules.Hears{rules.ResultOf(spec.MethodToolsCall): hear, rules.ErrorTo(spec.MethodToolsCall): hear}}
}

// about returns a deviation that a request and its answer show.
func about(requirement string, h *rules.Heard) verdict.Deviation {
	return verdict.Deviation{Requirement: requirement, Seen: rules.Excerpt(h.Message.Raw), At: rules.At(h.Asked.Event, h.Event)}
}

// undeclaredCall judges a call that succeeded although tools are not declared.
func undeclaredCall(h *rules.Heard, out *rules.Out) {
	switch {
	case h.Message.IsError():
		out.Subject(toolNotSupported)
	case !failed(h.Message):
		out.Elsewhere(toolNotSupported)
	default:
		d := about(toolNotSupported, h)
		d.Summary, d.Permitted = "The server calls a tool without declaring tools.", "an error"
		out.Found(d)
	}
}

func listedCall(name string, h *rules.Heard, out *rules.Out) {
	if !saysUnknown("tool", name, h.Message) {
		out.Subject(toolListedFound)
		return
	}
	d := about(toolListedFound, h)
	d.Summary, d.Permitted = "The server reports a listed tool as unknown.", "any answer that deals with the tool"
	out.Found(d)
}

// unlistedCall judges the call of a tool that a complete list does not have.
func unlistedCall(b *catalog, name string, s *rules.Session, h *rules.Heard, out *rules.Out) {
	if other := sameButCase(b.tools, name); other != "" {
		like := b.validCall(s, other)
		like.ByName = true
		if !out.Telling(h, like, toolCase) {
			return
		}
		if h.Message.IsError() || failed(h.Message) {
			out.Subject(toolCase)
		} else if s.Revision().AtLeast(spec.V20251125) {
			d := about(toolCase, h)
			d.Summary, d.Permitted = "The server finds a tool by its name in other letter case.", "an error, as for any unknown tool"
			out.Found(d)
		}
		return
	}
	if !out.Telling(h, b.anyCall(s), toolUnknownError, toolUnknownCode) {
		return
	}
	if !h.Message.IsError() {
		d := about(toolUnknownError, h)
		d.Permitted = "an error, usually with code -32602"
		d.Summary = "The server calls a tool that is not listed."
		if failed(h.Message) {
			d.Summary = "The server answers a call of an unknown tool with a result."
		}
		out.Found(d)
		out.Elsewhere(toolUnknownCode)
		return
	}
	out.Subject(toolUnknownError)
	if code, _ := h.Message.ErrorCode(); spec.Code(code) != spec.CodeInvalidParams {
		d := about(toolUnknownCode, h)
		d.Summary, d.Permitted = "The server refuses an unknown tool, but not with -32602.", "error -32602, as in the specification's example"
		d.Weight = verdict.OnlyNote
		out.Found(d)
		return
	}
	out.Subject(toolUnknownCode)
}

// sameButCase returns the listed name that differs in letter case alone.
func sameButCase(o *offer, name string) string {
	for other := range o.seen {
		if other != name && strings.EqualFold(other, name) {
			return other
		}
	}
	return ""
}

// saysUnknown reports whether an answer says, in one of the ways in which
// servers do, that there is no thing of that name: an error, or the result of
// a tool that holds little else.
func saysUnknown(thing, name string, m *wire.Message) bool {
	if m.IsError() {
		e, _ := m.Error()
		text, _ := wire.Text(e.Message)
		return deniesExistence(thing, name, text)
	}
	blocks := wire.Elements(wire.At(m.Result(), "/content"))
	if !failed(m) || len(blocks) != 1 {
		return false
	}
	text, _ := wire.Text(wire.At(blocks[0], "/text"))
	return len(text) < len(name)+80 && strings.Contains(text, name) && deniesExistence(thing, name, text)
}

// deniesExistence is strict: that a tool did not find something is no word
// about the tool. An expression is made for a name only where the text has that
// name in it, for it costs more than all else that is judged of an answer.
func deniesExistence(thing, name, text string) bool {
	switch {
	case !denial.MatchString(text):
		return false
	case nameless[thing] != nil && nameless[thing].MatchString(text):
		return true
	case !containsFold(text, name):
		return false
	}
	quoted := "[\"'`<]?" + regexp.QuoteMeta(name) + "[\"'`>]?"
	return regexp.MustCompile(preamble + "(" + unnamed(thing) +
		"|(" + thing + ":? )?" + quoted + ":? (" + thing + " )?" + denied +
		"|" + thing + " " + denied + `(: ?` + quoted + `)?\.?$` + ")").MatchString(text)
}

const (
	preamble = `(?i)^(mcp error -?\d+: |invalid params: |error: )*`
	denied   = "(is |was )?(not found|unknown|unrecognized|does not exist|doesn't exist|not recognized)"
)

// unnamed is what denies that something exists without its name.
func unnamed(thing string) string {
	return "(there is )?(unknown|no such|unrecognized) " + thing + `\b|` + thing + " " + denied + `\.?$`
}

// nameless is the same for what servers are asked for by its name.
var nameless = map[string]*regexp.Regexp{
	"tool":   regexp.MustCompile(preamble + "(" + unnamed("tool") + ")"),
	"prompt": regexp.MustCompile(preamble + "(" + unnamed("prompt") + ")"),
}

// denial is in each text that denies that something exists.
var denial = regexp.MustCompile("(?i)unknown|no such|unrecognized|" + denied)

// containsFold reports whether text contains part, in whatever case.
func containsFold(text, part string) bool {
	return strings.Contains(strings.Map(folded, text), strings.Map(folded, part))
}

// folded returns the least of the characters that differ from r in case alone.
func folded(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}
