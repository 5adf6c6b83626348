package verdict

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// pinged is a profile of three requirements: two of all handshake revisions, and one of
// 2026-07-28 alone.
var pinged = &spec.Profile{
	Name: "pinged@1", Revisions: spec.Revisions(), Transports: []spec.Transport{spec.Stdio},
	Core: []string{"ping.responds", "ping.empty-result"}, Extended: []string{"ping.removed"},
}

func TestProfileOf(t *testing.T) {
	type says map[string]Outcome // by requirement
	for name, c := range map[string]struct {
		newer, older says // in 2025-11-25 and 2025-06-18
		known        bool // all deviations are known
		incomplete   bool
		narrowed     bool
		want         ProfileResult
	}{
		"all kept": {
			newer: says{"ping.responds": Kept, "ping.empty-result": Note}, older: says{"ping.responds": Kept, "ping.empty-result": Kept},
			want: ProfileResult{Result: ProfilePassed, Core: ProfileCount{Kept: 2}, Extended: ProfileCount{NotApplicable: 1}},
		},
		"kept in one revision only": {
			newer: says{"ping.responds": NotObserved, "ping.empty-result": Kept}, older: says{"ping.responds": Kept, "ping.empty-result": NotApplicable},
			want: ProfileResult{Result: ProfilePassed, Core: ProfileCount{Kept: 1, NotObserved: 1}, Extended: ProfileCount{NotApplicable: 1}},
		},
		"nothing observed": {
			newer: says{"ping.responds": NotObserved, "ping.empty-result": NotObserved},
			want:  ProfileResult{Result: ProfileNotObserved, Core: ProfileCount{NotObserved: 2}, Extended: ProfileCount{NotApplicable: 1}},
		},
		"only an extended requirement observed": {
			newer: says{"ping.responds": NotObserved, "ping.empty-result": NotObserved, "ping.removed": Kept},
			want:  ProfileResult{Result: ProfileNotObserved, Core: ProfileCount{NotObserved: 2}, Extended: ProfileCount{Kept: 1}},
		},
		"only an extended requirement applies": {
			newer: says{"ping.responds": NotApplicable, "ping.empty-result": NotApplicable, "ping.removed": Warning},
			want:  ProfileResult{Result: ProfilePassed, Core: ProfileCount{NotApplicable: 2}, Extended: ProfileCount{Warned: 1}},
		},
		"broken in one revision": {
			newer: says{"ping.responds": Kept, "ping.empty-result": Kept}, older: says{"ping.responds": Broken, "ping.empty-result": Kept},
			want: ProfileResult{Result: ProfileFailed, Core: ProfileCount{Kept: 1, Broken: 1}, Extended: ProfileCount{NotApplicable: 1}},
		},
		"known to be broken": {
			newer: says{"ping.responds": Broken, "ping.empty-result": Kept}, known: true,
			want: ProfileResult{Result: ProfileFailed, Core: ProfileCount{Kept: 1, Broken: 1}, Extended: ProfileCount{NotApplicable: 1}},
		},
		"a warning": {
			newer: says{"ping.responds": Warning, "ping.empty-result": Flaky},
			want:  ProfileResult{Result: ProfilePassed, Core: ProfileCount{Warned: 1, Flaky: 1}, Extended: ProfileCount{NotApplicable: 1}},
		},
		"unconfirmed": {
			newer: says{"ping.responds": Unconfirmed, "ping.empty-result": Kept},
			want:  ProfileResult{Result: ProfileIncomplete, Core: ProfileCount{Kept: 1, Unconfirmed: 1}, Extended: ProfileCount{NotApplicable: 1}},
		},
		"blocked": {
			newer: says{"ping.responds": Kept, "ping.empty-result": Blocked},
			want:  ProfileResult{Result: ProfileIncomplete, Core: ProfileCount{Kept: 1, NotJudged: 1}, Extended: ProfileCount{NotApplicable: 1}},
		},
		"a run that ended early": {
			newer: says{"ping.responds": Kept, "ping.empty-result": Kept}, incomplete: true,
			want: ProfileResult{Result: ProfileIncomplete, Core: ProfileCount{Kept: 2}, Extended: ProfileCount{NotApplicable: 1}},
		},
		"without a verdict": {
			newer: says{"ping.responds": Kept},
			want:  ProfileResult{Result: ProfilePassed, Core: ProfileCount{Kept: 1, NotObserved: 1}, Extended: ProfileCount{NotApplicable: 1}},
		},
		"left out by a focus": {
			newer: says{"ping.responds": Kept}, older: says{"ping.responds": Kept}, narrowed: true,
			want: ProfileResult{Result: ProfileIncomplete, Core: ProfileCount{Kept: 1, Skipped: 1}, Extended: ProfileCount{NotApplicable: 1}},
		},
		"one revision left out by labels": {
			newer: says{"ping.responds": Kept, "ping.empty-result": Kept}, older: says{"ping.responds": Kept}, narrowed: true,
			want: ProfileResult{Result: ProfileIncomplete, Core: ProfileCount{Kept: 1, Skipped: 1}, Extended: ProfileCount{NotApplicable: 1}},
		},
		"some of its cases left out by a focus": {
			newer: says{"ping.responds": Kept, "ping.empty-result": Kept}, older: says{"ping.responds": Kept, "ping.empty-result": Kept}, narrowed: true,
			want: ProfileResult{Result: ProfileIncomplete, Core: ProfileCount{Kept: 2}, Extended: ProfileCount{NotApplicable: 1}},
		},
		"nothing applies": {
			newer: says{"ping.responds": NotApplicable, "ping.empty-result": NotApplicable},
			want:  ProfileResult{Result: ProfileNotApplicable, Core: ProfileCount{NotApplicable: 2}, Extended: ProfileCount{NotApplicable: 1}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := &Report{Transport: spec.Stdio, Revisions: []spec.Revision{spec.V20251125, spec.V20250618}, Narrowed: c.narrowed}
			if c.incomplete {
				p.Incomplete = "the server ended"
			}
			for rev, says := range map[spec.Revision]says{spec.V20251125: c.newer, spec.V20250618: c.older} {
				for id, o := range says {
					v := Verdict{Requirement: id, Revision: rev, Transport: spec.Stdio, Outcome: o}
					if c.known {
						v.Known = "a reason"
					}
					p.Verdicts = append(p.Verdicts, v)
				}
			}
			c.want.Name = pinged.Name
			if diff := cmp.Diff(c.want, p.ProfileOf(pinged)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestHalfOfTheCoreMustBeObserved checks how much of a profile must be observed to pass it.
func TestHalfOfTheCoreMustBeObserved(t *testing.T) {
	for _, c := range []struct {
		core, extended ProfileCount
		want           string
	}{
		{ProfileCount{Kept: 2, NotObserved: 2}, ProfileCount{NotObserved: 9}, ProfilePassed},
		{ProfileCount{Kept: 1, NotObserved: 2}, ProfileCount{Kept: 9}, ProfileNotObserved},
		{ProfileCount{Kept: 1, NotObserved: 2, Broken: 1}, ProfileCount{}, ProfileFailed},
		{ProfileCount{Kept: 1, NotObserved: 2, Skipped: 1}, ProfileCount{}, ProfileIncomplete},
		{ProfileCount{NotApplicable: 4}, ProfileCount{Warned: 1, NotObserved: 1}, ProfilePassed},
		{ProfileCount{NotApplicable: 4}, ProfileCount{Kept: 1, NotObserved: 2}, ProfileNotObserved},
	} {
		p := ProfileResult{Core: c.core, Extended: c.extended}
		if got := p.Conclude(true); got != c.want {
			t.Errorf("%+v and %+v: got %s, want %s", c.core, c.extended, got, c.want)
		}
	}
}

func TestWhatAQuickRunLeftOutIsSkipped(t *testing.T) {
	p := &Report{Transport: spec.Stdio, Revisions: []spec.Revision{spec.V20251125}, Verdicts: []Verdict{
		{Requirement: "ping.responds", Revision: spec.V20251125, Transport: spec.Stdio, Outcome: NotObserved, LeftOut: true},
		{Requirement: "ping.empty-result", Revision: spec.V20251125, Transport: spec.Stdio, Outcome: Kept},
	}}
	if got := p.ProfileOf(pinged); got.Core.Skipped != 1 || got.Result != ProfileIncomplete {
		t.Errorf("got %+v", got)
	}
}

// TestProfileCountsAddUp checks for any report and any profile that each requirement is
// counted once, that a profile with a broken requirement is failed, and that one whose
// requirements were never observed is not passed.
func TestProfileCountsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SampledFrom(spec.Profiles()).Draw(t, "profile")
		over := rapid.SampledFrom(spec.Transports()).Draw(t, "transport")
		ids := slices.Concat(x.Core, x.Extended)
		p := &Report{Transport: over, Narrowed: rapid.Bool().Draw(t, "narrowed"), Revisions: rapid.SliceOfDistinct(rapid.SampledFrom(spec.Revisions()), rapid.ID).Draw(t, "revisions")}
		broken, observed := false, false
		for range rapid.IntRange(0, 60).Draw(t, "verdicts") {
			if len(p.Revisions) == 0 {
				break
			}
			v := Verdict{
				Requirement: rapid.SampledFrom(ids).Draw(t, "id"), Revision: rapid.SampledFrom(p.Revisions).Draw(t, "revision"),
				Transport: over, Outcome: rapid.SampledFrom(Outcomes()).Draw(t, "outcome"),
			}
			if x.AppliesTo(v.Revision, over) {
				broken = broken || v.Outcome == Broken
				observed = observed || v.Outcome >= Kept && v.Outcome != Blocked && v.Outcome != HarnessError
			}
			p.Verdicts = append(p.Verdicts, v)
		}
		got := p.ProfileOf(x)
		if got.Core.Total() != len(x.Core) || got.Extended.Total() != len(x.Extended) {
			t.Fatalf("%d and %d counted of %d and %d", got.Core.Total(), got.Extended.Total(), len(x.Core), len(x.Extended))
		}
		if broken != (got.Result == ProfileFailed) || !observed && got.Result == ProfilePassed {
			t.Fatalf("broken %v, observed %v, result %s", broken, observed, got.Result)
		}
	})
}
