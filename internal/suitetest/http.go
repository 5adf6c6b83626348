package suitetest

import (
	"context"
	"net/url"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
	"github.com/mcp-conform/mcp-conform/internal/transport/sse"
	"github.com/mcp-conform/mcp-conform/internal/transport/streamablehttp"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// ReferenceOver returns a dialer for a reference server in this process over a
// transport. Over HTTP, one server on the loopback interface serves all
// sessions until stop is called.
func ReferenceOver(over spec.Transport, o refserver.Options) (d transport.Dialer, stop func()) {
	if over != spec.StreamableHTTP && over != spec.SSE {
		return Reference(o), func() {}
	}
	server, err := refserver.Listen(context.Background(), "127.0.0.1:0", over, o)
	if err != nil {
		panic(err) // the machine has no loopback interface
	}
	return dialerFor(server.URL, over), server.Close
}

// dialerFor returns a dialer for the server at a URL.
func dialerFor(u *url.URL, over spec.Transport) transport.Dialer {
	if over == spec.SSE {
		return sse.NewDialer(u, exchange.Reach{})
	}
	return streamablehttp.NewDialer(u, exchange.Reach{})
}
