package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/selftest"
	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// TestSelftestProgress checks that a pipe gets a line for each tenth, and that
// a terminal gets one line that is rewritten, fits its width, and is cleared at
// the end.
func TestSelftestProgress(t *testing.T) {
	show := func(live bool, rows int) string {
		var b bytes.Buffer
		synctest.Test(t, func(*testing.T) {
			p := &selftestProgress{out: &b, live: live, columns: 60, started: time.Now()}
			for i := range rows {
				time.Sleep(time.Second)
				r := selftest.Result{Fault: fmt.Sprintf("area.fault\x1b[31m/%d", i), Outcome: selftest.Killed}
				if i == 20 {
					r.Outcome = selftest.Survived
				}
				p.addResult(r, selftest.Progress{Done: i + 1, Total: rows, Share: float64(i+1) / float64(rows)})
			}
			p.showRetry(1, 1)
			p.end()
		})
		return b.String()
	}
	want := "20 of 200 rows, about 3m0s left\n40 of 200 rows, 1 failed, about 2m40s left\n"
	piped := show(false, 200)
	if !strings.HasPrefix(piped, want) || strings.Count(piped, "\n") != 10 || strings.ContainsAny(piped, "\r\x1b") {
		t.Errorf("in a pipe: %q", piped)
	}
	if diff := cmp.Diff("failed: 1; retrying\n", show(false, 20)); diff != "" {
		t.Errorf("a few rows in a pipe (-want +got):\n%s", diff)
	}
	live := show(true, 200)
	lines := strings.Split(live, "\r\x1b[K")
	if strings.Contains(live, "\n") || lines[len(lines)-1] != "" || len(lines) < 100 {
		t.Errorf("on a terminal: %q", live)
	}
	for _, line := range lines {
		if len([]rune(line)) > 59 || strings.Contains(line, "\x1b") {
			t.Errorf("on a terminal: %q", line)
		}
	}
}

// TestMatrixOnTheConsole checks that the unexpected results are listed with
// what was found instead, followed by the totals.
func TestMatrixOnTheConsole(t *testing.T) {
	at := selftest.Place{Transport: spec.Stdio, Revision: spec.V20251125}
	m := &selftest.Matrix{Servers: 7, Rows: []selftest.Result{
		{Fault: "a.b/x", Area: "a", Place: at, Outcome: selftest.Killed, First: &selftest.Try{Outcome: selftest.Survived}},
		{Fault: "a.b/y", Area: "a", Place: at, Outcome: selftest.MisAttributed, By: []string{"broken by r on c.d: Bad\x1b."}},
		{Fault: "b.c/z", Area: "b", Place: at, Outcome: selftest.NotYet, By: []string{"nobody"}},
	}, Stale: []selftest.Exception{{Fault: "b.c/old", Outcome: selftest.Survived, Reason: "once so"}}}
	var b bytes.Buffer
	a := &app{World: World{Out: &b}}
	a.printMatrix(m, false)
	want := `mis-attributed  a.b/y  stdio  2025-11-25  0s
                  broken by r on c.d: Bad\u001b.
an exception no longer occurs; remove it: b.c/old: survived: once so
only in a retry killed: a.b/x over stdio in 2025-11-25 (first: survived)
  area               faults  killed  mis-attributed  survived  waiting  variations  silent  false alarms  failed  excepted
  a                       2       1               1         ·        ·           ·       ·             ·       ·         ·
  b                       1       ·               ·         ·        1           ·       ·             ·       ·         ·
  all                     3       1               1         ·        1           ·       ·             ·       ·         ·
waiting: no check judges these requirements so far; mcp-conform list --coverage explains why
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	b.Reset()
	if err := writeMatrix(&b, m, &selftestTimes{Wall: 1.5, CPU: 2}); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Rows    []map[string]any
		Areas   []map[string]any
		All     map[string]any
		Servers int
		Stale   []map[string]any
		Times   map[string]float64
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Rows) != 3 || got.Rows[1]["outcome"] != "mis-attributed" || got.Rows[1]["transport"] != "stdio" || len(got.Areas) != 2 || got.All["faults"] != 3.0 ||
		got.Servers != 7 || len(got.Stale) != 1 || got.Times["wallSeconds"] != 1.5 {
		t.Errorf("as JSON: %s", b.String())
	}
}
