package client

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// rateLimitedServer is a server over HTTP that refuses the first request after a moment, because of its
// rate limit, and serves others at once. The request is held back for half a minute, and sent again.
type rateLimitedServer struct {
	acceptingServer
	refused bool
}

func (l *rateLimitedServer) Dial(ctx context.Context, rec *transcript.Transcript) (transport.Link, error) {
	_, err := l.acceptingServer.Dial(ctx, rec)
	return l, err
}

func (l *rateLimitedServer) Send(_ context.Context, frames ...[]byte) error {
	for _, f := range frames {
		n := l.request(f)
		if l.refused {
			l.respond(n, f)
			continue
		}
		l.refused = true
		l.runAfter(time.Millisecond, func() {
			l.rec.Retract(n, "refused")
			release := l.rec.Hold()
			l.runAfter(30*time.Second, func() {
				release()
				l.respond(l.request(f), f)
			})
		})
	}
	return nil
}

func (l *rateLimitedServer) request(f []byte) int {
	n := l.rec.Add(transcript.Event{Kind: transcript.Requested, Raw: []byte("POST /m HTTP/1.1\nHost: h")}).Exchange
	l.rec.Add(transcript.Event{Kind: transcript.Sent, Exchange: n, Raw: f})
	return n
}

// respond responds after a little longer than the refusal takes.
func (l *rateLimitedServer) respond(n int, f []byte) {
	l.runAfter(2*time.Millisecond, func() {
		l.rec.Add(transcript.Event{Kind: transcript.Responded, Exchange: n, Raw: []byte("HTTP/1.1 200 OK")})
		for _, m := range wire.Parse(f).Messages {
			l.rec.Add(transcript.Event{Kind: transcript.Received, Exchange: n, Raw: normalResponse(&m)})
		}
		l.rec.Add(transcript.Event{Kind: transcript.Over, Exchange: n, How: transcript.Complete})
	})
}

// TestRateLimited checks that the client waits for a request that is held back for longer than its
// timeout, that a fence that overtook the request proves nothing, and that the server doesn't look
// slow.
func TestRateLimited(t *testing.T) {
	for name, options := range map[string][]Option{
		"an ordinary request": nil, "a fence after it": {MayIgnore}, "within a limit": {Within(time.Second)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, err := Open(t.Context(), &rateLimitedServer{acceptingServer: acceptingServer{over: spec.StreamableHTTP}}, Options{Revision: spec.V20250618, Timeout: 3 * time.Second})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				c.started.Store(true)
				began := time.Now()
				r := c.Do(t.Context(), spec.MethodPing, nil, options...)
				if !r.Succeeded() || time.Since(began) < 30*time.Second {
					t.Errorf("it ended after %v with %v", time.Since(began), r.Err)
				}
				if r.Sent == nil || c.isIntercepted(r.Sent) || c.Grace() != 100*time.Millisecond {
					t.Errorf("sent: %v; the grace is %v", r.Sent, c.Grace())
				}
				for _, e := range c.Record.From(0) {
					if e.Kind == transcript.GaveUp {
						t.Error("the client gave up")
					}
				}
			})
		})
	}
}
