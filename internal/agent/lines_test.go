package agent

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

func TestLines(t *testing.T) {
	for _, one := range []struct{ line, refusal string }{
		{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, ""},
		{`{"jsonrpc":"2.0","id":"a","method":"ping"}`, ""},
		{`{"jsonrpc":"2.0","id":9007199254740991,"method":"ping"}`, ""},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, ""},
		{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `"id":1.5,"error":{"code":-32600`},
		{`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, `"id":9007199254740993,"error":{"code":-32600`},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, `"id":null,"error":{"code":-32600`},
		{`{"jsonrpc":"2.0","id":null,"method":"ping"}`, `"id":null,"error":{"code":-32600`},
		{`{"id":1,"method":"ping"}`, `"id":1,"error":{"code":-32600`},
		{`{`, `"id":null,"error":{"code":-32700`},
		{`5`, `"id":null,"error":{"code":-32600`},
		{`[]`, `"id":null,"error":{"code":-32600`},
		{`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `"id":null,"error":{"code":-32600`},
	} {
		m, refusal := parse([]byte(one.line))
		if (m == nil) == (one.refusal == "") || !strings.Contains(string(refusal), one.refusal) {
			t.Errorf("%s: message %v, refusal %s; want %q", one.line, m, refusal, one.refusal)
		}
		if r, ok := m.(*jsonrpc.Request); ok && r.ID.IsValid() != strings.Contains(one.line, `"id"`) {
			t.Errorf("%s: the id is %v", one.line, r.ID)
		}
	}
}
