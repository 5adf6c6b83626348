package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// TestRetrySkipsWaitsOnceReproduced checks that a retry skips the remaining
// waits once all deviations have recurred. It waits the full time if a rule
// reports only at the end, or if nothing recurred.
func TestRetrySkipsWaitsOnceReproduced(t *testing.T) {
	t.Parallel()
	found := verdict.Deviation{Requirement: pinged, Summary: "pong", Permitted: "{}", Seen: "pong"}
	pongs := func(e *transcript.Event) bool {
		return e.Kind == transcript.Received && strings.Contains(string(e.Raw), "pong")
	}
	atOnce := rules.Fold{OnEvent: func(_ *rules.Session, e *transcript.Event, out *rules.Reporter) {
		if pongs(e) {
			out.Report(found)
		}
	}}
	atEnd := func() rules.Fold {
		pong := false
		return rules.Fold{
			OnEvent: func(_ *rules.Session, e *transcript.Event, _ *rules.Reporter) { pong = pong || pongs(e) },
			AtEnd: func(_ *rules.Session, out *rules.Reporter) {
				if pong {
					out.Report(found)
				}
			},
		}
	}
	for _, x := range []struct {
		name  string
		start func() rules.Fold
		asks  bool
		once  bool // the deviation does not recur
		want  []bool
	}{
		{"a rule that tells at once", rules.WithoutState(atOnce), false, false, []bool{false, true}},
		{"in the shared conversation", rules.WithoutState(atOnce), true, false, []bool{false, true}},
		{"a rule that tells at the end", atEnd, false, false, []bool{false, false}},
		{"what does not come back", rules.WithoutState(atOnce), false, true, []bool{false, false, false, false}},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var enough []bool // for each run of the case
				c := suite.Case{
					ID: "toy.waits", Title: "ping", Provokes: []string{pinged}, SharesConversation: x.asks,
					Run: func(ctx context.Context, t *suite.T) {
						var conv *client.Conversation
						if x.asks {
							conv = t.Conversation(ctx)
						} else {
							conv = t.Start(ctx, client.Options{})
						}
						conv.Do(ctx, "tools/list", nil)
						enough = append(enough, errors.Is(conv.AwaitQuiet(ctx), client.ErrQuietSkipped))
					},
				}
				y := &toy{answer: func(start int64, m *wire.Message) []byte {
					if m.Method == "tools/list" && (!x.once || start < 3) {
						return wire.NewResult(m.ID, map[string]any{"pong": true})
					}
					return nil
				}}
				_, err := judge(t, y, engine.Options{
					Cases: []suite.Case{c}, Revisions: []spec.Revision{spec.V20250618},
					Rules: []rules.Rule{{ID: "rule.pong", Title: "no pong", Requirements: []string{pinged}, Start: x.start}},
				})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(x.want, enough); diff != "" {
					t.Errorf("whether it was enough (-want +got):\n%s", diff)
				}
			})
		})
	}
}
