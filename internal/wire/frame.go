// Package wire parses bytes as JSON-RPC 2.0 messages, writes messages as bytes, and keeps
// the original bytes. It parses every frame twice: strictly, to report each problem, and
// leniently, so that a conversation can continue after a problem. It has no knowledge of
// MCP.
package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits of a frame. Parse reports a frame that exceeds them as unreadable, which bounds the
// memory that hostile input can take.
const (
	// MaxDepth is the deepest allowed nesting of arrays and objects. jsontext itself rejects more
	// than 10,000 levels.
	MaxDepth = 9000
	// MaxMembers is the largest allowed number of messages in a batch and of top-level members in a
	// message. Deeper values, such as a result, may be larger.
	MaxMembers = 10_000
)

// Kind is the kind of a JSON-RPC message.
type Kind int

// The kinds of messages.
const (
	// Invalid is a JSON value that is not a request, a notification or a response.
	Invalid Kind = iota
	// Request has a method member of any type and an id member, which may be null.
	Request
	// Notification has a method member of any type and no id member.
	Notification
	// Response has no method member, but a result member, an error member or both.
	Response
)

func (k Kind) String() string {
	return [...]string{"invalid message", "request", "notification", "response"}[k]
}

// ProblemKind is a kind of violation of JSON or JSON-RPC in a frame.
type ProblemKind string

// The kinds of problems.
const (
	NotJSON       ProblemKind = "not-json"      // no JSON value can be read
	TrailingText  ProblemKind = "trailing-text" // the value is followed by more than white space
	DuplicateKey  ProblemKind = "duplicate-key" // an object repeats a member name
	InvalidUTF8   ProblemKind = "invalid-utf8"  // invalid UTF-8, or an escaped lone surrogate
	ByteOrderMark ProblemKind = "byte-order-mark"
	TooDeep       ProblemKind = "too-deep" // nested deeper than MaxDepth; Messages is empty
	TooMany       ProblemKind = "too-many" // more than MaxMembers; Messages is empty
	Empty         ProblemKind = "empty"    // only JSON white space
)

// Problem is the first occurrence of one kind of problem in a frame.
type Problem struct {
	Kind    ProblemKind
	Offset  int64  // bytes from the start of the frame
	Pointer string // JSON pointer (RFC 6901) of the value, empty if unknown
	Detail  string
}

func (p Problem) String() string {
	s := fmt.Sprintf("%s at byte %d", p.Kind, p.Offset)
	if p.Pointer != "" {
		s += " (" + p.Pointer + ")"
	}
	if p.Detail != "" {
		s += ": " + p.Detail
	}
	return s
}

// Frame is the parsed content of one stdio line, one HTTP body or one SSE event.
type Frame struct {
	Raw      []byte    // as received, without the transport's framing
	Problems []Problem // at most one of each kind
	Batch    bool      // the value is an array
	Messages []Message // one, or the elements of the batch; empty if unreadable
}

// Has reports whether the frame has a problem of this kind.
func (f *Frame) Has(kind ProblemKind) bool {
	for _, p := range f.Problems {
		if p.Kind == kind {
			return true
		}
	}
	return false
}

// IsReadable reports whether Parse read a JSON value within the limits.
func (f *Frame) IsReadable() bool { return f.Batch || len(f.Messages) > 0 }

// Message is one JSON-RPC message, or another JSON value where a message is expected.
type Message struct {
	Kind   Kind
	Raw    jsontext.Value // a subslice of the frame's Raw
	ID     ID             // zero if the value is not an object
	Method string         // empty unless the method member is a string

	// Members maps each member name to its raw value. If a name is repeated, the last value
	// counts. Members is nil if the message is not an object. The values are subslices of the
	// frame and must not be modified.
	Members map[string]jsontext.Value
	// Names lists the member names in wire order, including repetitions.
	Names []string

	// params, result and err are the members within params, result and error, which are read
	// most often.
	params, result, err memberList
}

// Member returns the raw value of a member, or nil if it is absent.
func (m *Message) Member(name string) jsontext.Value { return m.Members[name] }

// Has reports whether the member is present, even if it is null.
func (m *Message) Has(name string) bool { _, ok := m.Members[name]; return ok }

// IsError reports whether the message has an error member, even if it is null.
func (m *Message) IsError() bool { return m.Has("error") }

// IsResponseTo reports whether the message is a response with the id.
func (m *Message) IsResponseTo(id ID) bool { return m.Kind == Response && m.ID.Same(id) }

// Params returns the raw params member, or nil.
func (m *Message) Params() jsontext.Value { return m.Members["params"] }

// Result returns the raw result member, or nil.
func (m *Message) Result() jsontext.Value { return m.Members["result"] }

const (
	bom = "\xef\xbb\xbf"
	// space is the set of JSON white space characters.
	space = " \t\r\n"
)

// Parse parses one frame. It never fails: Problems lists what is wrong. The frame refers to raw,
// which must not be modified afterwards.
//
// Duplicate keys, invalid UTF-8, a leading byte order mark and trailing text do not prevent Parse
// from reading the value and its messages. Input that is not JSON has the problem NotJSON; its
// other problems are only those of its bytes, such as invalid UTF-8.
func Parse(raw []byte) *Frame {
	f := &Frame{Raw: raw}
	start := 0
	if bytes.HasPrefix(raw, []byte(bom)) {
		f.addProblems(Problem{Kind: ByteOrderMark})
		start = len(bom)
	}
	start += len(raw[start:]) - len(bytes.TrimLeft(raw[start:], space))
	if start == len(raw) {
		f.addProblems(Problem{Kind: Empty})
		return f
	}
	if at := tooDeepAt(raw[start:]); at >= 0 {
		f.addProblems(Problem{Kind: TooDeep, Offset: int64(start + at), Detail: fmt.Sprintf("more than %d levels", MaxDepth)})
		return f
	}
	text := raw[start:]
	v, strictErr := readValue(text)
	if strictErr != nil {
		var err error
		if v, err = readValue(text, lenientOptions()...); err != nil {
			f.addProblems(newProblem(NotJSON, err, start))
			if at := invalidAt(text); at >= 0 {
				f.addProblems(Problem{Kind: InvalidUTF8, Offset: int64(start + at), Detail: "bytes that are not UTF-8"})
			}
			return f
		}
		f.addProblems(strictProblems(v, start)...)
	}
	f.setMessages(v, start)
	if rest := bytes.TrimLeft(text[len(v):], space); len(rest) > 0 {
		f.addProblems(Problem{Kind: TrailingText, Offset: int64(len(raw) - len(rest))})
		if at := invalidAt(rest); at >= 0 && !f.Has(InvalidUTF8) {
			f.addProblems(Problem{Kind: InvalidUTF8, Offset: int64(len(raw) - len(rest) + at), Detail: "bytes that are not UTF-8"})
		}
	}
	return f
}

func (f *Frame) addProblems(p ...Problem) { f.Problems = append(f.Problems, p...) }

// strictProblems returns the problems that strict parsing finds in v, a value that lenient parsing
// accepts. The value begins at offset start of the frame.
func strictProblems(v jsontext.Value, start int) []Problem {
	var out []Problem
	if _, err := readValue(v, jsontext.AllowInvalidUTF8(true)); err != nil {
		out = append(out, newProblem(DuplicateKey, err, start))
	}
	if _, err := readValue(v, jsontext.AllowDuplicateNames(true)); err != nil {
		out = append(out, newProblem(InvalidUTF8, err, start))
	}
	return out
}

func newProblem(kind ProblemKind, err error, start int) Problem {
	p := Problem{Kind: kind, Offset: int64(start), Detail: err.Error()}
	var syn *jsontext.SyntacticError
	if errors.As(err, &syn) {
		p.Offset, p.Pointer = int64(start)+syn.ByteOffset, string(syn.JSONPointer)
		p.Detail = syn.Err.Error()
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		p.Detail = "the input ends inside a JSON value"
	}
	return p
}

// invalidAt returns the offset of the first byte that is not valid UTF-8, or -1.
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

// tooDeepAt returns the offset at which the value at the start of b exceeds MaxDepth, or -1.
func tooDeepAt(b []byte) int {
	if bytes.Count(b, []byte{'{'})+bytes.Count(b, []byte{'['}) <= MaxDepth {
		return -1 // nearly every frame; saves the loop over single bytes
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
			return -1 // end of the value, or not a value
		}
	}
	return -1
}

// setMessages fills f.Messages from the value, which begins at offset start.
func (f *Frame) setMessages(v jsontext.Value, start int) {
	if v.Kind() != '[' {
		f.addMessage(v, start)
		return
	}
	f.Batch = true
	for member := range elements(v) {
		if len(f.Messages) == MaxMembers {
			f.rejectTooMany(start, "messages")
			return
		}
		if !f.addMessage(member, start) {
			return
		}
	}
}

// addMessage appends a message. It returns false if the frame exceeds the limits.
func (f *Frame) addMessage(v jsontext.Value, start int) bool {
	m, ok := parseMessage(v)
	if !ok {
		f.rejectTooMany(start, "members")
		return false
	}
	f.Messages = append(f.Messages, m)
	return true
}

func (f *Frame) rejectTooMany(start int, what string) {
	f.Messages, f.Batch = nil, false
	f.addProblems(Problem{Kind: TooMany, Offset: int64(start), Detail: fmt.Sprintf("more than %d %s", MaxMembers, what)})
}

// parseMessage parses one message. It returns false if the message has too many members.
func parseMessage(v jsontext.Value) (m Message, ok bool) {
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
		switch name {
		case "params":
			m.params = memberListOf(value)
		case "result":
			m.result = memberListOf(value)
		case "error":
			m.err = memberListOf(value)
		}
	}
	if id, ok := m.Members["id"]; ok {
		m.ID = ID{string(id)}
	}
	method, hasMethod := m.Members["method"]
	if hasMethod {
		m.Method, _ = Text(method)
	}
	switch {
	case hasMethod && m.ID.IsPresent():
		m.Kind = Request
	case hasMethod:
		m.Kind = Notification
	case m.Has("result") || m.Has("error"):
		m.Kind = Response
	}
	return m, true
}
