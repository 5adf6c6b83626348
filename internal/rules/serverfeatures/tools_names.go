package serverfeatures

import (
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

const (
	nameLength  = "tools.name.length"
	nameCharset = "tools.name.charset"
	nameSpecial = "tools.name.no-special-characters"
)

const maxName = 128 // characters

// toolNames judges the names of tools. Each flaw of a name is reported under one requirement: a
// space breaks nameSpecial, an umlaut only nameCharset.
func toolNames() rules.Fold {
	return rules.Fold{OnMessage: rules.Handlers{rules.ResultOf(spec.MethodToolsList): func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
		if !isRegular(s, obs) {
			return
		}
		for _, tool := range itemsOf(s, obs.Message, toolList.member, "/"+toolList.key) {
			if tool.text {
				judgeName(tool.key, obs, out)
			}
		}
	}}}
}

func judgeName(name string, obs *rules.Observation, out *rules.Reporter) {
	special, foreign := false, false
	for _, r := range name {
		switch {
		case r == '_' || r == '-' || r == '.' || r <= unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)):
		case r > unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)):
			foreign = true
		default:
			special = true
		}
	}
	n := utf8.RuneCountInString(name)
	long := n < 1 || n > maxName
	if !long {
		out.MarkObserved(nameLength)
	}
	if !special {
		out.MarkObserved(nameSpecial)
	}
	if !special && !foreign {
		out.MarkObserved(nameCharset)
	}
	if !long && !special && !foreign {
		return
	}
	d := verdict.Deviation{At: rules.PositionsOf(obs.Event), Seen: strconv.QuoteToGraphic(rules.Excerpt(name))}
	if long {
		d.Requirement = nameLength
		d.Summary = "The server's tool name is empty, or longer than 128 characters."
		d.Permitted = "1 to 128 characters"
		out.Report(d)
	}
	d.Permitted = "letters and digits of ASCII, underscore, hyphen and dot"
	switch {
	case special:
		d.Requirement, d.Summary = nameSpecial, "The server's tool name has a space or another special character."
		out.Report(d)
		out.MarkReportedElsewhere(nameCharset)
	case foreign:
		d.Requirement, d.Summary = nameCharset, "The server's tool name has letters or digits beyond ASCII."
		out.Report(d)
	}
}
