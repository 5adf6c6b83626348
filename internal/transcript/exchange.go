package transcript

import (
	"fmt"
	"strconv"
	"strings"
)

// The kinds of event over HTTP, beside Sent and Received. An exchange is one
// request with its response. Its events have its number and come in this
// order, between those of other exchanges: Requested, Sent with the body if
// there is one, Responded, Received or Streamed for what the body brings, and
// Over.
const (
	Requested Kind = "request"  // the head of our request; Raw has its lines
	Responded Kind = "response" // the head of the server's response; Raw has its lines
	Streamed  Kind = "streamed" // a piece of an event stream that carries no message; Stream has its bytes
	Over      Kind = "over"     // the exchange has ended; How says why, Detail says more
)

// How says how an exchange ended.
type How string

// The ways in which an exchange ends.
const (
	Complete    How = "complete"    // the response came to the end that HTTP gives it
	Broken      How = "broken"      // the connection broke before that, or before there was a response
	Dropped     How = "dropped"     // we closed it
	Unreachable How = "unreachable" // there was no connection
	Unreadable  How = "unreadable"  // what came back is not HTTP
)

// hows are all ways in which an exchange ends.
var hows = []How{Complete, Broken, Dropped, Unreachable, Unreadable}

// Head is the head of a request or a response as its lines tell it.
type Head struct {
	Line   string // the request line, or the status line
	Fields []Field
}

// Field is one header. A line without a colon has no name.
type Field struct{ Name, Value string }

// ParseHead reads the lines of a head, each ended by LF or CR LF but for the
// last, which may lack its end. It never fails.
func ParseHead(raw []byte) *Head {
	h := &Head{}
	text := strings.TrimSuffix(string(raw), "\n")
	if n := strings.Count(text, "\n"); n > 0 {
		h.Fields = make([]Field, 0, n)
	}
	first := true
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		switch {
		case first:
			h.Line, first = line, false
		case line == "":
		case len(h.Fields) > 0 && (line[0] == ' ' || line[0] == '\t'): // the value goes on
			f := &h.Fields[len(h.Fields)-1]
			f.Value = strings.TrimSpace(f.Value + " " + trimBlank(line))
		default:
			name, value, ok := strings.Cut(line, ":")
			if !ok {
				name, value = "", line
			}
			h.Fields = append(h.Fields, Field{name, trimBlank(value)})
		}
	}
	return h
}

// trimBlank cuts off what HTTP takes for white space around a value.
func trimBlank(value string) string { return strings.Trim(value, " \t") }

// HeadBytes returns the lines of a head, as Raw of a Requested or Responded
// event has them where nothing is known of the bytes themselves.
func HeadBytes(line string, fields []Field) []byte {
	n := len(line)
	for _, f := range fields {
		n += len("\n: ") + len(f.Name) + len(f.Value)
	}
	out := append(make([]byte, 0, n), line...)
	for _, f := range fields {
		out = append(append(append(append(out, '\n'), f.Name...), ": "...), f.Value...)
	}
	return out
}

// words returns the three words of the first line.
func (h *Head) words() (first, second, third string) {
	first, rest, _ := strings.Cut(h.Line, " ")
	second, third, _ = strings.Cut(rest, " ")
	return first, second, third
}

// Method returns the method of a request.
func (h *Head) Method() string { method, _, _ := h.words(); return method }

// Target returns the target of a request, as it stands in its first line.
func (h *Head) Target() string { _, target, _ := h.words(); return target }

// Status returns the status of a response, 0 where there is none.
func (h *Head) Status() int {
	_, text, _ := h.words()
	status, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return status
}

// Values returns the values of the headers with this name, in their order.
func (h *Head) Values(name string) []string {
	if h == nil {
		return nil
	}
	var out []string
	for _, f := range h.Fields {
		if strings.EqualFold(f.Name, name) {
			out = append(out, f.Value)
		}
	}
	return out
}

// Has reports whether there is a header with this name.
func (h *Head) Has(name string) bool { return h.index(name, 0) >= 0 }

// Get returns the value of a header, "" where it is missing; of several, one
// value as HTTP joins them.
func (h *Head) Get(name string) string {
	at := h.index(name, 0)
	switch {
	case at < 0:
		return ""
	case h.index(name, at+1) < 0:
		return h.Fields[at].Value
	default:
		return strings.Join(h.Values(name), ", ")
	}
}

// Describe returns the lines of a header as they were sent, and says where there
// are several: "2 header lines, Accept: text/html and Accept: text/plain". It is
// "no Accept" where there are none.
func (h *Head) Describe(name string) string {
	var lines []string
	for at := h.index(name, 0); at >= 0; at = h.index(name, at+1) {
		lines = append(lines, h.Fields[at].Name+": "+h.Fields[at].Value)
	}
	switch len(lines) {
	case 0:
		return "no " + name
	case 1:
		return lines[0]
	}
	return fmt.Sprintf("%d header lines, %s", len(lines), strings.Join(lines, " and "))
}

// index returns the place of the first header with this name from a place on,
// -1 where there is none.
func (h *Head) index(name string, from int) int {
	if h == nil {
		return -1
	}
	for i := from; i < len(h.Fields); i++ {
		if strings.EqualFold(h.Fields[i].Name, name) {
			return i
		}
	}
	return -1
}

// MediaType returns the media type of the body, in small letters and without
// parameters.
func (h *Head) MediaType() string {
	media, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(media))
}
