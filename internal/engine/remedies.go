package engine

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

// A notice says where the time of a slow run went, and which settings would make the next run
// faster. It names a setting only if this run shows that the setting helps, and says what the
// setting does or leaves out.

const (
	// slowRun is how long a run must take to get a notice that says where its time went.
	slowRun = 20 * time.Second
	// minSaving is the fraction of the run's time that a setting must save for the notice to name
	// it.
	minSaving = 0.2
	// shortTimeout is the value of --timeout that the notice names. It is long enough for most
	// servers.
	shortTimeout = 2 * time.Second
	// missedShare is the fraction of its time that the run must have waited for missing responses
	// for the notice to name --timeout.
	missedShare = 0.25
)

// slowRunNotice returns a notice that says where the time of a slow run went, and which settings
// would make the next run faster. It returns "" if the run was not slow, or if neither is known.
// ended says why the run ended early, or is "".
func (r *execution) slowRunNotice(took time.Duration, ended string) string {
	if took < slowRun || len(r.plan.units) == 0 {
		return ""
	}
	spent := r.s.timing.waits.timeSpentByKind()
	rates := r.s.timing.rates(r.offer.newest())
	responses := "for responses"
	if rates.response >= client.SlowResponse { // if it is shorter, only a few responses took long
		responses += fmt.Sprintf(" (typically %s each)", roundTime(rates.response))
	}
	var parts []string
	for kind, what := range []string{
		forResponses: responses,
		forStarts:    fmt.Sprintf("for servers to start (%s each)", roundTime(r.s.timing.waits.typicalStart())),
		forNothing:   "for responses that did not come",
		forExits:     "for servers to exit",
	} {
		if d := spent[kind]; d >= took/10 {
			parts = append(parts, fmt.Sprintf("%.0f s %s", d.Seconds(), what))
		}
	}
	var faster []string
	if ended == "" { // otherwise it is not known how long the rest would have taken
		first, last := r.outlook.casesSpan()
		faster = r.remedies(took, last.Sub(first))
	}
	return slowText(took, parts, faster)
}

// slowText returns the text of a notice: how long the run took, for what it waited, and which
// settings would make it faster. It returns "" if neither is known.
func slowText(took time.Duration, waited, faster []string) string {
	if len(waited)+len(faster) == 0 {
		return ""
	}
	out := fmt.Sprintf("%.0f s", took.Seconds())
	if len(waited) > 0 {
		out += ", of which the run waited " + strings.Join(waited, ", ")
	}
	if len(faster) > 0 {
		out += "; faster: " + strings.Join(faster, ", ")
	}
	return out
}

// remedies returns the settings that would make a run faster. took is the time of the run, and
// cases is the part of that time in which cases ran. The other part is expected to take as long
// with other settings.
func (r *execution) remedies(took, cases time.Duration) []string {
	newest := r.offer.newest()
	all := func(*unit, *suite.Case) bool { return true }
	isNewest := func(u *unit, _ *suite.Case) bool { return u.revision == newest }
	isInQuickRun := func(u *unit, c *suite.Case) bool { return isNewest(u, c) && isQuick(c) }
	now := r.timeOf(all)
	var out []string
	// saves reports whether the run would take clearly less time than now.
	saves := func(then time.Duration) bool {
		share := then.Seconds() / max(now, minResponseTime).Seconds()
		d := took - cases + time.Duration(share*float64(cases))
		return d.Seconds() <= (1-minSaving)*took.Seconds()
	}
	if !r.s.o.Quick && len(r.s.o.Revisions) == 0 && len(r.offer.revisions) > 1 && saves(r.timeOf(isNewest)) {
		out = append(out, fmt.Sprintf("--revision %s judges one of %d revisions", newest, len(r.offer.revisions)))
	}
	if !r.s.o.Quick && saves(r.timeOf(isInQuickRun)) {
		if quick, all := r.countQuickRequirements(newest); 0 < quick && quick < all {
			out = append(out, fmt.Sprintf("--quick judges at most %d of %d requirements", quick, all))
		}
	}
	if r.s.timing.rates(newest).start >= slowStart && !r.s.gate.isSingle {
		out = append(out, fmt.Sprintf("--jobs %d starts more servers at once", 2*r.s.o.Jobs))
	}
	if d := r.s.timing.waits.timeSpentByKind()[forNothing]; d.Seconds() >= missedShare*took.Seconds() && cmp.Or(r.s.o.Timeout, client.DefaultTimeout) > shortTimeout {
		out = append(out, fmt.Sprintf("--timeout %v ends the waits for responses that don't come", shortTimeout))
	}
	return out
}

// timeOf estimates how long those cases take for which chosen returns true. For a case that has
// ended it counts the time that the case took, for any other the expected time.
func (r *execution) timeOf(chosen func(*unit, *suite.Case) bool) time.Duration {
	o := r.outlook
	o.mu.Lock()
	defer o.mu.Unlock()
	rates := r.s.timing.allRates()
	e := o.experience(r.plan.units, rates)
	return r.plan.makespan(o.slots(r.plan.units, r.s.gate.slots()), func(u *unit) load {
		var l load
		for _, c := range u.cases {
			if !chosen(u, c) {
				continue
			}
			if s := o.spanOf(u, c); s.hasEnded() {
				l.left += s.took()
			} else {
				l.left += time.Duration(float64(rates[u.revision].cost(u, c)) * e.slowdownFactor() * e.busyProbability())
			}
		}
		return l
	})
}

// countQuickRequirements returns how many requirements a quick run would judge, in the newest
// revision, and how many this run judges at most.
func (r *execution) countQuickRequirements(newest spec.Revision) (quick, all int) {
	isQuick := map[string]bool{}
	for _, pairs := range [][]pair{r.plan.casePairs, r.plan.rulePairs} {
		for _, p := range pairs {
			if p.caseIndex >= 0 && r.offer.whyInapplicable(&r.s.o.Cases[p.caseIndex], p.revision) != "" || r.offer.whyUndeclared(p.requirement.ServerNeeds(), p.revision) != "" {
				continue
			}
			id := p.requirement.ID
			isQuick[id] = isQuick[id] || p.revision == newest && r.offer.whyLeftOut(&r.s.o, r.offer.place(id, newest)) == ""
		}
	}
	for _, is := range isQuick {
		if is {
			quick++
		}
	}
	return quick, len(isQuick)
}
