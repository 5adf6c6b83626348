package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// TestQuickRuns checks which revision a quick run judges, and that it calls a
// requirement kept only if no case was left out that might break it.
func TestQuickRuns(t *testing.T) {
	t.Parallel()
	four := spec.HandshakeRevisions()
	broken := func(_ int64, m *wire.Message) []byte { return wrongPing(m) }
	both := []suite.Case{pinging(true), renamed(pinging(false))}
	quick, needy := renamed(pinging(false)), renamed(pinging(false))
	quick.Quick, needy.Needs = true, []string{"tools"}
	for _, c := range []struct {
		name   string
		toy    *toy
		o      engine.Options
		want   []string
		left   bool
		starts int64
	}{
		{"the newest revision", &toy{}, engine.Options{Cases: both[:1]}, allOutcomes("kept", four[3]), false, 2},
		{"the newest that is spoken", &toy{speaks: four[:3]}, engine.Options{Cases: both[:1]}, allOutcomes("kept", four[2]), false, 5},
		{"the revisions that are named", &toy{}, engine.Options{Cases: both[:1], Revisions: four[:2]}, allOutcomes("kept", four[:2]...), false, 2},
		{"a case is left out", &toy{}, engine.Options{Cases: both}, allOutcomes("not observed", four[3]), true, 2},
		{"what it finds stays found", &toy{answer: broken}, engine.Options{Cases: both}, allOutcomes("broken", four[3]), false, 3},
		{"a case that quick runs include", &toy{}, engine.Options{Cases: []suite.Case{both[0], quick}}, allOutcomes("kept", four[3]), false, 3},
		{"a case that does not apply", &toy{}, engine.Options{Cases: []suite.Case{both[0], needy}}, allOutcomes("kept", four[3]), false, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.o.Quick = true
				p, err := judge(t, c.toy, c.o)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.want, summary(p)); diff != "" {
					t.Errorf("verdicts (-want +got):\n%s", diff)
				}
				if v := p.Verdicts[0]; v.LeftOut != c.left || strings.HasPrefix(v.Reason, "left out by --quick") != c.left {
					t.Errorf("left out: %v, because %q", v.LeftOut, v.Reason)
				}
				if n := c.toy.starts.Load(); n != c.starts {
					t.Errorf("%d servers were started, not %d", n, c.starts)
				}
			})
		})
	}
}

// renamed returns the case with another id.
func renamed(c suite.Case) suite.Case {
	c.ID += "-alone"
	return c
}

// TestQuickRunsFollowTheSelection checks that a quick run judges the newest
// revision in which something is selected, and that it fails if it leaves all of
// that out.
func TestQuickRunsFollowTheSelection(t *testing.T) {
	t.Parallel()
	old := pinging(true)
	old.Revisions = []spec.Revision{spec.V20250326}
	p, err := judge(t, &toy{}, engine.Options{Quick: true, Cases: []suite.Case{old}})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p.Revisions, old.Revisions) {
		t.Errorf("it judges %v", p.Revisions)
	}
	_, err = judge(t, &toy{}, engine.Options{Quick: true, Cases: []suite.Case{pinging(false)}, Rules: rules.Base(), Selection: engine.Selection{Focus: []string{pinged}}})
	if empty := new(*engine.SelectionError); !errors.As(err, empty) {
		t.Errorf("the error is %v", err)
	}
}
