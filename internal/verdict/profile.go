package verdict

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// The results of a profile.
const (
	ProfilePassed        = "passed"         // no requirement is broken, and enough were observed, see Conclude
	ProfileFailed        = "failed"         // one of its requirements is broken, even if the finding is known
	ProfileIncomplete    = "incomplete"     // the run did not judge everything that it could have judged
	ProfileNotObserved   = "not observed"   // too few of its requirements were observed
	ProfileNotApplicable = "not applicable" // none of its requirements applies to the server
)

// A ProfileResult is what a run shows about a profile.
type ProfileResult struct {
	Name     string       `json:"name" yaml:"name"` // such as core@1
	Result   string       `json:"result" yaml:"result"`
	Core     ProfileCount `json:"core" yaml:"core"`
	Extended ProfileCount `json:"extended" yaml:"extended"`
}

// A ProfileCount counts requirements of a profile. Each is counted once, with its most severe
// outcome in the judged revisions. A requirement counts as kept only if it was kept in all judged
// revisions in which it applies.
type ProfileCount struct {
	Kept          int `json:"kept" yaml:"kept"` // including those with notes, because a note is permitted
	Broken        int `json:"broken" yaml:"broken"`
	Warned        int `json:"warned" yaml:"warned"`
	Flaky         int `json:"flaky" yaml:"flaky"`
	Unconfirmed   int `json:"unconfirmed" yaml:"unconfirmed"`
	NotObserved   int `json:"notObserved" yaml:"notObserved"`
	NotJudged     int `json:"notJudged" yaml:"notJudged"` // blocked by another finding, or the harness failed
	Skipped       int `json:"skipped" yaml:"skipped"`     // left out by --quick, a focus or labels
	NotApplicable int `json:"notApplicable" yaml:"notApplicable"`
}

// Observed returns how many requirements were judged.
func (c *ProfileCount) Observed() int {
	return c.Kept + c.Broken + c.Warned + c.Flaky + c.Unconfirmed
}

// Applicable returns how many requirements apply to the server, judged or not.
func (c *ProfileCount) Applicable() int {
	return c.Observed() + c.NotObserved + c.NotJudged + c.Skipped
}

// Total returns how many requirements the profile has.
func (c *ProfileCount) Total() int { return c.Applicable() + c.NotApplicable }

// All returns the sums of the counts of core and extended requirements.
func (p *ProfileResult) All() ProfileCount {
	a, b := p.Core, p.Extended
	return ProfileCount{
		Kept: a.Kept + b.Kept, Broken: a.Broken + b.Broken, Warned: a.Warned + b.Warned, Flaky: a.Flaky + b.Flaky,
		Unconfirmed: a.Unconfirmed + b.Unconfirmed, NotObserved: a.NotObserved + b.NotObserved, NotJudged: a.NotJudged + b.NotJudged,
		Skipped: a.Skipped + b.Skipped, NotApplicable: a.NotApplicable + b.NotApplicable,
	}
}

// ProfileResults returns all results of a profile, the best first.
func ProfileResults() []string {
	return []string{ProfilePassed, ProfileFailed, ProfileIncomplete, ProfileNotObserved, ProfileNotApplicable}
}

// Conclude returns the result that follows from the counts. complete reports whether the
// run was complete. A profile is passed only if the run was complete, nothing was broken,
// skipped, blocked or unconfirmed, and at least half of the core requirements that apply
// were observed (or half of all that apply, if no core requirement does).
func (p *ProfileResult) Conclude(complete bool) string {
	all := p.All()
	counted := p.Core
	if counted.Applicable() == 0 {
		counted = all
	}
	switch {
	case all.Broken > 0:
		return ProfileFailed
	case all.Applicable() == 0 && complete:
		return ProfileNotApplicable
	case !complete || all.Unconfirmed+all.NotJudged+all.Skipped > 0:
		return ProfileIncomplete
	case 2*counted.Observed() < counted.Applicable():
		return ProfileNotObserved
	default:
		return ProfilePassed
	}
}

// ProfileOf returns what the verdicts of the report show about a profile.
func (p *Report) ProfileOf(x *spec.Profile) ProfileResult {
	worst := map[string]profileState{}
	judgedIn := map[string][]spec.Revision{}
	for i := range p.Verdicts {
		v := &p.Verdicts[i]
		if x.AppliesTo(v.Revision, v.Transport) {
			worst[v.Requirement] = max(worst[v.Requirement], stateOf(v))
			judgedIn[v.Requirement] = append(judgedIn[v.Requirement], v.Revision)
		}
	}
	without := stateNotObserved
	if p.Narrowed {
		without = stateSkipped
	}
	count := func(ids []string) ProfileCount {
		var c ProfileCount
		for _, id := range ids {
			state, judged := worst[id]
			if (!judged || p.Narrowed) && p.appliesElsewhere(id, x, judgedIn[id]) {
				state = max(state, without)
			}
			*c.counterOf(state)++
		}
		return c
	}
	out := ProfileResult{Name: x.Name, Core: count(x.Core), Extended: count(x.Extended)}
	out.Result = out.Conclude(p.WhyPartial() == "")
	return out
}

// WhyPartial returns why the run left out something that it could have judged, or "" if it left out
// nothing. A partial run passes no profile.
func (p *Report) WhyPartial() string {
	if p.Incomplete == "" && p.Narrowed {
		return "a focus or labels narrowed the run"
	}
	return p.Incomplete
}

// appliesElsewhere reports whether the requirement applies in a judged revision of the profile that
// is not in judgedIn, the list of revisions with a verdict on the requirement.
func (p *Report) appliesElsewhere(id string, x *spec.Profile, judgedIn []spec.Revision) bool {
	q := spec.Requirements().Lookup(id)
	return q != nil && slices.ContainsFunc(p.Revisions, func(r spec.Revision) bool {
		return !slices.Contains(judgedIn, r) && x.AppliesTo(r, p.Transport) && q.AppliesTo(r, p.Transport)
	})
}

// A profileState is the state of a requirement in a profile. If the state differs between
// revisions, the greatest value counts.
type profileState int

const (
	stateNotApplicable profileState = iota
	stateKept
	stateNotObserved
	stateSkipped
	stateNotJudged
	stateWarned
	stateFlaky
	stateUnconfirmed
	stateBroken
)

func stateOf(v *Verdict) profileState {
	switch v.Outcome {
	case NotApplicable:
		return stateNotApplicable
	case Kept, Note:
		return stateKept
	case Warning:
		return stateWarned
	case Flaky:
		return stateFlaky
	case Unconfirmed:
		return stateUnconfirmed
	case Broken:
		return stateBroken
	case Blocked, HarnessError:
		return stateNotJudged
	default:
		if v.LeftOut {
			return stateSkipped
		}
		return stateNotObserved
	}
}

// counterOf returns the counter of a state.
func (c *ProfileCount) counterOf(s profileState) *int {
	return [...]*int{
		&c.NotApplicable, &c.Kept, &c.NotObserved, &c.Skipped, &c.NotJudged, &c.Warned, &c.Flaky, &c.Unconfirmed, &c.Broken,
	}[s]
}
