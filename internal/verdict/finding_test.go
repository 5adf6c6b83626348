package verdict

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

func finding(requirement string, o Outcome, summary string) Finding {
	k := Key{Place{requirement, spec.V20251125, spec.Stdio}, "judge", summary}
	return NewFinding(k, &Deviation{Permitted: "this", Seen: "that"}, o)
}

func TestAddOrdersNumbersAndRaises(t *testing.T) {
	var o opinions
	place := Place{"ping.responds", spec.V20251125, spec.Stdio}
	o.expect(place, "judge", Opinion{Outcome: NotObserved, Reason: "mcp-conform sent nothing that could show it"})
	o.expect(place, "other", Opinion{Outcome: Blocked, Reason: "no handshake"})
	p := &Report{Verdicts: o.verdicts()}
	p.add([]Finding{finding("tools.list.answered", Warning, "b"), finding("tools.list.answered", Warning, "a")})
	p.Findings[0].Group, p.Findings[1].Group = "F1", "F1"
	p.Verdicts[0].BlockedBy = "F2"
	p.add([]Finding{finding("base.request-answered", Broken, "c")})
	type row struct{ ID, Summary, Group string }
	var findings []row
	for _, f := range p.Findings {
		findings = append(findings, row{f.ID, f.Summary, f.Group})
	}
	if diff := cmp.Diff([]row{{"F1", "c", ""}, {"F2", "a", "F2"}, {"F3", "b", "F2"}}, findings); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	want := []Verdict{
		{Requirement: "ping.responds", Outcome: Blocked, Reason: "no handshake", BlockedBy: "F3", Judges: []string{"judge", "other"}},
		{Requirement: "tools.list.answered", Outcome: Warning, Findings: []string{"F2", "F3"}, Judges: []string{"judge"}},
		{Requirement: "base.request-answered", Outcome: Broken, Findings: []string{"F1"}, Judges: []string{"judge"}},
	}
	for i := range want {
		q := spec.Requirements().Lookup(want[i].Requirement)
		want[i].Area, want[i].Level, want[i].Revision, want[i].Transport = q.Area, q.Level, spec.V20251125, spec.Stdio
	}
	if diff := cmp.Diff(want, p.Verdicts); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
}

func TestOpinionsMerge(t *testing.T) {
	place := func(id string) Place { return Place{id, spec.V20251125, spec.Stdio} }
	type said struct {
		judge   string
		outcome Outcome
		reason  string
	}
	for name, c := range map[string]struct {
		silent, said []said
		want         said // of the verdict, the judge is the one that set it
	}{
		"no judge gives an opinion":                {[]said{{"a", NotObserved, "x"}, {"b", NotObserved, "y"}}, nil, said{"", NotObserved, "x"}},
		"the first opinion replaces the default":   {[]said{{"a", Blocked, "x"}}, []said{{"a", NotObserved, "y"}}, said{"", NotObserved, "y"}},
		"the most severe counts":                   {[]said{{"a", NotObserved, "x"}}, []said{{"a", Kept, ""}, {"a", NotObserved, "z"}}, said{"", Kept, ""}},
		"the most severe of several judges counts": {[]said{{"a", NotObserved, "x"}, {"b", NotApplicable, "y"}}, []said{{"a", HarnessError, "h"}, {"b", Kept, ""}}, said{"", HarnessError, "h"}},
		"an unexpected judge is ignored":           {[]said{{"a", NotObserved, "x"}}, []said{{"c", Kept, ""}}, said{"", NotObserved, "x"}},
		"expected twice counts once":               {[]said{{"a", NotObserved, "x"}, {"a", Blocked, "y"}}, nil, said{"", NotObserved, "x"}},
		"what did not apply may be seen":           {[]said{{"a", NotApplicable, "x"}}, []said{{"a", Kept, ""}}, said{"", Kept, ""}},
	} {
		t.Run(name, func(t *testing.T) {
			var o opinions
			for _, s := range c.silent {
				o.expect(place("ping.responds"), s.judge, Opinion{Outcome: s.outcome, Reason: s.reason})
			}
			for _, s := range c.said {
				o.add(place("ping.responds"), s.judge, Opinion{Outcome: s.outcome, Reason: s.reason})
			}
			v := o.verdicts()
			if len(v) != 1 || v[0].Outcome != c.want.outcome || v[0].Reason != c.want.reason {
				t.Errorf("merged to %+v, not %v %q", v, c.want.outcome, c.want.reason)
			}
		})
	}
}

func TestBlock(t *testing.T) {
	blocked := func() []Verdict {
		return []Verdict{{Requirement: "tools.list.answered", Revision: spec.V20251125, Outcome: Blocked, Reason: "no handshake"}}
	}
	for name, c := range map[string]struct {
		findings []Finding
		want     string
	}{
		"by the handshake":            {[]Finding{finding("base.request-answered", Broken, "a"), finding("lifecycle.initialize-response", Broken, "b")}, "F2"},
		"by the only broken":          {[]Finding{finding("base.request-answered", Broken, "a"), finding("ping.responds", Warning, "b")}, "F1"},
		"by one of two, nobody knows": {[]Finding{finding("base.request-answered", Broken, "a"), finding("ping.responds", Broken, "b")}, ""},
		"by nothing":                  {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := &Report{Verdicts: blocked()}
			p.add(c.findings)
			p.markBlocked()
			if p.Verdicts[0].BlockedBy != c.want {
				t.Errorf("blocked by %q, not by %q", p.Verdicts[0].BlockedBy, c.want)
			}
		})
	}
}

// TestExtend checks that findings that are added to a report are numbered and grouped with its own,
// and that its groups and verdicts stay.
func TestExtend(t *testing.T) {
	at := func(position int) Occurrence { return Occurrence{Spot: &Spot{"a conversation", position, true}} }
	var b Builder
	find := func(b *Builder, f Finding, seen ...Occurrence) {
		b.AddFinding(f.Key(), func() Finding { return f })
		for _, s := range seen {
			b.AddOccurrence(f.Key(), s)
		}
	}
	b.Expect(Place{"ping.responds", spec.V20251125, spec.Stdio}, "judge", Opinion{Outcome: Kept})
	find(&b, finding("tools.list.answered", Warning, "a"), at(3))
	find(&b, finding("tools.list.answered", Warning, "b"), at(3))
	p := b.Build()
	more := Extend(p)
	if place := p.Findings[0].Place(); !more.HasFinding(place) || more.HasFinding(p.Verdicts[0].Place()) {
		t.Error("the findings of the report are not known")
	}
	find(more, finding("ping.responds", Broken, "c"), at(7))
	find(more, finding("base.request-answered", Broken, "d"), at(7))
	find(more, finding("tools.list.answered", Warning, "a"))
	if more.Build() != p {
		t.Error("it is another report")
	}
	var got []string
	for _, f := range p.Findings {
		got = append(got, f.ID+" "+f.Summary+" "+f.Group)
	}
	if diff := cmp.Diff([]string{"F1 d F1", "F2 c F1", "F3 a F3", "F4 b F3"}, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	got = nil
	for _, v := range p.Verdicts {
		got = append(got, v.Requirement+" "+v.Outcome.String())
	}
	if diff := cmp.Diff([]string{"ping.responds broken", "tools.list.answered warning", "base.request-answered broken"}, got); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
}
