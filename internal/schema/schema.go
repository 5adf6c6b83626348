// Package schema checks messages of the Model Context Protocol against the schema of each revision.
// The types are written by hand in types_*.go: each is defined once, and spans say in which
// revisions its parts exist. A test compares the types with the official schemas.
//
// The package also checks what the official schemas do not assert, such as base64 and URIs. Such
// violations have the Basis BeyondSchema. These checks are lenient: if a standard may permit a
// value, it is not a violation.
package schema

import (
	"cmp"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// MaxViolations is the maximum number of violations reported for one message.
const MaxViolations = 20

// A Basis is the source of the rule that a violation breaks.
type Basis string

// The bases of a violation.
const (
	// Schema violations are also violations of the official schema.
	Schema Basis = "schema"
	// BeyondSchema violations are accepted by the official schema, but violate its comments, a
	// page of the specification, or a standard to which these refer.
	BeyondSchema Basis = "beyond-schema"
)

// A Kind classifies a violation.
type Kind string

// The kinds that the official schemas assert.
const (
	WrongType  Kind = "wrong-type"
	Missing    Kind = "missing"      // a required member; the pointer names it
	WrongWord  Kind = "wrong-word"   // a string that is not one of the permitted values
	OutOfRange Kind = "out-of-range" // a number outside its bounds
)

// The kinds that the official schemas do not assert. TooMany is an exception: the schema of the
// newest revision asserts it.
const (
	TooMany         Kind = "too-many" // a list with more elements than permitted
	NotBase64       Kind = "not-base64"
	LooseBase64     Kind = "loose-base64" // with line breaks, or without padding
	NotMIME         Kind = "not-mime"     // not type/subtype
	OtherMIME       Kind = "other-mime"   // such as text for an image
	OtherBytes      Kind = "other-bytes"  // data in another format than its MIME type says
	NotURI          Kind = "not-uri"      // not an absolute URI
	NotTemplate     Kind = "not-template" // not a URI template of RFC 6570
	NotDate         Kind = "not-date"     // not an ISO 8601 date or time
	TextAndBlob     Kind = "text-and-blob"
	Blank           Kind = "blank"          // a string for people that is empty or only whitespace
	IconScheme      Kind = "icon-scheme"    // neither http, https nor data
	IconData        Kind = "icon-data"      // not a data: URI with base64 image data
	IconType        Kind = "icon-type"      // an image type that clients need not support
	IconSize        Kind = "icon-size"      // neither a size such as 48x48 nor "any"
	NotDialect      Kind = "not-dialect"    // not a valid JSON Schema of its dialect
	NotStructured   Kind = "not-structured" // does not fit the output schema
	NoInputRequired Kind = "no-input-required"
)

// A Violation is one way in which a message breaks the rules of its revision.
type Violation struct {
	Pointer   string // the JSON pointer (RFC 6901) of the place
	Member    string // the name of a missing member; the pointer ends with it
	Kind      Kind
	Basis     Basis
	Type      string // the type that the place belongs to, such as ImageContent; may be empty
	Place     string // the path from the type, such as ImageContent.data or CallToolResult.content.*.type
	Permitted string // what the place may contain, in words
	Seen      string // what it contains, shortened; untrusted and not escaped
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

// Describe returns in words what the place of the violation may contain, and what it contains. The
// argument at is the pointer to the value that was checked; in both texts, pointers begin with it.
// If a member is missing, both texts have its name.
func (f Violation) Describe(at string) (permitted, seen string) {
	pointer := at + f.Pointer
	switch {
	case pointer == "":
		return f.Permitted, f.Seen
	case f.Member != "":
		parent := cmp.Or(string(jsontext.Pointer(pointer).Parent()), "the message")
		return f.Member + ": " + f.Permitted, "no " + f.Member + " in " + parent
	case f.Kind == NotDialect: // Seen names a place within the value
		return f.Permitted, f.Seen + " in " + pointer
	}
	return f.Permitted, f.Seen + " at " + pointer
}

// A Validator judges the messages of one revision. It is safe for concurrent use.
//
// The values that it judges must be JSON that package wire accepts; for anything
// else the result is meaningless. If a name occurs twice in an object, the last
// value counts.
type Validator struct {
	revision      spec.Revision
	results       map[string][]choice
	errors        map[int64]*schemaType
	notifications map[string]*schemaType
	requests      map[string]*schemaType
	plain         plainTypes
	places        map[string]Place
	schemas       schemaCache
}

// plainTypes are the types of messages that have no specific type.
type plainTypes struct{ result, err, notification, request *schemaType }

// validators has the validator of each revision, compiled when it is first used.
var validators = func() map[spec.Revision]func() *Validator {
	m := map[spec.Revision]func() *Validator{}
	for _, r := range spec.Revisions() {
		m[r] = sync.OnceValue(func() *Validator { return compile(r) })
	}
	return m
}()

// For returns the validator of a revision. For a revision that is not published, it returns the
// validator of the newest published revision before it, or else of the first revision.
func For(r spec.Revision) *Validator {
	known := spec.Revisions()[0]
	for _, p := range spec.Revisions() {
		if r.AtLeast(p) {
			known = p
		}
	}
	return validators[known]()
}

// Revision returns the revision whose types v uses.
func (v *Validator) Revision() spec.Revision { return v.revision }

// CheckResult judges the result of a request for the method, including results that the client
// sends to the server. Pointers begin at the result. If the revision does not have the
// method, only the common members of results are judged.
func (v *Validator) CheckResult(method string, result jsontext.Value) []Violation {
	result = trimSpace(result)
	return onlyViolations(v.judge("", result, v.resultType(method, result)))
}

// CheckError judges the error member of a response; pointers begin at the error.
func (v *Validator) CheckError(e jsontext.Value) []Violation {
	return onlyViolations(v.judge("", e, v.errorType(e)))
}

// CheckMessage judges the params, the result or the error of a message from the server, according
// to its kind. For a result, method is that of its request. Pointers begin at the message. The
// envelope (jsonrpc, id, which members may occur together) is not judged here.
func (v *Validator) CheckMessage(m *wire.Message, method string) []Violation {
	return onlyViolations(v.Examine(m, method))
}

// Examine is like CheckMessage, but also returns the places (named types of the schema, and members
// of such types) that occur in the message.
func (v *Validator) Examine(m *wire.Message, method string) (PlaceSet, []Violation) {
	switch m.Kind {
	case wire.Request:
		return v.judgeParams(m, v.requests, v.plain.request)
	case wire.Notification:
		return v.judgeParams(m, v.notifications, v.plain.notification)
	case wire.Response:
		var places, errorPlaces PlaceSet
		var out, errorViolations []Violation
		if m.Has("result") {
			result := trimSpace(m.Result())
			places, out = v.judge("/result", result, v.resultType(method, result))
		}
		if e := m.Member("error"); e != nil {
			errorPlaces, errorViolations = v.judge("/error", e, v.errorType(e))
			places.union(&errorPlaces)
			out = append(out, errorViolations...)
		}
		return places, out
	default:
		return PlaceSet{}, nil
	}
}

func onlyViolations(_ PlaceSet, out []Violation) []Violation { return out }

// checkers are pooled, because they would otherwise cause most of the allocations for a valid
// message.
var checkers = sync.Pool{New: func() any { return new(checker) }}

// runChecker calls the function do with a checker whose JSON pointers begin with base, and returns
// the places and violations that the checker collected.
func (v *Validator) runChecker(base string, do func(*checker)) (PlaceSet, []Violation) {
	c := checkers.Get().(*checker)
	*c = checker{v: v, base: base, path: c.path[:0]}
	do(c)
	places, out := c.places, c.out
	clear(c.path[:cap(c.path)]) // drop the references to the message
	checkers.Put(c)
	if len(out) == 0 {
		return places, nil
	}
	return places, out
}

func (v *Validator) judge(base string, value jsontext.Value, t *schemaType) (PlaceSet, []Violation) {
	return v.runChecker(base, func(c *checker) { c.check(trimSpace(value), t) })
}

// judgeParams judges the params as a member of the message, and so reports missing params that are
// required.
func (v *Validator) judgeParams(m *wire.Message, types map[string]*schemaType, fallback *schemaType) (PlaceSet, []Violation) {
	t, ok := types[m.Method]
	if !ok {
		t = fallback
	}
	p := &t.members[0]
	switch params, present := m.Members["params"]; {
	case present:
		return v.judge("/params", params, p.typ)
	case p.required:
		return v.runChecker("", func(c *checker) { c.addMissing(p) })
	default:
		return PlaceSet{}, nil
	}
}

// resultType returns the first type of the method's results whose condition holds.
func (v *Validator) resultType(method string, result jsontext.Value) *schemaType {
	for _, c := range v.results[method] {
		if c.when == nil || c.when(result) {
			return c.typ
		}
	}
	return v.plain.result
}

func (v *Validator) errorType(e jsontext.Value) *schemaType {
	if code, ok := wire.Integer(valueOf(trimSpace(e), "code")); ok {
		if t := v.errors[code]; t != nil {
			return t
		}
	}
	return v.plain.err
}
