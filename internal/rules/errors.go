package rules

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	resultOrError       = "base.response-result-or-error"
	notBoth             = "base.response-not-both"
	resultIsObject      = "base.result-is-object"
	errorCodeAndMessage = "base.error-code-and-message"
	errorCodeInteger    = "base.error-code-integer"
	errorConcise        = "base.error-message-concise"
)

// conciseLimit is the maximum length of a concise message, in characters.
const conciseLimit = 200

func errorRules() []Rule {
	return []Rule{
		{
			ID:           "rule.response-shape",
			Title:        "a response has a result that is an object, or an error",
			Requirements: []string{resultOrError, notBoth, resultIsObject},
			Start:        Stateless(onMessage(responseShape)),
		},
		{
			ID:           "rule.error-shape",
			Title:        "an error has an integer code and a short message",
			Requirements: []string{errorCodeAndMessage, errorCodeInteger, errorConcise},
			Start:        Stateless(onMessage(errorShape)),
		},
	}
}

func responseShape(s *Session, e *transcript.Event, m *wire.Message, out *Reporter) {
	if !isResponse(m) {
		return
	}
	d := verdict.Deviation{At: shownBy(s, e, m), Seen: excerpt(m.Raw)}
	switch {
	case m.Has("result") && m.IsError():
		d.Requirement, d.Summary, d.Permitted = notBoth, "The server's response has both a result and an error.", "one of the two, the other left out; null counts as present"
		out.Deviates(d)
		return
	case !m.Has("result") && !hasError(m):
		d.Requirement, d.Summary, d.Permitted = resultOrError, "The server's response has neither a result nor an error.", "a result that is an object, or an error object"
		out.Deviates(d)
		return
	}
	out.CameUp(notBoth)
	out.CameUp(resultOrError)
	if !m.Has("result") {
		return
	}
	if m.Result().Kind() != '{' {
		d.Requirement, d.Summary, d.Permitted = resultIsObject, "The server's result is not an object.", "an object, {} included"
		out.Deviates(d)
		return
	}
	out.CameUp(resultIsObject)
}

// hasError reports whether m has an error, well formed or not; null does not count.
func hasError(m *wire.Message) bool { return m.IsError() && m.Member("error").Kind() != 'n' }

// shownBy returns the positions of a response and of its request, if there is one.
func shownBy(s *Session, e *transcript.Event, m *wire.Message) []int {
	if req := s.RequestAnsweredBy(m); req != nil {
		return at(req.Event, e)
	}
	return at(e)
}

func errorShape(s *Session, e *transcript.Event, m *wire.Message, out *Reporter) {
	if !isResponse(m) || !hasError(m) {
		return
	}
	d := verdict.Deviation{At: shownBy(s, e, m), Seen: excerpt(m.Member("error"))}
	content, isObject := m.Error()
	text, isText := wire.Text(content.Message)
	if !isObject || content.Code == nil || !isText {
		d.Requirement, d.Summary, d.Permitted = errorCodeAndMessage, "The server's error lacks a code or a message string.", "an object with code and message"
		out.Deviates(d)
	} else {
		out.CameUp(errorCodeAndMessage)
	}
	if content.Code != nil {
		if wire.RawID(string(content.Code)).IsInteger() {
			out.CameUp(errorCodeInteger)
		} else {
			d.Requirement, d.Summary, d.Permitted = errorCodeInteger, "The server's error code is not an integer.", "an integer"
			out.Deviates(d)
		}
	}
	if isText {
		concise(text, d, out)
	}
}

// concise can only guess whether a message is concise, so it only notes.
func concise(text string, d verdict.Deviation, out *Reporter) {
	n := utf8.RuneCountInString(text)
	if n <= conciseLimit && !strings.Contains(text, "\n") {
		out.CameUp(errorConcise)
		return
	}
	d.Requirement, d.Weight = errorConcise, verdict.OnlyNote
	d.Summary = "The server's error message is long or has several lines."
	d.Permitted = fmt.Sprintf("a short sentence; more than a line, or than %d characters, is taken for long", conciseLimit)
	d.Seen = fmt.Sprintf("%d characters in %d lines: %s", n, strings.Count(text, "\n")+1, excerpt(text))
	out.Deviates(d)
}
