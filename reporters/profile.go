package reporters

import (
	"fmt"
	"strings"

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

// cameUp says how many of the requirements that apply were judged.
func cameUp(c *verdict.ProfileCount) string {
	return fmt.Sprintf("%d of %d that apply came up", c.CameUp(), c.Apply())
}

// profileFigures returns the counts of a profile that are not obvious from its result.
func profileFigures(c *verdict.ProfileCount) []string {
	out := []string{cameUp(c)}
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

// ProfileText returns the result of a profile, and how many of its requirements came up, as
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
		out = append(out, c.twoTone(profileColors[p.Result], result, figures)...)
	}
	return out
}

// markdownProfiles returns a table of the profiles that the run was limited to, or "".
func markdownProfiles(r *verdict.Report) string {
	if len(r.Profiles) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("| profile | result | came up, core | came up, extended | broken | warnings | not observed | skipped | not applicable |\n")
	b.WriteString("| :-- | :-- | --: | --: | --: | --: | --: | --: | --: |\n")
	for i := range r.Profiles {
		p := &r.Profiles[i]
		all := p.All()
		fmt.Fprintf(&b, "| %s | %s %s | %d of %d | %d of %d | %d | %d | %d | %d | %d |\n",
			prose(p.Name, 80), profileMarks[p.Result], prose(p.Result, 40), p.Core.CameUp(), p.Core.Apply(), p.Extended.CameUp(), p.Extended.Apply(),
			all.Broken, all.Warned, all.NotObserved, all.Skipped, all.NotApplicable)
	}
	return b.String() + "\n"
}
