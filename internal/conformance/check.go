package conformance

import (
	"fmt"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// Contradictions returns what cannot be true in a valid report: a result that does not
// follow from its counts, or counts that are not those of the profile.
func (r *Report) Contradictions() []string {
	var out []string
	seen := map[string]bool{}
	for i := range r.Profiles {
		p := &r.Profiles[i]
		if seen[p.Name] {
			out = append(out, fmt.Sprintf("the profile %s is there twice", p.Name))
		}
		seen[p.Name] = true
		counted := p.Counted()
		if want := counted.Conclude(r.Incomplete == ""); p.Result != want {
			out = append(out, fmt.Sprintf("the profile %s is %s, but its counts say %s", p.Name, p.Result, want))
		}
		x := spec.LookupProfile(p.Name)
		if x == nil {
			continue // of a newer mcp-conform
		}
		if p.Digest != Digest(x.Digest) {
			out = append(out, fmt.Sprintf("the profile %s has another digest: its list of requirements is not the published one", p.Name))
			continue
		}
		for _, of := range []struct {
			what  string
			count *verdict.ProfileCount
			want  int
		}{{"core", &p.Core, len(x.Core)}, {"extended", &p.Extended, len(x.Extended)}} {
			if of.count.Total() != of.want {
				out = append(out, fmt.Sprintf("the profile %s has %d %s requirements, and %d are counted", p.Name, of.want, of.what, of.count.Total()))
			}
		}
	}
	return out
}

// Missing returns what the report lacks as evidence, each with what to do about it.
func (r *Report) Missing() []string {
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
		p := r.Profiles[i].Counted()
		all := p.All()
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
