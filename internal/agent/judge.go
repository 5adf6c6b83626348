package agent

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/reporters"
)

type runInput struct {
	Server    string   `json:"server" jsonschema:"the server to judge, by the name under which the user allowed it"`
	Profiles  []string `json:"profiles,omitempty" jsonschema:"judge only the requirements of these profiles, such as core@1"`
	Focus     []string `json:"focus,omitempty" jsonschema:"judge only these requirements, cases or rules: ids or regular expressions"`
	Revisions []string `json:"revisions,omitempty" jsonschema:"judge only these revisions, such as 2025-11-25"`
	Quick     bool     `json:"quick,omitempty" jsonschema:"judge only the newest revision, by the cases that share a conversation"`
}

// A judgement is the result of a run.
type judgement struct {
	Report     string         `json:"report" jsonschema:"the id of the report, for replay and diff"`
	URI        string         `json:"uri" jsonschema:"the resource with the whole report"`
	Server     string         `json:"server" jsonschema:"name and version that the server reports"`
	Revisions  []string       `json:"revisions" jsonschema:"the revisions that were judged"`
	Conforms   bool           `json:"conforms" jsonschema:"whether the run is complete and no requirement of those that it judged is broken"`
	Incomplete string         `json:"incomplete,omitempty" jsonschema:"why the run ended early"`
	Counts     map[string]int `json:"counts" jsonschema:"how many requirements have each verdict, over all revisions"`
	Findings   []finding      `json:"findings" jsonschema:"what the server breaks, the most severe first"`
	LeftOut    int            `json:"leftOut,omitempty" jsonschema:"how many more findings the report has"`
	Notices    []string       `json:"notices,omitempty" jsonschema:"remarks on the run"`
	Profiles   []profile      `json:"profiles,omitempty" jsonschema:"the result of each profile"`
}

type profile struct {
	Name   string `json:"name"`
	Result string `json:"result"`
}

type finding struct {
	ID          string   `json:"id"`
	Requirement string   `json:"requirement"`
	Verdict     string   `json:"verdict" jsonschema:"broken, warning, flaky, unconfirmed or note"`
	Level       string   `json:"level"`
	Revisions   []string `json:"revisions" jsonschema:"where it was found; the rest is from the first"`
	Transport   string   `json:"transport"`
	Summary     string   `json:"summary"`
	Permitted   string   `json:"permitted" jsonschema:"everything that would have conformed"`
	Seen        string   `json:"seen" jsonschema:"what the server did; untrusted text"`
	Cause       string   `json:"cause,omitempty" jsonschema:"the usual cause"`
	Fix         string   `json:"fix,omitempty" jsonschema:"the usual fix"`
	Evidence    []string `json:"evidence" jsonschema:"messages that show it: > to the server, < from it, ! stderr; untrusted text"`
	Page        string   `json:"page" jsonschema:"the page of the specification"`
	Replay      string   `json:"replay" jsonschema:"the command that shows it again"`
	Group       string   `json:"group,omitempty" jsonschema:"the finding that has the same cause"`
	SDK         string   `json:"sdk,omitempty" jsonschema:"the SDK whose known behaviour this is"`
}

const (
	maxFindings = 40  // findings of a judgement
	maxEvidence = 8   // messages of a finding
	maxText     = 600 // bytes of a text that the server chooses
)

func (t *tools) run(ctx context.Context, r *mcp.CallToolRequest, in runInput) (judgement, error) {
	s, err := t.allowedServer(in.Server)
	if err != nil {
		return judgement{}, err
	}
	var flags []string
	for flag, values := range map[string][]string{"--profile": in.Profiles, "--focus": in.Focus, "--revision": in.Revisions} {
		for _, v := range values {
			flags = append(flags, flag+"="+v)
		}
	}
	if in.Quick {
		flags = append(flags, "--quick")
	}
	out, _, err := t.judge(ctx, r, s, flags...)
	return out, err
}

// judge runs mcp-conform on a server, and offers the report of the run as a resource, even if the
// run was interrupted. If the report can't be read or has no verdicts, judge returns the error that
// the child process printed.
func (t *tools) judge(ctx context.Context, r *mcp.CallToolRequest, s Server, flags ...string) (judgement, *verdict.Report, error) {
	ctx, free, err := t.acquireSlot(ctx)
	if err != nil {
		return judgement{}, nil, err
	}
	defer free()
	line, stop := startProgress(ctx, r, "judging "+s.Name)
	defer stop()
	id, path, err := t.newReportID(s.Name, ".json")
	if err != nil {
		return judgement{}, nil, err
	}
	args := append([]string{"run", "--report", "json=" + path}, flags...)
	e, err := t.runChild(ctx, line, append(args, s.Args...)...)
	if _, missing := os.Stat(path); missing == nil {
		t.offerReport(id, path) // even if the run was interrupted
	}
	if err != nil {
		return judgement{}, nil, err
	}
	report, wrong := readReport(path)
	if wrong != nil || len(report.Verdicts) == 0 {
		return judgement{}, nil, e.failure()
	}
	return judgementOf(id, report, e.code), report, nil
}

// judgementOf shortens a report to what an agent needs. It merges findings that differ only in
// their revision. code is the exit code of the run.
func judgementOf(id string, r *verdict.Report, code int) judgement {
	out := judgement{
		Report: id, URI: reportURI(id), Server: strings.TrimSpace(r.Server.Name + " " + r.Server.Version), Revisions: []string{},
		Conforms: code == 0, Incomplete: r.Incomplete, Counts: map[string]int{}, Notices: r.Notices,
	}
	for _, rev := range r.Revisions {
		out.Revisions = append(out.Revisions, string(rev))
	}
	for i := range r.Verdicts {
		out.Counts[r.Verdicts[i].Outcome.String()]++
	}
	for _, p := range r.Profiles {
		out.Profiles = append(out.Profiles, profile{p.Name, p.Result})
	}
	all := []finding{}
	seen := map[verdict.LineKey]int{}
	for i := range r.Findings {
		key := r.Findings[i].LineKey()
		if n, ok := seen[key]; ok {
			all[n].Revisions = append(all[n].Revisions, string(r.Findings[i].Revision))
			continue
		}
		seen[key] = len(all)
		all = append(all, findingOf(&r.Findings[i]))
	}
	out.Findings, out.LeftOut = truncateList(all, maxFindings)
	return out
}

func findingOf(f *verdict.Finding) finding {
	out := finding{
		ID: f.ID, Requirement: f.Requirement, Verdict: f.Outcome.String(), Level: string(f.Level), Revisions: []string{string(f.Revision)},
		Transport: string(f.Transport), Summary: f.Summary, Permitted: f.Permitted, Seen: truncate(f.Seen), Evidence: []string{},
		Page: f.Page, Replay: reporters.ShellQuote(f.Replay), Group: f.Group,
	}
	if f.SDK != nil {
		out.SDK = f.SDK.String()
	}
	if q := spec.Requirements().Lookup(f.Requirement); q != nil {
		out.Cause, out.Fix = q.Cause, cmp.Or(f.Fix, q.Fix)
	}
	evidence, _ := truncateList(f.Evidence, maxEvidence)
	for _, e := range evidence {
		out.Evidence = append(out.Evidence, e.Direction+" "+truncate(e.Text))
	}
	return out
}

// truncate returns text as valid UTF-8. If text is longer than maxText, truncate returns the
// beginning of it, followed by its size in bytes.
func truncate(text string) string {
	if len(text) <= maxText {
		return strings.ToValidUTF8(text, "\ufffd")
	}
	return strings.ToValidUTF8(text[:maxText], "") + fmt.Sprintf("… (%d bytes)", len(text))
}

type replayInput struct {
	Report  string `json:"report" jsonschema:"the id of the report that has the finding"`
	Finding string `json:"finding" jsonschema:"the id of the finding, such as F1"`
}

type replayed struct {
	Fixed   bool   `json:"fixed" jsonschema:"whether the requirement was observed and kept in all revisions of the finding"`
	Verdict string `json:"verdict" jsonschema:"the verdict now: kept, broken, not observed, …"`
	Reason  string `json:"reason,omitempty" jsonschema:"the reason of the verdict"`
	judgement
}

func (t *tools) replay(ctx context.Context, r *mcp.CallToolRequest, in replayInput) (replayed, error) {
	path, err := t.reportPath(in.Report)
	if err != nil {
		return replayed{}, err
	}
	before, err := readReport(path)
	if err != nil {
		return replayed{}, err
	}
	s, err := t.allowedServer(serverOf(in.Report))
	if err != nil {
		return replayed{}, err
	}
	for i := range before.Findings {
		f := &before.Findings[i]
		if f.ID != in.Finding {
			continue
		}
		now, report, err := t.judge(ctx, r, s, narrowingFlags(f, before)...)
		if err != nil {
			return replayed{}, err
		}
		return outcomeOf(f.Requirement, report, now), nil
	}
	return replayed{}, fmt.Errorf("the report %s has no finding %q", in.Report, in.Finding)
}

// outcomeOf returns the most severe verdict of a requirement. A finding is fixed only if the
// requirement was kept in all revisions, so "not observed" in one revision outweighs "kept" in
// another.
func outcomeOf(requirement string, r *verdict.Report, now judgement) replayed {
	var worst *verdict.Verdict
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		if v.Requirement == requirement && (worst == nil || worst.Outcome == verdict.Kept || v.Outcome > max(worst.Outcome, verdict.Kept)) {
			worst = v
		}
	}
	if worst == nil {
		return replayed{Verdict: verdict.NotObserved.String(), judgement: now}
	}
	return replayed{Fixed: worst.Outcome == verdict.Kept, Verdict: worst.Outcome.String(), Reason: worst.Reason, judgement: now}
}

// narrowingFlags returns the flags that limit a run to the focus of a finding's replay command, in
// all revisions in which the report has the finding.
func narrowingFlags(f *verdict.Finding, r *verdict.Report) []string {
	var flags []string
	for i := range r.Findings {
		if other := &r.Findings[i]; other.Key().InAnyRevision() == f.Key().InAnyRevision() {
			flags = append(flags, "--revision="+string(other.Revision))
		}
	}
	for i, word := range f.Replay {
		if word == "--" {
			break
		}
		if word == "--focus" && i+1 < len(f.Replay) {
			flags = append(flags, "--focus="+f.Replay[i+1])
		}
	}
	return flags
}

type fuzzInput struct {
	Server  string `json:"server" jsonschema:"the server to search, by the name under which the user allowed it"`
	Seconds int    `json:"seconds,omitempty" jsonschema:"how long to search, 1 to 120; 20 if left out"`
}

type fuzzed struct {
	Found      bool     `json:"found" jsonschema:"whether a requirement is broken"`
	Incomplete bool     `json:"incomplete" jsonschema:"whether the search ended early"`
	Output     string   `json:"output" jsonschema:"the findings and the numbers of the search; untrusted text"`
	Files      []string `json:"files" jsonschema:"replay files, for mcp-conform replay"`
}

const (
	maxSeconds    = 120      // of a search
	maxFuzzOutput = 16 << 10 // bytes of its output
)

func (t *tools) fuzz(ctx context.Context, r *mcp.CallToolRequest, in fuzzInput) (fuzzed, error) {
	s, err := t.allowedServer(in.Server)
	if err != nil {
		return fuzzed{}, err
	}
	if in.Seconds == 0 {
		in.Seconds = 20
	}
	if in.Seconds < 1 || in.Seconds > maxSeconds {
		return fuzzed{}, fmt.Errorf("seconds is %d; give 1 to %d", in.Seconds, maxSeconds)
	}
	ctx, free, err := t.acquireSlot(ctx)
	if err != nil {
		return fuzzed{}, err
	}
	defer free()
	line, stop := startProgress(ctx, r, "searching "+s.Name)
	defer stop()
	_, folder, err := t.newReportID("fuzz-"+s.Name, "")
	if err != nil {
		return fuzzed{}, err
	}
	args := []string{"fuzz", "--time", fmt.Sprintf("%ds", in.Seconds), "--out", folder}
	e, err := t.runChild(ctx, line, append(args, s.Args...)...)
	if err != nil {
		return fuzzed{}, err
	}
	if e.code == 2 || e.code == 3 {
		return fuzzed{}, e.failure()
	}
	output := strings.ToValidUTF8(e.out[:min(len(e.out), maxFuzzOutput)], "")
	return fuzzed{Found: e.code == 1, Incomplete: e.code == 4, Output: output, Files: jsonFiles(folder)}, nil
}
