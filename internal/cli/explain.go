package cli

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/mcp-conform/mcp-conform/internal/config"
	"github.com/mcp-conform/mcp-conform/internal/ruleset"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/spelling"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/suites"
)

func (a *app) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain ID",
		Short: "Explain a requirement, a case, a rule or a profile",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("as in mcp-conform explain base.response-id-echo", "explain takes one id")
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var ids []string
			for _, q := range spec.Requirements().All() {
				ids = append(ids, q.ID)
			}
			for _, p := range spec.Profiles() {
				ids = append(ids, p.Name)
			}
			return ids, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.explain(args[0]) },
	}
}

func (a *app) explain(id string) error {
	if q := spec.Requirements().Lookup(id); q != nil {
		a.explainRequirement(q)
		a.printExample(q)
		return nil
	}
	for _, c := range suites.Cases() {
		if c.ID == id {
			fmt.Fprintf(a.Out, "%s: a case\n  %s\n", c.ID, c.Title)
			a.explainRaces(c.Races)
			a.explainAll(c.Requirements)
			return nil
		}
	}
	for _, r := range ruleset.All() {
		if r.ID == id {
			fmt.Fprintf(a.Out, "%s: a rule\n  %s\n", r.ID, r.Title)
			if len(r.Requirements) > maxExplained {
				a.listStatements(r.Requirements)
				return nil
			}
			a.explainAll(r.Requirements)
			return nil
		}
	}
	if p := spec.LookupProfile(id); p != nil {
		a.explainProfile(p)
		return nil
	}
	if slices.Contains(spec.Areas(), id) {
		return usagef("mcp-conform list --area "+id+" lists its requirements", "%q is an area; explain takes the id of a requirement, case or rule", id)
	}
	if number, ok := strings.CutPrefix(id, "CWE-"); ok {
		return usagef("https://cwe.mitre.org/data/definitions/"+number+".html describes it, mcp-conform run --label-filter "+id+" judges what has it", "%q is a weakness; explain takes the id of a requirement, case or rule", id)
	}
	return usagef(nearestAdvice(id), "there is no requirement, case or rule %q", id)
}

// explainRaces prints the races of a case (see suite.Race), each with its permitted outcomes, and
// then what must be true in every race.
func (a *app) explainRaces(races []suite.Race) {
	for _, r := range races {
		fmt.Fprintf(a.Out, "\n  %s\n", r.Name)
		for _, text := range r.Outcomes() {
			fmt.Fprintf(a.Out, "    %s\n", text)
		}
	}
	if len(races) > 0 {
		fmt.Fprintln(a.Out, "\n  In each, the cancellation gets no response, no request gets two responses, and the server continues.")
	}
}

// maxExplained is the largest number of requirements that explain prints in full for one rule. If a
// rule judges more, explain prints only their ids and statements.
const maxExplained = 5

// listStatements prints the id and statement of each requirement.
func (a *app) listStatements(ids []string) {
	fmt.Fprintf(a.Out, "\njudges %d requirements; mcp-conform explain ID has more on each:\n", len(ids))
	for _, id := range ids {
		fmt.Fprintf(a.Out, "\n  %s\n", id)
		for _, line := range wrap(spec.Requirements().Lookup(id).Statement, 74) {
			fmt.Fprintf(a.Out, "    %s\n", line)
		}
	}
}

func (a *app) explainAll(ids []string) {
	for _, id := range ids {
		fmt.Fprintln(a.Out)
		a.explainRequirement(spec.Requirements().Lookup(id))
	}
}

func (a *app) explainRequirement(q *spec.Requirement) {
	fmt.Fprintf(a.Out, "%s\n", q.ID)
	for _, line := range wrap(q.Statement, 76) {
		fmt.Fprintf(a.Out, "  %s\n", line)
	}
	a.printField("level", string(q.Level))
	a.printField("revisions", strings.Join(spec.NewestFirst(q.Revisions), ", "))
	for _, text := range gradesOf(q) {
		a.printField("basis", text)
	}
	transports := "any transport"
	if len(q.Transports) > 0 {
		var names []string
		for _, t := range q.Transports {
			names = append(names, fmt.Sprint(t))
		}
		transports = strings.Join(names, ", ")
	}
	a.printField("over", transports)
	if len(q.Needs) > 0 {
		a.printField("needs", strings.Join(q.Needs, ", "))
		a.printField("configure", configurationFor(q.Needs))
	}
	if n := q.Weakness(); n > 0 {
		text := spec.WeaknessName(n) + ", " + spec.WeaknessPage(n)
		if q.CWE == 0 {
			text = "if the server ends: " + text
		}
		a.printField("security", text)
	}
	a.printField("why", q.Why)
	a.printField("cause", q.Cause)
	a.printField("fix", q.Fix)
	for _, l := range spec.Languages() {
		if text := q.Snippets[l]; text != "" {
			fmt.Fprintf(a.Out, "\n  %s\n", l)
			for line := range strings.Lines(text) {
				fmt.Fprintln(a.Out, strings.TrimRight("    "+line, " \n"))
			}
		}
	}
	if q.Snippets != nil {
		fmt.Fprintln(a.Out)
	}
	a.printField("page", q.Page(q.NewestJudged()))
	a.printField("observed", q.Observe)
	a.printField("judged by", newCoverage().lookup(q).judgedByText())
}

// needKeys maps the needs of requirements (spec.Requirement.Needs) to the keys of the configuration
// that meet them. Needs that no key can meet are left out.
var needKeys = map[string][]string{
	"fixture.safe-tool": {"tools: call"}, "fixture.no-argument-tool": {"tools: call"},
	"fixture.task-tool": {"tools: call"}, "fixture.required-task-tool": {"tools: call"}, "fixture.failing-task-tool": {"tools: call"},
	"fixture.failing-tool": {"fixtures: fails"}, "fixture.output-schema-tool": {"fixtures: structured"},
	"fixture.slow-tool": {"fixtures: slow"}, "fixture.progress-tool": {"fixtures: progress", "fixtures: slow"}, "fixture.logging-tool": {"fixtures: logging"},
	"fixture.server-request": {"fixtures: sampling", "fixtures: elicitation", "fixtures: roots"},
	"fixture.input-required": {"fixtures: sampling", "fixtures: elicitation", "fixtures: roots"},
	"fixture.sampling-tool":  {"fixtures: sampling"}, "fixture.sampling-tools-tool": {"fixtures: sampling"},
	"fixture.elicitation-tool": {"fixtures: elicitation"}, "fixture.url-elicitation-tool": {"fixtures: elicitation"}, "fixture.roots-tool": {"fixtures: roots"},
	"fixture.any-change":       {"fixtures: changes-resource", "fixtures: changes-tools", "fixtures: changes-resources", "fixtures: changes-prompts"},
	"fixture.tool-list-change": {"fixtures: changes-tools"}, "fixture.prompt-list-change": {"fixtures: changes-prompts"},
	"fixture.resource-list-change": {"fixtures: changes-resources"}, "fixture.resource-change": {"fixtures: changes-resource"},
	"fixture.image": {"fixtures: image"}, "fixture.audio": {"fixtures: audio"},
	"fixture.embedded-resource": {"fixtures: resource"}, "fixture.embedded-resource-tool": {"fixtures: resource"},
	"fixture.resource-link": {"fixtures: resource-link"}, "fixture.resource-link-tool": {"fixtures: resource-link"},
	"fixture.template": {"templates"}, "fixture.prompt-required": {"prompts: arguments"},
	"fixture.oauth-client": {"target: client-id"}, "fixture.upstream": {"target: upstream-env"},
}

// configurationFor returns a phrase with the keys of mcp-conform.yaml that meet the needs, or "" if
// there are none.
func configurationFor(needs []string) string {
	var parts []string
	for _, need := range needs {
		if keys := strings.Join(needKeys[need], " or "); keys != "" && !slices.Contains(parts, keys) {
			parts = append(parts, keys)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + " in " + config.Name + ", if a run does not find it by itself"
}

// printField prints a label and its text, wrapped, unless the text is empty.
func (a *app) printField(name, text string) {
	if text == "" {
		return
	}
	for _, line := range wrap(text, 66) {
		fmt.Fprintf(a.Out, "  %-10s %s\n", name, line)
		name = ""
	}
}

// gradesOf returns the basis of the requirement and the verdict on a deviation: one string if they
// are the same in all revisions, otherwise one for each group of revisions, with the revisions'
// names.
func gradesOf(q *spec.Requirement) []string {
	var out []string
	at := map[string][]string{}
	for _, r := range spec.NewestFirst(q.Revisions) {
		rev := spec.Revision(r)
		text := fmt.Sprintf("%s: a deviation is %s", q.Basis(rev).DisplayName(), gradeWords[q.Grade(rev)])
		if at[text] == nil {
			out = append(out, text)
		}
		at[text] = append(at[text], r)
	}
	if len(out) > 1 {
		for i, text := range out {
			out[i] = text + " (" + strings.Join(at[text], ", ") + ")"
		}
	}
	return out
}

// gradeWords describe the most severe verdict that each grade permits. A deviation whose
// verdict.Weight is less than verdict.Full may get a milder verdict.
var gradeWords = map[spec.Grade]string{spec.GradeBroken: "reported as broken, or less severely if it is not certain", spec.GradeWarning: "a warning at most", spec.GradeNote: "a note"}

// knownIDs returns the ids of all requirements, cases and rules.
func knownIDs() []string {
	var out []string
	for _, q := range spec.Requirements().All() {
		out = append(out, q.ID)
	}
	for _, c := range suites.Cases() {
		out = append(out, c.ID)
	}
	for _, r := range ruleset.All() {
		out = append(out, r.ID)
	}
	return out
}

// nearestAdvice returns advice that suggests the known id that the user may have meant: the one
// with a similar spelling or, if there is none, the one that contains the most words of id,
// weighted by their lengths. If no known id contains any of the words, the advice only names the
// command that lists all ids.
func nearestAdvice(id string) string {
	all := knownIDs()
	if best := spelling.Nearest(id, all); best != "" {
		return "did you mean " + best + "? mcp-conform list shows all"
	}
	words := strings.FieldsFunc(id, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	best, most := "", 0
	for _, other := range all {
		n := 0
		for _, w := range words {
			if strings.Contains(other, w) {
				n += len(w)
			}
		}
		if n > most {
			best, most = other, n
		}
	}
	if best == "" {
		return "mcp-conform list shows all"
	}
	return "did you mean " + best + "? mcp-conform list shows all"
}

// wrap breaks text at spaces into lines of at most width bytes. A word that is longer than width
// gets a longer line of its own. Empty text gives one empty line.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
