package engine

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// over is a dialer that only has a transport.
type over struct {
	transport.Dialer
	transport spec.Transport
}

func (o over) Transport() spec.Transport { return o.transport }

func TestRevisionsWithoutTheTransport(t *testing.T) {
	answer := wire.Parse([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)).Messages[0]
	for _, c := range []struct {
		over  spec.Transport
		chose string
		want  string
	}{
		{spec.StreamableHTTP, "2024-11-05", "the server speaks 2024-11-05, which does not define streamable-http, and no revision that does; --revision 2024-11-05 judges it by that revision anyway"},
		{spec.StreamableHTTP, "2019-01-01", ""},
		{spec.Stdio, "2024-11-05", ""},
	} {
		r := newProber(newSession(Options{Dialer: over{transport: c.over}}))
		if got := r.otherTransportReason([]*probed{{chosen: c.chose, reply: &client.Reply{Message: &answer}}}); got != c.want {
			t.Errorf("%s over %s: %q", c.chose, c.over, got)
		}
	}
}
