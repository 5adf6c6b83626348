package transcript

import (
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
	Over      Kind = "over"     // nothing more comes of the exchange; How says why, Detail more of it
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
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		switch {
		case i == 0:
			h.Line = line
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
	var b strings.Builder
	b.WriteString(line)
	for _, f := range fields {
		b.WriteString("\n" + f.Name + ": " + f.Value)
	}
	return []byte(b.String())
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

// Has tells whether there is a header with this name.
func (h *Head) Has(name string) bool { return len(h.Values(name)) > 0 }

// Get returns the value of a header, "" where it is missing; of several, one
// value as HTTP joins them.
func (h *Head) Get(name string) string { return strings.Join(h.Values(name), ", ") }

// MediaType returns the media type of the body, in small letters and without
// parameters.
func (h *Head) MediaType() string {
	media, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(media))
}
