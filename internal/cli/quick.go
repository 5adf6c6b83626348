package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/reporters"
)

// leftOutLine returns a line that says what a quick run left out, and which command judges it. It
// returns "" if the run left out nothing or is not quick.
func (f *runFlags) leftOutLine(r *verdict.Report, o *engine.Options) string {
	if !f.quick {
		return ""
	}
	var requirements []string
	for i := range r.Verdicts {
		if v := &r.Verdicts[i]; v.LeftOut && !slices.Contains(requirements, v.Requirement) {
			requirements = append(requirements, v.Requirement)
		}
	}
	var what []string
	if n := len(requirements); n > 0 {
		what = append(what, countWithNoun(n, "requirement", "requirements"))
	}
	if older := f.olderRevisions(r); len(o.Revisions) == 0 && len(older) > 0 {
		what = append(what, map[bool]string{true: "revision ", false: "revisions "}[len(older) == 1]+strings.Join(older, ", "))
	}
	if len(what) == 0 {
		return ""
	}
	return fmt.Sprintf("--quick left out %s; to judge them: %s", strings.Join(what, " and "), reporters.ShellQuote(f.commandLine(o, false)))
}

// olderRevisions returns the revisions that the run could have judged but did not, as far as they
// are older than the newest revision of the report. They define the transport, and the server has
// not refused them. If --focus names only requirements, at least one of these requirements applies
// in each returned revision.
func (f *runFlags) olderRevisions(r *verdict.Report) []string {
	var out []string
	for _, rev := range spec.NewestFirst(spec.Revisions()) {
		applies := len(f.focus) == 0 || slices.ContainsFunc(f.focus, func(name string) bool {
			q := spec.Requirements().Lookup(name)
			return q == nil || q.AppliesTo(rev, r.Transport)
		})
		isRefused := slices.ContainsFunc(r.NotSpoken, func(n verdict.NotSpoken) bool { return n.Revision == rev })
		if applies && !isRefused && r.Transport.IsDefinedIn(rev) && len(r.Revisions) > 0 && rev < r.Revisions[0] && !slices.Contains(r.Revisions, rev) {
			out = append(out, string(rev))
		}
	}
	return out
}

// commandLine returns the command line of a run with the same scope. If again is true, the command
// also has the flags of this run that do not limit the scope, such as --baseline, and --quick if
// this run has it.
func (f *runFlags) commandLine(o *engine.Options, again bool) []string {
	argv := []string{"mcp-conform", "run"}
	if again && f.quick {
		argv = append(argv, "--quick")
	}
	for _, rev := range f.revisions {
		argv = append(argv, "--revision", rev)
	}
	for _, name := range f.profiles {
		argv = append(argv, "--profile", name)
	}
	if f.labels != "" {
		argv = append(argv, "--label-filter", f.labels)
	}
	for _, focus := range f.focus {
		argv = append(argv, "--focus", focus)
	}
	if again && f.known.path != "" {
		argv = append(argv, "--baseline", f.known.path)
	}
	if again && f.known.sdk {
		argv = append(argv, "--accept-sdk-findings")
	}
	if again && f.fuzz != "off" {
		argv = append(argv, "--fuzz", f.fuzz)
		for _, name := range f.laws {
			argv = append(argv, "--law", name)
		}
	}
	if again && f.failOn == reporters.FailOnShould {
		argv = append(argv, "--fail-on", f.failOn)
	}
	if again && f.jobsGiven {
		argv = append(argv, "--jobs", strconv.Itoa(f.jobs))
	}
	return slices.Concat(argv, o.RunArgs, o.ServerArgs)
}
