// Package wire turns bytes into JSON-RPC messages and back, and keeps the
// bytes. It reads every frame twice: strictly, to say what is wrong with it,
// and leniently, so that a conversation can go on after a fault. It knows
// JSON-RPC 2.0 and nothing of MCP.
package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of a frame that is read at all; others are reported as unreadable,
// so that hostile input costs no more memory than its own bytes.
const (
	// MaxDepth is how deep arrays and objects may nest; jsontext itself reads
	// no more than 10,000 levels.
	MaxDepth = 9000
	// MaxMembers is how many messages a batch and how many members a message
	// may have. It does not bound what stands deeper, such as in a result.
	MaxMembers = 10_000
)

// Kind says what a JSON value is in JSON-RPC's terms.
type Kind int

// The kinds.
const (
	// Invalid is a JSON value that is none of the others.
	Invalid Kind = iota
	// Request has the members method, of whatever type, and id, null included.
	Request
	// Notification has the member method, of whatever type, and no id.
	Notification
	// Response has no method, and a result or an error, or both.
	Response
)

func (k Kind) String() string {
	return [...]string{"invalid message", "request", "notification", "response"}[k]
}

// Fault names a way in which a frame offends against JSON or JSON-RPC.
type Fault string

// The faults of a frame.
const (
	NotJSON       Fault = "not-json"      // no JSON value can be read
	TrailingText  Fault = "trailing-text" // something follows the value
	DuplicateKey  Fault = "duplicate-key" // an object has a member twice
	InvalidUTF8   Fault = "invalid-utf8"  // bytes that are not UTF-8, a lone surrogate
	ByteOrderMark Fault = "byte-order-mark"
	TooDeep       Fault = "too-deep" // more than MaxDepth; no messages are read
	TooMany       Fault = "too-many" // more than MaxMembers; no messages are read
	Empty         Fault = "empty"    // nothing but JSON's white space
)

// Problem is the first place in a frame where it has the fault.
type Problem struct {
	Fault   Fault
	Offset  int64  // bytes from the start of the frame
	Pointer string // JSON pointer (RFC 6901) of the place, where there is one
	Detail  string
}

func (p Problem) String() string {
	s := fmt.Sprintf("%s at byte %d", p.Fault, p.Offset)
	if p.Pointer != "" {
		s += " (" + p.Pointer + ")"
	}
	if p.Detail != "" {
		s += ": " + p.Detail
	}
	return s
}

// Frame is what one line of stdio, one HTTP body or one SSE event held.
type Frame struct {
	Raw      []byte    // exactly as received, without the transport's own framing
	Problems []Problem // at most one a fault
	Batch    bool      // the value is an array
	Messages []Message // one, or the members of the batch; empty when unreadable
}

// Has reports whether the frame has the fault.
func (f *Frame) Has(fault Fault) bool {
	for _, p := range f.Problems {
		if p.Fault == fault {
			return true
		}
	}
	return false
}

// Readable reports whether a JSON value could be read and taken in.
func (f *Frame) Readable() bool { return f.Batch || len(f.Messages) > 0 }

// Message is one JSON-RPC message, or a value that should have been one.
type Message struct {
	Kind   Kind
	Raw    jsontext.Value // the value's own bytes, a part of the frame's
	ID     ID             // the zero ID when the value is no object
	Method string         // empty unless the method member is a string

	// Members holds the raw value of each member of the object, the last
	// one where a name occurs twice; nil when the value is no object. The
	// values are parts of the frame and must not be altered.
	Members map[string]jsontext.Value
	// Names lists the members in the order of the wire, one that occurs
	// twice twice.
	Names []string
}

// Member returns the raw value of a member, or nil.
func (m *Message) Member(name string) jsontext.Value { return m.Members[name] }

// Has reports whether the member is present, null included.
func (m *Message) Has(name string) bool { _, ok := m.Members[name]; return ok }

// IsError reports whether the message has an error member, null included.
func (m *Message) IsError() bool { return m.Has("error") }

// Params returns the raw params member, or nil.
func (m *Message) Params() jsontext.Value { return m.Members["params"] }

// Result returns the raw result member, or nil.
func (m *Message) Result() jsontext.Value { return m.Members["result"] }

const (
	bom = "\xef\xbb\xbf"
	// space is all that JSON takes for white space.
	space = " \t\r\n"
)

// Parse reads one frame. It never fails: what is wrong stands in Problems.
// The frame refers to raw, which must not be altered afterwards.
//
// A value is read, and its messages are kept, in spite of duplicate keys,
// invalid UTF-8, a byte order mark before it and text after it. A value that
// is no JSON has the fault NotJSON, and no other but those of its bytes.
func Parse(raw []byte) *Frame {
	f := &Frame{Raw: raw}
	start := 0
	if bytes.HasPrefix(raw, []byte(bom)) {
		f.note(Problem{Fault: ByteOrderMark})
		start = len(bom)
	}
	start += len(raw[start:]) - len(bytes.TrimLeft(raw[start:], space))
	if start == len(raw) {
		f.note(Problem{Fault: Empty})
		return f
	}
	if at := tooDeep(raw[start:]); at >= 0 {
		f.note(Problem{Fault: TooDeep, Offset: int64(start + at), Detail: fmt.Sprintf("more than %d levels", MaxDepth)})
		return f
	}
	text := raw[start:]
	v, strictErr := readValue(text)
	if strictErr != nil {
		var err error
		if v, err = readValue(text, lenient()...); err != nil {
			f.note(problem(NotJSON, err, start))
			if at := invalidAt(text); at >= 0 {
				f.note(Problem{Fault: InvalidUTF8, Offset: int64(start + at), Detail: "bytes that are not UTF-8"})
			}
			return f
		}
		f.note(strictProblems(v, start)...)
	}
	f.set(v, start)
	if rest := bytes.TrimLeft(text[len(v):], space); len(rest) > 0 {
		f.note(Problem{Fault: TrailingText, Offset: int64(len(raw) - len(rest))})
		if at := invalidAt(rest); at >= 0 && !f.Has(InvalidUTF8) {
			f.note(Problem{Fault: InvalidUTF8, Offset: int64(len(raw) - len(rest) + at), Detail: "bytes that are not UTF-8"})
		}
	}
	return f
}

func (f *Frame) note(p ...Problem) { f.Problems = append(f.Problems, p...) }

// strictProblems says what strict reading objects to in a value that lenient
// reading takes, and that begins at byte start.
func strictProblems(v jsontext.Value, start int) []Problem {
	var out []Problem
	if _, err := readValue(v, jsontext.AllowInvalidUTF8(true)); err != nil {
		out = append(out, problem(DuplicateKey, err, start))
	}
	if _, err := readValue(v, jsontext.AllowDuplicateNames(true)); err != nil {
		out = append(out, problem(InvalidUTF8, err, start))
	}
	return out
}

func problem(fault Fault, err error, start int) Problem {
	p := Problem{Fault: fault, Offset: int64(start), Detail: err.Error()}
	var syn *jsontext.SyntacticError
	if errors.As(err, &syn) {
		p.Offset, p.Pointer = int64(start)+syn.ByteOffset, string(syn.JSONPointer)
		p.Detail = syn.Err.Error()
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		p.Detail = "the text ends inside a JSON value"
	}
	return p
}

// invalidAt returns where b stops being UTF-8, or -1.
func invalidAt(b []byte) int {
	if utf8.Valid(b) {
		return -1
	}
	for i := 0; ; {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
}

// tooDeep returns where the value that b begins with nests deeper than
// MaxDepth, or -1.
func tooDeep(b []byte) int {
	if bytes.Count(b, []byte{'{'})+bytes.Count(b, []byte{'['}) <= MaxDepth {
		return -1 // as of nearly every frame: no byte has to be looked at by itself
	}
	depth, inString := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return i
			}
		case c == '}' || c == ']':
			depth--
		}
		if depth <= 0 && !inString {
			return -1 // the value ends here, or there is none
		}
	}
	return -1
}

// set takes the messages from the value, which begins at byte start.
func (f *Frame) set(v jsontext.Value, start int) {
	if v.Kind() != '[' {
		f.add(v, start)
		return
	}
	f.Batch = true
	for member := range elements(v) {
		if len(f.Messages) == MaxMembers {
			f.tooMany(start, "messages")
			return
		}
		if !f.add(member, start) {
			return
		}
	}
}

// add adds a message; it reports false when the frame can't be taken in.
func (f *Frame) add(v jsontext.Value, start int) bool {
	m, ok := message(v)
	if !ok {
		f.tooMany(start, "members")
		return false
	}
	f.Messages = append(f.Messages, m)
	return true
}

func (f *Frame) tooMany(start int, what string) {
	f.Messages, f.Batch = nil, false
	f.note(Problem{Fault: TooMany, Offset: int64(start), Detail: fmt.Sprintf("more than %d %s", MaxMembers, what)})
}

// message reads one message; it reports false when it has too many members.
func message(v jsontext.Value) (m Message, ok bool) {
	m.Raw = v
	if v.Kind() != '{' {
		return m, true
	}
	m.Members = map[string]jsontext.Value{}
	for name, value := range members(v) {
		if len(m.Names) == MaxMembers {
			return m, false
		}
		m.Names = append(m.Names, name)
		m.Members[name] = value
	}
	if id, ok := m.Members["id"]; ok {
		m.ID = ID{string(id)}
	}
	method, hasMethod := m.Members["method"]
	if hasMethod {
		m.Method, _ = Text(method)
	}
	switch {
	case hasMethod && m.ID.Present():
		m.Kind = Request
	case hasMethod:
		m.Kind = Notification
	case m.Has("result") || m.Has("error"):
		m.Kind = Response
	}
	return m, true
}
