package engine

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// A quick run judges only the newest revision, unless the user names others, and runs only the
// cases that share a conversation and those with suite.Case.Quick. A whole run reports every
// finding of a quick run too. But a requirement that looks kept in a quick run may be broken by the
// traffic of a case that did not run. So a quick run reports a requirement as kept only if all
// cases that judge or provoke it ran. If rules judge a requirement in every message, such as the
// ids of responses, the traffic of any case may break it. So a quick run never reports such a
// requirement as kept, but it reports findings about it.

// judgesOnlyNewest reports whether the run judges only the newest revision that the server speaks.
func (o *Options) judgesOnlyNewest() bool { return o.Quick && len(o.Revisions) == 0 }

// keepNewestRevision ends the conversations of all spoken revisions except the newest in which
// something is selected, and returns the remaining results. It returns all results if there is no
// such revision.
func (r *prober) keepNewestRevision(results []*probed) []*probed {
	var newest spec.Revision
	for _, p := range results {
		if p.isSpoken() && len(r.s.o.pairs(p.revision)) > 0 {
			newest = max(newest, p.revision)
		}
	}
	isOther := func(p *probed) bool { return newest != "" && p.isSpoken() && p.revision != newest }
	r.s.endProbed(slices.DeleteFunc(slices.Clone(results), func(p *probed) bool { return !isOther(p) })...)
	return slices.DeleteFunc(results, isOther)
}

// leavesOut reports whether a quick run leaves the case out.
func (o *Options) leavesOut(c *suite.Case) bool { return o.Quick && !isQuick(c) }

// isQuick reports whether the case is part of a quick run.
func isQuick(c *suite.Case) bool { return c.SharesConversation || c.Quick }

// markLeftOutByQuick marks the verdicts on requirements that a quick run can't report as kept. Call
// it before findings are added to the verdicts. It returns the findings without notes, because a
// whole run may find something more severe.
func (r *reporting) markLeftOutByQuick(verdicts []verdict.Verdict, findings []verdict.Finding) []verdict.Finding {
	if r.plan.leftOut == 0 {
		return findings
	}
	noted := map[verdict.Place]bool{}
	for i := range findings {
		noted[findings[i].Place()] = true
	}
	for i := range verdicts {
		v := &verdicts[i]
		if v.Outcome != verdict.NotObserved && v.Outcome != verdict.Kept {
			continue
		}
		why := r.offer.whyLeftOut(r.o, v.Place())
		if why == "" && noted[v.Place()] {
			why = "another case may find more than a note"
		}
		if why != "" {
			v.Outcome, v.Reason, v.Gap, v.LeftOut = verdict.NotObserved, "left out by --quick: "+why, verdict.Explained, true
		}
	}
	return slices.DeleteFunc(findings, func(f verdict.Finding) bool { return f.Outcome == verdict.Note })
}

// whyLeftOut returns why a requirement that looks kept in a quick run may be broken in a whole
// run, or "".
func (r *offer) whyLeftOut(o *Options, p verdict.Place) string {
	isAsked := false
	for i := range o.Cases {
		c := &o.Cases[i]
		if !c.JudgesOrProvokes(p.Requirement) || !c.AppliesTo(p.Revision, p.Transport) || r.whyInapplicable(c, p.Revision) != "" {
			continue
		}
		if !isQuick(c) {
			return "the case " + c.ID + " judges or provokes it"
		}
		isAsked = true
	}
	isRuled := slices.ContainsFunc(o.Rules, func(rule rules.Rule) bool { return slices.Contains(rule.Requirements, p.Requirement) })
	if !isAsked || isRuled && len(spec.Requirements().Lookup(p.Requirement).Needs) == 0 {
		return "any message may break it"
	}
	return ""
}
