package suitetest

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/inprocess"
	"github.com/mcp-conform/mcp-conform/internal/ruleset"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// lateStart is a start timeout that exceeds any late start.
const lateStart = time.Minute

// TryLate runs one case, and all rules on its traffic, against a conforming reference server that
// starts only after the given time. No finding may be more severe than a note, and every
// requirement that is kept by a server that starts immediately must be kept.
func TryLate(t *testing.T, cases []suite.Case, id string, by time.Duration) {
	runSubtest(t, id, spec.Stdio, func(t *testing.T) {
		why := map[string]string{}
		kept := func(late time.Duration) map[string]bool {
			d := inprocess.Dialer(func() refserver.Options {
				<-time.After(late) // simulates a slow start
				return refserver.Options{}
			})
			report := runCase(t, cases, id, spec.V20250326, ruleset.All(), lateStart, d)
			for _, f := range report.Findings {
				if f.Outcome > verdict.Note {
					t.Errorf("%v late, %s: %s (%s), seen: %s", late, f.Requirement, f.Summary, f.Outcome, f.Seen)
				}
			}
			out := map[string]bool{}
			for _, v := range report.Verdicts {
				out[v.Requirement] = v.Outcome == verdict.Kept
				if late > 0 {
					why[v.Requirement] = v.Reason
				}
			}
			return out
		}
		immediate, late := kept(0), kept(by)
		lost := func() []string {
			return slices.DeleteFunc(slices.Sorted(maps.Keys(immediate)), func(id string) bool { return !immediate[id] || late[id] })
		}
		if len(lost()) > 0 { // on a busy machine, a fence may also be late
			late = kept(by)
		}
		for _, requirement := range lost() {
			t.Errorf("%s is kept by a server that starts at once, and not by one that starts late: %s", requirement, why[requirement])
		}
	})
}
