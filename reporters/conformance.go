package reporters

import (
	"cmp"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/conformance"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// ConformanceName is the name of the conformance report. Recordings have no such report, because it
// is about a server.
const ConformanceName = "conformance"

// Conformance writes the conformance report, which docs/reports.md describes. It has the profiles
// that the run was limited to or, if the run was not limited to any, the newest version of each
// profile that applies. Equal reports produce equal bytes except for the date.
func Conformance(w io.Writer, r *verdict.Report) error {
	text, err := conformanceOf(r).Marshal()
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

func conformanceOf(r *verdict.Report) *conformance.Report {
	out := &conformance.Report{
		APIVersion: conformance.APIVersion, Kind: conformance.Kind,
		Implementation: r.Implementation,
		Server:         verdict.Server{Name: clip(r.Server.Name, 200), Version: clip(r.Server.Version, 200)},
		SDK:            clip(r.SDK, 200),
		Tool:           conformance.Tool{Name: r.Tool, Version: r.Version, Catalogue: conformance.Digest(spec.CatalogueDigest())},
		Date:           r.Stats.Started.UTC().Format(time.RFC3339),
		Transports:     []spec.Transport{},
		Revisions:      nonNil(r.Revisions),
		Incomplete:     clip(r.WhyPartial(), 1000),
		Profiles:       []conformance.Profile{},
		Findings:       conformanceFindings(r),
		Command:        ShellQuote(r.Command),
	}
	out.Implementation.Version = cmp.Or(r.Implementation.Version, strings.TrimSpace(out.Server.Version))
	if r.Transport != "" {
		out.Transports = append(out.Transports, r.Transport)
	}
	for _, p := range profilesOf(r) {
		digest := conformance.Digest(spec.LookupProfile(p.Name).Digest)
		out.Profiles = append(out.Profiles, conformance.Profile{Name: p.Name, Digest: digest, Result: p.Result, Core: p.Core, Extended: p.Extended})
	}
	return out
}

// profilesOf returns the results of the profiles that the run was limited to. If there are none,
// the run judged everything. profilesOf then returns the result of the newest version of each
// profile that is about the run's revisions and transport.
func profilesOf(r *verdict.Report) []verdict.ProfileResult {
	if len(r.Profiles) > 0 {
		return r.Profiles
	}
	var out []verdict.ProfileResult
	for _, p := range spec.NewestProfiles() {
		if slices.ContainsFunc(r.Revisions, func(rev spec.Revision) bool { return p.AppliesTo(rev, r.Transport) }) {
			out = append(out, r.ProfileOf(p))
		}
	}
	return out
}

// conformanceFindings groups the deviations that are more severe than a note: it returns one
// finding for each requirement, verdict and reason, with its revisions, the most severe first.
func conformanceFindings(r *verdict.Report) []conformance.Finding {
	type finding struct {
		conformance.Finding
		outcome verdict.Outcome
	}
	var found []finding
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		if v.Outcome < verdict.Warning {
			continue
		}
		at := slices.IndexFunc(found, func(f finding) bool {
			return f.Requirement == v.Requirement && f.outcome == v.Outcome && f.Known == clip(v.Known, 1000)
		})
		if at < 0 {
			at = len(found)
			found = append(found, finding{conformance.Finding{Requirement: v.Requirement, Verdict: v.Outcome.String(), Known: clip(v.Known, 1000)}, v.Outcome})
		}
		found[at].Revisions = append(found[at].Revisions, v.Revision)
	}
	slices.SortStableFunc(found, func(a, b finding) int {
		return cmp.Or(cmp.Compare(b.outcome, a.outcome), cmp.Compare(a.Requirement, b.Requirement), cmp.Compare(a.Known, b.Known))
	})
	out := []conformance.Finding{}
	for _, f := range found {
		f.Revisions = spec.NewestFirst(f.Revisions)
		out = append(out, f.Finding)
	}
	return out
}
