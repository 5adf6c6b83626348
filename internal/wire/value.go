package wire

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

func decoder(v jsontext.Value) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewReader(v), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// members returns the names of an object's members in order and their values.
func members(v jsontext.Value) (names []string, values map[string]jsontext.Value) {
	values = map[string]jsontext.Value{}
	dec := decoder(v)
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return nil, nil
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return names, values
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return names, values
		}
		names = append(names, key)
		values[key] = value.Clone()
	}
	return names, values
}

// Members returns the names of the members of object v in the order of the
// wire, and their raw values; nil when v is no object.
func Members(v jsontext.Value) ([]string, map[string]jsontext.Value) {
	if v.Kind() != '{' {
		return nil, nil
	}
	return members(v)
}

// Elements returns the raw elements of array v; nil when v is no array.
func Elements(v jsontext.Value) []jsontext.Value {
	if v.Kind() != '[' {
		return nil
	}
	dec := decoder(v)
	_, _ = dec.ReadToken()
	var out []jsontext.Value
	for dec.PeekKind() != ']' {
		e, err := dec.ReadValue()
		if err != nil {
			break
		}
		out = append(out, e.Clone())
	}
	return out
}

// Text returns the string that v is, and whether it is one.
func Text(v jsontext.Value) (string, bool) {
	if v.Kind() != '"' {
		return "", false
	}
	b, err := jsontext.AppendUnquote(nil, bytes.TrimSpace(v))
	if err != nil && len(b) == 0 {
		return "", false
	}
	return string(b), true
}

// Integer returns the integer that v is, and whether it is one that fits;
// 1.0 and 1e2 are integers.
func Integer(v jsontext.Value) (int64, bool) {
	text := string(bytes.TrimSpace(v))
	if !isInteger(text) {
		return 0, false
	}
	n, err := strconv.ParseInt(canonicalInteger(text), 10, 64)
	return n, err == nil
}

// At returns the raw value that a JSON pointer (RFC 6901) names inside v,
// or nil where there is none.
func At(v jsontext.Value, pointer string) jsontext.Value {
	for _, part := range strings.Split(pointer, "/")[1:] {
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		switch v.Kind() {
		case '{':
			_, values := members(v)
			v = values[part]
		case '[':
			i, err := strconv.Atoi(part)
			elements := Elements(v)
			if err != nil || i < 0 || i >= len(elements) {
				return nil
			}
			v = elements[i]
		default:
			return nil
		}
	}
	return v
}

// Error is the error member of a response as far as it could be read.
type Error struct {
	Code    jsontext.Value // raw, nil when absent
	Message jsontext.Value // raw, nil when absent
	Data    jsontext.Value // raw, nil when absent
}

// Error returns the error member, and whether there is one that is an object.
func (m *Message) Error() (Error, bool) {
	e := m.Members["error"]
	if e.Kind() != '{' {
		return Error{}, false
	}
	_, v := members(e)
	return Error{v["code"], v["message"], v["data"]}, true
}

// ErrorCode returns the code of an error response, and whether it has an
// integer one.
func (m *Message) ErrorCode() (int64, bool) {
	e, ok := m.Error()
	if !ok {
		return 0, false
	}
	return Integer(e.Code)
}
