package conformance

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// Contradictions describes what can't be true in the report: among others, a result that does
// not follow from its counts, and counts that contradict the profile or the findings.
func (r *Report) Contradictions() []string {
	out := r.wrongFindings()
	if _, err := time.Parse(time.RFC3339, r.Date); err != nil {
		out = append(out, fmt.Sprintf("%s is not a date", r.Date))
	}
	seen := map[string]bool{}
	for i := range r.Profiles {
		p := &r.Profiles[i]
		if seen[p.Name] {
			out = append(out, fmt.Sprintf("the profile %s occurs twice", p.Name))
		}
		seen[p.Name] = true
		counted := p.ProfileResult()
		if want := counted.Conclude(r.Incomplete == ""); p.Result != want {
			out = append(out, fmt.Sprintf("the profile %s is %s, but by its counts it is %s", p.Name, p.Result, want))
		}
		x := spec.LookupProfile(p.Name)
		if x == nil {
			continue // a profile of a newer mcp-conform
		}
		if p.Digest != Digest(x.Digest) {
			out = append(out, fmt.Sprintf("the digest of the profile %s differs: its list of requirements is not the published one", p.Name))
			continue
		}
		for _, of := range []struct {
			what  string
			count *verdict.ProfileCount
			ids   []string
		}{{"core", &p.Core, x.Core}, {"extended", &p.Extended, x.Extended}} {
			if of.count.Total() != len(of.ids) {
				out = append(out, fmt.Sprintf("the profile %s has %d %s requirements, but %d are counted", p.Name, len(of.ids), of.what, of.count.Total()))
			}
			for _, problem := range r.wrongCounts(x, of.count, of.ids) {
				out = append(out, fmt.Sprintf("the profile %s counts %s", p.Name, fmt.Sprintf(problem.format, of.what, problem.counted, problem.want)))
			}
		}
	}
	return out
}

// hasThisCatalogue reports whether the run judged the requirements that this program knows.
func (r *Report) hasThisCatalogue() bool {
	return r.Tool.Catalogue == Digest(spec.CatalogueDigest())
}

// wrongFindings describes the contradictions in the findings themselves. It does not compare them
// with the results of profiles.
func (r *Report) wrongFindings() []string {
	var out []string
	for i := range r.Findings {
		f := &r.Findings[i]
		if r.hasThisCatalogue() && spec.Requirements().Lookup(f.Requirement) == nil {
			out = append(out, fmt.Sprintf("there is no requirement %s", f.Requirement))
		}
		for _, rev := range f.Revisions {
			if !slices.Contains(r.Revisions, rev) {
				out = append(out, fmt.Sprintf("the finding on %s is in revision %s, which was not judged", f.Requirement, rev))
			}
		}
	}
	return out
}

// A wrongCount is a count of requirements of a profile that cannot be true.
type wrongCount struct {
	format        string // its verbs are for "core" or "extended", for counted and for want
	counted, want int
}

// wrongCounts returns the counts in c that cannot be right. c counts the requirements of profile x
// that have these ids. wrongCounts compares it with the findings and, if the report was made with
// the same catalogue as that of this program, with the revisions and transports to which the
// requirements apply.
func (r *Report) wrongCounts(x *spec.Profile, c *verdict.ProfileCount, ids []string) []wrongCount {
	var out []wrongCount
	outcomes := []verdict.Outcome{verdict.Broken, verdict.Unconfirmed, verdict.Flaky, verdict.Warning} // the most severe first
	found := map[verdict.Outcome]int{}
	elsewhere := 0
	for _, id := range ids {
		for _, o := range outcomes {
			if r.hasFinding(x, id, o) {
				found[o]++
				break
			}
		}
		if q := spec.Requirements().Lookup(id); q == nil || !r.judges(x, q) {
			elsewhere++
		}
	}
	for i, counted := range []int{c.Broken, c.Unconfirmed, c.Flaky, c.Warned} {
		if want := found[outcomes[i]]; counted != want {
			out = append(out, wrongCount{"%s requirements that are " + outcomes[i].String() + ": %d, but the findings list %d", counted, want})
		}
	}
	if r.hasThisCatalogue() && c.NotApplicable < elsewhere {
		out = append(out, wrongCount{"%s requirements that do not apply: %d, but no judged revision and transport has %d", c.NotApplicable, elsewhere})
	}
	return out
}

// hasFinding reports whether a finding on the requirement has that outcome where the profile
// applies.
func (r *Report) hasFinding(x *spec.Profile, id string, o verdict.Outcome) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool {
		return f.Requirement == id && f.Verdict == o.String() && slices.ContainsFunc(f.Revisions, func(rev spec.Revision) bool {
			return slices.ContainsFunc(r.Transports, func(t spec.Transport) bool { return x.AppliesTo(rev, t) })
		})
	})
}

// judges reports whether the requirement applies where the run judged the profile.
func (r *Report) judges(x *spec.Profile, q *spec.Requirement) bool {
	return slices.ContainsFunc(r.Revisions, func(rev spec.Revision) bool {
		return slices.ContainsFunc(r.Transports, func(t spec.Transport) bool { return x.AppliesTo(rev, t) && q.AppliesTo(rev, t) })
	})
}

// Gaps lists the gaps that make the report incomplete evidence, each with advice.
func (r *Report) Gaps() []string {
	var out []string
	for _, of := range []struct{ key, value string }{
		{"organization", r.Implementation.Organization}, {"project", r.Implementation.Project}, {"url", r.Implementation.URL},
		{"version", r.Implementation.Version}, {"contact", strings.Join(r.Implementation.Contact, " ")},
	} {
		if of.value == "" {
			out = append(out, fmt.Sprintf("implementation.%s is missing; write it into mcp-conform.yaml", of.key))
		}
	}
	if r.Incomplete != "" {
		out = append(out, "the run is incomplete: "+r.Incomplete)
	}
	if len(r.Profiles) == 0 {
		out = append(out, "no profile was judged")
	}
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Verdict == verdict.Unconfirmed.String() || f.Verdict == verdict.HarnessError.String() {
			out = append(out, fmt.Sprintf("the finding on %s is %s; run it again", f.Requirement, f.Verdict))
		}
	}
	for i := range r.Profiles {
		p := r.Profiles[i].ProfileResult()
		all := p.All()
		if spec.LookupProfile(p.Name) == nil {
			out = append(out, fmt.Sprintf("the profile %s can't be checked, because this mcp-conform does not have it; use a newer one", p.Name))
		}
		if p.Result != verdict.ProfileIncomplete {
			continue
		}
		switch {
		case all.Skipped > 0:
			out = append(out, fmt.Sprintf("the profile %s is incomplete: %d requirements were skipped; run it without --quick, --focus and --label-filter", p.Name, all.Skipped))
		case r.Incomplete == "":
			out = append(out, fmt.Sprintf("the profile %s is incomplete: not all of its requirements could be judged", p.Name))
		}
	}
	return out
}
