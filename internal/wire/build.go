package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
)

// NewRequest returns the bytes of a request, or of a notification if the id is absent. If params is
// nil, the params member is left out. Params are encoded by the function JSON.
func NewRequest(id ID, method string, params any) []byte {
	return buildMessage(id, method, params)
}

// NewNotification returns the bytes of a notification. If params is nil, the params member is left
// out. Params are encoded by the function JSON.
func NewNotification(method string, params any) []byte {
	return buildMessage(ID{}, method, params)
}

func buildMessage(id ID, method string, params any) []byte {
	var b bytes.Buffer
	b.WriteString(`{"jsonrpc":"2.0"`)
	if id.IsPresent() {
		b.WriteString(`,"id":` + id.Raw())
	}
	b.WriteString(`,"method":`)
	b.Write(Quote(method))
	if params != nil {
		b.WriteString(`,"params":`)
		b.Write(encodeParams(params))
	}
	b.WriteByte('}')
	return b.Bytes()
}

// encodeParams returns params as JSON. It puts _meta at the end, because reports show the beginning
// of long messages, and the other members say more about a request.
func encodeParams(params any) []byte {
	members, ok := params.(map[string]any)
	meta, has := members["_meta"]
	if !ok || !has || len(members) == 1 {
		return JSON(params)
	}
	rest := maps.Clone(members)
	delete(rest, "_meta")
	b := bytes.TrimSuffix(JSON(rest), []byte("}"))
	return fmt.Appendf(b, `,"_meta":%s}`, JSON(meta))
}

// NewResult returns the bytes of a successful response. A nil result and an absent id are written
// as null.
func NewResult(id ID, result any) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, idOrNull(id), JSON(result))
}

// NewError returns the bytes of an error response. Nil data is left out. An absent id is written as
// null, as JSON-RPC 2.0 requires.
func NewError(id ID, code int64, message string, data any) []byte {
	b := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s`, idOrNull(id), code, Quote(message))
	if data != nil {
		b = append(append(b, `,"data":`...), JSON(data)...)
	}
	return append(b, "}}"...)
}

func idOrNull(id ID) string {
	if !id.IsPresent() {
		return "null"
	}
	return id.Raw()
}

// JSON encodes v like encoding/json, but without HTML escaping. Raw JSON (jsontext.Value,
// json.RawMessage) is compacted, and invalid UTF-8 becomes U+FFFD. A value that can't be encoded is
// a bug in the caller, so JSON panics.
func JSON(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("wire: can't encode %T: %v", v, err))
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
