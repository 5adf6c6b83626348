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

// The functions of this file return parts of the values they are given, not
// copies: none of them may be altered. They read leniently, and stop in
// silence where a value is no JSON.

// reader is a decoder with what it reads from.
type reader struct {
	text    bytes.Buffer
	decoder jsontext.Decoder
}

// readers lets decoders be used again: what one allocates for its stacks costs
// more than reading a short message.
var readers = sync.Pool{New: func() any { return new(reader) }}

// readValue reads the value that v begins with, in place: what it returns is a
// part of v, and no append to it reaches what stands behind it.
func readValue(v []byte, opts ...jsontext.Options) (jsontext.Value, error) {
	if len(v) > largeText {
		largeTurn.Lock()
		defer largeTurn.Unlock()
		return new(reader).read(v, opts...)
	}
	r := readers.Get().(*reader)
	defer readers.Put(r)
	return r.read(v, opts...)
}

// largeText is the size in bytes from which texts are read one at a time, by a
// decoder that is not kept: to find a name that occurs twice it remembers all
// names of an object, 50 MiB and more where they are half a million.
const largeText = 1 << 20

var largeTurn sync.Mutex

func (r *reader) read(v []byte, opts ...jsontext.Options) (jsontext.Value, error) {
	r.text = *bytes.NewBuffer(v)
	r.decoder.Reset(&r.text, opts...)
	value, err := r.decoder.ReadValue()
	r.text = bytes.Buffer{}
	r.decoder.Reset(&r.text) // lets go of v
	return value, err
}

// lenient are the options under which duplicate names and invalid UTF-8 pass.
func lenient() []jsontext.Options {
	return []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
}

// members ranges over the members of object v in the order of the wire.
func members(v jsontext.Value) iter.Seq2[string, jsontext.Value] {
	return func(yield func(string, jsontext.Value) bool) {
		for w := walk(v, '{'); ; {
			quoted, value, ok := w.Member()
			if !ok {
				return
			}
			name := known(quoted)
			if name == "" {
				if name, ok = plain(quoted); !ok {
					return
				}
			}
			if !yield(name, value) {
				return
			}
		}
	}
}

// known returns the name itself where it is one of those that nearly every
// message has, without making a new text of it, else "".
func known(name []byte) string {
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

// elements ranges over the elements of array v.
func elements(v jsontext.Value) iter.Seq[jsontext.Value] {
	return func(yield func(jsontext.Value) bool) {
		for w := walk(v, '['); ; {
			e, ok := w.Element()
			if !ok || !yield(e) {
				return
			}
		}
	}
}

// walk returns a walk through v if that begins with opening, else through
// nothing.
func walk(v jsontext.Value, opening byte) Walk {
	v = bytes.TrimLeft(v, space)
	if len(v) == 0 || v[0] != opening {
		return Walk{}
	}
	return Inside(v)
}

// longText is the size in bytes from which it costs less to keep a whole message
// than a copy of one of its strings.
const longText = 64 << 10

// plain returns the text that stands between the quotes of a string, and
// whether it can be read; what is not UTF-8 in it becomes U+FFFD. A long text is
// not copied: it is a part of the message, whose bytes nothing alters.
func plain(s []byte) (string, bool) {
	if bytes.IndexByte(s, '\\') < 0 && utf8.Valid(s) {
		if len(s) > longText {
			return unsafe.String(unsafe.SliceData(s), len(s)), true
		}
		return string(s), true
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(slices.Concat([]byte{'"'}, s, []byte{'"'})), lenient()...)
	tok, err := d.ReadToken()
	if err != nil {
		return "", false
	}
	return tok.String(), true
}

// named reports whether the name between quotes is the wanted one.
func named(name []byte, wanted string) bool {
	if bytes.IndexByte(name, '\\') < 0 && utf8.Valid(name) {
		return string(name) == wanted
	}
	text, ok := plain(name)
	return ok && text == wanted
}

// Members returns the names of the members of object v in the order of the
// wire, one that occurs twice twice, and their raw values, the last one of
// such a name; nil when v is no object.
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

// MayName reports whether a member of this name may stand somewhere in v: most
// values have none, and to look for its bytes costs far less than to read v.
// Where there are escapes it may be written with them.
func MayName(v jsontext.Value, name string) bool {
	return bytes.Contains(v, []byte(name)) || bytes.Contains(v, []byte(`\u`))
}

// Object writes what Members returns, changed or not, as an object again: the
// members in the order of names, each once.
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

// Elements returns the raw elements of array v; nil when v is no array.
func Elements(v jsontext.Value) []jsontext.Value {
	var out []jsontext.Value
	for e := range elements(v) {
		out = append(out, e)
	}
	return out
}

// Text returns the string that v is, and whether it is one; what is not
// UTF-8 in it becomes U+FFFD.
func Text(v jsontext.Value) (string, bool) {
	if v.Kind() != '"' {
		return "", false
	}
	v = bytes.Trim(v, space)
	if len(v) < 2 || v[len(v)-1] != '"' {
		return "", false
	}
	return plain(v[1 : len(v)-1])
}

// Integer returns the integer that v is, and whether it is one that fits;
// 1.0 and 1e2 are integers.
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

// At returns the raw value that a JSON pointer (RFC 6901) names inside v,
// or nil where there is none; of members with the same name it is the last.
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
		if v = step(v, part); v == nil {
			return nil
		}
	}
	return v
}

// step returns the member or element that part names, or nil.
func step(v jsontext.Value, part string) jsontext.Value {
	switch v.Kind() {
	case '{':
		var found jsontext.Value
		for w := walk(v, '{'); ; {
			name, value, ok := w.Member()
			if !ok {
				return found
			}
			if named(name, part) {
				found = value
			}
		}
	case '[':
		index, err := strconv.Atoi(part)
		if err != nil || strconv.Itoa(index) != part { // 01, +1 and -0 are no indexes
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

// Error is the error member of a response as far as it could be read.
type Error struct {
	Code    jsontext.Value // raw, nil when absent
	Message jsontext.Value // raw, nil when absent
	Data    jsontext.Value // raw, nil when absent
}

// Error returns the error member, and whether there is one that is an object.
func (m *Message) Error() (Error, bool) {
	v := m.Members["error"]
	if v.Kind() != '{' {
		return Error{}, false
	}
	return Error{At(v, "/code"), At(v, "/message"), At(v, "/data")}, true
}

// ErrorCode returns the code of an error response, and whether it has an
// integer one. The text of an integer is taken for it, as who writes that means
// the same code: that it is a text is a mistake by itself.
func (m *Message) ErrorCode() (int64, bool) {
	code := At(m.Members["error"], "/code")
	if text, ok := Text(code); ok {
		code = jsontext.Value(text)
	}
	return Integer(code)
}
