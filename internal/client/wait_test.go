package client

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// TestFirstWaitReleasesTheSlot checks that the wait for the first response is work for a process,
// which starts, and none for a server at a URL.
func TestFirstWaitReleasesTheSlot(t *testing.T) {
	late := func(s *scripted, m *wire.Message) {
		time.AfterFunc(time.Second, func() { s.write(wire.NewResult(m.ID, map[string]any{})) })
	}
	for _, c := range []struct {
		name   string
		dialer transport.Dialer
		want   int
	}{
		{"process", &scripted{on: late}, 0},
		{"URL", &unansweredPosts{scripted: scripted{on: late}}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				waits := &idleCounter{}
				conv, err := Open(t.Context(), c.dialer, Options{Revision: spec.V20251125, Idle: waits.wait})
				if err != nil {
					t.Fatal(err)
				}
				defer conv.Close()
				if r := conv.Do(t.Context(), spec.MethodPing, nil); r.Err != nil {
					t.Error(r.Err)
				}
				if waits.begun != c.want || waits.resumed != c.want {
					t.Errorf("the slot was released %d times and taken again %d times, not %d", waits.begun, waits.resumed, c.want)
				}
			})
		})
	}
}
