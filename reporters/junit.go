package reporters

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

type junitSuites struct {
	XMLName  xml.Name      `xml:"testsuites"`
	Name     string        `xml:"name,attr"`
	Tests    int           `xml:"tests,attr"`
	Failures int           `xml:"failures,attr"`
	Errors   int           `xml:"errors,attr"`
	Time     string        `xml:"time,attr"` // of the whole run
	Suites   []*junitSuite `xml:"testsuite"`
}

// junitSuite and junitCase have no durations of their own, because cases run concurrently and
// several judge one requirement. Some readers require the time attribute, so it is zero.
type junitSuite struct {
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Time       string          `xml:"time,attr"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Name      string        `xml:"name,attr"`
	Classname string        `xml:"classname,attr"`
	Time      string        `xml:"time,attr"`
	Failure   *junitOutcome `xml:"failure"`
	Error     *junitOutcome `xml:"error"`
	Skipped   *junitOutcome `xml:"skipped"`
	Output    string        `xml:"system-out,omitempty"`
}

type junitOutcome struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
	Body    string `xml:",chardata"`
}

// FailOnShould is the value of verdict.Report.FailOn with which a warning fails
// the run.
const FailOnShould = "should"

// Limits for strings and lists in a JUnit document. Its readers load whole
// files and show messages on one line.
const (
	junitMessage  = 300  // columns of a message
	junitText     = 2000 // columns of any string in a body
	junitEvents   = 12   // events of a finding
	junitFindings = 10   // findings of a verdict
	noTime        = "0.000"
)

// JUnit writes the report as JUnit XML, with a testsuite for each area and revision, and a testcase
// for each requirement. A broken requirement is a failure. A harness error or an unconfirmed
// deviation is an error. A warning is a failure if warnings fail the run. A requirement that was
// not judged is skipped with its reason, and so is one whose deviations are known. A run that ended
// early has one additional testcase, which is an error, and each stale baseline entry has one,
// which is a failure. The comparisons of a gateway have a testsuite of their own.
func JUnit(w io.Writer, r *verdict.Report) error {
	doc := junitSuites{Name: "mcp-conform " + clip(serverName(r), junitMessage), Time: seconds(r)}
	findings := findingsByID(r)
	properties := junitProperties(r)
	suites := map[string]*junitSuite{}
	suite := func(name string) *junitSuite {
		s := suites[name]
		if s == nil {
			s = &junitSuite{Name: name, Time: noTime, Properties: properties}
			suites[name] = s
			doc.Suites = append(doc.Suites, s)
		}
		return s
	}
	if r.Incomplete != "" {
		suite("run").add(junitCase{
			Name: "run.complete", Classname: "mcp.run", Time: noTime,
			Error: &junitOutcome{Type: "incomplete", Message: "the run is incomplete: " + clip(r.Incomplete, junitMessage)},
		})
	}
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		suite(Visible(v.Area + " " + string(v.Revision))).add(junitVerdict(v, findings, r.FailOn == FailOnShould))
	}
	for i := range r.Stale {
		s := &r.Stale[i]
		text := clip(staleEntry(r, s), junitMessage)
		suite("baseline").add(junitCase{
			Name: Visible(fmt.Sprintf("%s line %d", s.Requirement, s.Line)), Classname: "mcp.baseline", Time: noTime,
			Failure: &junitOutcome{Type: "stale", Message: text, Body: text},
		})
	}
	for _, c := range junitGateway(r) {
		suite("gateway").add(c)
	}
	for _, s := range doc.Suites {
		doc.Tests += s.Tests
		doc.Failures += s.Failures
		doc.Errors += s.Errors
	}
	text, err := xml.MarshalIndent(doc, "", "  ")
	if err != nil {
		return fmt.Errorf("the report can't be written as XML: %w", err)
	}
	// Only the bodies of elements contain newlines, which need no escape there. Text from a server
	// can't produce the sequence &#xA;, because its & is escaped.
	text = bytes.ReplaceAll(text, []byte("&#xA;"), []byte("\n"))
	_, err = w.Write(slices.Concat([]byte(xml.Header), text, []byte("\n")))
	return err
}

func (s *junitSuite) add(c junitCase) {
	s.Cases = append(s.Cases, c)
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
}

func junitProperties(r *verdict.Report) []junitProperty {
	out := []junitProperty{
		{"target", clip(r.Target, junitMessage)},
		{"transport", Visible(string(r.Transport))},
		{"server", clip(strings.TrimSpace(r.Server.Name+" "+r.Server.Version), junitMessage)},
		{"tool", clip(strings.TrimSpace(r.Tool+" "+r.Version), junitMessage)},
		{"seed", strconv.FormatUint(r.Seed, 10)},
	}
	if s := securityOf(r); s != nil {
		out = append(out, junitProperty{"security", clip(strings.Join(append([]string{s.String()}, s.lines()[1:]...), "; "), junitText)})
	}
	for i := range r.Profiles {
		p := &r.Profiles[i]
		all := p.All()
		out = append(out, junitProperty{"profile." + clip(p.Name, 80), Visible(p.Result + ": " + strings.Join(profileFigures(&all), ", "))})
	}
	return out
}

func junitVerdict(v *verdict.Verdict, findings map[string]*verdict.Finding, strict bool) junitCase {
	c := junitCase{
		Name:      Visible(v.Requirement),
		Classname: Visible("mcp." + string(v.Revision) + "." + v.Area),
		Time:      noTime,
	}
	fs := findingsOf(v, findings)
	outcome := &junitOutcome{Type: v.Outcome.String(), Message: junitReason(v, fs)}
	switch {
	case v.Known != "":
		outcome.Type, outcome.Message = "known", "known: "+clip(v.Known, junitMessage)
		outcome.Body = junitBody(v, fs)
		c.Skipped = outcome
	case v.Outcome == verdict.Broken, strict && v.Outcome == verdict.Warning:
		outcome.Type = Visible(string(v.Level))
		outcome.Body = junitBody(v, fs)
		c.Failure = outcome
	case v.Outcome == verdict.HarnessError, v.Outcome == verdict.Unconfirmed:
		outcome.Body = junitBody(v, fs)
		c.Error = outcome
	case v.Outcome == verdict.NotApplicable, v.Outcome == verdict.NotObserved, v.Outcome == verdict.Blocked:
		if name := v.Outcome.String(); !strings.HasPrefix(outcome.Message, name) {
			outcome.Message = name + ": " + outcome.Message
		}
		c.Skipped = outcome
	case v.Outcome != verdict.Kept:
		c.Output = junitBody(v, fs)
	}
	return c
}

// VerdictText returns a verdict of the report with its findings as plain text of several
// lines, safe to print.
func VerdictText(r *verdict.Report, v *verdict.Verdict) string {
	return junitBody(v, findingsOf(v, findingsByID(r)))
}

// junitReason returns one line that says why a verdict is not kept.
func junitReason(v *verdict.Verdict, fs []*verdict.Finding) string {
	switch {
	case v.Reason != "":
		return clip(v.Reason, junitMessage)
	case len(fs) > 0:
		text := fs[0].Summary
		if fs[0].Seen != "" {
			text += " Seen: " + fs[0].Seen
		}
		return clip(text, junitMessage)
	}
	return "no reason was recorded"
}

func junitBody(v *verdict.Verdict, fs []*verdict.Finding) string {
	var b strings.Builder
	line := func(label, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%s%s\n", label, clip(text, junitText))
		}
	}
	b.WriteByte('\n')
	if q := spec.Requirements().Lookup(v.Requirement); q != nil {
		line("", q.Statement)
	}
	line("", fmt.Sprintf("%s · %s · %s · %s", v.Outcome, v.Level, v.Revision, v.Transport))
	line("", v.Reason)
	for i, f := range fs {
		if i == junitFindings {
			line("", fmt.Sprintf("and %s, see the JSON report", countWithNoun(len(fs)-i, "more finding")))
			break
		}
		b.WriteByte('\n')
		line(f.ID+" "+f.Outcome.String()+": ", f.Summary)
		line("permitted: ", f.Permitted)
		line("seen: ", f.Seen)
		if f.CWE > 0 {
			line("weakness: ", spec.WeaknessName(f.CWE))
		}
		line("sdk: ", knownInSDK(f))
		line("fix: ", usualFix(f))
		for j := range f.Evidence[:min(len(f.Evidence), junitEvents)] {
			e := &f.Evidence[j]
			fmt.Fprintf(&b, "%s %s %s\n", offendingMark(e), directionSymbol(e), viewOf(e, junitText))
		}
		if more := len(f.Evidence) - junitEvents; more > 0 {
			line("", fmt.Sprintf("and %s, see the JSON report", countWithNoun(more, "more event")))
		}
		for i, text := range f.Script {
			line([]string{"script: ", "  "}[min(i, 1)], text)
		}
		line("page: ", f.Page)
		line("again: ", reproduceCommand(f))
		line("", "judged by "+f.Judge+", "+describeRetries(f))
	}
	return b.String()
}

// seconds returns the duration of the run in the form that the XSD requires:
// digits and a point.
func seconds(r *verdict.Report) string { return fmt.Sprintf("%.3f", max(0, r.Stats.Took.Seconds())) }
