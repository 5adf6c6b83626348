package client

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// TestEndedExchange checks that a request with a limit does not wait for the limit, nor for a fence,
// once its HTTP exchange has ended without a response.
func TestEndedExchange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := Open(t.Context(), &acceptingServer{over: spec.StreamableHTTP}, Options{Revision: spec.V20251125, Timeout: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.started.Store(true)
		began := time.Now()
		r := c.Do(t.Context(), spec.MethodToolsCall, nil, Within(3*time.Second))
		if took := time.Since(began); !errors.Is(r.Err, ErrUnanswered) || took > 100*time.Millisecond {
			t.Errorf("after %v: %v", took, r.Err)
		}
	})
}

// TestStalledServer checks that a request with a limit waits on while the server responds to nothing,
// because then the machine is busy, but not once it has responded to a later request.
func TestStalledServer(t *testing.T) {
	const limit = 3 * time.Second
	for _, test := range []struct {
		name   string
		stall  time.Duration // for which the server responds to nothing
		silent bool          // about the request itself
		want   error
	}{
		{"for less than the limit", 2 * time.Second, false, nil},
		{"for more than the limit", 5 * time.Second, false, nil},
		{"not at all, but it ignores the request", 0, true, ErrUnanswered},
		{"for more than the limit, and it ignores the request", 5 * time.Second, true, ErrUnanswered},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				server := &scripted{on: func(s *scripted, m *wire.Message) {
					if m.Kind == wire.Request && !(test.silent && m.Method == spec.MethodToolsCall) {
						s.runAfter(max(0, test.stall-time.Since(began)), func() { s.write(normalResponse(m)) })
					}
				}}
				c, err := Open(t.Context(), server, Options{Revision: spec.V20251125, Timeout: 10 * time.Second})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				c.started.Store(true)
				r := c.Do(t.Context(), spec.MethodToolsCall, nil, Within(limit))
				if !errors.Is(r.Err, test.want) || r.Sent == nil {
					t.Errorf("after %v: sent %v, %v", time.Since(began), r.Sent, r.Err)
				}
				if took := time.Since(began); took > max(limit, test.stall)+4*time.Second {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}
