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

// MaxDepth bounds the nesting of a frame that is read at all; deeper ones
// are reported as unreadable.
const MaxDepth = 1000

// Kind says what a JSON value is in JSON-RPC's terms.
type Kind int

// The kinds.
const (
	// Invalid is a JSON value that is none of the others.
	Invalid Kind = iota
	Request
	Notification
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
	TooDeep       Fault = "too-deep"
	Empty         Fault = "empty" // nothing but white space
)

// Problem is one fault found at a place in a frame.
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
	Raw      []byte // exactly as received, without the transport's own framing
	Problems []Problem
	Batch    bool      // the value is an array
	Messages []Message // one, or the members of the batch; empty when unreadable
}

// Has tells whether the frame has the fault.
func (f *Frame) Has(fault Fault) bool {
	for _, p := range f.Problems {
		if p.Fault == fault {
			return true
		}
	}
	return false
}

// Readable tells whether a JSON value could be read.
func (f *Frame) Readable() bool { return f.Batch || len(f.Messages) > 0 }

// Message is one JSON-RPC message, or a value that should have been one.
type Message struct {
	Kind   Kind
	Raw    jsontext.Value // the value's own bytes
	ID     ID
	Method string // empty unless the method member is a string

	// Members holds the raw value of each member of the object, the last
	// one where a name occurs twice; nil when the value is no object.
	Members map[string]jsontext.Value
	// Names lists the members in the order of the wire.
	Names []string
}

// Member returns the raw value of a member, or nil.
func (m *Message) Member(name string) jsontext.Value { return m.Members[name] }

// Has tells whether the member is present, null included.
func (m *Message) Has(name string) bool { _, ok := m.Members[name]; return ok }

// IsError tells whether the message has an error member.
func (m *Message) IsError() bool { return m.Has("error") }

// Params returns the raw params member, or nil.
func (m *Message) Params() jsontext.Value { return m.Members["params"] }

// Result returns the raw result member, or nil.
func (m *Message) Result() jsontext.Value { return m.Members["result"] }

var bom = []byte("\xef\xbb\xbf")

// Parse reads one frame. It never fails: what is wrong stands in Problems.
func Parse(raw []byte) *Frame {
	f := &Frame{Raw: raw}
	body := raw
	if bytes.HasPrefix(body, bom) {
		f.Problems = append(f.Problems, Problem{Fault: ByteOrderMark})
		body = body[len(bom):]
	}
	if len(bytes.TrimSpace(body)) == 0 {
		f.Problems = append(f.Problems, Problem{Fault: Empty})
		return f
	}
	shift := int64(len(raw) - len(body))
	if tooDeep(body) {
		f.Problems = append(f.Problems, Problem{Fault: TooDeep, Detail: fmt.Sprintf("more than %d levels", MaxDepth)})
		return f
	}
	strict := jsontext.NewDecoder(bytes.NewReader(body))
	v, err := strict.ReadValue()
	if err == nil {
		f.set(v.Clone())
		f.trailing(strict, body, shift)
		return f
	}
	strictErr := err
	lenient := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	v, err = lenient.ReadValue()
	if err != nil {
		f.Problems = append(f.Problems, problem(NotJSON, err, shift))
		if !utf8.Valid(body) {
			f.Problems = append(f.Problems, Problem{Fault: InvalidUTF8, Offset: shift + invalidAt(body)})
		}
		return f
	}
	v = v.Clone()
	f.set(v)
	f.Problems = append(f.Problems, strictProblems(v, strictErr, shift)...)
	f.trailing(lenient, body, shift)
	return f
}

// strictProblems says what strict reading objects to in a value that
// lenient reading takes.
func strictProblems(v jsontext.Value, strictErr error, shift int64) []Problem {
	var out []Problem
	dup := jsontext.NewDecoder(bytes.NewReader(v), jsontext.AllowInvalidUTF8(true))
	if _, err := dup.ReadValue(); err != nil {
		out = append(out, problem(DuplicateKey, err, shift))
	}
	utf := jsontext.NewDecoder(bytes.NewReader(v), jsontext.AllowDuplicateNames(true))
	if _, err := utf.ReadValue(); err != nil {
		out = append(out, problem(InvalidUTF8, err, shift))
	}
	if len(out) == 0 {
		out = append(out, problem(NotJSON, strictErr, shift))
	}
	return out
}

func (f *Frame) trailing(dec *jsontext.Decoder, body []byte, shift int64) {
	at := dec.InputOffset()
	rest := bytes.TrimSpace(body[at:])
	if len(rest) > 0 {
		off := at + int64(bytes.Index(body[at:], rest[:1]))
		f.Problems = append(f.Problems, Problem{Fault: TrailingText, Offset: shift + off})
	}
}

func problem(fault Fault, err error, shift int64) Problem {
	p := Problem{Fault: fault, Detail: err.Error()}
	var syn *jsontext.SyntacticError
	if errors.As(err, &syn) {
		p.Offset, p.Pointer = shift+syn.ByteOffset, string(syn.JSONPointer)
		p.Detail = syn.Err.Error()
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		p.Detail = "the text ends inside a JSON value"
	}
	return p
}

func invalidAt(b []byte) int64 {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return int64(i)
		}
		i += n
	}
	return -1
}

func tooDeep(b []byte) bool {
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
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

func (f *Frame) set(v jsontext.Value) {
	if v.Kind() != '[' {
		f.Messages = []Message{message(v)}
		return
	}
	f.Batch = true
	for _, member := range Elements(v) {
		f.Messages = append(f.Messages, message(member))
	}
}

func message(v jsontext.Value) Message {
	m := Message{Raw: v}
	if v.Kind() != '{' {
		return m
	}
	m.Names, m.Members = members(v)
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
	return m
}
