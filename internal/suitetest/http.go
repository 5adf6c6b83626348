package suitetest

import (
	"context"
	"net/http/httptest"
	"net/url"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
	"github.com/mcp-conform/mcp-conform/internal/transport/sse"
	"github.com/mcp-conform/mcp-conform/internal/transport/streamablehttp"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// ReferenceOver returns a dialer for a reference server in this process that is
// reached over a transport; over HTTP it listens on the loopback interface
// until stop is called, and one server has all sessions.
func ReferenceOver(over spec.Transport, o refserver.Options) (d transport.Dialer, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var server *httptest.Server
	switch over {
	case spec.StreamableHTTP:
		server = httptest.NewServer(refserver.NewHTTPHandler(ctx, o))
	case spec.SSE:
		server = httptest.NewServer(refserver.NewSSEHandler(ctx, o))
	default:
		cancel()
		return Reference(o), func() {}
	}
	return at(server, over), func() {
		cancel()
		server.CloseClientConnections()
		server.Close()
	}
}

func at(server *httptest.Server, over spec.Transport) transport.Dialer {
	u, err := url.Parse(server.URL + "/mcp")
	if err != nil {
		panic(err) // it is ours
	}
	return dialerFor(u, over)
}

// dialerFor returns a dialer for the server at a URL.
func dialerFor(u *url.URL, over spec.Transport) transport.Dialer {
	if over == spec.SSE {
		return sse.NewDialer(u, exchange.Reach{})
	}
	return streamablehttp.NewDialer(u, exchange.Reach{})
}
