package refserver

import (
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// object is a JSON object that is being built or was read.
type object = map[string]any

// fields are the members of a params object, raw.
type fields map[string]jsontext.Value

func (c *Call) fields() fields {
	_, members := wire.Members(c.Params)
	return members
}

// text returns a required string.
func (f fields) text(name string) (string, *Error) {
	v, ok := wire.Text(f[name])
	if !ok {
		return "", invalidParams("%s must be a string", name)
	}
	return v, nil
}

// object returns the members of an object; none when it is absent.
func (f fields) object(name string) (fields, *Error) {
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

// decode turns a JSON object into maps; nil when it is none.
func decode(v jsontext.Value) object {
	var o object
	if json.Unmarshal(v, &o) != nil {
		return nil
	}
	return o
}
