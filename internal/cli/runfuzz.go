package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/fuzz"
	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// fuzzSearches are the searches that run --fuzz adds to a run.
var fuzzSearches = map[string]fuzz.Options{
	"off":      {},
	"quick":    {Time: 5 * time.Second, Shrink: fuzz.Budget{Time: 5 * time.Second, Attempts: 150}},
	"thorough": {Time: time.Minute, Shrink: fuzz.Budget{Time: 20 * time.Second, Attempts: 400}},
}

// checkFuzz returns a usage error if the value of --fuzz or --law is invalid, or if the run
// may write replay files and the folder --out can't be written.
func (f *runFlags) checkFuzz() error {
	if _, ok := fuzzSearches[f.fuzz]; !ok {
		return usagef("give off, quick or thorough", "--fuzz is %q", f.fuzz)
	}
	if len(f.laws) > 0 && f.fuzz == "off" {
		return usagef("add --fuzz quick", "--law names laws of a search, and --fuzz is off")
	}
	if f.fuzz != "off" || f.replayFiles { // the run may write replay files
		if err := checkFolder(f.out); err != nil {
			return usagef("name a folder that can be written", "--out %q: %v", f.out, err)
		}
	}
	_, err := lawsByName(f.laws)
	return err
}

// addFuzzFindings searches for bugs as --fuzz says. It adds each finding that is more severe than a
// note to the report, and writes its replay file, unless the report already has a finding for the
// same requirement, revision and transport. It calls doing to report progress. It does nothing with
// --fuzz off, if the run is incomplete, or if ctx has ended.
func (a *app) addFuzzFindings(ctx context.Context, f *runFlags, o *engine.Options, report *verdict.Report, doing func(string)) error {
	search := fuzzSearches[f.fuzz]
	if search.Time == 0 || report.Incomplete != "" || ctx.Err() != nil {
		return nil
	}
	revisions := slices.Sorted(slices.Values(spec.RevisionsInEra(spec.Handshake, report.Revisions)))
	if len(revisions) == 0 {
		revisions = report.Revisions
	}
	laws, err := lawsByName(f.laws)
	if err != nil {
		return err
	}
	search.Dialer, search.Laws, search.Revisions, search.Policy, search.Seed, search.Jobs = o.Dialer, laws, revisions, o.Policy, f.seed, f.jobs
	search.Timeout, search.Start, search.Discounts = f.timeout, f.start, o.Discounts
	doing("searching")
	defer doing("")
	search.Progress = func(s fuzz.Status) { doing(searchingText(s)) }
	defer func() { report.Stats.Took = time.Since(report.Stats.Started) }()
	found, err := fuzz.Run(ctx, search)
	if err != nil {
		report.Incomplete = "--fuzz failed: " + err.Error()
		return nil
	}
	report.Stats.Servers += int(found.Servers)
	report.Stats.Requests += int(found.Requests)
	report.Stats.Messages += int(found.Messages)
	report.Notices = append(report.Notices, fmt.Sprintf("--fuzz %s: %s with %s sent; mcp-conform fuzz searches longer.",
		f.fuzz, countWithNoun(int(found.Cases), "sequence", "sequences"), countWithNoun(int(found.Requests), "request was", "requests were")))
	if found.Incomplete != "" {
		report.Incomplete = "--fuzz: " + found.Incomplete
	}
	var failed error
	written := 0
	extended := verdict.Extend(report)
	for _, one := range found.Findings {
		if one.Outcome <= verdict.Note || extended.HasFinding(verdict.Place{Requirement: one.Requirement, Revision: one.Revision, Transport: one.Transport}) {
			continue
		}
		replay, err := a.writeReplay(f, o, one, one.Requirement+"-"+string(one.Revision))
		failed = errors.Join(failed, err)
		if err == nil {
			written++
		}
		finding := fuzzFinding(one, o.Redactor, replay)
		extended.AddFinding(finding.Key(), func() verdict.Finding { return finding })
		if seen := sightingOf(one); seen != nil {
			extended.AddOccurrence(finding.Key(), seen.Occurrence())
		}
	}
	extended.Build()
	if written > 0 {
		report.Notices = append(report.Notices, fmt.Sprintf("--fuzz %s: %s in %s, for mcp-conform replay.",
			f.fuzz, countWithNoun(written, "replay file", "replay files"), f.out))
	}
	return failed
}

// searchingText returns a line with the progress of a search.
func searchingText(s fuzz.Status) string {
	line := fmt.Sprintf("searching: %v, %s, %s", s.Took.Round(time.Second), countRequests(s.Requests), countFindings(s.Findings))
	if s.Busy != "" {
		line += "; " + s.Busy
	}
	return line
}

// writeReplay writes the replay file of a finding and returns the command that
// replays it.
func (a *app) writeReplay(f *runFlags, o *engine.Options, one *fuzz.Finding, name string) ([]string, error) {
	name = filepath.Join(f.out, "replay-"+name+".json")
	return replayFileCommand(name, o.ServerArgs), a.saveReplay(name, one)
}

// saveReplay writes the replay file of a finding, and creates the folder if it
// does not exist.
func (a *app) saveReplay(name string, f *fuzz.Finding) error {
	err := os.MkdirAll(filepath.Dir(name), 0o755)
	if err == nil {
		err = a.writeFile(name, func(w io.Writer) error {
			_, err := w.Write(a.replayOf(f).Encode())
			return err
		})
	}
	if err == nil {
		err = os.Chmod(name, 0o600) // the server's messages may contain secrets that are not known
	}
	if err != nil {
		return harnessError{fmt.Errorf("writing a replay file: %w", err)}
	}
	return nil
}

// replayOf returns the replay file of a finding, without the known secrets.
func (a *app) replayOf(f *fuzz.Finding) *script.File {
	r := f.File()
	r.Expect.Seen, r.Expect.Permitted, r.Expect.Method = a.redact(r.Expect.Seen), a.redact(r.Expect.Permitted), a.redact(r.Expect.Method)
	for i := range r.OwnMessages {
		r.OwnMessages[i] = a.redact(r.OwnMessages[i])
	}
	r.Script = r.Script.Map(a.secrets.RedactBytes)
	return r
}

// fuzzFinding converts a finding of the fuzzer to a finding of a report.
func fuzzFinding(f *fuzz.Finding, redactor *transcript.Redactor, replay []string) verdict.Finding {
	v := verdict.NewFinding(f.Deviation.Key("fuzz."+f.Law, f.Revision, f.Transport), &f.Deviation, f.Outcome)
	if seen := sightingOf(f); seen != nil && seen.EndsServer() {
		v.MarkCrash()
	}
	v.Evidence, v.Context = fuzzEvidence(f, redactor)
	v.Script, v.Replay, v.Tries, v.Reproduced = scriptLines(f, redactor.RedactKnown, len(replay) > 0), replay, f.Retries.Attempts, f.Retries.Reproduced
	return v
}

// sightingOf returns where a finding was last seen, or nil if that is not known.
func sightingOf(f *fuzz.Finding) *engine.Sighting {
	if f.Evidence == nil || f.Conversation >= len(f.Evidence.Conversations) {
		return nil
	}
	return &engine.Sighting{Events: f.Evidence.Conversations[f.Conversation].Events, Deviation: &f.Deviation}
}

// fuzzEvidence returns the messages that show a finding, and those around them. If the process
// ended, the evidence says how, if that is known.
func fuzzEvidence(f *fuzz.Finding, redactor *transcript.Redactor) (evidence, around []verdict.Evidence) {
	seen := sightingOf(f)
	if seen == nil {
		return nil, nil
	}
	events := seen.Events
	evidence, around = engine.Quote(events, &f.Deviation, redactor)
	for i := range evidence {
		v := &evidence[i]
		if v.Position >= len(events) || events[v.Position].Kind != transcript.OutputClosed {
			continue
		}
		v.Text = v.Label
		if how := describeExit(events); how != "" {
			v.Text, v.Label = "the server ended ("+how+")", "the server ended"
		}
		v.Size = int64(len(v.Text))
	}
	return evidence, around
}

// describeExit returns how the process ended, or "" if that is unknown or if the process was sent a
// signal.
func describeExit(events []*transcript.Event) string {
	for _, e := range events {
		switch e.Kind {
		case transcript.Signalled:
			return ""
		case transcript.Exited:
			return e.Detail
		}
	}
	return ""
}
