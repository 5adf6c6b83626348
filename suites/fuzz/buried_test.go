package fuzz_test

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/fuzz"
	"github.com/mcp-conform/mcp-conform/internal/inprocess"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/ruleset"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
	"github.com/mcp-conform/mcp-conform/suites"
)

var (
	onlyBuried = flag.String("buried.only", "", "take only the buried faults whose ids contain one of these, with commas between them")
	hidden     = flag.Bool("buried.hidden", false, "run all cases against every buried fault: none may show it")
	limit      = flag.Duration("buried.time", time.Minute, "how long one search may last")
)

// search searches for a buried fault. It returns the finding on the requirement that the fault
// breaks, nil if there is none, and the report.
func search(ctx context.Context, t *testing.T, f faults.Fault, seed uint64, length time.Duration, shrink fuzz.Budget) (*fuzz.Finding, *fuzz.Report) {
	t.Helper()
	var found *fuzz.Finding
	report, err := fuzz.Run(ctx, fuzz.Options{
		Dialer: inprocess.MisbehavingDialer(f.Seams), Laws: laws(), Policy: inventory.Config{Policy: inventory.CallAll}, Revisions: f.Revisions,
		Time: length, Seed: seed, Shrink: shrink,
		StopAt: func(one *fuzz.Finding) bool {
			if one.Requirement == f.Requirement && one.Outcome > verdict.Note && one.Recurred() && found == nil {
				found = one
			}
			return found != nil
		},
	})
	if err != nil {
		t.Errorf("%s: %v", f.ID, err)
	}
	return found, report
}

// TestBuriedFaultsAreFound tests a sample of faults that are found quickly.
func TestBuriedFaultsAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes half a minute")
	}
	t.Parallel()
	for _, id := range []string{
		"base.request-answered/deep-meta", "prompts.get.result-schema/empty-argument", "tools.list.result-schema/after-unsubscribing",
		"tools.structured.conforms/large-sum", "tools.list.result-schema/empty-meta",
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			f := lookUpFault(t, id)
			found, report := search(t.Context(), t, f, 1, *limit, fuzz.Budget{Time: time.Second, Attempts: 50})
			if found == nil {
				t.Fatalf("it was not found in %d requests; found was %v", report.Requests, describeFindings(report))
			}
			t.Logf("found after %v, %d requests; %d operations, %d bytes; %d tries to make it small, back %d of %d", found.After.Round(time.Millisecond), found.Requests, len(found.Script.Operations), found.Script.Size(), found.Shrinking, found.Retries.Reproduced, found.Retries.Attempts)
		})
	}
}

// lookUpFault returns the fault with the given id, buried or not.
func lookUpFault(t *testing.T, id string) faults.Fault {
	all := slices.Concat(faults.All(), faults.Buried())
	i := slices.IndexFunc(all, func(f faults.Fault) bool { return f.ID == id })
	if i < 0 {
		t.Fatalf("there is no fault %s", id)
	}
	return all[i]
}

// isChosen reports whether a buried fault was selected.
func isChosen(id string) bool {
	return slices.ContainsFunc(strings.Split(*onlyBuried, ","), func(part string) bool { return strings.Contains(id, part) })
}

func describeFindings(r *fuzz.Report) []string {
	var out []string
	for _, f := range r.Findings {
		out = append(out, fmt.Sprintf("%s: %s (%s, %d of %d, %d operations): %s", f.Requirement, f.Summary, f.Outcome, f.Retries.Reproduced, f.Retries.Attempts, len(f.Script.Operations), f.Seen))
	}
	return out
}

// TestBuriedFaultsHaveRequirements checks that the requirements that they break exist.
func TestBuriedFaultsHaveRequirements(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range faults.Buried() {
		if spec.Requirements().Lookup(f.Requirement) == nil || seen[f.ID] {
			t.Errorf("%s breaks nothing, or is there twice", f.ID)
		}
		if _, open := faults.Lookup(f.ID); open {
			t.Errorf("%s is not buried", f.ID)
		}
		seen[f.ID] = true
	}
	if len(seen) < 25 {
		t.Errorf("only %d faults are buried", len(seen))
	}
}

// TestBuriedFaultsStayHidden checks that no case of a run finds them.
func TestBuriedFaultsStayHidden(t *testing.T) {
	if !*hidden {
		t.Skip("it takes minutes; -buried.hidden asks for it")
	}
	for _, f := range faults.Buried() {
		if !isChosen(f.ID) {
			continue
		}
		t.Run(f.ID, func(t *testing.T) {
			report, err := engine.Run(t.Context(), engine.Options{
				Dialer: inprocess.MisbehavingDialer(f.Seams), Cases: suites.Cases(), Rules: ruleset.All(), Revisions: f.Revisions,
				Policy: inventory.Config{Policy: inventory.CallSafe}, Unconfirmed: true, StartTimeout: 20 * time.Second, Timeout: 5 * time.Second,
			})
			if err != nil {
				t.Fatal(err)
			}
			for i := range report.Findings {
				if x := &report.Findings[i]; x.Outcome > verdict.Note {
					t.Errorf("%s by %s on %s: %s; %s", x.Outcome, x.Judge, x.Requirement, x.Summary, x.Seen)
				}
			}
		})
	}
}
