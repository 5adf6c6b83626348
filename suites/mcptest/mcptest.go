// Package mcptest judges an MCP server within a Go test: over its command, its URL, its
// http.Handler, or a stream in memory. Each requirement of the specification is a subtest,
// named by its id, which fails with the finding.
//
//	func TestProtocol(t *testing.T) {
//		mcptest.Run(t, mcptest.Handler(newHandler()), mcptest.Options{})
//	}
//
// go test -run 'TestProtocol/^tools\.' judges only the requirements that the pattern
// matches. A requirement that was not observed, or does not apply to the server, is a
// skipped subtest with the reason; with -v go test prints them.
package mcptest

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/baseline"
	"github.com/mcp-conform/mcp-conform/internal/config"
	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/redact"
	"github.com/mcp-conform/mcp-conform/internal/ruleset"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/reporters"
	"github.com/mcp-conform/mcp-conform/suites"
)

// Options say what is judged and how. The zero value judges everything in each revision
// that the server speaks, and calls only tools whose readOnlyHint is true.
type Options struct {
	// Revisions are the revisions to judge, such as "2025-11-25".
	Revisions []string
	// Requirements are ids of the requirements to judge, or regular expressions that
	// match them; empty means all.
	Requirements []string
	// Profiles are names of profiles, such as "core@1", whose requirements are judged. Newer
	// versions of this package do not change a profile. Empty means all requirements.
	Profiles []string
	// Quick limits the run to a few seconds. It judges only the newest revision, and in it only
	// what needs no server of its own. The other requirements are skipped.
	Quick bool
	// Strict fails the subtest of a requirement that the server should keep (SHOULD) but does not.
	// Without Strict, such a warning is only logged.
	Strict bool
	// CallTools says which tools may be called: "safe" (the default: readOnlyHint is true),
	// "all" or "none". Tools adds tools by name.
	CallTools string
	Tools     []string
	// Baseline is the path of a file with known findings; see the command mcp-conform baseline.
	// Known findings are logged and fail no subtest.
	Baseline string
	// Timeout limits the wait for the response to a request; the default is 10 s.
	Timeout time.Duration
}

// Run judges the server and runs a subtest for each requirement. It fails t if an option is
// invalid, the server can't be reached, nothing could be judged, the run ended before everything
// was judged, or the baseline has a stale entry.
func Run(t *testing.T, s Server, o Options) {
	t.Helper()
	secrets := &redact.Secrets{}
	report, err := judge(t.Context(), t.Name(), s, o, secrets)
	switch {
	case errors.Is(err, errNotRun):
		return
	case err != nil:
		t.Fatal(explain(err, secrets))
	}
	for _, n := range report.Notices {
		t.Log(reporters.Visible(n))
	}
	byID := map[string][]*verdict.Verdict{}
	for i := range report.Verdicts {
		v := &report.Verdicts[i]
		if s.leavesOut(v.Requirement) {
			continue
		}
		byID[v.Requirement] = append(byID[v.Requirement], v)
	}
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		t.Run(id, func(t *testing.T) { reportVerdicts(t, report, byID[id], o.Strict) })
	}
	for i := range report.Profiles {
		t.Log(reporters.ProfileText(&report.Profiles[i]))
	}
	if reason := whyNothingJudged(report); reason != "" {
		t.Errorf("nothing could be judged: %s", reporters.Visible(reason))
	}
	if report.Incomplete != "" {
		t.Errorf("the run is incomplete: %s", reporters.Visible(report.Incomplete))
	}
	for _, entry := range report.Stale {
		t.Errorf("%s:%d: %s: %s", o.Baseline, entry.Line, entry.Requirement, reporters.Visible(entry.Why))
	}
}

// whyNothingJudged returns why nothing could be judged, or "". The cause may be a finding that
// -run does not select.
func whyNothingJudged(r *verdict.Report) string {
	if _, judged := r.Worst(); judged || r.Incomplete != "" {
		return ""
	}
	for i := range r.Verdicts {
		if v := &r.Verdicts[i]; v.Outcome == verdict.Blocked {
			return v.Reason
		}
	}
	return ""
}

// errNotRun says that -run selects none of the requirements.
var errNotRun = errors.New("-run selects no requirement")

// judge runs the suites. name is the name of the test. It adds to secrets what must not be printed,
// and removes that from the report.
func judge(ctx context.Context, name string, s Server, o Options, secrets *redact.Secrets) (*verdict.Report, error) {
	eo := engine.Options{
		Cases: s.cases(), Rules: ruleset.All(), Target: s.name, Timeout: o.Timeout, Quick: o.Quick,
		Policy: inventory.Config{Policy: inventory.Policy(cmp.Or(o.CallTools, string(inventory.CallSafe))), Call: o.Tools},
	}
	if !slices.Contains(inventory.Policies(), eo.Policy.Policy) {
		return nil, fmt.Errorf("Options.CallTools is %q; it must be safe, all or none", o.CallTools)
	}
	for _, text := range o.Revisions {
		rev, err := spec.ParseRevision(text)
		if err != nil {
			return nil, fmt.Errorf("Options.Revisions: %w", err)
		}
		eo.Revisions = append(eo.Revisions, rev)
	}
	for _, text := range o.Profiles {
		p, err := config.ParseProfile(text)
		if err != nil {
			return nil, fmt.Errorf("Options.Profiles: %w", err)
		}
		eo.Selection.Profiles = append(eo.Selection.Profiles, p)
	}
	var err error
	if eo.Selection.Focus, err = selectRequirements(name, o.Requirements, eo.Selection.Profiles); err != nil {
		return nil, err
	}
	var known *baseline.Baseline
	if o.Baseline != "" {
		if known, err = baseline.Read(o.Baseline); err != nil {
			return nil, err
		}
	}
	dialer, stop, err := s.open(secrets)
	if err != nil {
		return nil, err
	}
	defer stop()
	eo.Dialer, eo.Redactor = dialer, transcript.NewRedactor(secrets)
	report, err := engine.Run(ctx, eo)
	if err != nil {
		return nil, err
	}
	report.Redact(secrets.RedactText)
	if known != nil {
		known.Apply(report, time.Now(), len(o.Revisions) == 0 && len(eo.Selection.Focus) == 0 && len(o.Profiles) == 0 && !o.Quick)
	}
	for _, p := range eo.Selection.Profiles {
		report.Profiles = append(report.Profiles, report.ProfileOf(p))
	}
	return report, nil
}

// selectRequirements returns the ids of the requirements that the patterns, the profiles and -run
// select, or nil if neither patterns nor -run narrow them. The error is errNotRun if -run selects
// none of them.
func selectRequirements(test string, patterns []string, profiles []*spec.Profile) ([]string, error) {
	run, err := subtestPattern(flag.Lookup("test.run").Value.String(), test)
	if err != nil {
		return nil, err
	}
	if len(patterns) == 0 && run == nil {
		return nil, nil
	}
	var wanted []*regexp.Regexp
	for _, p := range patterns {
		if spec.Requirements().Lookup(p) != nil {
			p = "^" + regexp.QuoteMeta(p) + "$"
		}
		re, err := regexp.Compile(p)
		if err != nil {
			return nil, fmt.Errorf("Options.Requirements: %q is neither an id nor a regular expression: %w", p, err)
		}
		wanted = append(wanted, re)
	}
	var named, out []string
	for _, q := range spec.Requirements().All() {
		if len(wanted) > 0 && !slices.ContainsFunc(wanted, func(re *regexp.Regexp) bool { return re.MatchString(q.ID) }) {
			continue
		}
		if len(profiles) > 0 && !slices.ContainsFunc(profiles, func(p *spec.Profile) bool { return p.Has(q.ID) }) {
			continue
		}
		named = append(named, q.ID)
		if run == nil || run.MatchString(q.ID) {
			out = append(out, q.ID)
		}
	}
	switch {
	case len(named) == 0:
		return nil, fmt.Errorf("Options.Requirements: no requirement matches %q", patterns)
	case len(out) == 0:
		return nil, errNotRun
	}
	return out, nil
}

// reportVerdicts reports the verdicts on a requirement in all revisions as the result of a subtest.
func reportVerdicts(t *testing.T, r *verdict.Report, verdicts []*verdict.Verdict, strict bool) {
	t.Helper()
	var skipped []string
	for _, v := range verdicts {
		switch v.Outcome {
		case verdict.Kept, verdict.Note:
		case verdict.NotApplicable, verdict.NotObserved, verdict.Blocked:
			skipped = append(skipped, fmt.Sprintf("%s, %s: %s", v.Revision, v.Outcome, reporters.Visible(v.Reason)))
		default:
			text := reporters.VerdictText(r, v)
			if v.Known == "" && v.Outcome.Fails(strict) {
				t.Error(text)
			} else {
				t.Log(text)
			}
		}
	}
	if len(skipped) == len(verdicts) {
		t.Skip(strings.Join(skipped, "\n"))
	}
}

// explain returns the message of an error and advice on what to do about it, without secrets.
func explain(err error, secrets *redact.Secrets) string {
	text := err.Error()
	var unreachable *engine.UnreachableError
	if errors.As(err, &unreachable) {
		if unreachable.Advice != "" {
			text += "\n" + unreachable.Advice
		}
		if unreachable.Stderr != "" {
			text += "\nthe server's stderr:\n" + strings.TrimSpace(unreachable.Stderr)
		}
	}
	lines := strings.Split(secrets.RedactText(text), "\n")
	for i := range lines {
		lines[i] = reporters.Visible(lines[i])
	}
	return strings.Join(lines, "\n")
}

// processCases are the cases about how a process ends.
var processCases = []string{"stdio.closed-stdin", "stdio.signals", "stdio.interrupt", "subscriptions.shutdown"}

// cases returns the cases that fit the server.
func (s Server) cases() []suite.Case {
	return slices.DeleteFunc(suites.Cases(), func(c suite.Case) bool { return s.inMemory && slices.Contains(processCases, c.ID) })
}

// leavesOut reports whether the requirement is about the end of a process although the server is
// not a process.
func (s Server) leavesOut(requirement string) bool {
	return s.inMemory && spec.Requirements().Has(requirement, spec.ProcessEnd)
}
