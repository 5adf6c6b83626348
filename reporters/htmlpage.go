package reporters

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// page is the data of the page's template. All strings in it are visible (see Visible) and bounded,
// and the template escapes them for HTML.
type page struct {
	Policy                        string
	Style                         template.CSS
	Script                        template.JS
	Class, Mark, Word             string
	Subject, Conclusion           string
	Target, Transport, Tool, Seed string
	Remarks                       []string
	Profiles                      []pageProfile
	Gateway                       *pageGateway
	Columns                       []pageColumn
	Revisions                     []pageRevision
	Areas                         []pageArea
	Options                       pageOptions
	Findings                      []pageFinding
	Sections                      []pageSection
	Shown                         string
	Tallies                       []pageTally
	MoreFindings                  string
	Security                      *pageSecurity // nil if no requirement about security was judged
	Lacking                       []pageLacking
	Tables                        []pageTable
	Stats                         string
}

type pageColumn struct{ Class, Label, Sign string }

type pageRevision struct {
	Name, Class, Word string
	Counts            []pageCount
}

// pageCount is a number with the label of its column.
type pageCount struct {
	Label string
	Count int
}

// Unit returns the label as it follows the number, in the singular for 1.
func (c pageCount) Unit() string {
	if c.Count == 1 {
		return strings.TrimSuffix(c.Label, "s")
	}
	return c.Label
}

// pageTally is the number of requirements with an outcome. Link leads to the findings of these
// requirements.
type pageTally struct{ Class, Sign, Text, Link string }

type pageArea struct {
	Name  string
	Cells []pageShare
}

type pageOptions struct{ Outcomes, Areas, Levels, Revisions []string }

// pageLacking describes what was not observed because no call was known or
// allowed, and the configuration lines that would make it observable.
type pageLacking struct{ Title, Head, Lines string }

// pageSecurity is the section about security, which links to the findings.
type pageSecurity struct {
	Counts string
	Rows   []pageWeakness
}

type pageWeakness struct {
	Class, Sign, Name, Page string
	Requirements            []pageWeakRequirement
}

type pageWeakRequirement struct{ ID, Remark, Link string }

type pageTable struct {
	Name, Sum string
	Revisions []string
	Rows      []pageRow
}

type pageRow struct {
	ID, Level string
	Cells     []pageCell
	Reason    string
}

type pageCell struct{ Class, Sign, Outcome, Link, Revision string }

// Limits for strings on the page, in columns, and for lists.
const (
	pageText1    = 200 // for a string on one line
	pageTextMany = 1200
	pageList     = 100
)

var overallWords = map[overallResult][3]string{
	overallKept:    {"kept", "✓", "Nothing broken"},
	overallDoubt:   {"doubt", "~", "In doubt"},
	overallBroken:  {"broken", "✗", "Fails"},
	overallNothing: {"nothing", "?", "Not judged"},
}

// signs are symbols for outcomes where there is no room for words.
var signs = map[verdict.Outcome]string{
	verdict.HarnessError: "✗!", verdict.Broken: "✗", verdict.Unconfirmed: "?", verdict.Flaky: "~", verdict.Warning: "!", verdict.Note: "i",
	verdict.Blocked: "■", verdict.Kept: "✓", verdict.NotObserved: "·", verdict.NotApplicable: "–",
}

func classOf(o verdict.Outcome) string { return strings.ReplaceAll(o.String(), " ", "-") }

func newPage(r *verdict.Report) *page {
	text, _ := conclusion(r)
	words := overallWords[overallOf(r)]
	p := &page{
		Policy: pagePolicy(), Style: template.CSS(pageStyle), Script: template.JS(pageScript),
		Class: words[0], Mark: words[1], Word: words[2], Subject: cmp.Or(serverName(r), "the server"), Conclusion: clip(text, pageTextMany),
		Target: clip(r.Target, pageTextMany), Transport: Visible(string(r.Transport)), Tool: clip(strings.TrimSpace(r.Tool+" "+r.Version), pageText1), Seed: strconv.FormatUint(r.Seed, 10),
		Stats: clip(pageStats(r), pageTextMany),
	}
	p.Profiles, p.Gateway = pageProfiles(r), pageGatewayOf(r)
	p.addRemarks(r)
	for _, col := range columnsOf(r) {
		if !col.known { // the page counts known deviations by their verdicts
			p.Columns = append(p.Columns, pageColumn{classOf(col.outcome), col.label, signs[col.outcome]})
		}
	}
	for _, rev := range r.Revisions {
		p.Revisions = append(p.Revisions, pageRevisionOf(r, rev))
	}
	areas := areasOf(r)
	for _, area := range areas {
		p.Areas = append(p.Areas, pageAreaOf(r, area))
	}
	p.setFindings(r)
	p.setSecurity(r)
	p.setTallies(r)
	lines, counts := missingSettings(r)
	for _, g := range lackingGroups(lines, counts) {
		p.Lacking = append(p.Lacking, pageLacking{
			Title: countWithNoun(g.total, "requirement") + " " + g.why.title, Head: g.why.head, Lines: strings.Join(g.rows(counts, pageList), "\n"),
		})
	}
	for _, area := range areas {
		p.Tables = append(p.Tables, p.table(r, area))
	}
	return p
}

// setTallies counts the requirements with each outcome, most severe first.
func (p *page) setTallies(r *verdict.Report) {
	for _, o := range verdict.Outcomes() {
		n := countRequirements(r, o)
		if n == 0 || o == verdict.NotApplicable {
			continue
		}
		t := pageTally{Class: classOf(o), Sign: signs[o], Text: countOutcome(n, o)}
		if slices.Contains(p.Options.Outcomes, o.String()) {
			t.Link = "#?outcome=" + strings.ReplaceAll(o.String(), " ", "+")
		}
		p.Tallies = append(p.Tallies, t)
	}
}

// countOutcome returns "1 broken" or "2 broken", but "1 warning" or "2 warnings".
func countOutcome(n int, o verdict.Outcome) string {
	switch o {
	case verdict.Note, verdict.Warning, verdict.HarnessError:
		return countWithNoun(n, o.String())
	default:
		return fmt.Sprintf("%d %s", n, o)
	}
}

// addRemarks collects what a reader should know in addition to the findings.
func (p *page) addRemarks(r *verdict.Report) {
	add := func(text string) {
		if len(p.Remarks) < pageList {
			p.Remarks = append(p.Remarks, clip(text, pageTextMany))
		}
	}
	for _, n := range notSpokenByReason(r) {
		add("Not judged in " + n.revisions + ": " + n.reason)
	}
	for i := range r.Stale {
		add("stale: " + staleEntry(r, &r.Stale[i]))
	}
	for _, n := range r.Notices {
		add(n)
	}
}

func pageRevisionOf(r *verdict.Report, rev spec.Revision) pageRevision {
	out := pageRevision{Name: Visible(string(rev)), Class: "kept", Word: "nothing broken"}
	judgedAny := false
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		judgedAny = judgedAny || v.Revision == rev && v.Outcome >= verdict.Kept && v.Outcome != verdict.Blocked
	}
	switch broken := r.Count(rev, verdict.Broken); {
	case broken > 0:
		out.Class, out.Word = "broken", fmt.Sprintf("%d broken", broken)
	case r.Count(rev, verdict.HarnessError) > 0:
		out.Class, out.Word = "harness-error", "no verdict"
	case !judgedAny:
		out.Class, out.Word = "nothing", "not judged"
	}
	for _, col := range columnsOf(r) {
		out.Counts = append(out.Counts, pageCount{col.label, col.count(r, rev)})
	}
	return out
}

// areasOf returns the areas in the order of the report.
func areasOf(r *verdict.Report) []string {
	var out []string
	for i := range r.Verdicts {
		if !slices.Contains(out, r.Verdicts[i].Area) {
			out = append(out, r.Verdicts[i].Area)
		}
	}
	return out
}

// countVerdicts counts the verdicts of an area in a revision.
func countVerdicts(r *verdict.Report, area string, rev spec.Revision) (counts map[verdict.Outcome]int, total int) {
	counts = map[verdict.Outcome]int{}
	for i := range r.Verdicts {
		if v := &r.Verdicts[i]; v.Area == area && v.Revision == rev {
			counts[v.Outcome]++
			total++
		}
	}
	return counts, total
}

func pageAreaOf(r *verdict.Report, area string) pageArea {
	out := pageArea{Name: Visible(area)}
	for _, rev := range r.Revisions {
		counts, total := countVerdicts(r, area, rev)
		var parts []string
		for _, o := range verdict.Outcomes() {
			if counts[o] > 0 {
				parts = append(parts, countOutcome(counts[o], o))
			}
		}
		if total == 0 {
			parts = []string{"none"}
		}
		share := newShare(counts, total)
		share.Text = fmt.Sprintf("%s, %s: %s", Visible(area), Visible(string(rev)), strings.Join(parts, ", "))
		share.Numbers = strings.Join(parts, ", ")
		out.Cells = append(out.Cells, share)
	}
	return out
}

// anchors returns the anchor of each finding on the page, by the finding's id.
func (p *page) anchors() map[string]string {
	out := map[string]string{}
	for i := range p.Findings {
		for _, id := range p.Findings[i].ids {
			out[id] = p.Findings[i].Anchor
		}
	}
	return out
}

// setSecurity sets the section about security.
func (p *page) setSecurity(r *verdict.Report) {
	s := securityOf(r)
	if s == nil {
		return
	}
	anchors := p.anchors()
	p.Security = &pageSecurity{Counts: s.String()}
	for i := range s.weaknesses {
		w := &s.weaknesses[i]
		row := pageWeakness{Class: classOf(w.outcome), Sign: signs[w.outcome], Name: w.name()}
		if w.cwe > 0 {
			row.Page = spec.WeaknessPage(w.cwe)
		}
		for j := range w.requirements {
			q := &w.requirements[j]
			row.Requirements = append(row.Requirements, pageWeakRequirement{clip(q.id, pageText1), w.remark(q), anchors[q.finding]})
		}
		p.Security.Rows = append(p.Security.Rows, row)
	}
}

// table returns the requirements of an area with their verdicts.
func (p *page) table(r *verdict.Report, area string) pageTable {
	anchors := p.anchors()
	out := pageTable{Name: Visible(area)}
	for _, rev := range r.Revisions {
		out.Revisions = append(out.Revisions, Visible(string(rev)))
	}
	at := map[string]int{}
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		column := slices.Index(r.Revisions, v.Revision)
		if v.Area != area || column < 0 {
			continue
		}
		row, known := at[v.Requirement]
		if !known {
			row = len(out.Rows)
			at[v.Requirement] = row
			out.Rows = append(out.Rows, pageRow{ID: clip(v.Requirement, pageText1), Level: Visible(string(v.Level)), Cells: make([]pageCell, len(r.Revisions))})
			for i := range out.Rows[row].Cells {
				out.Rows[row].Cells[i].Revision = out.Revisions[i]
			}
		}
		cell := pageCell{Class: classOf(v.Outcome), Sign: signs[v.Outcome], Outcome: v.Outcome.String(), Revision: out.Revisions[column]}
		if len(v.Findings) > 0 {
			cell.Link = anchors[v.Findings[0]]
		}
		out.Rows[row].Cells[column] = cell
		if v.Reason != "" {
			out.Rows[row].Reason = clip(v.Reason, pageText1)
		}
	}
	out.Sum = countWithNoun(len(out.Rows), "requirement")
	return out
}

func pageStats(r *verdict.Report) string {
	text := describeEffort(r)
	if !r.Stats.Started.IsZero() {
		text = r.Stats.Started.UTC().Format(time.RFC1123) + " · " + text
	}
	return text
}
