package suitetest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/inprocess"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// A Misbehaviour describes a reference server that deviates, and the exact findings that one case
// must report on it. No rule runs.
type Misbehaviour struct {
	Name     string
	Case     string        // id of the case
	Revision spec.Revision // default: the newest of the handshake era
	// Transport is the transport of the run; default: stdio.
	Transport spec.Transport
	// JSONOnly makes a Streamable HTTP server respond without streams.
	JSONOnly bool
	// Seams returns new seams, which insert the fault, for each server. If it is nil, there is no
	// fault.
	Seams func() refserver.Seams
	// Fixtures are what the user's configuration says about the server's tools.
	Fixtures []inventory.Fixture
	// Want lists the findings, each as "requirement: summary (outcome)".
	Want []string
	// Kept lists requirements that must be found kept.
	Kept []string
	// Shown lists strings that must be in the evidence of the findings.
	Shown []string
}

// Try runs the case that m names.
func (m Misbehaviour) Try(t *testing.T, cases []suite.Case) {
	runSubtest(t, m.Name, m.Transport, func(t *testing.T) {
		report := m.report(t, cases)
		var got, kept []string
		for _, f := range report.Findings {
			got = append(got, f.Requirement+": "+f.Summary+" ("+f.Outcome.String()+")")
		}
		slices.Sort(got)
		slices.Sort(m.Want)
		if diff := cmp.Diff(m.Want, got); diff != "" {
			t.Errorf("findings (-want +got):\n%s", diff)
		}
		for _, v := range report.Verdicts {
			if v.Outcome == verdict.HarnessError {
				t.Errorf("%s: %s", v.Requirement, v.Reason)
			}
			if v.Outcome == verdict.Kept {
				kept = append(kept, v.Requirement)
			}
		}
		for _, text := range m.Shown {
			if !isShown(report, text) {
				t.Errorf("no evidence shows %s", text)
			}
		}
		for _, id := range m.Kept {
			if !slices.Contains(kept, id) {
				t.Errorf("%s was not found kept; kept were %v", id, kept)
			}
		}
	})
}

// isShown reports whether the evidence of any finding contains text.
func isShown(r *verdict.Report, text string) bool {
	return slices.ContainsFunc(r.Findings, func(f verdict.Finding) bool {
		return slices.ContainsFunc(f.Evidence, func(e verdict.Evidence) bool { return strings.Contains(e.Text, text) })
	})
}

func (m Misbehaviour) report(t *testing.T, cases []suite.Case) *verdict.Report {
	t.Helper()
	rev := m.Revision
	if rev == "" {
		rev = spec.V20251125
	}
	return runCaseWithFixtures(t, cases, m.Case, rev, nil, 2*time.Second, m.dialer(t), m.Fixtures)
}

// runCase runs the case with the given id in one revision.
func runCase(t *testing.T, cases []suite.Case, id string, rev spec.Revision, judges []rules.Rule, start time.Duration, d transport.Dialer) *verdict.Report {
	t.Helper()
	return runCaseWithFixtures(t, cases, id, rev, judges, start, d, nil)
}

// runCaseWithFixtures is like runCase, with fixtures that the user configured.
func runCaseWithFixtures(t *testing.T, cases []suite.Case, id string, rev spec.Revision, judges []rules.Rule, start time.Duration, d transport.Dialer, fixtures []inventory.Fixture) *verdict.Report {
	t.Helper()
	if err := spec.CheckCatalogue(); err != nil {
		t.Fatal(err)
	}
	chosen := slices.DeleteFunc(slices.Clone(cases), func(c suite.Case) bool { return c.ID != id })
	if len(chosen) != 1 {
		t.Fatalf("there is no case %s", id)
	}
	report, err := engine.Run(t.Context(), engine.Options{
		Dialer:       d,
		Cases:        chosen,
		Rules:        judges,
		Revisions:    []spec.Revision{rev},
		Policy:       inventory.Config{Policy: inventory.CallAll, Fixtures: fixtures},
		Timeout:      time.Second,
		StartTimeout: start,
		Unconfirmed:  true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func (m Misbehaviour) dialer(t *testing.T) transport.Dialer {
	if m.Transport == spec.StreamableHTTP || m.Transport == spec.SSE {
		o := refserver.Options{JSONOnly: m.JSONOnly}
		if m.Seams != nil {
			o.Seams = m.Seams()
		}
		d, stop := ReferenceOver(m.Transport, o)
		t.Cleanup(stop)
		return d
	}
	return inprocess.MisbehavingDialer(m.Seams)
}
