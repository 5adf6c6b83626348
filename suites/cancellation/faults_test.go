package cancellation_test

import (
	"slices"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
	"github.com/mcp-conform/mcp-conform/suites/cancellation"
)

// TestKept checks what the cases find kept, on servers that may behave in this way or have the fault
// of another requirement. The self-test covers what they find broken.
func TestKept(t *testing.T) {
	const (
		race    = "cancellation.race-handled"
		unknown = "cancellation.unknown-ignored"
		idType  = "cancellation.id-type-matters"
		exit    = "stdio.exit-on-stdin-close-2024-11-05"
	)
	of := func(id string) func() refserver.Seams {
		f, ok := faults.Lookup(id)
		if !ok {
			t.Fatalf("there is no fault %s", id)
		}
		return f.Seams
	}
	for _, m := range []suitetest.Misbehaviour{
		{Name: "races borne", Case: "cancellation.races", Kept: []string{race, unknown, exit}},
		{Name: "races borne over HTTP", Case: "cancellation.races", Transport: spec.StreamableHTTP, Kept: []string{race}},
		{Name: "races borne over SSE", Case: "cancellation.races", Transport: spec.SSE, Revision: spec.V20241105, Kept: []string{race}},
		{Name: "a moment for each", Case: "cancellation.races", Seams: of("legal/cancelled-unanswered"), Kept: []string{race, unknown, exit}},
		{Name: "errors for what is cancelled", Case: "cancellation.races", Seams: of("legal/cancelled-refused"), Kept: []string{race, unknown, exit}},
		{Name: "one by one", Case: "cancellation.races", Seams: of("legal/reads-one-by-one"), Kept: []string{race, unknown, exit}},
		{Name: "a process that never exits", Case: "cancellation.races", Seams: of(exit + "/stays"), Kept: []string{race, unknown}},

		{Name: "slow calls", Case: "cancellation.several", Kept: []string{race, idType}},
		{Name: "slow calls over HTTP", Case: "cancellation.several", Transport: spec.StreamableHTTP, Kept: []string{race, idType}},
		{Name: "slow calls that go on", Case: "cancellation.several", Seams: of("legal/cancellations-ignored"), Kept: []string{race, idType}},
		{Name: "slow calls, one after the other", Case: "cancellation.several", Seams: of("legal/reads-one-by-one")},

		{Name: "calls that ask", Case: "cancellation.nested", Kept: []string{race}},
		{Name: "calls that ask, and take a ping for the response", Case: "cancellation.nested", Seams: of("ping.responds/taken-for-the-answer"), Kept: []string{race}},
		{Name: "calls that ask, over HTTP", Case: "cancellation.nested", Transport: spec.StreamableHTTP, Kept: []string{race}},

		{Name: "initialize", Case: "cancellation.initialize", Kept: []string{race}},
		{Name: "initialize over HTTP", Case: "cancellation.initialize", Transport: spec.StreamableHTTP, Kept: []string{race}},
		{Name: "initialize that is cancelled", Case: "cancellation.initialize", Seams: of("legal/initialize-cancelled"), Kept: []string{race}},
	} {
		m.Try(t, cancellation.Cases())
	}
}

// TestRacesDescribeOutcomes checks that each case describes its races and their permitted outcomes.
func TestRacesDescribeOutcomes(t *testing.T) {
	var names []string
	for _, c := range cancellation.Cases() {
		if len(c.Races) == 0 {
			t.Errorf("%s tries nothing", c.ID)
		}
		for _, r := range c.Races {
			if r.Name == "" || len(r.Outcomes()) == 0 {
				t.Errorf("%s: the legal outcomes of %q are not written", c.ID, r.Name)
			}
			if r.Cancelled == 0 && r.Others == suite.Any {
				t.Errorf("%s: no outcome of %q is illegal", c.ID, r.Name)
			}
			names = append(names, c.ID+": "+r.Name)
		}
	}
	slices.Sort(names)
	if len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("one of them is written twice: %q", names)
	}
}
