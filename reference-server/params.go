package refserver

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// An object is a JSON object.
type object = map[string]any

// fields are the members of a JSON object as raw JSON.
type fields map[string]jsontext.Value

func (c *Call) fields() fields {
	_, members := wire.Members(c.Params)
	return members
}

// requiredString returns the value of a string member. It returns an error if the member is absent
// or not a string.
func (f fields) requiredString(name string) (string, *Error) {
	v, ok := wire.Text(f[name])
	if !ok {
		return "", invalidParams("%s must be a string", name)
	}
	return v, nil
}

// optionalObject returns the members of the object with the given name, or nil if f lacks it. It
// returns an error if the value is not an object.
func (f fields) optionalObject(name string) (fields, *Error) {
	v, ok := f[name]
	if !ok {
		return nil, nil
	}
	if v.Kind() != '{' {
		return nil, invalidParams("%s must be an object", name)
	}
	_, members := wire.Members(v)
	return members, nil
}

// decodeObject decodes a JSON object. It returns nil if v is not an object.
func decodeObject(v jsontext.Value) object {
	var o object
	d := json.NewDecoder(bytes.NewReader(v))
	d.UseNumber() // a number may exceed the range of a float64
	if d.Decode(&o) != nil {
		return nil
	}
	return o
}
