package cli

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

func TestExitCodes(t *testing.T) {
	for _, test := range []struct {
		name       string
		outcomes   []verdict.Outcome
		known      string
		incomplete string
		want       int
	}{
		{name: "kept", outcomes: []verdict.Outcome{verdict.Kept}, want: ExitKept},
		{name: "flaky", outcomes: []verdict.Outcome{verdict.Kept, verdict.Flaky}, want: ExitKept},
		{name: "unconfirmed", outcomes: []verdict.Outcome{verdict.Kept, verdict.Unconfirmed}, want: ExitNotJudged},
		{name: "unconfirmed and known", outcomes: []verdict.Outcome{verdict.Kept, verdict.Unconfirmed}, known: "why", want: ExitKept},
		{name: "unconfirmed, and something is broken", outcomes: []verdict.Outcome{verdict.Unconfirmed, verdict.Broken}, want: ExitBroken},
		{name: "incomplete", outcomes: []verdict.Outcome{verdict.Kept}, incomplete: "interrupted", want: ExitNotJudged},
	} {
		p := &verdict.Report{FailOn: "must", Incomplete: test.incomplete}
		for _, o := range test.outcomes {
			p.Verdicts = append(p.Verdicts, verdict.Verdict{Outcome: o, Known: test.known})
		}
		if got := exitCode(p); got != test.want {
			t.Errorf("%s: exit code %d, want %d", test.name, got, test.want)
		}
	}
}
