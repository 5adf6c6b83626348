package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/discount"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// reporting is the last stage of a run: it combines the results of the other stages. It does not
// connect to the server.
type reporting struct {
	o        *Options // without a dialer
	offer    *offer
	plan     *plan
	results  []*unitResult  // one for each unit of the plan
	finished *finishedCases // the cases of the plan that ran to their end
	found    []*candidate   // the merged deviations of all units, after their retries

	ended     string // why the run ended early, or ""
	stats     verdict.Stats
	notJudged int
	notices   []string // the notices that were added during the run
	counts    *counts
	unjudged  string // a notice about conversations that were not judged, or ""
	discounts *discount.Run
	fixtures  inventory.FixtureOutcomes
	exits     []discount.Exit // the exits of a process that the run's conversations shared

	quoter quoter
}

// newReporting returns the reporting stage of a run whose cases have ended and whose deviations
// were retried.
func newReporting(ctx context.Context, x *execution, results []*unitResult, found []*candidate) *reporting {
	o := x.s.o
	o.Dialer = nil
	r := &reporting{
		o: &o, offer: x.offer, plan: x.plan, results: results, finished: x.finished, found: found,
		ended: whyEnded(ctx), notJudged: x.s.o.countNotJudged(), notices: x.s.notices.all, counts: x.s.counts, unjudged: x.s.unjudgedNotice(), discounts: x.s.discounts,
		fixtures: x.s.fixtures, quoter: quoter{redactor: o.Redactor},
	}
	if gone := (*goneError)(nil); errors.As(context.Cause(ctx), &gone) {
		r.ended = fmt.Sprintf("after %d messages %s", r.counts.messages.Load(), r.ended)
	}
	if sharer, ok := x.s.dialer.(transport.Sharer); ok {
		for _, e := range sharer.Endings() {
			r.exits = append(r.exits, discount.Exit{Detail: e.Detail, Output: e.Output, Records: e.Records})
		}
	}
	r.stats = x.stats(r.ended)
	return r
}

// stats returns the numbers of the run. ended says why it ended early, or is "".
func (r *execution) stats(ended string) verdict.Stats {
	c := r.s.counts
	out := verdict.Stats{
		Started: r.s.started, Took: time.Since(r.s.started),
		Servers: int(c.starts.Load()), Sessions: int(c.sessions.Load()), Requests: int(c.requests.Load()),
		Cases: r.tally.ran, Messages: int(c.messages.Load()),
	}
	out.Slow = r.slowRunNotice(out.Took, ended)
	return out
}

// report returns the report of the run.
func (r *reporting) report() *verdict.Report {
	r.dropDiscounted()
	for _, c := range r.found {
		if c.outcome > verdict.Note && c.retries.Attempts == 0 && !r.o.Unconfirmed {
			c.outcome = verdict.Unconfirmed // the run ended before the candidate could be retried
		}
	}
	selected := r.selectedCandidates()
	b := &verdict.Builder{Head: r.newReport(selected), Blocks: r.offer.handshakeFails != "" && !r.offer.protected, Review: r.review}
	r.addOpinions(b)
	r.addFindings(b, selected)
	r.addSightings(b)
	p := b.Build()
	r.callOnSighting(p)
	if n := r.narrowedNotice(p); n != "" {
		p.Notices = append(p.Notices, n)
	}
	if p.Narrowed && p.Incomplete == "" && len(r.o.Selection.Profiles) > 0 {
		p.Notices = append(p.Notices, p.WhyPartial()+", so it passes no profile")
	}
	return p
}

// newReport returns the report without verdicts and findings. selected are the candidates that will
// become findings.
func (r *reporting) newReport(selected []*candidate) verdict.Report {
	p := verdict.NewReport(r.o.Version)
	p.Target, p.Transport, p.Seed, p.Narrowed = r.o.Target, r.offer.over, r.o.Seed, r.o.Selection.narrows()
	p.Revisions, p.NotSpoken = spec.NewestFirst(r.offer.revisions), r.offer.notSpoken
	slices.SortFunc(p.NotSpoken, func(a, b verdict.NotSpoken) int { return cmp.Compare(b.Revision, a.Revision) })
	for _, rev := range r.offer.revisions {
		s := r.offer.inventories[rev].Server
		p.Server = verdict.Server{Name: s.Name, Version: s.Version}
	}
	p.Incomplete, p.NeedsToken = r.whyIncomplete(selected), r.ended == "" && r.offer.protected
	p.Notices, p.Stats, p.NotJudged = r.runNotices(selected), r.stats, r.notJudged
	return p
}

// whyIncomplete returns why the run did not judge all that is selected, or "". Over stdio, a server
// that serves no request may break a requirement by that. So if a requirement is broken, an
// unresponsive server does not make the run incomplete.
func (r *reporting) whyIncomplete(selected []*candidate) string {
	why := cmp.Or(r.ended, r.offer.handshakeFails)
	unresponsive, flood := r.offer.unresponsiveReason(), r.discounts.FloodReason()
	if r.offer.over != spec.Stdio {
		return cmp.Or(why, unresponsive, flood)
	}
	if slices.ContainsFunc(selected, func(c *candidate) bool { return c.outcome == verdict.Broken }) {
		return cmp.Or(why, flood)
	}
	return cmp.Or(why, flood, unresponsive)
}

// review is the Builder.Review of a run. It leaves out what a run that ended early, or a quick one,
// can't prove, and explains why requirements were not observed.
func (r *reporting) review(verdicts []verdict.Verdict, findings []verdict.Finding) []verdict.Finding {
	if r.ended != "" {
		r.leaveOutUnfinished(verdicts)
	}
	findings = r.markLeftOutByQuick(verdicts, findings)
	for i := range verdicts {
		v := &verdicts[i]
		r.discounts.Adjust(v)
		r.explainGap(v)
		r.explainOutcomes(v)
	}
	return findings
}

// dropDiscounted drops the deviations and observations that a discount voids now that the whole run
// is known. Deviations that retries reproduced stay.
func (r *reporting) dropDiscounted() {
	for _, result := range r.results {
		if result.unit.sharesConversation {
			continue // it is not known where in the conversation the case made its observation
		}
		records := recordsOf(result.conversations)
		for i := range result.observations {
			s := &result.observations[i]
			if s.Deviation != nil || s.Outcome == verdict.HarnessError {
				continue
			}
			claim := &discount.Claim{Requirement: s.Requirement, Outcome: s.Outcome, Records: records}
			if effect, reason := r.discounts.Discount(claim); effect == discount.Void {
				s.Observation = suite.Observation{Requirement: s.Requirement, Outcome: verdict.NotObserved, Reason: reason}
			}
		}
	}
	hasFullWait, short := map[verdict.Key]bool{}, shortWaits{}
	for _, c := range allSightings(r.results, r.offer.over) {
		hasFullWait[c.key] = hasFullWait[c.key] || !short.shows(c)
	}
	r.found = slices.DeleteFunc(r.found, func(c *candidate) bool {
		if c.retries.Reproduced > 0 {
			return false
		}
		claim := &discount.Claim{
			Requirement: c.Requirement, At: c.At, Records: recordsOf(c.from.conversations),
			Unreproduced: c.retries.Attempts > 0, ShortWait: !hasFullWait[c.key],
		}
		if c.record != nil {
			claim.Events, claim.Start = c.record.From(0), c.record.StartTime()
		}
		return r.discounts.Voids(claim)
	})
}

// runNotices returns what the user should know about the run, in the order in
// which it is printed.
func (r *reporting) runNotices(selected []*candidate) []string {
	out := r.notices
	add := func(all ...string) {
		for _, n := range all {
			if n != "" {
				out = append(out, n)
			}
		}
	}
	if r.o.RateLimit != nil {
		add(r.o.RateLimit())
	}
	add(r.discounts.Notices()...)
	add(r.unjudged)
	add(r.fixtures.Notices()...)
	add(r.discounts.ExitNotices(r.exits, slices.ContainsFunc(selected, (*candidate).showsExit), r.o.Redactor.RedactKnown)...)
	return out
}

// selectedCandidates returns the candidates that a selected case or rule has reported against a
// selected requirement.
func (r *reporting) selectedCandidates() []*candidate {
	selected := map[verdict.OpinionKey]bool{}
	for _, p := range slices.Concat(r.plan.casePairs, r.plan.rulePairs) {
		selected[verdict.OpinionKey{Place: r.offer.place(p.requirement.ID, p.revision), Judge: p.judge}] = true
	}
	return slices.DeleteFunc(slices.Clone(r.found), func(c *candidate) bool {
		return !selected[verdict.OpinionKey{Place: c.key.Place, Judge: c.key.Judge}]
	})
}

// addFindings adds a finding for each selected candidate, with its evidence and the command line
// that reproduces it.
func (r *reporting) addFindings(b *verdict.Builder, selected []*candidate) {
	for _, c := range selected {
		focus := []string{c.Requirement}
		if c.during != nil && !slices.Contains(c.during.Requirements, c.Requirement) {
			// A focus on the requirement would also select all other cases that judge it.
			focus = []string{c.key.Judge, c.during.ID}
		}
		if c.needsOthers && !c.precedesCases() {
			focus = nil // the command repeats the whole run in this revision
		}
		if len(c.peers) > 0 {
			focus = append([]string{c.key.Judge, c.during.ID}, c.peers...)
		}
		b.AddFinding(c.key, func() verdict.Finding {
			f := verdict.NewFinding(c.key, &c.Deviation, c.outcome)
			f.Case = c.caseID()
			f.Evidence, f.Context = r.quoter.quoteCandidate(c)
			f.Replay, f.Tries, f.Reproduced, f.Void = r.o.runCommand(c.key.Revision, focus), c.retries.Attempts, c.retries.Reproduced, c.retries.Void
			return f
		})
	}
}

// addOpinions adds the opinions (see verdict.Opinion) of the cases and rules. It leaves out
// deviations, which become findings.
func (r *reporting) addOpinions(b *verdict.Builder) {
	for _, p := range r.plan.casePairs {
		place := r.offer.place(p.requirement.ID, p.revision)
		if reason := r.offer.whyBlocked(&r.o.Cases[p.caseIndex], p.revision); reason != "" {
			b.Expect(place, p.judge, verdict.Opinion{Outcome: verdict.Blocked, Reason: reason})
		} else if reason := r.offer.whyInapplicable(&r.o.Cases[p.caseIndex], p.revision); reason != "" {
			b.Expect(place, p.judge, verdict.Opinion{Outcome: verdict.NotApplicable, Reason: reason})
		} else {
			b.Expect(place, p.judge, verdict.Opinion{Outcome: verdict.NotObserved, Reason: "the run ended before its case ran"})
		}
	}
	undeclared := map[verdict.OpinionKey]bool{}
	for _, p := range r.plan.rulePairs {
		place := r.offer.place(p.requirement.ID, p.revision)
		if reason := r.offer.whyUndeclared(p.requirement.ServerNeeds(), p.revision); reason != "" {
			undeclared[verdict.OpinionKey{Place: place, Judge: p.judge}] = true
			b.Expect(place, p.judge, verdict.Opinion{Outcome: verdict.NotApplicable, Reason: reason})
		} else {
			b.Expect(place, p.judge, verdict.Opinion{Outcome: verdict.NotObserved, Reason: nothingSent, Gap: verdict.NeverCameUp})
		}
	}
	for _, result := range r.results {
		for _, s := range result.observations {
			if s.Deviation == nil {
				b.AddOpinion(r.offer.place(s.Requirement, result.unit.revision), s.by.ID, verdict.Opinion{Outcome: s.Outcome, Reason: s.Reason, Gap: s.Gap})
			}
		}
		for _, rd := range result.ruleResults {
			place := r.offer.place(rd.Requirement, rd.Revision)
			if rd.Observed > 0 {
				b.AddOpinion(place, rd.Rule, verdict.Opinion{Outcome: verdict.Kept})
			} else if rd.Unclear != "" && !undeclared[verdict.OpinionKey{Place: place, Judge: rd.Rule}] {
				b.AddOpinion(place, rd.Rule, verdict.Opinion{Outcome: verdict.NotObserved, Reason: rd.Unclear})
			}
		}
	}
}

// countNotJudged returns how many testable requirements within the selection no case or rule judges
// yet.
func (o *Options) countNotJudged() int {
	judges, over := Judges(o.Cases, o.Rules), o.Dialer.Transport()
	n := 0
	for _, q := range spec.Requirements().All() {
		applies := slices.ContainsFunc(o.wantedRevisions(), func(r spec.Revision) bool { return q.AppliesTo(r, over) && o.Selection.Admits("", q.Area, q, r, over) })
		if q.Testable != spec.No && applies && len(judges[q.ID]) == 0 {
			n++
		}
	}
	return n
}

// Judges returns the ids of the cases and rules that judge each requirement.
func Judges(cases []suite.Case, all []rules.Rule) map[string][]string {
	out := map[string][]string{}
	for i := range cases {
		for _, id := range cases[i].Requirements {
			out[id] = append(out[id], cases[i].ID)
		}
	}
	for i := range all {
		for _, id := range all[i].Requirements {
			out[id] = append(out[id], all[i].ID)
		}
	}
	return out
}
