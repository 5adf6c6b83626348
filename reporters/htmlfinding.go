package reporters

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

type pageFinding struct {
	Anchor, Class, Mark, Outcome, Requirement, Summary      string
	Area, Level, RevisionList, First, CWE                   string
	Revisions                                               []string
	Known, SDK, Statement, Consequence                      string
	Why, Cause, Fix                                         string
	Snippets                                                []pageSnippet
	Blocked                                                 []string
	Root                                                    *pageLink // the root of the group, or nil
	Permitted, Seen                                         string
	Events                                                  []pageEvent
	Left                                                    string
	Script                                                  []string // the first line is a summary
	Replay, Play, Page, Basis, Transport, Judge, Tries, IDs string

	ids []string
}

// pageGroup is a group of findings with the same cause.
type pageGroup struct {
	Root  *pageFinding
	Same  []*pageFinding
	Title string
}

// pageSection is a part of the list of findings.
type pageSection struct {
	Title  string      // "" if there is one section
	Groups []pageGroup // the findings, grouped by cause
}

// pageSnippet is code that fixes a finding.
type pageSnippet struct{ Language, Text string }

// setRemedy sets why the finding matters, its usual cause and its fix.
func (f *pageFinding) setRemedy(of *verdict.Finding) {
	q := spec.Requirements().Lookup(of.Requirement)
	if q == nil || of.Outcome == verdict.HarnessError {
		return
	}
	f.Why = clip(q.Why, pageTextMany)
	if f.Fix = clip(usualFix(of), pageTextMany); f.Fix == "" {
		return
	}
	f.Cause = clip(q.Cause, pageTextMany)
	for _, l := range spec.Languages() {
		if text := strings.TrimSpace(q.Snippets[l]); text != "" {
			f.Snippets = append(f.Snippets, pageSnippet{string(l), text})
		}
	}
}

// pageLink is a link to a finding elsewhere on the page.
type pageLink struct{ Anchor, Requirement string }

func (f *pageFinding) link() pageLink { return pageLink{f.Anchor, f.Requirement} }

type pageEvent struct {
	Way, Speaker, Label         string
	Text                        bool
	Preview                     string
	Before, Offends, After, Cut string
	Verdict                     string // what the event shows, if it is the offending one
	Offending, Context, Gap     bool

	Like     []pageEvent // later events that repeat the events above, folded into one element
	LikeText string

	shape string // the event without its ids, by which similar events are recognised
}

const (
	pageFindings = 2000 // findings of a report
	pageEvents   = 20   // events of a finding
	pageMessage  = 2 << 10
	// pageBudget limits, in bytes, all conversations of the page together, so
	// that browsers open it without delay.
	pageBudget = 6 << 20
)

// setFindings sets the findings and the values for filtering them.
func (p *page) setFindings(r *verdict.Report) {
	areas := areasByRequirement(r)
	budget := pageBudget
	fs := groupByCause(allEntries(r))
	p.Findings = make([]pageFinding, 0, min(countFindings(fs), pageFindings)) // never grows, because groups point into it
	add := func(e *entry) *pageFinding {
		f := newPageFinding(r, e, areas, len(p.Findings))
		if budget > 0 {
			budget -= f.addConversation(&e.Finding)
		} else if len(e.Evidence) > 0 {
			f.Left = "The JSON report has the conversation; this page has no room for more of them."
		}
		p.Findings = append(p.Findings, f)
		return &p.Findings[len(p.Findings)-1]
	}
	isFull := func() bool { return len(p.Findings) >= pageFindings }
	groupOf := func(f *family) pageGroup {
		group := pageGroup{Root: add(&f.entry)}
		root := group.Root.link()
		for i := range f.same {
			if isFull() {
				break
			}
			same := add(&f.same[i])
			same.Root = &root
			group.Same = append(group.Same, same)
		}
		switch n := len(group.Same); n {
		case 0:
		case 1:
			group.Title = "1 more finding has the same cause"
		default:
			group.Title = fmt.Sprintf("%d more findings have the same cause", n)
		}
		return group
	}
	for _, s := range sectionsOf(fs) {
		if isFull() {
			break
		}
		section := pageSection{Title: clip(withCapital(s.heading), pageText1)}
		for i := range s.families {
			if isFull() {
				break
			}
			section.Groups = append(section.Groups, groupOf(&s.families[i]))
		}
		p.Sections = append(p.Sections, section)
	}
	p.Shown = countWithNoun(len(p.Findings), "finding") + ". A finding in several revisions is listed once."
	if more := countFindings(fs) - pageFindings; more > 0 {
		p.MoreFindings = countWithNoun(more, "more finding") + " in the JSON report."
	}
	for _, o := range verdict.Outcomes() {
		if slices.ContainsFunc(p.Findings, func(f pageFinding) bool { return f.Outcome == o.String() }) {
			p.Options.Outcomes = append(p.Options.Outcomes, o.String())
		}
	}
	p.Options.Areas = distinctValues(p.Findings, func(f *pageFinding) []string { return []string{f.Area} })
	p.Options.Levels = distinctValues(p.Findings, func(f *pageFinding) []string { return []string{f.Level} })
	p.Options.Revisions = distinctValues(p.Findings, func(f *pageFinding) []string { return f.Revisions })
}

// withCapital returns an ASCII text with a capital letter at its beginning.
func withCapital(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

func distinctValues(fs []pageFinding, of func(*pageFinding) []string) []string {
	var out []string
	for i := range fs {
		out = append(out, of(&fs[i])...)
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(s string) bool { return s == "" })
}

func newPageFinding(r *verdict.Report, e *entry, areas map[string]string, number int) pageFinding {
	f := pageFinding{
		Anchor: fmt.Sprintf("finding-%d", number+1), Class: classOf(e.Outcome), Mark: signs[e.Outcome], Outcome: e.Outcome.String(),
		Requirement: clip(e.Requirement, pageText1), Summary: clip(e.Summary, 300), Area: clip(areas[e.Requirement], pageText1), Level: Visible(string(e.Level)),
		Revisions: visibleAll(e.revisions), Known: clip(e.Known, pageTextMany), Statement: clip(statementOf(e.Requirement), pageTextMany),
		Consequence: e.describeBlocked(), Permitted: clip(e.Permitted, pageTextMany), Seen: clip(e.Seen, pageTextMany),
		Page: pageAddress(e.Page), Basis: describeLevel(&e.Finding), Transport: Visible(string(e.Transport)), Judge: clip(e.Judge, pageText1),
		Tries: describeRetries(&e.Finding), Script: clipLines(e.Script), ids: e.ids,
		Replay: reproduceCommand(&e.Finding), Play: replayCommand(&e.Finding),
	}
	if e.CWE > 0 {
		f.CWE = fmt.Sprintf("CWE-%d", e.CWE)
	}
	if n := len(e.others); n > 0 {
		f.Consequence = "The same on " + countWithNoun(n, "other requirement")
	}
	if f.Judge == "" {
		f.Judge = "mcp-conform"
	}
	f.RevisionList = strings.Join(f.Revisions, " ")
	f.First = f.RevisionList
	if len(f.Revisions) > 0 {
		f.First = f.Revisions[0]
	}
	f.SDK = clip(knownInSDK(&e.Finding), pageTextMany)
	f.setRemedy(&e.Finding)
	f.IDs = clip(strings.Join(e.ids, ", "), pageText1)
	f.Blocked = blockedIDs(r, e.ids)
	return f
}

// clipLines returns the lines, cut for the page.
func clipLines(lines []string) []string {
	var out []string
	for _, line := range lines {
		out = append(out, clip(line, pageTextMany))
	}
	return out
}

// blockedIDs returns the requirements that could not be judged because of the
// findings.
func blockedIDs(r *verdict.Report, findings []string) []string {
	var out []string
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		if v.BlockedBy != "" && slices.Contains(findings, v.BlockedBy) && !slices.Contains(out, v.Requirement) && len(out) < pageList {
			out = append(out, clip(v.Requirement, pageText1))
		}
	}
	return out
}

// addConversation adds the conversation in which a finding was seen, and returns its approximate
// size in bytes.
func (f *pageFinding) addConversation(of *verdict.Finding) int {
	events, left := eventsAround(of, pageEvents)
	size, last := 0, -1
	for i := range events {
		e := &events[i]
		context := !slices.ContainsFunc(of.Evidence, func(v verdict.Evidence) bool { return v.Position == e.Position && v.Text == e.Text })
		v := newPageEvent(e, context)
		v.Gap = i > 0 && e.Position > last+1
		last = e.Position
		size += len(v.Before) + len(v.Offends) + len(v.After) + len(v.Label) + len(v.Preview)
		f.Events = append(f.Events, v)
	}
	f.Events = foldRepetitions(f.Events)
	if left > 0 {
		f.Left = countWithNoun(left, "more event") + " in the JSON report."
	}
	return size
}

func newPageEvent(e *verdict.Evidence, context bool) pageEvent {
	v := pageEvent{Way: "aside", Speaker: "Outside the conversation: ", shape: shapeOf(e), Offending: e.Offending, Context: context, Text: e.Text != ""}
	switch e.Direction {
	case ">":
		v.Way, v.Speaker = "out", "Client to server: "
	case "<":
		v.Way, v.Speaker = "in", "Server to client: "
	}
	before, offends, after := splitAtMark(e, pageMessage)
	switch {
	case !e.Offending:
	case offends != "":
		v.Verdict = "the marked part breaks the requirement"
	case e.Direction == "<":
		before, offends, v.Verdict = "", before, "the message as a whole breaks the requirement"
	case e.Direction == ">":
		v.Verdict = "the server did not respond to this as it should"
	default:
		v.Verdict = "this shows the deviation"
	}
	shown := len(before) + len(offends) + len(after)
	v.Before, v.Offends, v.After = clip(before, pageMessage), clip(offends, pageMessage), clip(after, pageMessage)
	if e.Skipped > 0 {
		v.Before = "… " + v.Before
	}
	v.Cut = describeCut(e, shown)
	v.Label = clip(cmp.Or(e.Label, e.Text), 80)
	if e.Label == "" && e.Direction == "!" {
		v.Label = "the process"
	}
	if context {
		v.Preview = clip(before+offends+after, 120)
	}
	if context && v.Way == "aside" { // the label is sufficient
		v.Text = false
	}
	return v
}
