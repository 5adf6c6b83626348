package rules

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/control"
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
			Start:        WithoutState(onMessage(judgeResponseShape)),
		},
		{
			ID:           "rule.error-shape",
			Title:        "an error has an integer code and a short message",
			Requirements: []string{errorCodeAndMessage, errorCodeInteger, errorConcise},
			Start:        WithoutState(onMessage(judgeErrorShape)),
		},
	}
}

func judgeResponseShape(s *Session, e *transcript.Event, m *wire.Message, out *Reporter) {
	if !isResponse(m) {
		return
	}
	deviates := func(requirement, summary, permitted string) {
		out.Report(verdict.Deviation{Requirement: requirement, Summary: summary, Permitted: permitted, Seen: excerpt(m.Raw), At: responsePositions(s, e, m)})
	}
	switch {
	case m.Has("result") && m.IsError():
		deviates(notBoth, "The server's response has both a result and an error.", "one of the two, the other left out; null counts as present")
		return
	case !m.Has("result") && !hasError(m):
		deviates(resultOrError, "The server's response has neither a result nor an error.", "a result that is an object, or an error object")
		return
	}
	out.MarkObserved(notBoth)
	out.MarkObserved(resultOrError)
	switch {
	case !m.Has("result"):
	case m.Result().Kind() != '{':
		deviates(resultIsObject, "The server's result is not an object.", "an object, {} included")
	default:
		out.MarkObserved(resultIsObject)
	}
}

// hasError reports whether m has an error, even a malformed one; null does not count.
func hasError(m *wire.Message) bool { return m.IsError() && m.Member("error").Kind() != 'n' }

// responsePositions returns the positions of a response and of its request, if there is one.
func responsePositions(s *Session, e *transcript.Event, m *wire.Message) []int {
	if req := s.requestOf(m); req != nil {
		return positionsOf(req.Event, e)
	}
	return positionsOf(e)
}

func judgeErrorShape(s *Session, e *transcript.Event, m *wire.Message, out *Reporter) {
	if !isResponse(m) || !hasError(m) {
		return
	}
	deviates := func(requirement, summary, permitted, fix, pointer string) {
		out.Report(verdict.Deviation{Requirement: requirement, Summary: summary, Permitted: permitted, Seen: excerpt(m.Member("error")), Fix: fix, At: responsePositions(s, e, m), Pointer: pointer})
	}
	content, isObject := m.Error()
	text, isText := wire.Text(content.Message)
	if !isObject || content.Code == nil || !isText {
		deviates(errorCodeAndMessage, "The server's error lacks a code or a message string.", "an object with an integer code and a message string", "", "/error")
	} else {
		out.MarkObserved(errorCodeAndMessage)
	}
	if content.Code != nil {
		if wire.RawID(string(content.Code)).IsInteger() {
			out.MarkObserved(errorCodeInteger)
		} else {
			deviates(errorCodeInteger, "The server's error code is not an integer.", "an integer", numberFix(content.Code), "/error/code")
		}
	}
	switch {
	case !isText:
	case isConcise(text) || isConcise(withoutQuotes(text, s.requestOf(m))):
		out.MarkObserved(errorConcise)
	default: // whether a message is concise can only be guessed
		out.Report(verdict.Deviation{
			Requirement: errorConcise,
			Summary:     "The server's error message is long or has several lines.",
			Permitted:   fmt.Sprintf("a short sentence on one line, of at most %d characters", conciseLimit),
			Seen:        fmt.Sprintf("%d characters with %d line breaks: %s", utf8.RuneCountInString(text), strings.Count(text, "\n"), excerpt(text)),
			At:          responsePositions(s, e, m),
			Weight:      verdict.OnlyNote,
		})
	}
}

// numberFix returns how to fix an error code that is an integer in a string, and "" for any other
// code.
func numberFix(code jsontext.Value) string {
	if text, ok := wire.Text(code); ok && wire.RawID(text).IsInteger() {
		return "Send the code as a number: " + excerpt(text) + "."
	}
	return ""
}

func isConcise(text string) bool {
	return utf8.RuneCountInString(text) <= conciseLimit && !strings.Contains(text, "\n")
}

// withoutQuotes returns the text without the method and the strings of the request that it quotes,
// such as a long name: the client chose their length.
func withoutQuotes(text string, req *Request) string {
	if req == nil {
		return text
	}
	const shortest = 20 // a shorter string may be in the text by chance
	return control.Mask(text, append(stringsIn(req.Message.Params()), req.Message.Method), shortest, "")
}

// stringsIn returns all strings in a value, in any order.
func stringsIn(v jsontext.Value) []string {
	var out []string
	switch v.Kind() {
	case '"':
		s, _ := wire.Text(v)
		out = append(out, s)
	case '[':
		for _, e := range wire.Elements(v) {
			out = append(out, stringsIn(e)...)
		}
	case '{':
		_, members := wire.Members(v)
		for _, m := range members {
			out = append(out, stringsIn(m)...)
		}
	}
	return out
}
