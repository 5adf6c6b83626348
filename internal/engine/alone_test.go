package engine_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A forgetful is a process that all its links share. Once a client has sent initialize, it no
// longer serves server/discover to any client.
type forgetful struct {
	transport.Dialer
	lists       bool // whether server/discover lists the stateless revision before that
	initialized atomic.Bool
}

func newForgetful(lists bool) *forgetful {
	f := &forgetful{lists: lists}
	f.Dialer = (&toy{answer: func(_ int64, m *wire.Message) []byte {
		switch {
		case m.Method == spec.MethodInitialize:
			f.initialized.Store(true)
		case m.Method == spec.MethodDiscover && f.lists && !f.initialized.Load():
			return wire.NewResult(m.ID, map[string]any{"resultType": "complete", "supportedVersions": []string{"2026-07-28"}, "capabilities": map[string]any{}})
		case m.Method == spec.MethodDiscover:
			return wire.NewError(m.ID, int64(spec.CodeMethodNotFound), "no such method", nil)
		}
		return nil
	}}).dialer()
	return f
}

func (f *forgetful) FreshDialer() (d transport.Dialer, stop func()) {
	return newForgetful(f.lists), func() {}
}
func (f *forgetful) IsLimitedToOne() bool        { return false }
func (f *forgetful) Endings() []transport.Ending { return nil }

// TestRevisionAlone checks that the stateless revision is judged, on processes of its own, if the
// server serves it only until a client sends initialize.
func TestRevisionAlone(t *testing.T) {
	t.Parallel()
	discovering := func(id string, shares bool) suite.Case {
		return suite.Case{
			ID: id, Title: "Sends server/discover", Requirements: []string{"discover.implemented"}, SharesConversation: shares, Exclusive: !shares,
			Run: func(ctx context.Context, t *suite.T) {
				if t.Conversation(ctx).Discover(ctx).Succeeded() {
					t.MarkKept("discover.implemented")
				}
			},
		}
	}
	for name, test := range map[string]struct {
		lists, quick bool
		want         []string
	}{
		"listed at first": {true, false, []string{"discover.implemented 2026-07-28 kept"}},
		"never listed":    {false, false, nil},
		"a quick run":     {true, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, err := engine.Run(t.Context(), engine.Options{
					Dialer: newForgetful(test.lists), Quick: test.quick,
					Cases: []suite.Case{pinging(true), discovering("discover.shared", true), discovering("discover.alone", false)},
				})
				if err != nil {
					t.Fatal(err)
				}
				got := slices.DeleteFunc(summary(p), func(s string) bool { return !strings.Contains(s, string(spec.V20260728)) })
				if diff := cmp.Diff(test.want, got); diff != "" && len(test.want)+len(got) > 0 {
					t.Errorf("verdicts (-want +got):\n%s", diff)
				}
				if told := strings.Contains(strings.Join(p.Notices, "\n"), "only until a client sends initialize"); told != (test.want != nil) {
					t.Errorf("notices: %q", p.Notices)
				}
			})
		})
	}
}
