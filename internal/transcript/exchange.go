package transcript

import (
	"fmt"
	"strconv"
	"strings"
)

// The kinds of event over HTTP, in addition to Sent and Received. An exchange is one request with
// its response. All events of an exchange have its number. They come in this order, possibly with
// events of other exchanges between them: Requested, Sent if the request has a body, Responded,
// Received or Streamed for the response body, and Over.
const (
	Requested Kind = "request"  // the head of the client's request; Raw holds its lines
	Responded Kind = "response" // the head of the server's response; Raw holds its lines
	Streamed  Kind = "streamed" // a chunk of an event stream without a message; Stream holds its bytes
	Over      Kind = "over"     // the exchange ended; How and Detail give the reason
)

// How is the way in which an exchange ended.
type How string

// The ways in which an exchange ends.
const (
	Complete    How = "complete"    // the response is complete according to HTTP
	Broken      How = "broken"      // the connection broke during the response or before it
	Dropped     How = "dropped"     // the client closed the connection
	Unreachable How = "unreachable" // the client could not connect
	Unreadable  How = "unreadable"  // the response violates HTTP, or can't be decoded
)

// An Obstacle classifies why an exchange got no response, as far as the client found out while it
// connected and read. Event.Detail describes it in words.
type Obstacle string

// The obstacles, in the order in which a client may encounter them.
const (
	NoConnection     Obstacle = "no-connection"     // the time ran out while the client connected
	NoHost           Obstacle = "no-host"           // the host name does not exist
	NoProxy          Obstacle = "no-proxy"          // the proxy can't be used
	NoTunnel         Obstacle = "no-tunnel"         // the proxy opened no connection to the server
	TLSFailed        Obstacle = "no-tls"            // the TLS handshake failed for a reason other than the next three
	PlainHTTP        Obstacle = "plain-http"        // the server speaks HTTP where the client begins TLS
	UnknownAuthority Obstacle = "unknown-authority" // the certificate is signed by an unknown authority
	WrongCertificate Obstacle = "wrong-certificate" // the certificate is for another host, or is not valid
	SpeaksTLS        Obstacle = "speaks-tls"        // the server begins TLS where the client speaks HTTP
	SpeaksHTTP2      Obstacle = "speaks-http2"      // the server responds in HTTP/2
	CutHead          Obstacle = "cut-head"          // the head of the response is incomplete
)

// endings are all ways in which an exchange ends.
var endings = []How{Complete, Broken, Dropped, Unreachable, Unreadable}

// Head is the head of an HTTP request or response.
type Head struct {
	Line   string // the request line, or the status line
	Fields []Field
}

// Field is one header line. A line without a colon has an empty name.
type Field struct{ Name, Value string }

// ParseHead parses the lines of a head, separated by LF or CR LF. It never fails.
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
		case len(h.Fields) > 0 && (line[0] == ' ' || line[0] == '\t'): // obsolete line folding
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

// trimBlank removes the HTTP white space around a value.
func trimBlank(value string) string { return strings.Trim(value, " \t") }

// HeadBytes returns the lines of a head for the Raw field of a Requested or Responded event, for
// callers that don't have the original bytes.
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

// splitLine splits h.Line at its first two spaces.
func (h *Head) splitLine() (first, second, third string) {
	first, rest, _ := strings.Cut(h.Line, " ")
	second, third, _ = strings.Cut(rest, " ")
	return first, second, third
}

// Method returns the method of a request.
func (h *Head) Method() string { method, _, _ := h.splitLine(); return method }

// Target returns the target in the request line.
func (h *Head) Target() string { _, target, _ := h.splitLine(); return target }

// Status returns the status code of a response, or 0 if there is none.
func (h *Head) Status() int {
	_, text, _ := h.splitLine()
	status, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return status
}

// Values returns the values of all headers with this name in order.
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

// Get returns the value of a header, or "" if it is missing. Several values are joined with commas,
// as in HTTP.
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

// Describe returns the lines of a header as they were sent, such as "Accept: text/html", "2 header
// lines, Accept: text/html and Accept: text/plain" or "no Accept".
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

// index searches h.Fields[from:] for the first header with this name. It returns the header's index
// in h.Fields, or -1 if there is none.
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

// MediaType returns the media type of the body in lower case, without parameters.
func (h *Head) MediaType() string {
	media, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(media))
}
