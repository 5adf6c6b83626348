package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// TestSightingsInOtherCases checks that a deviation that a rule sees in several
// cases is retried in other cases if the first does not show it again.
func TestSightingsInOtherCases(t *testing.T) {
	const other = "base.request-id-type"
	pong := rules.Rule{ID: "rule.pong", Title: "no pong", Requirements: []string{pinged}, Start: func() rules.Fold {
		return rules.Fold{OnEvent: func(_ *rules.Session, e *transcript.Event, out *rules.Reporter) {
			if e.Kind == transcript.Received && strings.Contains(string(e.Raw), "pong") {
				out.Report(verdict.Deviation{Requirement: pinged, Summary: "pong", Permitted: "{}", Seen: "pong", At: []int{e.Seq}})
			}
		}}
	}}
	// asking returns a case that gets a pong in its first run, or in every run.
	asking := func(id string, always, made bool) suite.Case {
		var runs atomic.Int64
		c := suite.Case{ID: id, Title: "ping", Requirements: []string{other}, OwnServer: true, Run: func(ctx context.Context, t *suite.T) {
			ask := "ping"
			if n := runs.Add(1); n == 1 || always {
				ask = "com.example/pong"
			}
			t.Conversation(ctx).Do(ctx, ask, nil)
		}}
		if made {
			c.Requirements, c.Provokes = nil, []string{pinged}
		}
		return c
	}
	for _, c := range []struct {
		name  string
		cases []suite.Case
		want  string
	}{
		{"the case that is made for it is tried first", []suite.Case{asking("toy.chance", false, false), asking("toy.made", true, true)}, "broken 1/1"},
		{"another case is tried when the first does not show it", []suite.Case{asking("toy.chance", false, false), asking("toy.always", true, false)}, "broken 1/4"},
		{"and a third", []suite.Case{asking("toy.made", false, true), asking("toy.chance", false, false), asking("toy.always", true, false)}, "broken 1/5"},
		{"but no fourth", []suite.Case{asking("toy.a", false, false), asking("toy.b", false, false), asking("toy.c", false, false), asking("toy.d", true, false)}, "flaky 0/5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				y := &toy{answer: func(_ int64, m *wire.Message) []byte {
					if m.Method == "com.example/pong" {
						return wire.NewResult(m.ID, map[string]any{"pong": true})
					}
					return nil
				}}
				p, err := judge(t, y, engine.Options{Cases: c.cases, Rules: []rules.Rule{pong}, Revisions: []spec.Revision{spec.V20250618}, Jobs: 1})
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, f := range p.Findings {
					got = append(got, fmt.Sprintf("%v %d/%d", f.Outcome, f.Reproduced, f.Tries))
				}
				if diff := cmp.Diff([]string{c.want}, got); diff != "" {
					t.Errorf("findings (-want +got):\n%s", diff)
				}
			})
		})
	}
}
