package engine

import (
	"fmt"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// A run that takes long says where its time goes, and which settings would make the next one
// faster. Both are measured: a setting is named only if this run shows that it helps.

const (
	// slowRun is the duration from which a run says where its time went.
	slowRun = 20 * time.Second
	// worthwhile is the part of the time that a setting must save to be named.
	worthwhile = 0.2
	// shortTimeout is long enough for most servers.
	shortTimeout = 2 * time.Second
	// muchMissed is the part of the time that waits without a response must take for --timeout to
	// be named.
	muchMissed = 0.25
)

// slowness returns where the time of a slow run went, and what would make it faster; "" for a
// run that was not slow.
func (r *execution) slowness(took time.Duration) string {
	if took < slowRun || len(r.units) == 0 {
		return ""
	}
	spent := r.waits.spent()
	rates := r.rates(r.newest())
	var parts []string
	for kind, what := range []string{
		forResponses: fmt.Sprintf("for responses (typically %s each)", roundTime(rates.response)),
		forStarts:    fmt.Sprintf("for servers to start (%s each)", roundTime(r.waits.typicalStart())),
		forNothing:   "for responses that did not come",
		forExits:     "for servers to exit",
	} {
		if d := spent[kind]; d >= took/10 {
			parts = append(parts, fmt.Sprintf("%.0f s %s", d.Seconds(), what))
		}
	}
	out := fmt.Sprintf("%.0f s", took.Seconds())
	if len(parts) > 0 {
		out += ", of which the run waited " + strings.Join(parts, ", ")
	}
	first, last := r.outlook.casesSpan()
	if all := r.remedies(took, last.Sub(first)); len(all) > 0 {
		out += "; faster: " + strings.Join(all, ", ")
	}
	return out
}

// remedies returns the settings that would make a run that takes the given time, and its cases a
// part of it, faster. The probe and the retries are expected to take as long as in this run.
func (r *execution) remedies(took, cases time.Duration) []string {
	newest := r.newest()
	all := func(*unit, *suite.Case) bool { return true }
	isNewest := func(u *unit, _ *suite.Case) bool { return u.revision == newest }
	isQuick := func(u *unit, c *suite.Case) bool { return isNewest(u, c) && !isSlow(c) }
	now := r.timeOf(1, all)
	var out []string
	name := func(setting string, then time.Duration, what string) {
		share := then.Seconds() / max(now, leastResponse).Seconds()
		if d := took - cases + time.Duration(share*float64(cases)); d.Seconds() <= (1-worthwhile)*took.Seconds() {
			out = append(out, fmt.Sprintf("%s takes %s%s", setting, roundedTime(d), what))
		}
	}
	if !r.o.Quick && len(r.o.Revisions) == 0 && len(r.revisions) > 1 {
		name("--revision "+string(newest), r.timeOf(1, isNewest), fmt.Sprintf(" for one of %d revisions", len(r.revisions)))
	}
	if quick, all := r.quickRequirements(newest); !r.o.Quick && 0 < quick && quick < all {
		name("--quick", r.timeOf(1, isQuick), fmt.Sprintf(" for %d of %d requirements", quick, all))
	}
	if jobs := 2 * r.o.Jobs; r.rates(newest).response >= client.SlowResponse && !r.gate.one {
		name(fmt.Sprintf("--jobs %d", jobs), r.timeOf(2, all), "")
	}
	if d := r.waits.spent()[forNothing]; d.Seconds() >= muchMissed*took.Seconds() && r.timeout() > shortTimeout {
		out = append(out, fmt.Sprintf("--timeout %v ends the waits for responses that don't come", shortTimeout))
	}
	return out
}

// roundedTime returns an expected time in words.
func roundedTime(d time.Duration) string {
	switch {
	case d >= 90*time.Second:
		return fmt.Sprintf("about %.0f minutes", d.Minutes())
	case d >= 10*time.Second:
		return fmt.Sprintf("about %.0f s", d.Round(5*time.Second).Seconds())
	default:
		return fmt.Sprintf("about %.0f s", max(d.Seconds(), 1))
	}
}

// timeOf returns how long the cases that are chosen take if so many times as many units as in this
// run run at once. Cases that ended take as long as they took, the others as long as expected.
func (r *execution) timeOf(times int, chosen func(*unit, *suite.Case) bool) time.Duration {
	o := r.outlook
	o.mu.Lock()
	defer o.mu.Unlock()
	rates := r.allRates()
	e := o.experience(r.units, rates)
	return r.makespan(times*o.slots(r.units, r.gate.most), func(u *unit) load {
		var l load
		for _, c := range u.cases {
			if !chosen(u, c) {
				continue
			}
			d, ended := o.took[instance{c.ID, u.revision}]
			if !ended {
				d = time.Duration(float64(rates[u.revision].cost(u, c)) * e.factor() * e.busy())
			}
			l.left += d
		}
		return l
	})
}

// timeout returns how long the run waits for a response.
func (r *session) timeout() time.Duration {
	if r.o.Timeout > 0 {
		return r.o.Timeout
	}
	return client.DefaultTimeout
}

// quickRequirements returns how many of the requirements that the run may judge a quick run
// judges, and how many there are. The newest revision is that of the quick run.
func (r *execution) quickRequirements(newest spec.Revision) (quick, all int) {
	isQuick := map[string]bool{}
	for _, pairs := range [][]pair{r.casePairs, r.rulePairs} {
		for _, p := range pairs {
			if p.caseIndex >= 0 && r.missing(&r.o.Cases[p.caseIndex], p.revision) != "" || r.undeclared(p.requirement, p.revision) != "" {
				continue
			}
			id := p.requirement.ID
			isQuick[id] = isQuick[id] || p.revision == newest && r.whyLeftOut(verdict.Place{Requirement: id, Revision: newest, Transport: r.transport()}) == ""
		}
	}
	for _, is := range isQuick {
		if is {
			quick++
		}
	}
	return quick, len(isQuick)
}
