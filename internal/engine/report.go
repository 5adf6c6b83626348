package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// ReportFormat is the version of the report's form; it grows when a reader
// of an older form would misread a newer one.
const ReportFormat = 1

// report puts everything together.
func (r *run) report(ctx context.Context) *verdict.Report {
	if r.o.Unconfirmed {
		r.found = r.collect()
	}
	reason := interrupted(ctx)
	if gone := (*goneError)(nil); errors.As(context.Cause(ctx), &gone) {
		reason = fmt.Sprintf("after %d messages %s", r.messages.Load(), reason)
	}
	r.forget()
	r.found = slices.DeleteFunc(r.found, func(c *candidate) bool { return c.again == 0 && r.watch.doubts(c) })
	for _, c := range r.found {
		if c.outcome > verdict.Note && c.tries == 0 && !r.o.Unconfirmed {
			c.outcome = verdict.Unconfirmed // the run ended before it could be tried again
		}
	}
	p := &verdict.Report{
		Format: ReportFormat, Tool: "mcp-conform", Version: r.o.Version,
		Target: r.o.Target, Transport: r.o.Dialer.Transport(), Seed: r.o.Seed,
		Revisions: r.revisions, NotSpoken: r.notSpoken, Notices: r.notices, Incomplete: reason,
		Stats: verdict.Stats{
			Started: r.started, Took: time.Since(r.started),
			Servers: int(r.starts.Load()), Cases: r.tally.total(), Messages: int(r.messages.Load()),
		},
	}
	for _, rev := range r.revisions {
		s := r.stock[rev].Server
		p.Server = verdict.Server{Name: s.Name, Version: s.Version}
	}
	if r.handshakeFails != "" && reason == "" {
		p.Incomplete = r.handshakeFails
	}
	if n := r.detours.notice(); n != "" {
		p.Notices = append(p.Notices, n)
	}
	if n := r.cutoffs.notice(); n != "" {
		p.Notices = append(p.Notices, n)
	}
	if n := r.refusals.notice(); n != "" {
		p.Notices = append(p.Notices, n)
	}
	if n := r.overdue.notice(); n != "" {
		p.Notices = append(p.Notices, n)
	}
	if n := r.unjudgedNotice(); n != "" {
		p.Notices = append(p.Notices, n)
	}
	p.Notices = append(p.Notices, r.duties.notices()...)
	if n := r.endsNotice(); n != "" {
		p.Notices = append(p.Notices, n)
	}
	if p.Incomplete == "" && r.o.Dialer.Transport() != spec.Stdio {
		p.Incomplete = r.deafIn()
	}
	if p.Incomplete == "" {
		p.Incomplete = r.floodedBy
	}
	p.Findings = r.findings()
	p.Verdicts = r.verdicts(p.Findings)
	if n := r.narrowed(p); n != "" {
		p.Notices = append(p.Notices, n)
	}
	p.NotJudged = r.o.notJudged()
	r.final = map[instance]verdict.Outcome{}
	for i := range p.Verdicts {
		v := &p.Verdicts[i]
		for _, judge := range v.Judges {
			key := instance{judge, v.Revision}
			r.final[key] = max(r.final[key], v.Outcome)
		}
	}
	close(r.settled)
	return p
}

// deafIn says why some revision could not be judged though it is spoken, or "".
// Over HTTP no finding need tell of that: a refusal may have any reason.
func (r *run) deafIn() string {
	for _, rev := range r.revisions {
		switch why := r.deaf[rev]; {
		case why == "":
		case len(r.deaf) == len(r.revisions):
			return why
		default:
			return "in " + string(rev) + ", " + why
		}
	}
	return ""
}

// findings returns the candidates that are about selected requirements,
// heaviest first. Judges that saw the same thing in the same place are one
// finding: the case speaks, as it knows what it did.
func (r *run) findings() []verdict.Finding {
	selected := map[string]bool{}
	for _, p := range slices.Concat(r.casePairs, r.rulePairs) {
		selected[p.judge+" "+p.requirement.ID+" "+string(p.revision)] = true
	}
	var out []verdict.Finding
	for _, c := range r.found {
		if !selected[c.judge+" "+c.Requirement+" "+string(c.revision)] {
			continue
		}
		q := spec.Requirements().Lookup(c.Requirement)
		focus := []string{c.Requirement}
		if c.during != nil && !slices.Contains(c.during.Requirements, c.Requirement) {
			// The requirement would bring all cases that judge it, too.
			focus = []string{c.judge, c.during.ID}
		}
		if len(c.peers) > 0 {
			focus = append([]string{c.judge, c.during.ID}, c.peers...)
		}
		evidence, around := r.quotation(c)
		out = append(out, verdict.Finding{
			Requirement: c.Requirement, Level: q.Level, Basis: q.Basis(c.revision), Revision: c.revision,
			Transport: r.o.Dialer.Transport(), Judge: c.judge, Outcome: c.outcome,
			Summary: c.Summary, Permitted: c.Permitted, Seen: c.Seen, Evidence: evidence, Context: around,
			Page: q.Page(c.revision), Replay: r.o.Replay(c.revision, focus...), Tries: c.tries, Reproduced: c.again, Void: c.void,
		})
	}
	slices.SortStableFunc(out, func(a, b verdict.Finding) int {
		return cmp.Or(
			-cmp.Compare(a.Outcome, b.Outcome),
			cmp.Compare(a.Requirement, b.Requirement),
			cmp.Compare(a.Revision, b.Revision),
			cmp.Compare(a.Judge, b.Judge),
			cmp.Compare(a.Summary, b.Summary),
		)
	})
	for i := range out {
		out[i].ID = fmt.Sprintf("F%d", i+1)
	}
	r.group(out)
	return out
}

// opinion is what one judge says of a requirement.
type opinion struct {
	outcome verdict.Outcome
	reason  string
}

// verdicts merges what all judges say, a requirement and revision each.
func (r *run) verdicts(findings []verdict.Finding) []verdict.Verdict {
	opinions := r.opinions()
	type place struct {
		q   *spec.Requirement
		rev spec.Revision
	}
	judges := map[place][]string{}
	for _, p := range slices.Concat(r.casePairs, r.rulePairs) {
		at := place{p.requirement, p.revision}
		judges[at] = append(judges[at], p.judge)
	}
	var out []verdict.Verdict
	for _, rev := range r.revisions {
		for _, q := range spec.Requirements().All() {
			at := place{q, rev}
			if len(judges[at]) == 0 {
				continue
			}
			v := verdict.Verdict{Requirement: q.ID, Area: q.Area, Level: q.Level, Revision: rev, Transport: r.o.Dialer.Transport(), Judges: judges[at]}
			worst := opinion{verdict.NotApplicable, "no judge applies to this server"}
			for i, judge := range judges[at] {
				o := opinions[judge+" "+q.ID+" "+string(rev)]
				if i == 0 || o.outcome > worst.outcome {
					worst = o
				}
			}
			v.Outcome = worst.outcome
			for i := range findings {
				if f := &findings[i]; f.Requirement == q.ID && f.Revision == rev {
					v.Findings = append(v.Findings, f.ID)
					v.Outcome = max(v.Outcome, f.Outcome)
				}
			}
			if v.Outcome == worst.outcome && v.Outcome != verdict.Kept {
				v.Reason = worst.reason
			}
			if v.Outcome == verdict.Blocked && r.handshakeFails != "" {
				if v.BlockedBy = blockedBy(findings, rev); v.BlockedBy != "" {
					v.Reason = "by " + v.BlockedBy + ": " + v.Reason
				}
			}
			r.overdue.unanswered(&v)
			r.lack(&v)
			r.instead(&v)
			out = append(out, v)
		}
	}
	return out
}

// blockedBy returns the id of the finding on the handshake that blocks the
// rest, or of the only thing that is broken: where everything is blocked, the
// findings come from the attempt that failed.
func blockedBy(findings []verdict.Finding, rev spec.Revision) string {
	var broken []string
	for i := range findings {
		f := &findings[i]
		if f.Revision != rev {
			continue
		}
		if strings.HasPrefix(f.Requirement, "lifecycle.initialize-") || strings.HasPrefix(f.Requirement, "versioning.") {
			return f.ID
		}
		if f.Outcome == verdict.Broken {
			broken = append(broken, f.ID)
		}
	}
	if len(broken) == 1 {
		return broken[0]
	}
	return ""
}

// opinions returns, for "judge requirement revision", the heaviest thing said
// that is no deviation; deviations are findings.
func (r *run) opinions() map[string]opinion {
	out := map[string]opinion{}
	for _, p := range r.rulePairs {
		o := opinion{verdict.NotObserved, unseen}
		if need := r.undeclared(p.requirement, p.revision); need != "" {
			o = opinion{verdict.NotApplicable, "the server does not declare " + need}
		}
		out[p.judge+" "+p.requirement.ID+" "+string(p.revision)] = o
	}
	for _, p := range r.casePairs {
		key := p.judge + " " + p.requirement.ID + " " + string(p.revision)
		if reason := r.blocked(p.revision); reason != "" {
			out[key] = opinion{verdict.Blocked, reason}
		} else if reason := r.missing(&r.o.Cases[p.caseIndex], p.revision); reason != "" {
			out[key] = opinion{verdict.NotApplicable, reason}
		} else {
			out[key] = opinion{verdict.NotObserved, "the run ended before its case was run"}
		}
	}
	set := func(key string, o opinion, first bool) {
		if have, ok := out[key]; ok && (first || o.outcome > have.outcome) {
			out[key] = o
		}
	}
	firsts := map[string]bool{}
	for _, u := range r.units {
		for _, s := range u.said {
			if s.Deviation != nil {
				continue
			}
			key := s.by.ID + " " + s.Requirement + " " + string(u.revision)
			set(key, opinion{s.Outcome, s.Reason}, !firsts[key])
			firsts[key] = true
		}
		for _, rd := range u.ruled {
			key := rd.Rule + " " + rd.Requirement + " " + string(rd.Revision)
			if rd.Subjects > 0 {
				set(key, opinion{verdict.Kept, ""}, false)
			} else if rd.Unclear != "" {
				set(key, opinion{verdict.NotObserved, rd.Unclear}, out[key] == opinion{verdict.NotObserved, unseen})
			}
		}
	}
	return out
}

// undeclared returns a server capability that the requirement is about and the
// server does not declare, or "".
func (r *run) undeclared(q *spec.Requirement, rev spec.Revision) string {
	stock := r.stock[rev]
	if stock == nil {
		return ""
	}
	for _, need := range q.Needs {
		capability, _, _ := strings.Cut(need, ".")
		if slices.Contains(spec.ServerCapabilities(), capability) && !stock.Declares(need) {
			return need
		}
	}
	return ""
}

// notJudged counts the testable requirements of the judged era that neither
// case nor rule judges yet, as far as the selection admits them.
func (o *Options) notJudged() int {
	judges, over := Judges(o.Cases, o.Rules), o.Dialer.Transport()
	n := 0
	for _, q := range spec.Requirements().All() {
		applies := slices.ContainsFunc(o.wanted(), func(r spec.Revision) bool { return q.AppliesTo(r, over) && o.Selection.Admits("", q.Area, q, r, over) })
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
