package realservers

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
	"github.com/mcp-conform/mcp-conform/internal/transport/sse"
	"github.com/mcp-conform/mcp-conform/internal/transport/started"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	"github.com/mcp-conform/mcp-conform/internal/transport/streamablehttp"
)

// httpServer is a server that is started to listen on a port.
type httpServer struct {
	server
	over spec.Transport
	path string
	// reach returns how to reach the server at u; nil if that takes nothing special.
	reach func(u *url.URL) exchange.Reach
}

// dialer returns a dialer that starts the server. Closing the dialer stops it.
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
		URL:           func(picked string) (*url.URL, error) { return url.Parse("http://127.0.0.1:" + picked + s.path) },
		NeedsFreePort: true, Ready: 60 * time.Second,
	})
	return starter.Dialer(nil, s.over, func(u *url.URL) transport.Dialer {
		reach := exchange.Reach{}
		if s.reach != nil {
			reach = s.reach(u)
		}
		if s.over == spec.SSE {
			return sse.NewDialer(u, reach)
		}
		return streamablehttp.NewDialer(u, reach)
	})
}

// TestVerdictsOverHTTP judges servers concurrently, because the runs mostly
// wait.
func TestVerdictsOverHTTP(t *testing.T) {
	for _, s := range httpServers() {
		t.Run(s.name, func(t *testing.T) {
			if *figures == "" {
				t.Parallel()
			}
			dialer := s.dialer(t)
			defer dialer.Close()
			measured := measure()
			p, err := s.judge(t, dialer, measured)
			if err != nil {
				t.Fatal(err)
			}
			dialer.Close()
			measured.note(s.name, p)
			keeps(t, p)
			s.judgeQuickly(t, dialer, p)
			hold(t, s.name, p)
		})
	}
}
