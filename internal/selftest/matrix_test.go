package selftest_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/selftest"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
)

// exampleMatrix returns a small matrix, with one row of each kind, and a fault in two
// places.
func exampleMatrix() *selftest.Matrix {
	at := selftest.Place{Transport: spec.Stdio, Revision: spec.V20251125}
	older := selftest.Place{Transport: spec.Stdio, Revision: spec.V20241105}
	return &selftest.Matrix{Rows: []selftest.Result{
		{Fault: "a.b/killed", Area: "a", Place: at, Outcome: selftest.Killed},
		{Fault: "a.b/missed", Area: "a", Place: at, Outcome: selftest.Killed},
		{Fault: "a.b/missed", Area: "a", Place: older, Outcome: selftest.Survived},
		{Fault: "b.c/elsewhere", Area: "b", Place: at, Outcome: selftest.MisAttributed},
		{Fault: "b.c/waiting", Area: "b", Place: at, Outcome: selftest.NotYet, By: []string{"nobody looks"}},
		{Fault: "legal/quiet", Area: "b", Legal: true, Place: at, Outcome: selftest.Silent},
		{Fault: "legal/loud", Area: "b", Legal: true, Place: at, Outcome: selftest.FalseAlarm},
	}}
}

func TestSums(t *testing.T) {
	areas, all := exampleMatrix().Sums()
	want := []selftest.Sum{
		{Area: "a", Faults: 2, Killed: 1, Survived: 1},
		{Area: "b", Faults: 2, MisAttributed: 1, Waiting: 1, Variations: 2, Silent: 1, FalseAlarms: 1},
	}
	if diff := cmp.Diff(want, areas); diff != "" {
		t.Errorf("areas (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(selftest.Sum{Area: "all", Faults: 4, Killed: 1, MisAttributed: 1, Survived: 1, Waiting: 1, Variations: 2, Silent: 1, FalseAlarms: 1}, all); diff != "" {
		t.Errorf("all (-want +got):\n%s", diff)
	}
}

// TestExceptions checks that an exception allows only the rows that it names,
// and that an exception that does not occur makes the matrix bad.
func TestExceptions(t *testing.T) {
	missed := selftest.Exception{Fault: "a.b/missed", Revision: spec.V20241105, Outcome: selftest.Survived, Reason: "r"}
	elsewhere := selftest.Exception{Fault: "b.c/elsewhere", Outcome: selftest.MisAttributed, Reason: "r"}
	loud := selftest.Exception{Fault: "legal/loud", Transport: spec.Stdio, Outcome: selftest.FalseAlarm, Reason: "r"}
	all := []selftest.Exception{missed, elsewhere, loud}
	with := func(change func(e *selftest.Exception)) []selftest.Exception {
		out := append([]selftest.Exception(nil), all...)
		change(&out[0])
		return out
	}
	for _, c := range []struct {
		name       string
		exceptions []selftest.Exception
		bad, stale int
		good       bool
	}{
		{"none", nil, 3, 0, false},
		{"all", all, 0, 0, true},
		{"one is missing", all[1:], 1, 0, false},
		{"another outcome", with(func(e *selftest.Exception) { e.Outcome = selftest.MisAttributed }), 1, 1, false},
		{"another revision", with(func(e *selftest.Exception) { e.Revision = spec.V20251125 }), 1, 1, false},
		{"another transport", with(func(e *selftest.Exception) { e.Transport = spec.SSE }), 1, 0, false},
		{"only where everything is tried", with(func(e *selftest.Exception) { e.FullOnly = true }), 1, 0, false},
		{"what was not tried is not stale", append(all, selftest.Exception{Fault: "c.d/other", Outcome: selftest.Survived, Reason: "r"}), 0, 0, true},
	} {
		m := exampleMatrix()
		m.Except(c.exceptions)
		if len(m.UnexpectedResults()) != c.bad || len(m.Stale) != c.stale || m.Good() != c.good {
			t.Errorf("%s: %d bad, %d stale, good %v; want %d, %d, %v\n%v", c.name, len(m.UnexpectedResults()), len(m.Stale), m.Good(), c.bad, c.stale, c.good, m.Stale)
		}
	}
}

func TestPage(t *testing.T) {
	var b strings.Builder
	m := exampleMatrix()
	m.Rows[1].Title = "does | this"
	m.Except([]selftest.Exception{{Fault: "b.c/elsewhere", Outcome: selftest.MisAttributed, Reason: "nobody could tell"}})
	if err := m.WritePage(&b); err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(b.String(), "| area |")
	want := ` faults | killed | mis-attributed | survived | waiting | variations | silent | false alarms |
|---|--:|--:|--:|--:|--:|--:|--:|--:|
| [a](#a) | 2 | 1 | 0 | 1 | 0 | 0 | 0 | 0 |
| [b](#b) | 2 | 0 | 1 | 0 | 1 | 2 | 1 | 1 |
| all | 4 | 1 | 1 | 1 | 1 | 2 | 1 | 1 |

## a

| fault or variation | what the server does | where | outcome |
|---|---|---|---|
| ` + "`a.b/killed`" + ` |  | stdio 2025-11-25 | killed |
| ` + "`a.b/missed`" + ` | does \| this | stdio 2025-11-25 | killed |
| ` + "`a.b/missed`" + ` | does \| this | stdio 2024-11-05 | survived |

## b

| fault or variation | what the server does | where | outcome |
|---|---|---|---|
| ` + "`b.c/elsewhere`" + ` |  | stdio 2025-11-25 | mis-attributed, as expected: nobody could tell |
| ` + "`b.c/waiting`" + ` |  | stdio 2025-11-25 | waiting: nobody looks |
| ` + "`legal/quiet`" + ` |  | stdio 2025-11-25 | silent |
| ` + "`legal/loud`" + ` |  | stdio 2025-11-25 | false alarm |
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
}

// TestExpectedMatrixMatchesRun checks that the expected matrix agrees with a run.
func TestExpectedMatrixMatchesRun(t *testing.T) {
	t.Parallel()
	o := selftest.Options{Workers: 4, Faults: []faults.Fault{
		fault(t, "base.response-once/twice", func(f *faults.Fault) {}),
		fault(t, "legal/one-page", func(f *faults.Fault) { f.Revisions = nil }),
		fault(t, "lifecycle.timeout-cancels/not-told", func(f *faults.Fault) { f.Revisions = nil }),
	}}
	page := func(m *selftest.Matrix) string {
		var b strings.Builder
		_ = m.WritePage(&b)
		return b.String()
	}
	if diff := cmp.Diff(page(selftest.Expected(o)), page(selftest.Run(t.Context(), o))); diff != "" {
		t.Errorf("(-expected +run)\n%s", diff)
	}
}

// TestRetries checks that a row with an unexpected outcome is retried after
// all others, and that the result of the first attempt is kept.
func TestRetries(t *testing.T) {
	t.Parallel()
	var wrong atomic.Bool
	f := fault(t, "base.response-once/twice", func(f *faults.Fault) {
		seams := f.Seams
		f.Seams = func() refserver.Seams {
			if wrong.Load() {
				return seams()
			}
			return refserver.Seams{}
		}
	})
	again := 0
	m := selftest.Run(t.Context(), selftest.Options{
		Faults: []faults.Fault{f},
		Each:   func(selftest.Result, selftest.Progress) { wrong.Store(true) },
		Again:  func(int, int) { again++ },
	})
	if again != 1 || len(m.RetriedResults()) != 1 || !m.Good() {
		t.Fatalf("%d rows were retried, %d of them with another outcome: %+v", again, len(m.RetriedResults()), m.Rows)
	}
	if r := m.Rows[0]; r.Outcome != selftest.Killed || r.First.Outcome != selftest.Survived {
		t.Errorf("first %s, then %s", r.First.Outcome, r.Outcome)
	}
}

// TestInterrupted checks that the matrix has no rows that were not tried.
func TestInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	m := selftest.Run(ctx, selftest.Options{Faults: []faults.Fault{fault(t, "base.response-once/twice", func(*faults.Fault) {})}})
	if len(m.Rows) > 0 {
		t.Errorf("%+v", m.Rows)
	}
}
