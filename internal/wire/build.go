package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// NewRequest returns the bytes of a request, which is a notification when the
// id is absent. Params may be nil (the member is left out), or anything that
// JSON takes.
func NewRequest(id ID, method string, params any) []byte {
	return build(id, method, params)
}

// NewNotification returns the bytes of a notification; params are as in
// NewRequest.
func NewNotification(method string, params any) []byte {
	return build(ID{}, method, params)
}

func build(id ID, method string, params any) []byte {
	var b bytes.Buffer
	b.WriteString(`{"jsonrpc":"2.0"`)
	if id.Present() {
		b.WriteString(`,"id":` + id.Raw())
	}
	b.WriteString(`,"method":`)
	b.Write(Quote(method))
	if params != nil {
		b.WriteString(`,"params":`)
		b.Write(JSON(params))
	}
	b.WriteByte('}')
	return b.Bytes()
}

// NewResult returns the bytes of a successful response; a nil result, and an
// absent id, are written as null.
func NewResult(id ID, result any) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, idOrNull(id), JSON(result))
}

// NewError returns the bytes of an error response; data may be nil (left out).
// An absent id is written as null, as JSON-RPC 2.0 has it.
func NewError(id ID, code int64, message string, data any) []byte {
	b := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s`, idOrNull(id), code, Quote(message))
	if data != nil {
		b = append(append(b, `,"data":`...), JSON(data)...)
	}
	return append(b, "}}"...)
}

func idOrNull(id ID) string {
	if !id.Present() {
		return "null"
	}
	return id.Raw()
}

// JSON encodes v as encoding/json does, but without HTML escaping: raw JSON
// (jsontext.Value, json.RawMessage) is compacted, what is not UTF-8 in a string
// becomes U+FFFD. A value that can't be encoded is a defect of the caller, so
// it panics.
func JSON(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("wire: can't encode %T: %v", v, err))
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
