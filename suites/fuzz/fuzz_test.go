package fuzz_test

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/fuzz"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/ruleset"
	"github.com/mcp-conform/mcp-conform/internal/selftest"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
	lawbook "github.com/mcp-conform/mcp-conform/suites/fuzz"
)

// laws returns the passive rules and all other laws.
func laws() []fuzz.Law {
	out := []fuzz.Law{fuzz.RulesLaw(ruleset.All())}
	for _, l := range lawbook.Laws() {
		if !l.Unspecified {
			out = append(out, l)
		}
	}
	return out
}

// TestFaultless checks that nothing makes the conforming server break a law.
// MCP_CONFORM_FUZZ_TIME sets the duration.
func TestFaultless(t *testing.T) {
	t.Parallel()
	length := time.Second
	if text := os.Getenv("MCP_CONFORM_FUZZ_TIME"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	seed, _ := strconv.ParseUint(os.Getenv("MCP_CONFORM_FUZZ_SEED"), 10, 64)
	for _, over := range []spec.Transport{spec.Stdio, spec.StreamableHTTP, spec.SSE} {
		t.Run(string(over), func(t *testing.T) {
			t.Parallel()
			d, stop := suitetest.ReferenceOver(over, refserver.Options{})
			defer stop()
			report, err := fuzz.Run(t.Context(), fuzz.Options{
				Dialer: d, Laws: laws(), Policy: inventory.Config{Policy: inventory.CallAll}, Time: length, Seed: seed + 1,
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d scripts, %d requests in %v, %d novel", report.Cases, report.Requests, report.Took, report.Novel)
			if report.Requests < 20 || report.Incomplete != "" {
				t.Errorf("too little was sent: %+v", report.Status)
			}
			for _, f := range report.Findings {
				if f.Outcome > verdict.Note {
					t.Errorf("%s by %s: %s (%s, %d of %d, %s)\nseen: %s\n%s", f.Requirement, f.Law, f.Summary, f.Outcome, f.Retries.Reproduced, f.Retries.Attempts, f.Revision, f.Seen, describeOperations(f)+describeEvidence(f))
				}
			}
		})
	}
}

func describeOperations(f *fuzz.Finding) string {
	text := ""
	for i := range f.Script.Operations {
		if i == 12 {
			return text + "…\n"
		}
		o := &f.Script.Operations[i]
		text += string(o.Do) + " " + string(o.Message[:min(len(o.Message), 300)]) + "\n"
	}
	return text
}

// describeEvidence returns the events around those that show the finding.
func describeEvidence(f *fuzz.Finding) string {
	if f.Evidence == nil || f.Conversation >= len(f.Evidence.Conversations) || len(f.At) == 0 {
		return ""
	}
	events := f.Evidence.Conversations[f.Conversation].Events
	text := ""
	for _, at := range f.At {
		for _, e := range events[max(0, at-6):min(len(events), at+3)] {
			text += fmt.Sprintf("%d %s %s %s\n", e.Seq, e.Kind, e.Detail, e.Raw[:min(len(e.Raw), 250)])
		}
		text += "--\n"
	}
	return text
}

var (
	legalTime = flag.Duration("fuzz.legal", 0, "search every legal variation for this long: none may show anything")
	legalSeed = flag.Uint64("fuzz.legal.seed", 1, "the seed of these searches")
	legalOnly = flag.String("fuzz.legal.revision", "", "search only in this revision")
)

// TestLegalVariations checks that no legal variation breaks a law, over any transport.
func TestLegalVariations(t *testing.T) {
	if *legalTime == 0 {
		t.Skip("it takes minutes; -fuzz.legal asks for it")
	}
	for _, f := range faults.All() {
		if !f.Legal {
			continue
		}
		places := map[spec.Transport][]spec.Revision{}
		for _, at := range selftest.Places(f, true) {
			if *legalOnly == "" || at.Revision == spec.Revision(*legalOnly) {
				places[at.Transport] = append(places[at.Transport], at.Revision)
			}
		}
		for _, over := range spec.Transports() {
			if len(places[over]) == 0 || over == spec.Stdio && f.NeedsProcess {
				continue
			}
			t.Run(f.ID+"/"+string(over), func(t *testing.T) { searchLegalVariation(t, f, over, places[over]) })
		}
	}
}

func searchLegalVariation(t *testing.T, f faults.Fault, over spec.Transport, revisions []spec.Revision) {
	d, end := selftest.Dialer(t.Context(), f, over)
	defer end()
	report, err := fuzz.Run(t.Context(), fuzz.Options{
		Dialer: d, Laws: laws(), Policy: inventory.Config{Policy: inventory.CallAll}, Time: *legalTime, Seed: *legalSeed, Revisions: revisions,
		Shrink: fuzz.Budget{Time: 5 * time.Second, Attempts: 100},
	})
	if err != nil {
		t.Fatal(err)
	}
	if report.Requests == 0 {
		t.Error("nothing was sent")
	}
	for _, one := range report.Findings {
		if one.Outcome > verdict.Note {
			t.Errorf("%s by %s: %s (%s, %d of %d, %s)\nseen: %s\n%s%s", one.Requirement, one.Law, one.Summary, one.Outcome, one.Retries.Reproduced, one.Retries.Attempts, one.Revision, one.Seen, describeOperations(one), describeEvidence(one))
		}
	}
}
