package engine

import (
	"fmt"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// A run that takes long says where its time goes, and which settings would make the next one
// faster. Both are measured: a setting is named only if this run shows that it helps.

const (
	// slowRun is the duration from which a run says where its time went.
	slowRun = 20 * time.Second
	// worthwhile is the part of the time that more jobs must save to be named.
	worthwhile = 0.2
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
	if all := r.remedies(); len(all) > 0 {
		out += "; faster: " + strings.Join(all, ", ")
	}
	return out
}

// remedies returns the settings that would make such a run faster.
func (r *execution) remedies() []string {
	var out []string
	newest := r.newest()
	if !r.o.Quick && len(r.o.Revisions) == 0 && len(r.revisions) > 1 {
		out = append(out, fmt.Sprintf("--revision %s judges one of %d revisions", newest, len(r.revisions)))
	}
	if quick, all := r.quickRequirements(newest); !r.o.Quick && 0 < quick && quick < all {
		out = append(out, fmt.Sprintf("--quick judges %d of %d requirements", quick, all))
	}
	if r.rates(newest).response >= slowResponse && !r.gate.one {
		jobs := 2 * r.o.Jobs
		now, then := r.wholeTime(r.gate.most), r.wholeTime(mostAlive(jobs, r.transport(), true))
		if float64(now-then) >= worthwhile*float64(now) {
			out = append(out, fmt.Sprintf("--jobs %d runs more at once", jobs))
		}
	}
	if spent := r.waits.spent(); spent[forNothing].Seconds() >= muchMissed*time.Since(r.started).Seconds() && r.timeout() > 2*time.Second {
		out = append(out, "a shorter --timeout ends the waits for responses that don't come")
	}
	return out
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
