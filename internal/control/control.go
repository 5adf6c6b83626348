// Package control decides whether an error response to an odd request (one that is unusual or
// invalid on purpose) is evidence. It compares that response with the one to a control: an ordinary
// request that differs only in the odd part. If the server also refuses the control, it may have
// another reason for both refusals.
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
	// Name names the request in a sentence, as in "a call with valid arguments".
	Name string
	// HasResponse is set if the control was sent and got a response.
	HasResponse bool
	Served      bool // Response is a result without isError, see IsServed
	// Response is the response to the control.
	Response Response
}

// A Response is the outcome of a request.
type Response struct {
	// Description is a status, the code and message of an error, the text of a tool that failed, or
	// "a result".
	Description string
	// normalized is the description without the parts that differ from one request to the next:
	// numbers, and strings of the request itself.
	normalized string
}

// New returns the control for a request with these params and the response m; m is nil if there was
// no response. The first argument becomes Control.Name.
func New(what string, params jsontext.Value, m *wire.Message) Control {
	if m == nil {
		return Control{Name: what}
	}
	return Control{Name: what, HasResponse: true, Served: IsServed(m), Response: ResponseTo(params, m)}
}

// StatusResponse returns the Response for an outcome of which only the HTTP status is known. The
// argument describes that status.
func StatusResponse(words string) Response {
	return Response{Description: words, normalized: normalize(nil, words)}
}

// WhyUnclear returns why the refusal of an odd request proves nothing about its odd part. It
// returns "" if the server served the control, because the refusal is then evidence. byName is set
// if the odd part is a name. Then the refusal is also evidence if the server refused the control
// with a different response, because that shows that the server knows the control's name.
func (c Control) WhyUnclear(odd Response, byName bool) string {
	same := c.Response.normalized == odd.normalized
	switch {
	case !c.HasResponse:
		return "the server refused the request (" + odd.Description + "), and there is no response to " + c.Name + " to compare"
	case c.Served, byName && !same:
		return ""
	case same:
		return "the server gives the same response to " + c.Name + ": " + c.Response.Description
	default:
		return "the server also refuses " + c.Name + ": " + c.Response.Description
	}
}

// IsServed reports whether a response is a result, except one in which a tool
// says that it failed.
func IsServed(m *wire.Message) bool {
	return m.Has("result") && !m.IsError() && string(m.ResultAt("/isError")) != "true"
}

// ResponseTo returns the outcome of a request with these params: the code and message of an
// error, or the text of a tool that failed. The description of any other result is just "a
// result".
func ResponseTo(params jsontext.Value, m *wire.Message) Response {
	kind, text := "a result", ""
	switch {
	case m.IsError():
		e, _ := m.Error()
		text, _ = wire.Text(e.Message)
		kind = "error " + clip(string(e.Code))
	case !IsServed(m):
		text, _ = wire.Text(m.ResultAt("/content/0/text"))
		kind = "a result with isError"
	default:
		return Response{kind, kind}
	}
	return Response{Description: kind + " " + string(wire.Quote(clip(text))), normalized: kind + " " + normalize(params, text)}
}

// minMasked is the minimum length of the strings that normalize masks. Shorter ones are often
// parts of other words.
const minMasked = 3

// normalize masks the strings that params contains, and all numbers, in text.
func normalize(params jsontext.Value, text string) string {
	var v any
	if json.Unmarshal(params, &v) == nil {
		text = Mask(text, stringsIn(v), minMasked, "…")
	}
	return maskNumbers(text)
}

// Mask returns text with mask in place of each string in quoted that has at least shortest bytes.
// It replaces the longest strings first, because one string may contain another.
func Mask(text string, quoted []string, shortest int, mask string) string {
	slices.SortFunc(quoted, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	for _, s := range quoted {
		if len(s) >= shortest {
			text = strings.ReplaceAll(text, s, mask)
		}
	}
	return text
}

// maskNumbers replaces each run of digits with #.
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

// stringsIn returns all strings in a value, in any order.
func stringsIn(v any) []string {
	var out []string
	switch v := v.(type) {
	case string:
		out = append(out, v)
	case []any:
		for _, e := range v {
			out = append(out, stringsIn(e)...)
		}
	case map[string]any:
		for _, e := range v {
			out = append(out, stringsIn(e)...)
		}
	}
	return out
}

// clip cuts s, a string from a server, after 160 characters, and marks the cut with an ellipsis.
func clip(s string) string {
	const limit = 160
	r := []rune(s)
	if len(s) <= limit || len(r) <= limit {
		return s
	}
	return string(r[:limit]) + "…"
}
