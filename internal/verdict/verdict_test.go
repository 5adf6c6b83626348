package verdict

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

func TestOutcomesAreInOrder(t *testing.T) {
	all := Outcomes()
	if len(all) != len(outcomeNames) {
		t.Errorf("Outcomes has %d of %d", len(all), len(outcomeNames))
	}
	if !slices.IsSortedFunc(all, func(a, b Outcome) int { return int(b - a) }) {
		t.Errorf("%v is not the most severe first", all)
	}
	var names []string
	for _, o := range all {
		names = append(names, o.String())
	}
	want := []string{"harness error", "broken", "unconfirmed", "flaky", "warning", "note", "blocked", "kept", "not observed", "not applicable"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestOutcomesAreWrittenByName(t *testing.T) {
	got, err := json.Marshal(Verdict{Requirement: "a.b", Outcome: NotApplicable})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"requirement":"a.b","area":"","level":"","revision":"","transport":"","verdict":"not applicable","judges":null}`
	if string(got) != want {
		t.Errorf("a verdict is written as %s", got)
	}
}

func TestEvidenceIsWrittenWithoutTimes(t *testing.T) {
	got, err := json.Marshal(Evidence{Direction: "<", Position: 4, Text: "x", Size: 1, Offending: true})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"direction":"\u003c","position":4,"text":"x","size":1,"offending":true}`; string(got) != want {
		t.Errorf("evidence is written as %s", got)
	}
}

func TestGrading(t *testing.T) {
	bases := []spec.Basis{spec.Keyword, spec.Schema, spec.Incorporated, spec.JSONRPC, spec.Derived}
	// The expected outcome of a deviation of full weight, by level and basis.
	full := map[spec.Level][]Outcome{
		spec.Must:      {Broken, Broken, Broken, Warning, Warning},
		spec.MustNot:   {Broken, Broken, Broken, Warning, Warning},
		spec.Should:    {Warning, Warning, Warning, Warning, Warning},
		spec.ShouldNot: {Warning, Warning, Warning, Warning, Warning},
		spec.May:       {Note, Note, Note, Note, Note},
	}
	most := map[Weight]Outcome{Full: Broken, AtMostWarning: Warning, OnlyNote: Note}
	for level, outcomes := range full {
		for i, basis := range bases {
			q := &spec.Requirement{Level: level}
			if err := yaml.Unmarshal([]byte(basis), &q.Bases); err != nil {
				t.Fatal(err)
			}
			for weight, cap := range most {
				got := Deviation{Weight: weight}.Outcome(q, spec.V20251125)
				if want := min(outcomes[i], cap); got != want {
					t.Errorf("%s on %s with weight %d is called %v, not %v", level, basis, weight, got, want)
				}
			}
		}
	}
}

func TestGradingFollowsTheRevision(t *testing.T) {
	q := &spec.Requirement{Level: spec.Must}
	if err := yaml.Unmarshal([]byte("{2024-11-05: derived, 2025-11-25: keyword}"), &q.Bases); err != nil {
		t.Fatal(err)
	}
	for rev, want := range map[spec.Revision]Outcome{spec.V20241105: Warning, spec.V20251125: Broken} {
		if got := (Deviation{}).Outcome(q, rev); got != want {
			t.Errorf("in %s it is called %v", rev, got)
		}
	}
}

func TestWorst(t *testing.T) {
	for _, c := range []struct {
		outcomes []Outcome
		worst    Outcome
		judged   bool
	}{
		{nil, NotApplicable, false},
		{[]Outcome{NotApplicable, NotObserved}, NotObserved, false},
		{[]Outcome{Blocked, NotObserved}, Blocked, false},
		{[]Outcome{Kept}, Kept, true},
		{[]Outcome{Kept, Blocked}, Blocked, true},
		{[]Outcome{Blocked, Note}, Note, true},
		{[]Outcome{Warning, Note, Kept}, Warning, true},
		{[]Outcome{Warning, Flaky}, Flaky, true},
		{[]Outcome{Flaky, Unconfirmed}, Unconfirmed, true},
		{[]Outcome{Unconfirmed, Broken, Warning}, Broken, true},
		{[]Outcome{Broken, HarnessError}, HarnessError, true},
	} {
		p := &Report{}
		for i, o := range c.outcomes {
			p.Verdicts = append(p.Verdicts, Verdict{Requirement: fmt.Sprint(i), Outcome: o})
		}
		if worst, judged := p.Worst(); worst != c.worst || judged != c.judged {
			t.Errorf("of %v the worst is %v, judged: %v", c.outcomes, worst, judged)
		}
	}
}

func TestCount(t *testing.T) {
	p := &Report{Verdicts: []Verdict{
		{Revision: spec.V20241105, Outcome: Kept}, {Revision: spec.V20251125, Outcome: Kept},
		{Revision: spec.V20251125, Outcome: Kept}, {Revision: spec.V20251125, Outcome: Broken},
	}}
	if n := p.Count(spec.V20251125, Kept); n != 2 {
		t.Errorf("%d are kept", n)
	}
	if n := p.Count(spec.V20250326, Kept); n != 0 {
		t.Errorf("%d are kept where nothing was judged", n)
	}
}
