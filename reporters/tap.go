package reporters

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// Limits for strings in a TAP document, in columns.
const (
	tapTitle = 200
	tapText  = 1000
)

// TAP writes the report as TAP version 14, with a subtest for each revision and
// in it a test point for each requirement. A requirement that was not judged is
// skipped. A flaky or known finding is marked TODO, and fails nothing.
func TAP(w io.Writer, r *verdict.Report) error {
	var b bytes.Buffer
	t := &tap{out: &b}
	findings := findingsByID(r)
	b.WriteString("TAP version 14\n")
	t.writeComment(strings.TrimSpace("judged: " + serverName(r)))
	for i := range r.Notices {
		t.writeComment("note: " + r.Notices[i])
	}
	for i := range r.Profiles {
		t.writeComment(ProfileText(&r.Profiles[i]))
	}
	if s := securityOf(r); s != nil {
		for _, line := range s.lines() {
			t.writeComment(line)
		}
	}
	points := len(r.Revisions)
	if r.Incomplete != "" {
		points++
	}
	if len(r.Stale) > 0 {
		points++
	}
	fmt.Fprintf(&b, "1..%d\n", points)
	number := 0
	for _, rev := range r.Revisions {
		number++
		t.writeRevision(r, rev, findings, number)
	}
	if r.Incomplete != "" {
		number++
		t.writePoint(false, number, "run.complete", "", []tapField{{"message", "the run is incomplete: " + r.Incomplete}})
	}
	if len(r.Stale) > 0 {
		number++
		fields := []tapField{{"message", describeStaleCount(len(r.Stale))}}
		for i := range r.Stale[:min(len(r.Stale), junitFindings)] {
			fields = append(fields, tapField{fmt.Sprintf("stale%d", i+1), staleEntry(r, &r.Stale[i])})
		}
		t.writePoint(false, number, "baseline", "", fields)
	}
	_, err := w.Write(b.Bytes())
	return err
}

type tap struct {
	out    *bytes.Buffer
	indent string
}

type tapField struct{ name, value string }

// writeRevision writes the subtest of a revision and its summary test point.
func (t *tap) writeRevision(r *verdict.Report, rev spec.Revision, findings map[string]*verdict.Finding, number int) {
	var vs []*verdict.Verdict
	for i := range r.Verdicts {
		if r.Verdicts[i].Revision == rev {
			vs = append(vs, &r.Verdicts[i])
		}
	}
	title := Visible(string(rev))
	if len(vs) == 0 {
		t.writePoint(true, number, title, "SKIP nothing was judged", nil)
		return
	}
	t.writeComment("Subtest: " + title)
	inner := &tap{t.out, t.indent + "    "}
	fmt.Fprintf(t.out, "%s1..%d\n", inner.indent, len(vs))
	ok := true
	for i, v := range vs {
		ok = inner.writeVerdict(r, v, findings, i+1) && ok
	}
	t.writePoint(ok, number, title, "", nil)
}

// writeVerdict writes a test point, and reports whether it passes.
func (t *tap) writeVerdict(r *verdict.Report, v *verdict.Verdict, findings map[string]*verdict.Finding, number int) bool {
	fs := findingsOf(v, findings)
	fails := v.Outcome.Fails(r.FailOn == FailOnShould)
	directive := ""
	switch v.Outcome {
	case verdict.NotApplicable, verdict.NotObserved, verdict.Blocked:
		directive = "SKIP " + v.Outcome.String() + ": " + v.Reason
	case verdict.Flaky:
		directive = "TODO flaky"
		if len(fs) > 0 {
			directive += ": " + describeRetries(fs[0])
		}
	}
	if v.Known != "" {
		directive = "TODO known: " + v.Known
	}
	bad := fails || v.Outcome == verdict.Flaky || v.Known != ""
	var fields []tapField
	if v.Outcome >= verdict.Note {
		fields = tapFields(v, fs)
	}
	t.writePoint(!bad, number, v.Requirement, directive, fields)
	return !bad || directive != ""
}

func tapFields(v *verdict.Verdict, fs []*verdict.Finding) []tapField {
	out := []tapField{{"outcome", v.Outcome.String()}, {"level", string(v.Level)}, {"message", v.Reason}}
	if len(fs) > 0 {
		f := fs[0]
		out[2].value = f.Summary
		if f.CWE > 0 {
			out = append(out, tapField{"weakness", spec.WeaknessName(f.CWE)})
		}
		if v.Outcome == verdict.Unconfirmed {
			out = append(out, tapField{"unconfirmed", describeRetries(f)})
		}
		out = append(out, tapField{"permitted", f.Permitted}, tapField{"seen", f.Seen}, tapField{"page", f.Page})
		for _, field := range []tapField{{"sdk", knownInSDK(f)}, {"fix", usualFix(f)}, {"again", reproduceCommand(f)}} {
			if field.value != "" {
				out = append(out, field)
			}
		}
		if n := len(fs) - 1; n > 0 {
			out = append(out, tapField{"more", countWithNoun(n, "more finding")})
		}
	}
	return out
}

// writePoint writes a test point. A number sign separates the directive from the
// title, and is escaped everywhere else.
func (t *tap) writePoint(ok bool, number int, title, directive string, fields []tapField) {
	status := "ok"
	if !ok {
		status = "not ok"
	}
	fmt.Fprintf(t.out, "%s%s %d - %s", t.indent, status, number, escapeTAP(title))
	if directive != "" {
		fmt.Fprintf(t.out, " # %s", escapeTAP(directive))
	}
	t.out.WriteByte('\n')
	if len(fields) == 0 {
		return
	}
	fmt.Fprintf(t.out, "%s  ---\n", t.indent)
	for _, f := range fields {
		if f.value != "" {
			fmt.Fprintf(t.out, "%s  %s: %s\n", t.indent, f.name, quotedScalar(clip(f.value, tapText)))
		}
	}
	fmt.Fprintf(t.out, "%s  ...\n", t.indent)
}

func (t *tap) writeComment(text string) {
	fmt.Fprintf(t.out, "%s# %s\n", t.indent, clip(text, tapTitle))
}

var tapEscaper = strings.NewReplacer(`\`, `\\`, "#", `\#`)

func escapeTAP(text string) string { return tapEscaper.Replace(clip(text, tapTitle)) }

// quotedScalar returns text as a JSON string, which is also a YAML scalar.
func quotedScalar(text string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(text) != nil { // encoding a string cannot fail
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}
