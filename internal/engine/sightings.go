package engine

import (
	"context"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// A deviation may be seen in several cases. In the first of them, another client may have caused
// it, so that this case cannot reproduce it alone. So all sightings are kept, and several of their
// cases are retried.

// maxSightings limits in how many cases one candidate is retried.
const maxSightings = 3

// sightings returns the deviations that the unit has shown, with what is needed to retry them. If
// the same deviation was seen several times in one case, it returns only the first.
func (r *unitResult) sightings(over spec.Transport) []*candidate {
	var out []*candidate
	type sighting struct {
		key    verdict.Key
		during string
	}
	seen := map[sighting]bool{}
	for s := range r.deviations() {
		c := r.newCandidate(s.key(over), s.during, *s.Deviation, s.record)
		if key := (sighting{c.key, c.caseID()}); !seen[key] {
			seen[key] = true
			out = append(out, c)
		}
	}
	return out
}

// candidates returns the deviations that the unit has shown, merged by mergeCandidates.
func (r *unitResult) candidates(over spec.Transport) []*candidate {
	return mergeCandidates(r.sightings(over))
}

// candidatesOf returns the deviations that all units have shown, merged by mergeCandidates.
func candidatesOf(results []*unitResult, over spec.Transport) []*candidate {
	return mergeCandidates(allSightings(results, over))
}

func allSightings(results []*unitResult, over spec.Transport) []*candidate {
	var out []*candidate
	for _, r := range results {
		out = append(out, r.sightings(over)...)
	}
	return out
}

// mergeCandidates returns one candidate for each key: the first whose case judges or provokes the
// requirement, or the first of all if there is none.
func mergeCandidates(candidates []*candidate) []*candidate {
	var out []*candidate
	at := map[verdict.Key]int{}
	for _, c := range candidates {
		i, known := at[c.key]
		switch {
		case !known:
			at[c.key] = len(out)
			out = append(out, c)
		case c.isCaseRequirement() && !out[i].isCaseRequirement():
			out[i] = c
		}
	}
	return out
}

// isCaseRequirement reports whether the case of the candidate judges or
// provokes the requirement.
func (c *candidate) isCaseRequirement() bool {
	return c.during != nil && (slices.Contains(c.during.Requirements, c.Requirement) || c.during.ProvokesID(c.Requirement))
}

// caseID returns the id of the case during which the deviation was seen, or "" if no case was
// running.
func (c *candidate) caseID() string {
	return idOf(c.during)
}

// confirmInOtherCases takes the candidates that have not recurred, and retries each of them in
// other cases in which it was seen: in at most maxSightings-1, and first in those that judge or
// provoke the requirement.
func (r *confirmation) confirmInOtherCases(ctx context.Context, results []*unitResult, found []*candidate) {
	others := map[verdict.Key][]*candidate{}
	for _, c := range allSightings(results, r.s.transport()) {
		others[c.key] = append(others[c.key], c)
	}
	for _, c := range found {
		others[c.key] = sightingsInOtherCases(c, others[c.key])
	}
	for range maxSightings - 1 {
		next := map[verdict.Key]*candidate{}
		var open []*candidate
		for _, c := range found {
			key := c.key
			if c.outcome != verdict.Flaky || c.retries.Attempts == 0 || len(others[key]) == 0 {
				continue
			}
			other := others[key][0]
			others[key] = others[key][1:]
			other.retries = c.retries.InOtherCase()
			next[key] = other
			open = append(open, other)
		}
		for _, a := range groupAttempts(open) {
			r.retry(ctx, a, true)
		}
		for i, c := range found {
			switch other := next[c.key]; {
			case other == nil:
			case other.outcome != verdict.Flaky:
				found[i] = other
			default:
				c.retries.AddOtherCase(other.retries)
			}
		}
	}
}

// sightingsInOtherCases returns the sightings of candidate c in other cases, one for each case.
// Cases that judge the requirement, or provoke what rules judge for it, come first.
func sightingsInOtherCases(c *candidate, sightings []*candidate) []*candidate {
	var made, others []*candidate
	cases := map[string]bool{c.caseID(): true}
	for _, s := range sightings {
		switch {
		case cases[s.caseID()]:
			continue
		case s.isCaseRequirement():
			made = append(made, s)
		default:
			others = append(others, s)
		}
		cases[s.caseID()] = true
	}
	return append(made, others...)
}
