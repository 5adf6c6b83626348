package wire

import (
	"bytes"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"
)

// The functions in this file return subslices of their arguments, which must not be modified. They
// read leniently; at invalid JSON they stop without an error.

// reader is a decoder and its input buffer.
type reader struct {
	text    bytes.Buffer
	decoder jsontext.Decoder
}

// readerPool pools decoders, because allocating a decoder's stacks costs more than reading a short
// message.
var readerPool = sync.Pool{New: func() any { return new(reader) }}

// readValue reads the value at the start of v. The result is a subslice of v whose capacity is
// clipped, so that an append to it cannot overwrite the bytes after it.
func readValue(v []byte, opts ...jsontext.Options) (jsontext.Value, error) {
	if len(v) > largeText {
		largeTextMutex.Lock()
		defer largeTextMutex.Unlock()
		return new(reader).read(v, opts...)
	}
	r := readerPool.Get().(*reader)
	defer readerPool.Put(r)
	return r.read(v, opts...)
}

// largeText is the size in bytes above which concurrent calls of readValue run one after the other,
// each with a decoder outside the pool, because the decoder stores all names of an object to detect
// duplicates, which takes 50 MiB or more for half a million names.
const largeText = 1 << 20

var largeTextMutex sync.Mutex

func (r *reader) read(v []byte, opts ...jsontext.Options) (jsontext.Value, error) {
	r.text = *bytes.NewBuffer(v)
	r.decoder.Reset(&r.text, opts...)
	value, err := r.decoder.ReadValue()
	r.text = bytes.Buffer{}
	r.decoder.Reset(&r.text) // releases v
	return value, err
}

// lenientOptions returns options that allow duplicate names and invalid UTF-8.
func lenientOptions() []jsontext.Options {
	return []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
}

// members iterates over the members of object v in wire order.
func members(v jsontext.Value) iter.Seq2[string, jsontext.Value] {
	return func(yield func(string, jsontext.Value) bool) {
		for w := walkerOf(v, '{'); ; {
			quoted, value, ok := w.Member()
			if !ok {
				return
			}
			name := internName(quoted)
			if name == "" {
				if name, ok = unquote(quoted); !ok {
					return
				}
			}
			if !yield(name, value) {
				return
			}
		}
	}
}

// internName returns a constant equal to name if many messages have a member with that name, and ""
// otherwise. The constant saves an allocation.
func internName(name []byte) string {
	switch string(name) {
	case "jsonrpc":
		return "jsonrpc"
	case "id":
		return "id"
	case "method":
		return "method"
	case "params":
		return "params"
	case "result":
		return "result"
	case "error":
		return "error"
	case "code":
		return "code"
	case "message":
		return "message"
	case "_meta":
		return "_meta"
	case "name":
		return "name"
	case "uri":
		return "uri"
	case "title":
		return "title"
	case "description":
		return "description"
	}
	return ""
}

// elements iterates over the elements of array v.
func elements(v jsontext.Value) iter.Seq[jsontext.Value] {
	return func(yield func(jsontext.Value) bool) {
		for w := walkerOf(v, '['); ; {
			e, ok := w.Element()
			if !ok || !yield(e) {
				return
			}
		}
	}
}

// walkerOf returns a Walker over v if v begins with opening, else an empty one.
func walkerOf(v jsontext.Value, opening byte) Walker {
	v = bytes.TrimLeft(v, space)
	if len(v) == 0 || v[0] != opening {
		return Walker{}
	}
	return NewWalker(v)
}

// longText is the size in bytes above which unquote returns a reference to the message instead of a
// copy, because keeping the whole message alive then costs less.
const longText = 64 << 10

// unquote decodes s, the text between the quotes of a JSON string, and reports whether it is
// readable. Invalid UTF-8 becomes U+FFFD. If s is longer than longText and has no escapes, the
// result is not a copy but shares the message's bytes, which must not be modified.
func unquote(s []byte) (string, bool) {
	if bytes.IndexByte(s, '\\') < 0 && utf8.Valid(s) {
		if len(s) > longText {
			return unsafe.String(unsafe.SliceData(s), len(s)), true
		}
		return string(s), true
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(slices.Concat([]byte{'"'}, s, []byte{'"'})), lenientOptions()...)
	tok, err := d.ReadToken()
	if err != nil {
		return "", false
	}
	return tok.String(), true
}

// equalName reports whether name, the text between the quotes of a member name, decodes to
// wanted.
func equalName(name []byte, wanted string) bool {
	if bytes.IndexByte(name, '\\') < 0 && utf8.Valid(name) {
		return string(name) == wanted
	}
	text, ok := unquote(name)
	return ok && text == wanted
}

// Members returns the member names of object v in wire order, including repetitions, and a map from
// each name to its raw value, or to its last value if the name is repeated. Both are nil if v is
// not an object.
func Members(v jsontext.Value) ([]string, map[string]jsontext.Value) {
	if v.Kind() != '{' {
		return nil, nil
	}
	var names []string
	values := map[string]jsontext.Value{}
	for name, value := range members(v) {
		names = append(names, name)
		values[name] = value
	}
	return names, values
}

// MayHaveMember reports whether v may contain a member with this name at any depth. Most values
// don't, and searching for the bytes of the name is much faster than parsing v. It returns true if
// v has \u escapes, because the name may be escaped.
func MayHaveMember(v jsontext.Value, name string) bool {
	return bytes.Contains(v, []byte(name)) || bytes.Contains(v, []byte(`\u`))
}

// Object is the inverse of Members: it returns an object with the members in the order of names,
// each name once.
func Object(names []string, members map[string]jsontext.Value) []byte {
	out := []byte{'{'}
	written := map[string]bool{}
	for _, name := range names {
		if written[name] {
			continue
		}
		written[name] = true
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, Quote(name)...), ':'), members[name]...)
	}
	return append(out, '}')
}

// Canonical returns v in canonical form (RFC 8785), in which equal values are equal strings. It
// returns v itself if v has no such form, because a name is repeated in it or it is not valid.
func Canonical(v jsontext.Value) string {
	c := v.Clone()
	if c.Canonicalize() != nil {
		return string(v)
	}
	return string(c)
}

// Elements returns the raw elements of array v, or nil if v is empty or not an array.
func Elements(v jsontext.Value) []jsontext.Value {
	var out []jsontext.Value
	for e := range elements(v) {
		out = append(out, e)
	}
	return out
}

// Text returns the unescaped text of v, and whether v is a JSON string. Invalid UTF-8 becomes
// U+FFFD.
func Text(v jsontext.Value) (string, bool) {
	if v.Kind() != '"' {
		return "", false
	}
	v = bytes.Trim(v, space)
	if len(v) < 2 || v[len(v)-1] != '"' {
		return "", false
	}
	return unquote(v[1 : len(v)-1])
}

// Integer returns the value of v, and whether v is an integer in the range of an int64. 1.0 and 1e2
// are integers.
func Integer(v jsontext.Value) (int64, bool) {
	digits, ok := canonicalInteger(string(bytes.Trim(v, space)))
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, false
	}
	return n, true
}

// At returns the raw value at a JSON pointer (RFC 6901) inside v, or nil if there is none. If
// several members have the same name, At uses the last.
func At(v jsontext.Value, pointer string) jsontext.Value {
	if pointer == "" {
		return v
	}
	if pointer[0] != '/' {
		return nil
	}
	for part := range strings.SplitSeq(pointer[1:], "/") {
		if strings.IndexByte(part, '~') >= 0 {
			part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		}
		if v = child(v, part); v == nil {
			return nil
		}
	}
	return v
}

// child returns the member or element of v with this name or index, or nil.
func child(v jsontext.Value, part string) jsontext.Value {
	switch v.Kind() {
	case '{':
		var found jsontext.Value
		for w := walkerOf(v, '{'); ; {
			name, value, ok := w.Member()
			if !ok {
				return found
			}
			if equalName(name, part) {
				found = value
			}
		}
	case '[':
		index, err := strconv.Atoi(part)
		if err != nil || strconv.Itoa(index) != part { // 01, +1 and -0 are not indexes
			return nil
		}
		for e := range elements(v) {
			if index == 0 {
				return e
			}
			index--
		}
	}
	return nil
}

// Error holds the members of a response's error member.
type Error struct {
	Code    jsontext.Value // raw, nil when absent
	Message jsontext.Value // raw, nil when absent
	Data    jsontext.Value // raw, nil when absent
}

// Error returns the error member, and whether it is present and an object.
func (m *Message) Error() (Error, bool) {
	v := m.Members["error"]
	if v.Kind() != '{' {
		return Error{}, false
	}
	return Error{m.errorAt("/code"), m.errorAt("/message"), m.errorAt("/data")}, true
}

// SupportedVersions returns the versions that an error lists as supported in data.supported. It
// returns nil unless that is a list of strings.
func (m *Message) SupportedVersions() (versions []string) {
	for _, v := range Elements(At(m.Member("error"), "/data/supported")) {
		text, ok := Text(v)
		if !ok {
			return nil
		}
		versions = append(versions, text)
	}
	return versions
}

// ErrorCode returns the code of an error response, and whether it is an integer. It accepts a
// string that holds an integer, because the server means the same code; the wrong type is a
// separate deviation.
func (m *Message) ErrorCode() (int64, bool) {
	code := m.errorAt("/code")
	if text, ok := Text(code); ok {
		code = jsontext.Value(text)
	}
	return Integer(code)
}
