package reporters

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// Limits for the documents. GitHub rejects a comment with more than 65,536
// characters, and drops a job summary with more than 1 MiB per step.
const (
	CommentLimit = 65_000
	SummaryLimit = 1_000_000
)

// Limits for a finding in a Markdown document: columns of a string, and number of events.
const (
	markdownText   = 600
	markdownEvents = 8
)

// Markdown writes the report for a comment on a pull request, with the verdict
// of each revision and collapsible findings. It never exceeds CommentLimit;
// findings that do not fit are counted.
func Markdown(w io.Writer, r *verdict.Report) error {
	_, err := w.Write(markdown(r, CommentLimit))
	return err
}

// Summary returns the document that Markdown writes, but for a job summary of at most limit bytes.
// It is empty if not even the verdicts fit.
func Summary(r *verdict.Report, limit int) []byte { return markdown(r, min(limit, SummaryLimit)) }

func markdown(r *verdict.Report, limit int) []byte {
	top, last := markdownTop(r), markdownLast(r)
	if len(top)+len(last) > limit {
		return nil
	}
	out := []byte(top)
	room := limit - len(last) - 200 // for the line that counts the omitted findings
	if text := markdownSecurity(r); len(out)+len(text) <= room {
		out = append(out, text...)
	}
	fs := groupByCause(allEntries(r))
	if len(fs) > 0 {
		out = append(out, "### Findings\n\n"...)
	}
	for i := range fs {
		text := markdownEntry(&fs[i])
		if len(out)+len(text) > room {
			out = fmt.Appendf(out, "_… and %s: too many for this place, the other reports have them._\n\n", countWithNoun(countFindings(fs[i:]), "more finding"))
			break
		}
		out = append(out, text...)
	}
	if text := markdownLacking(r); len(out)+len(text) <= limit-len(last) {
		out = append(out, text...)
	}
	return append(out, last...)
}

// markdownLacking lists, like the console, what was not observed because no
// call was known or allowed, in a collapsed section. It returns "" if there is
// nothing to list.
func markdownLacking(r *verdict.Report) string {
	lines, counts := missingSettings(r)
	text := ""
	for _, g := range lackingGroups(lines, counts) {
		text += fmt.Sprintf("<details><summary>%s %s</summary>\n\n%s\n\n<pre>%s</pre>\n\n</details>\n\n",
			countWithNoun(g.total, "requirement"), g.why.title, escapeMarkdown(g.why.head, markdownText), html.EscapeString(preformatted(g.rows(counts, listed))))
	}
	return text
}

// markdownSecurity returns the section about security: one line if there is no finding.
func markdownSecurity(r *verdict.Report) string {
	s := securityOf(r)
	switch {
	case s == nil:
		return ""
	case len(s.weaknesses) == 0:
		return "Security: " + s.String() + "\n\n"
	}
	text := "### Security\n\n" + s.String() + "\n\n"
	for i := range s.weaknesses {
		w := &s.weaknesses[i]
		name := w.name()
		if w.cwe > 0 {
			name = fmt.Sprintf("[%s](%s)", name, spec.WeaknessPage(w.cwe))
		}
		text += fmt.Sprintf("* %s %s: %s\n", outcomeMarks[w.outcome], name, escapeMarkdown(w.listRequirements(), markdownText))
	}
	return text + "\n"
}

var markdownMarks = map[overallResult]string{overallKept: "✅", overallDoubt: "⚠️", overallBroken: "❌", overallNothing: "❔"}

func markdownTop(r *verdict.Report) string {
	var b bytes.Buffer
	text, _ := conclusion(r)
	fmt.Fprintf(&b, "## %s %s\n\n%s over %s\n\n", markdownMarks[overallOf(r)], badgeLabel, escapeMarkdown(text, 2*markdownText), escapeMarkdown(string(r.Transport), 40))
	columns := columnsOf(r)
	if len(r.Revisions) > 0 {
		b.WriteString("| revision |")
		for _, col := range columns {
			fmt.Fprintf(&b, " %s |", col.label)
		}
		b.WriteString("\n| :-- |" + strings.Repeat(" --: |", len(columns)) + "\n")
		for _, rev := range r.Revisions {
			fmt.Fprintf(&b, "| %s |", escapeMarkdown(string(rev), 40))
			for _, col := range columns {
				fmt.Fprintf(&b, " %d |", col.count(r, rev))
			}
			b.WriteByte('\n')
		}
		b.WriteByte('\n')
	}
	b.WriteString(markdownProfiles(r))
	b.WriteString(markdownGateway(r))
	for _, n := range notSpokenByReason(r) {
		fmt.Fprintf(&b, "* Not judged in %s: %s\n", escapeMarkdown(n.revisions, markdownText), escapeMarkdown(n.reason, markdownText))
	}
	for i := range r.Notices[:min(len(r.Notices), junitFindings)] {
		fmt.Fprintf(&b, "* %s\n", escapeMarkdown(r.Notices[i], markdownText))
	}
	for i := range r.Stale[:min(len(r.Stale), listed)] {
		fmt.Fprintf(&b, "* ❌ stale: %s\n", escapeMarkdown(staleEntry(r, &r.Stale[i]), markdownText))
	}
	if len(r.Stale) > 0 {
		fmt.Fprintf(&b, "* %s\n", staleAdvice)
	}
	if len(r.NotSpoken)+len(r.Notices)+len(r.Stale) > 0 {
		b.WriteByte('\n')
	}
	return b.String()
}

var outcomeMarks = map[verdict.Outcome]string{
	verdict.HarnessError: "❌", verdict.Broken: "❌", verdict.Unconfirmed: "❔", verdict.Flaky: "〰️", verdict.Warning: "⚠️", verdict.Note: "ℹ️",
}

// markdownEntry returns a finding as a collapsed section. All text that the
// server chose is in <pre> blocks, where GitHub interprets neither Markdown nor
// mentions and references.
func markdownEntry(f *family) string {
	e := &f.entry
	var b bytes.Buffer
	fmt.Fprintf(&b, "<details><summary>%s <b>%s</b> %s · %s", outcomeMarks[e.Outcome], escapeMarkdown(strings.ToUpper(e.Outcome.String()), 40), escapeMarkdown(e.Requirement, 120), escapeMarkdown(e.Summary, markdownText))
	if e.Known != "" {
		fmt.Fprintf(&b, " (known: %s)", escapeMarkdown(e.Known, markdownText))
	}
	b.WriteString("</summary>\n\n")
	if e.SDK != nil {
		fmt.Fprintf(&b, "%s\n\n", escapeMarkdown(knownInSDK(&e.Finding), markdownText))
	}
	fmt.Fprintf(&b, "%s · %s · %s · %s\n\n", escapeMarkdown(describeLevel(&e.Finding), 120), escapeMarkdown(joinRevisions(e.revisions), 200), escapeMarkdown(string(e.Transport), 40), escapeMarkdown(describeRetries(&e.Finding), 120))
	for _, text := range []string{statementOf(e.Requirement), e.describeBlocked()} {
		if text != "" {
			fmt.Fprintf(&b, "%s\n\n", escapeMarkdown(text, markdownText))
		}
	}
	var block []string
	add := func(label, text string) {
		if text != "" {
			block = append(block, label+clip(text, markdownText))
		}
	}
	add("permitted  ", e.Permitted)
	add("seen       ", e.Seen)
	add("fix        ", usualFix(&e.Finding))
	if len(e.Evidence) > 0 {
		block = append(block, "")
		block = append(block, NewConsole(io.Discard, ConsoleOptions{Width: markdownText}).excerptLines(e.Evidence, markdownEvents)...)
	}
	if len(e.Script) > 0 {
		block = append(block, "")
		for i, line := range e.Script {
			add([]string{"script     ", "           "}[min(i, 1)], line)
		}
	}
	if text := reproduceCommand(&e.Finding); text != "" {
		block = append(block, "", "again: "+text)
	}
	if text := replayCommand(&e.Finding); text != "" {
		block = append(block, "fixed? "+text)
	}
	if len(block) > 0 {
		fmt.Fprintf(&b, "<pre>%s</pre>\n\n", html.EscapeString(preformatted(block)))
	}
	writeMarkdownSameCause(&b, f.same)
	if strings.HasPrefix(e.Page, "https://") && !strings.ContainsAny(e.Page, " \t\r\n<>()\"'`\\") {
		fmt.Fprintf(&b, "[the specification](%s)\n\n", e.Page)
	}
	b.WriteString("</details>\n\n")
	return b.String()
}

// writeMarkdownSameCause lists the findings with the same cause as the finding above, one
// line each.
func writeMarkdownSameCause(b *bytes.Buffer, same []entry) {
	if len(same) == 0 {
		return
	}
	b.WriteString("The same message, or the same end of the process, shows:\n\n")
	for i := range same[:min(len(same), listed)] {
		e := &same[i]
		fmt.Fprintf(b, "* %s **%s** %s · %s · %s\n", outcomeMarks[e.Outcome], escapeMarkdown(strings.ToUpper(e.Outcome.String()), 40), escapeMarkdown(e.Requirement, 120), escapeMarkdown(joinRevisions(e.revisions), 200), escapeMarkdown(e.Summary, markdownText))
	}
	if more := len(same) - listed; more > 0 {
		fmt.Fprintf(b, "* … and %s\n", countWithNoun(more, "more finding"))
	}
	b.WriteByte('\n')
}

// preformatted joins the lines of a block. It fills empty lines with a space, because some Markdown
// renderers end an HTML block at an empty line.
func preformatted(lines []string) string {
	for i := range lines {
		if strings.TrimSpace(lines[i]) == "" {
			lines[i] = " "
		}
	}
	return strings.Join(lines, "\n")
}

func markdownLast(r *verdict.Report) string {
	return fmt.Sprintf("<sub>%s · %s</sub>\n", escapeMarkdown(strings.TrimSpace(r.Tool+" "+r.Version), 80), escapeMarkdown(describeEffort(r), 120))
}

// escapeMarkdown escapes text so that Markdown shows it unchanged. The characters that could begin
// a link, HTML, emphasis, a list, a mention or an issue reference become character references.
func escapeMarkdown(text string, columns int) string {
	var b strings.Builder
	text = clip(text, columns)
	for i, c := range text {
		switch {
		case c == '@' || c == '#':
			fmt.Fprintf(&b, "&#%d;<!-- -->", c) // GitHub looks for mentions after it has resolved references
		case c < utf8.RuneSelf && strings.ContainsRune("!\"$%&'*+<=>?[\\]^_`{|}~:/", c), c == '.' && i >= 3 && strings.EqualFold(text[i-3:i], "www"):
			fmt.Fprintf(&b, "&#%d;", c)
		case c == '-' && i == 0, (c == '.' || c == ')') && strings.Trim(text[:i], "0123456789") == "": // it would begin a list
			fmt.Fprintf(&b, "&#%d;", c)
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}
