package reporters

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// shownByGitHub is the number of errors, and of warnings, that GitHub shows for
// a step. It silently drops the others.
const shownByGitHub = 10

// Limits for the strings of an annotation, in columns.
const (
	annotationTitle = 120
	annotationText  = 1500
)

// GitHub writes the report as workflow commands, which GitHub Actions turns
// into annotations if they are in the log of a step: an error for each finding
// that fails the run and each stale baseline entry, a warning for each other finding,
// and a notice with the conclusion and the number of errors and warnings that exceed
// shownByGitHub and are left out.
func GitHub(w io.Writer, r *verdict.Report) error {
	var b bytes.Buffer
	counts := map[string]int{}
	for _, e := range entries(r, false) {
		kind := "warning"
		if e.Outcome.Fails(r.FailOn == FailOnShould) {
			kind = "error"
		}
		if counts[kind]++; counts[kind] <= shownByGitHub {
			annotate(&b, kind, r.Artifact, strings.ToUpper(e.Outcome.String())+" "+e.Requirement, annotation(&e)...)
		}
	}
	for i := range r.Stale {
		if counts["error"]++; counts["error"] <= shownByGitHub {
			annotate(&b, "error", r.Artifact, "STALE "+r.Stale[i].Requirement, staleEntry(r, &r.Stale[i]))
		}
	}
	text, _ := conclusion(r)
	lines := []string{text}
	for i := range r.Profiles {
		lines = append(lines, ProfileText(&r.Profiles[i]))
	}
	for _, kind := range []string{"error", "warning"} {
		if left := counts[kind] - shownByGitHub; left > 0 {
			lines = append(lines, fmt.Sprintf("GitHub shows %d annotations of a kind: %s not shown; the job summary and the reports have all.", shownByGitHub, moreText(left, kind)))
		}
	}
	if s := securityOf(r); s != nil {
		lines = append(lines, s.lines()...)
	}
	annotate(&b, "notice", "", badgeLabel, lines...)
	_, err := w.Write(b.Bytes())
	return err
}

func moreText(n int, what string) string {
	if n == 1 {
		return "1 more " + what + " is"
	}
	return fmt.Sprintf("%d more %ss are", n, what)
}

// annotation returns the lines of the annotation of a finding.
func annotation(e *entry) []string {
	lines := []string{e.Summary, fmt.Sprintf("%s · %s · %s", describeLevel(&e.Finding), joinRevisions(e.revisions), e.Transport)}
	add := func(label, text string) {
		if text != "" {
			lines = append(lines, label+text)
		}
	}
	add("", knownInSDK(&e.Finding))
	add("", e.describeBlocked())
	if isDoubtful(e.Outcome) {
		add("", describeRetries(&e.Finding))
	}
	add("permitted: ", e.Permitted)
	add("seen: ", e.Seen)
	add("fix: ", usualFix(&e.Finding))
	add("page: ", e.Page)
	add("again: ", reproduceCommand(&e.Finding))
	return lines
}

// annotate writes one workflow command. It joins the lines of the text with escaped newlines,
// because a command must not contain other newlines.
func annotate(b *bytes.Buffer, kind, file, title string, lines ...string) {
	b.WriteString("::" + kind + " title=" + escapeCommandProperty(clip(title, annotationTitle)))
	if file != "" {
		b.WriteString(",file=" + escapeCommandProperty(clip(file, annotationTitle)) + ",line=1")
	}
	b.WriteString("::")
	for i, line := range lines {
		if i > 0 {
			b.WriteString("%0A")
		}
		b.WriteString(escapeCommandData(clip(line, annotationText)))
	}
	b.WriteByte('\n')
}

// escapeCommandData escapes the text of a workflow command. escapeCommandProperty also escapes the
// characters that end a property. The text comes from Visible, so it contains no newlines.
func escapeCommandData(text string) string {
	return strings.ReplaceAll(ciCommandEscaper.Replace(text), "%", "%25")
}

func escapeCommandProperty(text string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(escapeCommandData(text))
}
