package reporters_test

import (
	"bytes"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/reporters"
)

func TestOutputs(t *testing.T) {
	is := func(outcomes ...verdict.Outcome) *verdict.Report {
		r := &verdict.Report{}
		for i, o := range outcomes {
			r.Verdicts = append(r.Verdicts, verdict.Verdict{Requirement: string(rune('a' + i)), Outcome: o})
		}
		return r
	}
	knownOne := is(verdict.Kept, verdict.Broken)
	knownOne.Verdicts[1].Known = "we know"
	stale := is(verdict.Kept)
	stale.Stale = []verdict.StaleEntry{{Requirement: "a"}}
	early := is(verdict.Kept)
	early.Incomplete = "interrupted"
	profiled := is(verdict.Kept)
	profiled.Profiles = []verdict.ProfileResult{
		{Name: "core@1", Result: verdict.ProfilePassed, Core: verdict.ProfileCount{Kept: 2, NotObserved: 1, NotApplicable: 4}, Extended: verdict.ProfileCount{Warned: 1}},
		{Name: "tools@1", Result: verdict.ProfileNotObserved, Core: verdict.ProfileCount{NotObserved: 5}},
	}
	for _, c := range []struct {
		name   string
		report *verdict.Report
		want   string
	}{
		{"nothing", is(), "verdict=not-judged\nbroken=0\nwarnings=0\nflaky=0\nunconfirmed=0\nkept=0\nknown=0\nstale=0\nsecurity=0\n"},
		{"kept", is(verdict.Kept, verdict.Note, verdict.NotObserved), "verdict=kept\nbroken=0\nwarnings=0\nflaky=0\nunconfirmed=0\nkept=1\nknown=0\nstale=0\nsecurity=0\n"},
		{"flaky alone", is(verdict.Kept, verdict.Flaky), "verdict=kept\nbroken=0\nwarnings=0\nflaky=1\nunconfirmed=0\nkept=1\nknown=0\nstale=0\nsecurity=0\n"},
		{"unconfirmed", is(verdict.Kept, verdict.Warning, verdict.Unconfirmed), "verdict=not-judged\nbroken=0\nwarnings=1\nflaky=0\nunconfirmed=1\nkept=1\nknown=0\nstale=0\nsecurity=0\n"},
		{"warnings", is(verdict.Kept, verdict.Warning), "verdict=warnings\nbroken=0\nwarnings=1\nflaky=0\nunconfirmed=0\nkept=1\nknown=0\nstale=0\nsecurity=0\n"},
		{"broken", is(verdict.Kept, verdict.Warning, verdict.Broken), "verdict=broken\nbroken=1\nwarnings=1\nflaky=0\nunconfirmed=0\nkept=1\nknown=0\nstale=0\nsecurity=0\n"},
		{"known", knownOne, "verdict=kept\nbroken=0\nwarnings=0\nflaky=0\nunconfirmed=0\nkept=1\nknown=1\nstale=0\nsecurity=0\n"},
		{"stale", stale, "verdict=stale\nbroken=0\nwarnings=0\nflaky=0\nunconfirmed=0\nkept=1\nknown=0\nstale=1\nsecurity=0\n"},
		{"early", early, "verdict=not-judged\nbroken=0\nwarnings=0\nflaky=0\nunconfirmed=0\nkept=1\nknown=0\nstale=0\nsecurity=0\n"},
		{"profiles", profiled, "verdict=kept\nbroken=0\nwarnings=0\nflaky=0\nunconfirmed=0\nkept=1\nknown=0\nstale=0\nsecurity=0\nprofiles=core@1:passed:3/4,tools@1:not-observed:0/5\n"},
		{"failed", is(verdict.Kept, verdict.HarnessError), "verdict=not-judged\nbroken=0\nwarnings=0\nflaky=0\nunconfirmed=0\nkept=1\nknown=0\nstale=0\nsecurity=0\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := reporters.Outputs(&b, c.report); err != nil {
				t.Fatal(err)
			}
			if b.String() != c.want {
				t.Errorf("written:\n%s\nnot:\n%s", b.String(), c.want)
			}
		})
	}
}
