package realservers

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/judges"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
	"github.com/mcp-conform/mcp-conform/internal/transport/sse"
	"github.com/mcp-conform/mcp-conform/internal/transport/started"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	"github.com/mcp-conform/mcp-conform/internal/transport/streamablehttp"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/suites"
)

// leastKept is well below what each server was seen to keep in a revision.
const leastKept = 80

// port stands for the port that is picked for a server.
const port = "{port}"

// httpServer is one that is started to listen at a port.
type httpServer struct {
	server
	over      spec.Transport
	path      string
	revisions []spec.Revision
}

// httpServers are judged in the first revision of Streamable HTTP, which alone
// has batches, in the last, or in both: each as far as it costs little.
func httpServers() []httpServer {
	const (
		everything   = "./node_modules/@modelcontextprotocol/server-everything/dist/index.js"
		supergateway = "./node_modules/supergateway/dist/index.js"
		mcpGo        = "./mcp-go/mcp-go-server"
	)
	first, last, legacy := spec.V20250326, spec.V20251125, spec.V20241105
	behind := func(more ...string) []string {
		return append([]string{"node", supergateway, "--stdio", mcpGo, "--port", port, "--logLevel", "none", "--outputTransport"}, more...)
	}
	goSDK, goServer := []string{"./go-sdk/go-sdk-server", "-http", "127.0.0.1:" + port}, []string{mcpGo, "-http", "127.0.0.1:" + port}
	at := func(name string, argv []string, env []string, over spec.Transport, path string, in ...spec.Revision) httpServer {
		return httpServer{server: server{name: name, argv: argv, env: env}, over: over, path: path, revisions: in}
	}
	return []httpServer{
		at("server-everything-http", []string{"node", everything, "streamableHttp"}, []string{"PORT=" + port}, spec.StreamableHTTP, "/mcp", last),
		at("server-everything-sse", []string{"node", everything, "sse"}, []string{"PORT=" + port}, spec.SSE, "/sse", legacy),
		at("go-sdk-http", goSDK, nil, spec.StreamableHTTP, "/mcp", last),
		at("go-sdk-http-resumable", goSDK, nil, spec.StreamableHTTP, "/resumable", last),
		at("go-sdk-http-stateless", goSDK, nil, spec.StreamableHTTP, "/stateless", first, last),
		at("go-sdk-sse", goSDK, nil, spec.SSE, "/sse", legacy),
		at("mcp-go-http", goServer, nil, spec.StreamableHTTP, "/mcp", first, last),
		at("mcp-go-http-default", goServer, nil, spec.StreamableHTTP, "/default", last),
		at("mcp-go-sse", goServer, nil, spec.SSE, "/sse", legacy),
		at("supergateway-http", behind("streamableHttp", "--stateful"), nil, spec.StreamableHTTP, "/mcp", first),
		at("supergateway-sse", behind("sse"), nil, spec.SSE, "/sse", legacy),
	}
}

// dialer returns a dialer that starts the server, and what ends it.
func (s httpServer) dialer(t *testing.T) *started.Dialer {
	t.Helper()
	command := s.command(t)
	starter := started.NewStarter(started.Options{
		Command: func(picked string) stdio.Command {
			c := stdio.Command{Dir: command.Dir}
			for _, word := range command.Argv {
				c.Argv = append(c.Argv, strings.ReplaceAll(word, port, picked))
			}
			for _, kv := range command.Env {
				c.Env = append(c.Env, strings.ReplaceAll(kv, port, picked))
			}
			return c
		},
		URL:    func(picked string) (*url.URL, error) { return url.Parse("http://127.0.0.1:" + picked + s.path) },
		Ported: true, Ready: 60 * time.Second,
	})
	return starter.Dialer(nil, s.over, func(u *url.URL) transport.Dialer {
		if s.over == spec.SSE {
			return sse.NewDialer(u, exchange.Reach{})
		}
		return streamablehttp.NewDialer(u, exchange.Reach{})
	})
}

func (s httpServer) judge(t *testing.T) (*verdict.Report, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	dialer := s.dialer(t)
	defer dialer.Close()
	return engine.Run(ctx, engine.Options{
		Dialer: dialer, Cases: suites.Cases(), Rules: judges.All(), Target: "the server", Revisions: s.revisions,
		StartTimeout: 60 * time.Second, Timeout: 30 * time.Second,
	})
}

// TestVerdictsOverHTTP has servers side by side, as they wait for most of the
// time.
func TestVerdictsOverHTTP(t *testing.T) {
	for _, s := range httpServers() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p, err := s.judge(t)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range p.Revisions {
				if n := p.Count(r, verdict.Kept); n < leastKept {
					t.Errorf("only %d requirements were seen kept in %s", n, r)
				}
			}
			hold(t, s.name, p)
		})
	}
}
