package agent

import (
	"bytes"
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

// TestNoResponseAfterCancellation checks that only the response to a request that is open,
// cancelled and not initialize is dropped.
func TestNoResponseAfterCancellation(t *testing.T) {
	const ping, initialize, cancelled = `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"method":"initialize"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`
	for name, c := range map[string]struct {
		lines []string
		sent  bool
	}{
		"not cancelled":    {[]string{ping}, true},
		"cancelled":        {[]string{ping, cancelled}, false},
		"cancelled before": {[]string{cancelled, ping}, true},
		"another":          {[]string{ping, strings.ReplaceAll(cancelled, "1}", "2}")}, true},
		"initialize":       {[]string{initialize, cancelled}, true},
		"the id again":     {[]string{ping, cancelled, ping}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			conn, err := (&lineTransport{in: strings.NewReader(strings.Join(c.lines, "\n")), out: &out, end: func() {}}).Connect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for range c.lines {
				if _, err := conn.Read(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			response, _ := parse([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
			if err := conn.Write(t.Context(), response); err != nil {
				t.Fatal(err)
			}
			if sent := out.Len() > 0; sent != c.sent {
				t.Errorf("it writes %q", out.String())
			}
			if open := len(conn.(*lineConn).open); open > 0 {
				t.Errorf("%d requests are still open", open)
			}
		})
	}
}
