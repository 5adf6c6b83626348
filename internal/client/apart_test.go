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

// accepting is a server over HTTP that says 202 to everything, and answers
// some time later elsewhere.
type accepting struct {
	scripted
	over spec.Transport
}

func (a *accepting) Transport() spec.Transport { return a.over }

func (a *accepting) Dial(ctx context.Context, rec *transcript.Transcript) (transport.Link, error) {
	_, err := a.scripted.Dial(ctx, rec)
	return a, err
}

func (a *accepting) Send(_ context.Context, frames ...[]byte) error {
	for _, f := range frames {
		n := a.rec.Add(transcript.Event{Kind: transcript.Requested, Raw: []byte("POST /m HTTP/1.1\nHost: h")}).Exchange
		a.rec.Add(transcript.Event{Kind: transcript.Sent, Exchange: n, Raw: f})
		a.rec.Add(transcript.Event{Kind: transcript.Responded, Exchange: n, Raw: []byte("HTTP/1.1 202 Accepted")})
		a.rec.Add(transcript.Event{Kind: transcript.Over, Exchange: n, How: transcript.Complete})
		for _, m := range wire.Parse(f).Messages {
			a.later(5*time.Second, func() { a.say(sound(&m)) })
		}
	}
	return nil
}

// Over HTTP+SSE answers come on another stream than that of the POST, and are
// waited for; over Streamable HTTP they can come nowhere else.
func TestAnswersApart(t *testing.T) {
	for over, want := range map[spec.Transport]error{spec.SSE: nil, spec.StreamableHTTP: ErrUnanswered} {
		t.Run(string(over), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, err := Open(t.Context(), &accepting{over: over}, Options{Revision: spec.V20241105, Timeout: 10 * time.Second})
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
