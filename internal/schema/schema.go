// Package schema says what a message of the Model Context Protocol must look
// like in each revision. It holds its own source of the types, written by
// hand in types_*.go: one definition a type, with marks for the revisions
// that have it. A test holds it against the official schemas.
//
// Beside the types it checks what the official schemas do not assert: base64,
// URIs and the like. Those violations differ in their Basis. They are
// judged generously: what a standard can be read to allow is no violation.
package schema

import (
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// MaxViolations is how many violations of one message are gathered.
const MaxViolations = 20

// Basis says what stands behind a violation.
type Basis string

// The bases.
const (
	// Schema violations are refused by the official schema, too.
	Schema Basis = "schema"
	// Beside violations are accepted by the official schema; what is amiss
	// stands in its comments, in the pages or in a standard that they name.
	Beside Basis = "beside"
)

// Kind names what is wrong.
type Kind string

// The kinds that the official schemas assert.
const (
	WrongType  Kind = "wrong-type"
	Missing    Kind = "missing"      // a required member; the pointer names it
	WrongWord  Kind = "wrong-word"   // a string that is none of those permitted
	OutOfRange Kind = "out-of-range" // a number
)

// The kinds that stand beside the schemas; TooMany is asserted by the newest.
const (
	TooMany         Kind = "too-many" // elements of a list
	NotBase64       Kind = "not-base64"
	LooseBase64     Kind = "loose-base64" // with line breaks, or without padding
	NotMIME         Kind = "not-mime"     // no type/subtype
	OtherMIME       Kind = "other-mime"   // an image that says it is text
	OtherBytes      Kind = "other-bytes"  // data of another format than its MIME type says
	NotURI          Kind = "not-uri"      // no absolute URI
	NotTemplate     Kind = "not-template" // no URI template by RFC 6570
	NotDate         Kind = "not-date"     // no ISO 8601 date or time
	TextAndBlob     Kind = "text-and-blob"
	Blank           Kind = "blank"          // a text for people that says nothing
	IconScheme      Kind = "icon-scheme"    // neither http, https nor data
	IconData        Kind = "icon-data"      // no data: URI with base64 image data
	IconType        Kind = "icon-type"      // an image that clients need not show
	IconSize        Kind = "icon-size"      // neither 48x48 nor any
	NotDialect      Kind = "not-dialect"    // no valid JSON Schema of its dialect
	NotStructured   Kind = "not-structured" // does not fit the output schema
	NoInputRequired Kind = "no-input-required"
)

// Violation is one thing that is wrong with a message.
type Violation struct {
	Pointer   string // JSON pointer (RFC 6901) of the place
	Kind      Kind
	Basis     Basis
	Type      string // the type that the place belongs to, such as ImageContent; may be empty
	Place     string // the place seen from the type, such as ImageContent.data or CallToolResult.content.*.type
	Permitted string // what may stand there, in words
	Seen      string // what stands there, shortened, unescaped server output
}

func (f Violation) String() string {
	where := f.Pointer
	if where == "" {
		where = "the value"
	}
	if f.Type != "" {
		where += " (" + f.Type + ")"
	}
	return where + ": permitted: " + f.Permitted + "; seen: " + f.Seen
}

// Validator judges the messages of one revision. It may be used by several
// goroutines at once.
//
// The values that it judges must be JSON, as package wire reads it; of
// anything else the verdict is of no use. Where a name occurs twice in an
// object, the last value counts.
type Validator struct {
	revision      spec.Revision
	results       map[string][]choice
	errors        map[int64]*typ
	notifications map[string]*typ
	requests      map[string]*typ
	plain         plainTypes
	places        map[string]Place
	schemas       schemaCache
}

// plainTypes are the types of what has no entry of its own.
type plainTypes struct{ result, err, notification, request *typ }

// validators are made when they are first asked for.
var validators = func() map[spec.Revision]func() *Validator {
	m := map[spec.Revision]func() *Validator{}
	for _, r := range spec.Revisions() {
		m[r] = sync.OnceValue(func() *Validator { return compile(r) })
	}
	return m
}()

// For returns the validator of a revision; of one that is not published, that
// of the last published one before it, or of the first one.
func For(r spec.Revision) *Validator {
	known := spec.Revisions()[0]
	for _, p := range spec.Revisions() {
		if r.AtLeast(p) {
			known = p
		}
	}
	return validators[known]()
}

// Revision returns the revision that v judges by.
func (v *Validator) Revision() spec.Revision { return v.revision }

// Result judges the result member of the answer to a request for the method;
// pointers begin at the result. The client's answers to a server are judged,
// too. Of a method that the revision does not have, only what all results
// have in common is judged.
func (v *Validator) Result(method string, result jsontext.Value) []Violation {
	result = trimmed(result)
	return violations(v.judge("", result, v.resultType(method, result)))
}

// Error judges the error member of a response; pointers begin at the error.
func (v *Validator) Error(e jsontext.Value) []Violation {
	return violations(v.judge("", e, v.errorType(e)))
}

// Notification judges the params of a notification from the server, absent
// ones included; pointers begin at the message. Of a method that the
// revision does not have, only what all notifications have in common is judged.
func (v *Validator) Notification(m *wire.Message) []Violation {
	return violations(v.params(m, v.notifications, v.plain.notification))
}

// Request judges the params of a request from the server, as Notification does.
func (v *Validator) Request(m *wire.Message) []Violation {
	return violations(v.params(m, v.requests, v.plain.request))
}

// Message judges what a server sent: the params, the result or the error of
// the message, by its kind. A result is judged by the method that was asked.
// Pointers begin at the message. The envelope (jsonrpc, id, which members
// stand together) is no matter of the schemas here.
func (v *Validator) Message(m *wire.Message, asked string) []Violation {
	return violations(v.Examine(m, asked))
}

// Examine judges as Message does, and tells what of the types came up.
func (v *Validator) Examine(m *wire.Message, asked string) (Met, []Violation) {
	switch m.Kind {
	case wire.Request:
		return v.params(m, v.requests, v.plain.request)
	case wire.Notification:
		return v.params(m, v.notifications, v.plain.notification)
	case wire.Response:
		var met, more Met
		var out, also []Violation
		if m.Has("result") {
			result := trimmed(m.Result())
			met, out = v.judge("/result", result, v.resultType(asked, result))
		}
		if e := m.Member("error"); e != nil {
			more, also = v.judge("/error", e, v.errorType(e))
			met.join(&more)
			out = append(out, also...)
		}
		return met, out
	default:
		return Met{}, nil
	}
}

func violations(_ Met, out []Violation) []Violation { return out }

// checkers are used again, for they are most of what judging a sound message
// would take of the heap.
var checkers = sync.Pool{New: func() any { return new(checker) }}

// walk returns what do meets and finds with a checker that begins at base.
func (v *Validator) walk(base string, do func(*checker)) (Met, []Violation) {
	c := checkers.Get().(*checker)
	*c = checker{v: v, base: base, path: c.path[:0]}
	do(c)
	met, out := c.met, c.out
	clear(c.path[:cap(c.path)]) // it refers to the message
	checkers.Put(c)
	if len(out) == 0 {
		return met, nil
	}
	return met, out
}

func (v *Validator) judge(base string, value jsontext.Value, t *typ) (Met, []Violation) {
	return v.walk(base, func(c *checker) { c.check(trimmed(value), t) })
}

// params judges the params as a member of the message, so that absent ones
// are missed where they are required.
func (v *Validator) params(m *wire.Message, types map[string]*typ, other *typ) (Met, []Violation) {
	t, ok := types[m.Method]
	if !ok {
		t = other
	}
	p := &t.members[0]
	switch params, present := m.Members["params"]; {
	case present:
		return v.judge("/params", params, p.typ)
	case p.required:
		return v.walk("", func(c *checker) { c.missing(p) })
	default:
		return Met{}, nil
	}
}

// resultType returns the first type that a result of the method chooses.
func (v *Validator) resultType(method string, result jsontext.Value) *typ {
	for _, c := range v.results[method] {
		if c.when == nil || c.when(result) {
			return c.typ
		}
	}
	return v.plain.result
}

func (v *Validator) errorType(e jsontext.Value) *typ {
	if code, ok := wire.Integer(valueOf(trimmed(e), "code")); ok {
		if t := v.errors[code]; t != nil {
			return t
		}
	}
	return v.plain.err
}
