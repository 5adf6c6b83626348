package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/discount"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

const pongs = "ping.empty-result" // a MUST, which may break

// deviation returns what a case observed that the requirement does not permit.
func deviation(summary string, weight verdict.Weight) suite.Observation {
	return suite.Observation{Requirement: pongs, Deviation: &verdict.Deviation{Requirement: pongs, Summary: summary, Weight: weight}}
}

// observing returns the result of a unit that has run one case, which made these observations.
func observing(c *suite.Case, said ...suite.Observation) *unitResult {
	r := &unitResult{unit: &unit{revision: spec.V20251125, cases: []*suite.Case{c}}}
	for _, o := range said {
		r.observations = append(r.observations, caseObservation{c, o})
	}
	return r
}

// TestExecution checks what the cases of a plan that is made by hand observe. No server runs.
func TestExecution(t *testing.T) {
	const rev = spec.V20251125
	running, together := atomic.Int64{}, atomic.Bool{}
	exclusively := func(_ context.Context, t *suite.T) {
		together.Store(together.Load() || running.Load() > 0)
		t.MarkKept(pongs)
	}
	for _, c := range []struct {
		name   string
		run    func(context.Context, *suite.T)
		ended  bool // the run has ended before
		want   []string
		finish bool
	}{
		{"kept", func(_ context.Context, t *suite.T) { t.MarkKept(pongs) }, false, []string{"kept "}, true},
		{"nothing said", func(context.Context, *suite.T) {}, false, []string{"not observed no message of the case could show it"}, true},
		{"given up", func(_ context.Context, t *suite.T) { t.GiveUp("too slow") }, false, []string{"not observed too slow"}, true},
		{"a mistake in the case", func(context.Context, *suite.T) { panic("oops") }, false, []string{"harness error the case toy.case failed: oops"}, true},
		{"the run has ended", func(_ context.Context, t *suite.T) { t.MarkKept(pongs) }, true, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			test := &suite.Case{ID: "toy.case", Requirements: []string{pongs}, Run: func(ctx context.Context, t *suite.T) {
				running.Add(1)
				defer running.Add(-1)
				c.run(ctx, t)
			}}
			alone := &suite.Case{ID: "toy.alone", Requirements: []string{pongs}, Exclusive: true, Run: exclusively}
			planned := &plan{units: []*unit{own(rev, test), own(rev, alone)}, areas: map[string]int{test.Area(): 2}}
			o := Options{Dialer: over{transport: spec.StreamableHTTP}}.withDefaults()
			x := newExecution(newSession(o), &offer{over: spec.StreamableHTTP, revisions: []spec.Revision{rev}}, planned, &openConversations{})
			ctx, end := context.WithCancel(t.Context())
			defer end()
			if c.ended {
				end()
			}
			var mu sync.Mutex
			var confirmed []*unitResult
			results := x.runUnits(ctx, func(_ context.Context, r *unitResult, _ *sync.WaitGroup) {
				mu.Lock()
				defer mu.Unlock()
				confirmed = append(confirmed, r)
			})
			var got []string
			for _, s := range results[0].observations {
				got = append(got, fmt.Sprintf("%v %s", s.Outcome, s.Reason))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("observations (-want +got):\n%s", diff)
			}
			if got := x.finished.has(test, rev); got != c.finish {
				t.Errorf("finished: %v", got)
			}
			if len(confirmed) != 2 {
				t.Errorf("%d of 2 units are confirmed", len(confirmed))
			}
		})
	}
	if together.Load() {
		t.Error("an exclusive case ran together with another")
	}
}

// TestConfirmation checks what becomes of deviations that recur in some retries. No server runs:
// the test says what each retry observes.
func TestConfirmation(t *testing.T) {
	for _, c := range []struct {
		name   string
		weight verdict.Weight
		// again is what each retry does: + the deviation recurs, - it does not, x no server starts;
		// the last letter holds for all further retries.
		again string
		want  string // outcome, how often reproduced, attempts, void attempts
		runs  int
	}{
		{"it recurs", verdict.Full, "+", "broken 1/1 0", 1},
		{"it recurs late", verdict.Full, "--+", "broken 1/3 0", 3},
		{"it does not recur", verdict.Full, "-", "flaky 0/3 0", 3},
		{"no server starts", verdict.Full, "x", "unconfirmed 0/0 3", 3},
		{"a server starts again", verdict.Full, "xx+", "broken 1/1 2", 3},
		{"a warning", verdict.AtMostWarning, "+", "warning 1/1 0", 1},
		{"a warning that does not recur", verdict.AtMostWarning, "-", "flaky 0/3 0", 3},
		{"a note", verdict.OnlyNote, "-", "note 0/0 0", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			test := &suite.Case{ID: "toy.pongs", Requirements: []string{pongs}}
			o := Options{Dialer: over{transport: spec.StreamableHTTP}}.withDefaults()
			r := newConfirmation(newExecution(newSession(o), &offer{over: spec.StreamableHTTP}, &plan{}, nil))
			seen, unseen := observing(test, deviation("a pong is wrong", c.weight)), observing(test)
			runs := 0
			r.run = func(_ context.Context, u *unit) *unitResult {
				again := c.again[min(runs, len(c.again)-1)]
				runs++
				if !u.exclusive || u.rerun.number == 0 {
					t.Error("a retry does not run alone")
				}
				switch again {
				case '+':
					return seen
				case 'x':
					return &unitResult{unit: u, hasFailedStart: true}
				default:
					return unseen
				}
			}
			var got []string
			for _, f := range r.confirm(t.Context(), []*unitResult{seen}) {
				got = append(got, fmt.Sprintf("%v %d/%d %d", f.outcome, f.retries.Reproduced, f.retries.Attempts, f.retries.Void))
			}
			if diff := cmp.Diff([]string{c.want}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if runs != c.runs {
				t.Errorf("%d retries, want %d", runs, c.runs)
			}
		})
	}
}

// TestRetriesInASharedConversation checks how many cases each retry of a case runs that shared a
// conversation with another: only the last one runs both, and only if nothing recurred before.
func TestRetriesInASharedConversation(t *testing.T) {
	for _, c := range []struct {
		name     string
		eachTime bool
		again    string // + if the deviation recurs in that retry, else -
		want     []int
		// needsOthers reports whether the command of the finding is the whole run.
		needsOthers bool
	}{
		{"it recurs", false, "+", []int{1}, false},
		{"it does not recur", false, "---", []int{1, 1, 2}, false},
		{"it recurs after the other case", false, "--+", []int{1, 1, 2}, true},
		{"it must recur each time, and does", true, "+++", []int{1, 1, 1}, false},
		{"it must recur each time, and does not", true, "-", []int{1}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			test, other := &suite.Case{ID: "toy.pongs", Requirements: []string{pongs}, SharesConversation: true}, &suite.Case{ID: "toy.other", SharesConversation: true}
			seen := observing(test, deviation("a pong is wrong", verdict.Full))
			seen.unit = &unit{revision: spec.V20251125, cases: []*suite.Case{test, other}, sharesConversation: true}
			o := Options{Dialer: over{transport: spec.StreamableHTTP}}.withDefaults()
			r := newConfirmation(newExecution(newSession(o), &offer{over: spec.StreamableHTTP}, &plan{}, nil))
			var got []int
			r.run = func(_ context.Context, u *unit) *unitResult {
				got = append(got, len(u.cases))
				if c.again[len(got)-1] == '+' {
					return seen
				}
				return observing(test)
			}
			found := groupAttempts(candidatesOf([]*unitResult{seen}, spec.StreamableHTTP))[0]
			found.candidates[0].retries.EachTime, found.candidates[0].isDiscounted = c.eachTime, true
			r.retry(t.Context(), found, true)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("cases of each retry (-want +got):\n%s", diff)
			}
			if got := found.candidates[0].needsOthers; got != c.needsOthers {
				t.Errorf("it needs the other case: %v", got)
			}
		})
	}
}

// TestCommandsAtTheEndOfAConversation checks that a deviation that was seen while no case was
// running is retried with all cases, and then once more with those of its requirement: if it recurs
// there, its command need not name the whole run.
func TestCommandsAtTheEndOfAConversation(t *testing.T) {
	for _, c := range []struct {
		name        string
		again       string
		want        []int
		needsOthers bool
		outcome     verdict.Outcome
	}{
		{"the case of the requirement suffices", "++", []int{2, 1}, false, verdict.Broken},
		{"it does not", "+-", []int{2, 1}, true, verdict.Broken},
		{"it does not recur", "---", []int{2, 2, 2}, false, verdict.Flaky},
	} {
		t.Run(c.name, func(t *testing.T) {
			test, other := &suite.Case{ID: "toy.pongs", Requirements: []string{pongs}, SharesConversation: true}, &suite.Case{ID: "toy.other", SharesConversation: true}
			d := deviation("a pong is wrong", verdict.Full)
			shown := &unitResult{unit: &unit{revision: spec.V20251125, cases: []*suite.Case{test, other}, sharesConversation: true}}
			shown.ruleResults = []ruleResult{{
				Result: rules.Result{Rule: "rule.pongs", Requirement: pongs, Revision: spec.V20251125, Deviations: []verdict.Deviation{*d.Deviation}},
				during: []*suite.Case{nil},
			}}
			r := newConfirmation(newExecution(newSession(Options{Dialer: over{transport: spec.StreamableHTTP}}.withDefaults()), &offer{over: spec.StreamableHTTP}, &plan{}, nil))
			var got []int
			r.run = func(_ context.Context, u *unit) *unitResult {
				got = append(got, len(u.cases))
				if c.again[len(got)-1] == '+' {
					return shown
				}
				return &unitResult{unit: u}
			}
			found := groupAttempts(candidatesOf([]*unitResult{shown}, spec.StreamableHTTP))[0]
			found.candidates[0].isDiscounted = true
			r.retry(t.Context(), found, true)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("cases of each run (-want +got):\n%s", diff)
			}
			if got := found.candidates[0]; got.needsOthers != c.needsOthers || got.outcome != c.outcome {
				t.Errorf("it needs the other case: %v; it is %v", got.needsOthers, got.outcome)
			}
		})
	}
}

// TestReporting checks the report of results that are made by hand. No server runs.
func TestReporting(t *testing.T) {
	kept := suite.Observation{Requirement: pongs, Outcome: verdict.Kept}
	test := suite.Case{ID: "toy.pongs", Title: "pongs", Requirements: []string{pongs}}
	rule := rules.Rule{ID: "rule.pongs", Title: "pongs", Requirements: []string{pongs}}
	ran := func(r *reporting, result *unitResult) {
		r.plan.units, r.results = append(r.plan.units, result.unit), append(r.results, result)
	}
	// found adds a deviation with the results of its retries.
	found := func(summary string, outcome verdict.Outcome, reproduced, attempts int) func(*reporting) {
		return func(r *reporting) {
			result := observing(&test, deviation(summary, verdict.Full))
			ran(r, result)
			c := result.candidates(r.offer.over)[0]
			c.outcome, c.retries.Reproduced, c.retries.Attempts = outcome, reproduced, attempts
			r.found = append(r.found, c)
		}
	}
	said := func(o suite.Observation) func(*reporting) {
		return func(r *reporting) { ran(r, observing(&test, o)) }
	}
	ruled := func(result rules.Result) func(*reporting) {
		return func(r *reporting) {
			result.Rule, result.Requirement, result.Revision = rule.ID, pongs, spec.V20251125
			out := observing(&test)
			out.ruleResults = []ruleResult{{Result: result, record: transcript.New()}}
			ran(r, out)
		}
	}
	// gone makes all units have run when the server was gone.
	gone := func(r *reporting) {
		record := transcript.New()
		for _, result := range r.results {
			result.conversations = []*client.Conversation{{Record: record}}
		}
		r.discounts.NoteUnanswered(record, 0)
		r.discounts.NoteOutage()
	}
	for _, c := range []struct {
		name     string
		given    []func(*reporting)
		verdict  string
		reason   string
		findings []string
		ended    string
	}{
		{name: "nothing ran", verdict: "not observed", reason: "the run ended before its case ran"},
		{name: "kept", given: []func(*reporting){said(kept)}, verdict: "kept"},
		{name: "kept by the rule alone", given: []func(*reporting){ruled(rules.Result{Observed: 1})}, verdict: "kept"},
		{name: "the rule can't tell", given: []func(*reporting){ruled(rules.Result{Unclear: "each request is refused"})}, verdict: "not observed", reason: "the run ended before its case ran"},
		{name: "broken and kept", given: []func(*reporting){said(kept), found("a pong is wrong", verdict.Broken, 1, 1)}, verdict: "broken", findings: []string{"F1 broken a pong is wrong 1/1"}},
		{name: "two findings, the most severe first", given: []func(*reporting){found("late", verdict.Flaky, 0, 3), found("wrong", verdict.Broken, 1, 1)}, verdict: "broken", findings: []string{"F1 broken wrong 1/1", "F2 flaky late 0/3"}},
		{name: "not retried", given: []func(*reporting){found("a pong is wrong", verdict.Broken, 0, 0)}, verdict: "unconfirmed", findings: []string{"F1 unconfirmed a pong is wrong 0/0"}},
		{name: "not retried on purpose", given: []func(*reporting){found("a pong is wrong", verdict.Broken, 0, 0), func(r *reporting) { r.o.Unconfirmed = true }}, verdict: "broken", findings: []string{"F1 broken a pong is wrong 0/0"}},
		{name: "not selected", given: []func(*reporting){said(kept), found("a pong is wrong", verdict.Broken, 1, 1), func(r *reporting) { r.plan.casePairs = nil }}, verdict: "not observed", reason: "mcp-conform sent nothing that could show it"},
		{name: "a failed handshake", given: []func(*reporting){func(r *reporting) { r.offer.handshakeFails = "the handshake failed" }}, verdict: "blocked", reason: "the handshake failed", ended: "the handshake failed"},
		{name: "a server that does not respond", given: []func(*reporting){func(r *reporting) { r.offer.unresponsive = map[spec.Revision]string{spec.V20251125: "it is silent"} }}, verdict: "blocked", reason: "it is silent", ended: "it is silent"},
		{name: "an interrupted run", given: []func(*reporting){said(kept), func(r *reporting) { r.ended = "interrupted" }}, verdict: "not observed", reason: "the run ended before the case toy.pongs finished", ended: "interrupted"},
		{name: "a run that was interrupted later", given: []func(*reporting){said(kept), func(r *reporting) { r.ended = "interrupted"; r.finished.add(&test, spec.V20251125, verdict.Kept, nil) }}, verdict: "kept", ended: "interrupted"},
		{name: "the server was gone", given: []func(*reporting){said(kept), gone}, verdict: "not observed", reason: "the server no longer served any client"},
		{name: "the server was gone, in a shared conversation", given: []func(*reporting){said(kept), gone, func(r *reporting) { r.results[0].unit.sharesConversation = true }}, verdict: "kept"},
		{name: "a deviation when the server was gone", given: []func(*reporting){said(kept), found("a pong is missing", verdict.Flaky, 0, 3), gone}, verdict: "not observed", reason: "the server no longer served any client"},
		{name: "a deviation that was reproduced before", given: []func(*reporting){found("a pong is missing", verdict.Broken, 1, 1), gone}, verdict: "broken", findings: []string{"F1 broken a pong is missing 1/1"}},
		{name: "a quick run", given: []func(*reporting){said(kept), func(r *reporting) { r.plan.leftOut = 1 }}, verdict: "not observed", reason: "left out by --quick: the case toy.pongs judges or provokes it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{Dialer: over{transport: spec.StreamableHTTP}, Cases: []suite.Case{test}, Rules: []rules.Rule{rule}}.withDefaults()
			if err := o.Selection.Compile(); err != nil {
				t.Fatal(err)
			}
			r := &reporting{
				offer: &offer{
					over: spec.StreamableHTTP, revisions: []spec.Revision{spec.V20251125},
					inventories: map[spec.Revision]*inventory.Inventory{spec.V20251125: inventory.Empty()},
				},
				plan: &plan{}, finished: newFinishedCases(), counts: &counts{}, discounts: discount.NewRun(),
				quoter: quoter{redactor: o.Redactor}, notices: []string{"noticed"},
			}
			for _, p := range o.pairs(spec.V20251125) {
				if p.caseIndex < 0 {
					r.plan.rulePairs = append(r.plan.rulePairs, p)
				} else {
					r.plan.casePairs = append(r.plan.casePairs, p)
				}
			}
			o.Dialer = nil
			r.o = &o
			for _, change := range c.given {
				change(r)
			}
			p := r.report()
			var findings []string
			for _, f := range p.Findings {
				findings = append(findings, fmt.Sprintf("%s %v %s %d/%d", f.ID, f.Outcome, f.Summary, f.Reproduced, f.Tries))
			}
			if len(p.Verdicts) != 1 {
				t.Fatalf("%d verdicts", len(p.Verdicts))
			}
			v := p.Verdicts[0]
			got := []string{v.Outcome.String(), v.Reason, strings.Join(findings, "\n"), p.Incomplete}
			if diff := cmp.Diff([]string{c.verdict, c.reason, strings.Join(c.findings, "\n"), c.ended}, got); diff != "" {
				t.Errorf("verdict, reason, findings, why it is incomplete (-want +got):\n%s", diff)
			}
			if !slices.Equal(p.Notices, []string{"noticed"}) {
				t.Errorf("notices: %q", p.Notices)
			}
		})
	}
}
