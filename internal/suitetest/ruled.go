package suitetest

import (
	std "cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/ruleset"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// TryWithRules runs one case, and all rules on its traffic, against a reference server with the
// fault that seams inserts. want lists the findings, each as "requirement: summary (outcome)". A
// fault may also break general requirements, so a finding on one of those counts only if want is
// nil or has a requirement of the same area.
func TryWithRules(t *testing.T, cases []suite.Case, name, id string, rev spec.Revision, seams func() refserver.Seams, want []string) {
	TryWithRulesOver(t, spec.Stdio, cases, name, id, rev, seams, want)
}

// TryWithRulesOver is like TryWithRules, but over any transport.
func TryWithRulesOver(t *testing.T, over spec.Transport, cases []suite.Case, name, id string, rev spec.Revision, seams func() refserver.Seams, want []string) {
	runSubtest(t, name, over, func(t *testing.T) {
		var got []string
		d, stop := ReferenceOver(over, refserver.Options{Seams: seams()})
		t.Cleanup(stop)
		for _, d := range findings(t, cases, id, rev, d) {
			if isGeneral(d.Requirement) && want != nil && !slices.ContainsFunc(want, func(w string) bool { return spec.AreaOf(w) == spec.AreaOf(d.Requirement) }) {
				continue
			}
			t.Logf("%s: seen %s", d.Requirement, d.Seen)
			got = append(got, d.Requirement+": "+d.Summary+" ("+d.Outcome.String()+")")
		}
		slices.Sort(got)
		want := slices.Sorted(slices.Values(want))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("findings (-want +got):\n%s", diff)
		}
	})
}

// isGeneral reports whether a requirement concerns every server, so that an unrelated fault may
// break it, too. For example, a fault that makes a request hang also makes the client cancel that
// request.
func isGeneral(requirement string) bool {
	return slices.Contains([]string{spec.AreaBase, spec.AreaCancellation}, spec.AreaOf(requirement))
}

func findings(t *testing.T, cases []suite.Case, id string, rev spec.Revision, d transport.Dialer) []verdict.Finding {
	t.Helper()
	report := runCase(t, cases, id, rev, ruleset.All(), time.Second, d)
	for _, v := range report.Verdicts {
		if v.Outcome == verdict.HarnessError {
			t.Errorf("%s: %s", v.Requirement, v.Reason)
		}
	}
	return report.Findings
}

// HandleSeams returns seams that wrap the handling of requests.
func HandleSeams(f func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error)) func() refserver.Seams {
	return func() refserver.Seams { return refserver.Seams{Handle: f} }
}

// An UnclearServer is a server on which one case, with all rules on its traffic, must
// find nothing but notes, and must say why requirements were not observed.
type UnclearServer struct {
	Name     string
	Case     string        // id of the case
	Revision spec.Revision // default: the newest of the handshake era
	Over     spec.Transport
	Seams    func() refserver.Seams
	// May lists requirements on which a finding is correct.
	May []string
	// Reasons maps the id of each requirement whose verdict must be "not observed" to a part of the
	// reason for this verdict.
	Reasons map[string]string
}

// Try runs the case that u names.
func (u UnclearServer) Try(t *testing.T, cases []suite.Case) {
	runSubtest(t, u.Name, u.Over, func(t *testing.T) {
		d, stop := ReferenceOver(std.Or(u.Over, spec.Stdio), refserver.Options{Seams: u.Seams()})
		t.Cleanup(stop)
		report := runCase(t, cases, u.Case, std.Or(u.Revision, spec.V20251125), ruleset.All(), time.Second, d)
		for _, f := range report.Findings {
			if f.Outcome > verdict.Note && !slices.Contains(u.May, f.Requirement) {
				t.Errorf("%s: %s (%s), seen: %s", f.Requirement, f.Summary, f.Outcome, f.Seen)
			}
		}
		for id, reason := range u.Reasons {
			i := slices.IndexFunc(report.Verdicts, func(v verdict.Verdict) bool { return v.Requirement == id })
			if i < 0 {
				t.Errorf("%s: no verdict", id)
			} else if v := report.Verdicts[i]; v.Outcome != verdict.NotObserved || !strings.Contains(v.Reason, reason) {
				t.Errorf("%s: %s, because %q; want not observed, because %q", id, v.Outcome, v.Reason, reason)
			}
		}
	})
}
