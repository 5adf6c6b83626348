// Package control decides whether an error response to an odd request is evidence.
// It is if the server served a control, an ordinary request that differs from the
// odd one only in the odd part: a server that refuses both may have another reason.
package control

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A Control is the outcome of an ordinary request.
type Control struct {
	// What names the request in a sentence, as in "a call with valid arguments".
	What string
	// Sent reports whether the control was sent and got a response.
	Sent   bool
	Served bool
	// Got is the response.
	Got Response
}

// A Response is the outcome of a request.
type Response struct {
	// Words describe it: a status, or the code and message of an error.
	Words string
	// form is the words without what differs from one request to the next:
	// numbers, and strings of the request itself.
	form string
}

// Of returns the control for a request with these params and its response m,
// which is nil if there was none.
func Of(what string, params jsontext.Value, m *wire.Message) Control {
	if m == nil {
		return Control{What: what}
	}
	return Control{What: what, Sent: true, Served: Served(m), Got: Got(params, m)}
}

// Status returns a response that has only this description.
func Status(words string) Response { return Response{Words: words, form: form(nil, words)} }

// Unclear returns why the refusal of an odd request proves nothing about its odd
// part, or "" if the refusal is evidence because the control was served. If the odd
// part is a name, a different response to the control is enough: it shows that the
// server knows the control's name.
func (c Control) Unclear(odd Response, byName bool) string {
	same := c.Got.form == odd.form
	switch {
	case !c.Sent:
		return "the server refused the request (" + odd.Words + "), and there is no response to " + c.What + " to compare"
	case c.Served, byName && !same:
		return ""
	case same:
		return "the server gives the same response to " + c.What + ": " + c.Got.Words
	default:
		return "the server also refuses " + c.What + ": " + c.Got.Words
	}
}

// Served reports whether a response is a result, except one in which a tool
// says that it failed.
func Served(m *wire.Message) bool {
	return m.Has("result") && !m.IsError() && string(m.ResultAt("/isError")) != "true"
}

// Got returns the outcome of a request with these params: the code and message of
// an error, or the text of a tool that failed.
func Got(params jsontext.Value, m *wire.Message) Response {
	kind, text := "a result", ""
	switch {
	case m.IsError():
		e, _ := m.Error()
		text, _ = wire.Text(e.Message)
		kind = "error " + clip(string(e.Code))
	case !Served(m):
		text, _ = wire.Text(m.ResultAt("/content/0/text"))
		kind = "a result with isError"
	default:
		return Response{kind, kind}
	}
	return Response{Words: kind + " " + string(wire.Quote(clip(text))), form: kind + " " + form(params, text)}
}

// shortest is the minimum length of a string of the request that is removed
// from the response: shorter ones are parts of other words.
const shortest = 3

// form masks the strings in the params, and all numbers, in a text.
func form(params jsontext.Value, text string) string {
	var v any
	if json.Unmarshal(params, &v) == nil {
		for _, s := range texts(v) {
			if len(s) >= shortest {
				text = strings.ReplaceAll(text, s, "…")
			}
		}
	}
	return maskNumbers(text)
}

// maskNumbers replaces each run of digits by #.
func maskNumbers(text string) string {
	var b strings.Builder
	inNumber := false
	for _, c := range []byte(text) {
		digit := '0' <= c && c <= '9'
		switch {
		case !digit:
			b.WriteByte(c)
		case !inNumber:
			b.WriteByte('#')
		}
		inNumber = digit
	}
	return b.String()
}

// texts returns all strings in a value, the longest first.
func texts(v any) []string {
	var out []string
	switch v := v.(type) {
	case string:
		out = append(out, v)
	case []any:
		for _, e := range v {
			out = append(out, texts(e)...)
		}
	case map[string]any:
		for _, e := range v {
			out = append(out, texts(e)...)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	return out
}

// clip shortens text from a server.
func clip(s string) string {
	const most = 160
	r := []rune(s)
	if len(s) <= most || len(r) <= most {
		return s
	}
	return string(r[:most]) + "…"
}
