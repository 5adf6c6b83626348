package client

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// acceptingServer is a server over HTTP that answers each POST with 202, and sends the JSON-RPC
// responses 5 s later outside of the exchange.
type acceptingServer struct {
	scripted
	over spec.Transport
}

func (a *acceptingServer) Transport() spec.Transport { return a.over }

func (a *acceptingServer) Dial(ctx context.Context, rec *transcript.Transcript) (transport.Link, error) {
	_, err := a.scripted.Dial(ctx, rec)
	return a, err
}

func (a *acceptingServer) Send(_ context.Context, frames ...[]byte) error {
	for _, f := range frames {
		n := a.rec.Add(transcript.Event{Kind: transcript.Requested, Raw: []byte("POST /m HTTP/1.1\nHost: h")}).Exchange
		a.rec.Add(transcript.Event{Kind: transcript.Sent, Exchange: n, Raw: f})
		a.rec.Add(transcript.Event{Kind: transcript.Responded, Exchange: n, Raw: []byte("HTTP/1.1 202 Accepted")})
		a.rec.Add(transcript.Event{Kind: transcript.Over, Exchange: n, How: transcript.Complete})
		for _, m := range wire.Parse(f).Messages {
			a.runAfter(5*time.Second, func() { a.write(normalResponse(&m)) })
		}
	}
	return nil
}

// TestResponsesOnOtherStream checks that after a POST with status 202 the client waits for the
// response over HTTP+SSE, where it comes on another stream, and not over Streamable HTTP.
func TestResponsesOnOtherStream(t *testing.T) {
	for over, want := range map[spec.Transport]error{spec.SSE: nil, spec.StreamableHTTP: ErrUnanswered} {
		t.Run(string(over), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, err := Open(t.Context(), &acceptingServer{over: over}, Options{Revision: spec.V20241105, Timeout: 10 * time.Second})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				if r := c.Do(t.Context(), spec.MethodPing, nil); !errors.Is(r.Err, want) {
					t.Errorf("the request ended with %v", r.Err)
				}
			})
		})
	}
}
