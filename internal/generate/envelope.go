package generate

import (
	"fmt"
	"strconv"

	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Spellings draws one of the ways to write the message on one line: with its members
// in any order, and with extra spaces.
func Spellings(m script.Message) *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		if !drawChance(t, 25) {
			return m.Bytes()
		}
		members := []string{`"jsonrpc":"2.0"`, `"method":` + string(wire.Quote(m.Method))}
		if m.ID.IsPresent() {
			members = append(members, `"id":`+m.ID.Raw())
		}
		if m.Params != nil {
			members = append(members, `"params":`+string(m.Params))
		}
		space := rapid.SampledFrom([]string{"", " ", "\t", "  "}).Draw(t, "space")
		out := []byte("{" + space)
		for i, member := range rapid.Permutation(members).Draw(t, "order") {
			if i > 0 {
				out = append(out, ","+space...)
			}
			out = append(out, member...)
		}
		return append(out, space+"}"...)
	})
}

// IDs draws ids that no other request of a conversation has. Small integers are reserved for
// requests that are not drawn, such as pings.
type IDs struct {
	used map[string]bool
	n    int64
}

// firstID is the smallest positive integer that is drawn as an id.
const firstID = 1001

// Next draws a new valid id: an integer or any string, possibly one that consists of the digits of
// an integer id.
func (ids *IDs) Next(t *rapid.T) wire.ID {
	for {
		ids.n++
		if id := ids.draw(t); ids.markUsed(id) {
			return id
		}
	}
}

// markUsed marks the id as used, and reports whether it is new.
func (ids *IDs) markUsed(id wire.ID) bool {
	if ids.used == nil {
		ids.used = map[string]bool{}
	}
	was := ids.used[id.Key()]
	ids.used[id.Key()] = true
	return !was
}

func (ids *IDs) draw(t *rapid.T) wire.ID {
	plain := firstID + ids.n - 1
	switch n := percent.Draw(t, "kind of id"); {
	case n < 55:
		return wire.IntID(plain)
	case n < 70:
		return wire.StringID(strconv.FormatInt(plain-1, 10))
	case n < 76:
		return wire.IntID(-plain)
	case n < 80:
		return wire.IntID(1<<31 - 2 + ids.n)
	case n < 84:
		return wire.IntID(1<<53 - ids.n)
	case n < 92:
		return wire.StringID(anyText.Draw(t, "id"))
	default:
		return wire.StringID(fmt.Sprintf("id-%d", plain))
	}
}

// Wrong is a message that is not a valid JSON-RPC request. Why describes the defect.
type Wrong struct {
	Why   string
	Bytes []byte
}

// wrongEnvelopes are messages that are not valid requests. %s is the id.
var wrongEnvelopes = []struct{ why, text string }{
	{"no jsonrpc", `{"id":%s,"method":"ping"}`},
	{"another version of JSON-RPC", `{"jsonrpc":"1.0","id":%s,"method":"ping"}`},
	{"the version as a number", `{"jsonrpc":2.0,"id":%s,"method":"ping"}`},
	{"no method", `{"jsonrpc":"2.0","id":%s}`},
	{"a method that is a number", `{"jsonrpc":"2.0","id":%s,"method":1}`},
	{"a method that is null", `{"jsonrpc":"2.0","id":%s,"method":null}`},
	{"params that are a text", `{"jsonrpc":"2.0","id":%s,"method":"ping","params":"x"}`},
	{"params that are an array", `{"jsonrpc":"2.0","id":%s,"method":"ping","params":[1]}`},
	{"params that are null", `{"jsonrpc":"2.0","id":%s,"method":"ping","params":null}`},
	{"an id that is null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`},
	{"an id with a fraction", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`},
	{"an id that is true", `{"jsonrpc":"2.0","id":true,"method":"ping"}`},
	{"an id that is an object", `{"jsonrpc":"2.0","id":{},"method":"ping"}`},
	{"an id that is an array", `{"jsonrpc":"2.0","id":[%s],"method":"ping"}`},
	{"a request that has a result", `{"jsonrpc":"2.0","id":%s,"method":"ping","result":{}}`},
	{"a response to nothing", `{"jsonrpc":"2.0","id":%s,"result":{}}`},
	{"an error for nothing", `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"no"}}`},
	{"an empty object", `{}`},
	{"an empty array", `[]`},
	{"an array of numbers", `[1,2]`},
	{"a text", `"ping"`},
	{"a number", `42`},
	{"null", `null`},
}

// WrongEnvelope draws a message that is not a valid request.
func WrongEnvelope(id wire.ID) *rapid.Generator[Wrong] {
	return rapid.Custom(func(t *rapid.T) Wrong {
		w := rapid.SampledFrom(wrongEnvelopes).Draw(t, "wrong")
		out := []byte(w.text)
		for i := range len(out) - 1 {
			if out[i] == '%' && out[i+1] == 's' {
				return Wrong{w.why, append(append(append([]byte(nil), out[:i]...), id.Raw()...), out[i+2:]...)}
			}
		}
		return Wrong{w.why, out}
	})
}
