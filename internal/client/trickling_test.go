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
)

// tricklingServer is a server over HTTP that answers each POST with a status, and never ends the body.
type tricklingServer struct {
	refusingServer
	status string
}

func (s *tricklingServer) Send(_ context.Context, frames ...[]byte) error {
	for _, f := range frames {
		n := s.begin("POST")
		s.add(n, transcript.Event{Kind: transcript.Sent, Raw: f})
		s.add(n, transcript.Event{Kind: transcript.Responded, Raw: []byte("HTTP/1.1 " + s.status)})
	}
	return nil
}

func (s *tricklingServer) Dial(ctx context.Context, rec *transcript.Transcript) (transport.Link, error) {
	_, err := s.scripted.Dial(ctx, rec)
	return s, err
}

// TestInitializeWithoutEndOfBody checks how long the client waits for the rest of a body: after an
// error status as long as for a request, after a success status as long as for a start, because a
// server that has opened a stream may still be starting.
func TestInitializeWithoutEndOfBody(t *testing.T) {
	for _, c := range []struct {
		status string
		took   time.Duration
	}{
		{"401 Unauthorized", 10 * time.Second},
		{"503 Service Unavailable", 10 * time.Second},
		{"200 OK", time.Minute},
	} {
		t.Run(c.status, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conv, err := Open(t.Context(), &tricklingServer{status: c.status}, Options{Revision: spec.V20251125})
				if err != nil {
					t.Fatal(err)
				}
				defer conv.Close()
				began := time.Now()
				r := conv.Initialize(t.Context())
				if took := time.Since(began); took != c.took || !errors.Is(r.Err, ErrUnanswered) {
					t.Errorf("initialize took %v and ended with %v", took, r.Err)
				}
			})
		})
	}
}
