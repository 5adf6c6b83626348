package reporters

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// profileMarks are the marks of a profile's results, in documents.
var profileMarks = map[string]string{
	verdict.ProfilePassed: "✅", verdict.ProfileFailed: "❌", verdict.ProfileIncomplete: "⚠️", verdict.ProfileNotObserved: "❔", verdict.ProfileNotApplicable: "➖",
}

// profileColors are the colours of a profile's results, on the console.
var profileColors = map[string]color{
	verdict.ProfilePassed: green, verdict.ProfileFailed: red, verdict.ProfileIncomplete: yellow, verdict.ProfileNotObserved: yellow, verdict.ProfileNotApplicable: dim,
}

// observedText returns a phrase with the number of applicable requirements that were observed.
func observedText(c *verdict.ProfileCount) string {
	return observedShare(c) + " applicable requirements observed"
}

// profileFigures returns a phrase for each count of a profile that is not zero, after the share of
// requirements that were observed.
func profileFigures(c *verdict.ProfileCount) []string {
	out := []string{observedText(c)}
	for _, of := range []struct {
		n    int
		what string
	}{
		{c.Broken, "broken"}, {c.Warned, "with a warning"}, {c.Flaky, "flaky"}, {c.Unconfirmed, "unconfirmed"},
		{c.NotObserved, "not observed"}, {c.NotJudged, "blocked"}, {c.Skipped, "skipped"}, {c.NotApplicable, "not applicable"},
	} {
		if of.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", of.n, of.what))
		}
	}
	return out
}

// ProfileText returns the result of a profile, and how many of its requirements were observed, as
// one line.
func ProfileText(p *verdict.ProfileResult) string {
	result, figures := profileText(p)
	return result + " " + figures
}

func profileText(p *verdict.ProfileResult) (result, figures string) {
	all := p.All()
	return "profile " + clip(p.Name, 80) + " " + p.Result, "· " + strings.Join(profileFigures(&all), " · ")
}

// profileLines returns a line for each profile that the run was limited to.
func (c *Console) profileLines(r *verdict.Report) []string {
	var out []string
	for i := range r.Profiles {
		p := &r.Profiles[i]
		result, figures := profileText(p)
		out = append(out, c.colorThenPlain(profileColors[p.Result], result, figures)...)
	}
	return out
}

// profileClasses are the classes of a profile's results, on the page.
var profileClasses = map[string]string{
	verdict.ProfilePassed: classOf(verdict.Kept), verdict.ProfileFailed: classOf(verdict.Broken), verdict.ProfileIncomplete: classOf(verdict.Warning),
	verdict.ProfileNotObserved: classOf(verdict.Warning), verdict.ProfileNotApplicable: "nothing",
}

// A profileColumn is a column of the page's table of profiles.
type profileColumn struct {
	label  string
	always bool // show the column even if no profile has such a requirement
	count  func(*verdict.ProfileCount) int
}

var profileColumns = []profileColumn{
	{"broken", true, func(c *verdict.ProfileCount) int { return c.Broken }},
	{"warnings", false, func(c *verdict.ProfileCount) int { return c.Warned }},
	{"flaky", false, func(c *verdict.ProfileCount) int { return c.Flaky }},
	{"unconfirmed", false, func(c *verdict.ProfileCount) int { return c.Unconfirmed }},
	{"not observed", true, func(c *verdict.ProfileCount) int { return c.NotObserved }},
	{"blocked", false, func(c *verdict.ProfileCount) int { return c.NotJudged }},
	{"skipped", false, func(c *verdict.ProfileCount) int { return c.Skipped }},
	{"not applicable", false, func(c *verdict.ProfileCount) int { return c.NotApplicable }},
}

// A pageProfile is the result of a profile that the run was limited to.
type pageProfile struct {
	Name, About, Class, Result string
	Observed, Core, Extended   string
	Counts                     []pageCount
}

// pageProfiles returns the rows of the table of profiles.
func pageProfiles(r *verdict.Report) []pageProfile {
	columns := slices.DeleteFunc(slices.Clone(profileColumns), func(col profileColumn) bool {
		return !col.always && !slices.ContainsFunc(r.Profiles, func(p verdict.ProfileResult) bool {
			all := p.All()
			return col.count(&all) > 0
		})
	})
	var out []pageProfile
	for i := range r.Profiles {
		p := &r.Profiles[i]
		all := p.All()
		row := pageProfile{
			Name: clip(p.Name, pageText1), Class: profileClasses[p.Result], Result: Visible(p.Result),
			Observed: observedShare(&all), Core: observedShare(&p.Core), Extended: observedShare(&p.Extended),
		}
		for _, col := range columns {
			row.Counts = append(row.Counts, pageCount{col.label, col.count(&all)})
		}
		if known := spec.LookupProfile(p.Name); known != nil {
			row.About = clip(known.About, pageText1)
		}
		out = append(out, row)
	}
	return out
}

// observedShare returns how many of the requirements that apply were observed.
func observedShare(c *verdict.ProfileCount) string {
	return fmt.Sprintf("%d of %d", c.Observed(), c.Applicable())
}

// profileOutput returns the results of the profiles as one word, such as
// core@1:passed:157/171,tools@1:not-observed:9/40.
func profileOutput(r *verdict.Report) string {
	var out []string
	for i := range r.Profiles {
		p := &r.Profiles[i]
		all := p.All()
		out = append(out, fmt.Sprintf("%s:%s:%d/%d", p.Name, strings.ReplaceAll(p.Result, " ", "-"), all.Observed(), all.Applicable()))
	}
	return strings.Join(out, ",")
}

// markdownProfiles returns a table of the profiles that the run was limited to, or "".
func markdownProfiles(r *verdict.Report) string {
	if len(r.Profiles) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("| profile | result | observed, core | observed, extended | broken | warnings | not observed | skipped | not applicable |\n")
	b.WriteString("| :-- | :-- | --: | --: | --: | --: | --: | --: | --: |\n")
	for i := range r.Profiles {
		p := &r.Profiles[i]
		all := p.All()
		fmt.Fprintf(&b, "| %s | %s %s | %s | %s | %d | %d | %d | %d | %d |\n",
			escapeMarkdown(p.Name, 80), profileMarks[p.Result], escapeMarkdown(p.Result, 40), observedShare(&p.Core), observedShare(&p.Extended),
			all.Broken, all.Warned, all.NotObserved, all.Skipped, all.NotApplicable)
	}
	return b.String() + "\n"
}
