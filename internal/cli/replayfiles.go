package cli

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/fuzz"
	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

const (
	replayTime  = time.Minute // limits the writing of all replay files of a run
	replayPlays = 2           // consecutive plays in which a script must reproduce its finding
)

// replayShrink limits the time and the attempts for shrinking the script of one file.
var replayShrink = fuzz.Budget{Time: 10 * time.Second, Attempts: 200, KeepValues: true}

// replayFiles writes the findings of a run as replay files.
type replayFiles struct {
	a         *app
	f         *runFlags
	o         *engine.Options
	law       []fuzz.Law                         // the law that applies the rules
	sightings map[string]engine.Sighting         // by the finding's id
	servers   map[spec.Revision]*fuzz.ServerInfo // nil for a revision in which the server can't be probed
	names     map[string]bool                    // the names of the files so far, without extensions
	written   []replayFile
	failures  error // errors from writing files
}

// replayFile is a written replay file, with what it was made from.
type replayFile struct {
	finding *verdict.Finding
	server  *fuzz.ServerInfo
	script  script.Script
	name    string
}

// newReplayFiles makes the engine provide the conversation in which each finding was seen. It
// returns nil if no replay files are requested.
func (a *app) newReplayFiles(f *runFlags, o *engine.Options) (*replayFiles, error) {
	if !f.replayFiles {
		return nil, nil
	}
	law, err := lawsByName([]string{"rules"})
	if err != nil {
		return nil, err
	}
	w := &replayFiles{a: a, f: f, o: o, law: law, sightings: map[string]engine.Sighting{}, servers: map[spec.Revision]*fuzz.ServerInfo{}, names: map[string]bool{}}
	o.OnSighting = func(id string, s engine.Sighting) { w.sightings[id] = s }
	return w, nil
}

// write writes a replay file for each finding that is more severe than a note and recurs when its
// conversation is replayed, and adds the replay command to the finding. A finding in several
// revisions gets a file for the first revision in which it recurs. write also adds notices with the
// number of files, and with the findings that have none. It calls doing to report progress. It does
// nothing if w is nil or ctx has ended.
func (w *replayFiles) write(ctx context.Context, p *verdict.Report, doing func(string)) error {
	if w == nil || ctx.Err() != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, replayTime)
	defer cancel()
	defer func() { p.Stats.Took = time.Since(p.Stats.Started) }()
	var wanted []verdict.Key
	missing := map[verdict.Key]string{} // why a finding has no file; "" if it has one
	for i := range p.Findings {
		f := &p.Findings[i]
		key := f.Key().InAnyRevision()
		if f.Outcome <= verdict.Note {
			continue
		}
		why, tried := missing[key]
		if !tried {
			wanted = append(wanted, key)
		} else if why == "" {
			continue
		}
		doing(fmt.Sprintf("replaying for a replay file: finding %d of %d", i+1, len(p.Findings)))
		missing[key] = w.writeOne(ctx, f)
	}
	w.shrink(ctx, doing)
	doing("")
	p.Notices = append(p.Notices, w.notices(wanted, missing)...)
	return w.failures
}

// Reasons why a finding has no replay file, in the order of their notices.
const (
	notRecorded   = "no conversation of the run shows it"
	onlyByCase    = "only a case can judge it, not a replay of messages"
	notReached    = "the server could not be reached again"
	notReproduced = "sending the messages again did not show it again"
	notSaved      = "the file could not be written"
	noTimeLeft    = "the minute for replay files was over"
)

// notices returns the notice with the number of files, and one for each reason why findings have
// none. wanted are the findings that should have a file, and missing has the reason of each, "" if
// it has a file.
func (w *replayFiles) notices(wanted []verdict.Key, missing map[verdict.Key]string) []string {
	if len(wanted) == 0 {
		return nil
	}
	without := map[string][]string{} // the requirements of the findings, by reason
	for _, key := range wanted {
		if why := missing[key]; why != "" && !slices.Contains(without[why], key.Requirement) {
			without[why] = append(without[why], key.Requirement)
		}
	}
	out := []string{fmt.Sprintf("--replay-files: wrote %s to %s, for %d of %s.", countWithNoun(len(w.written), "file", "files"), w.f.out, len(w.written), countWithNoun(len(wanted), "finding", "findings"))}
	for _, why := range []string{notRecorded, onlyByCase, notReached, notReproduced, notSaved, noTimeLeft} {
		if ids := without[why]; len(ids) > 0 {
			out = append(out, fmt.Sprintf("--replay-files: no file for %s: %s.", strings.Join(ids, ", "), why))
		}
	}
	return out
}

// writeOne writes the replay file of a finding. It returns "", or the reason why it wrote none: a
// case judged the finding, or no script reproduces it.
func (w *replayFiles) writeOne(ctx context.Context, f *verdict.Finding) string {
	s, ok := w.sightings[f.ID]
	if !ok {
		return notRecorded
	}
	if s.ByCase { // a replay can only judge by laws that apply to all traffic
		return onlyByCase
	}
	server := w.server(ctx, f.Revision)
	if server == nil {
		return noTimeOr(ctx, notReached)
	}
	for _, sc := range script.FromRecord(s.Events, s.Deviation.At, f.Revision) {
		sc = sc.WithTools(server.Callable)
		found := w.reproduce(ctx, server, sc, f, replayPlays)
		if found == nil {
			continue
		}
		file := replayFile{f, server, sc, w.reserveName(f)}
		if !w.save(&file, found) {
			return notSaved
		}
		w.written = append(w.written, file)
		return ""
	}
	return noTimeOr(ctx, notReproduced)
}

// noTimeOr returns noTimeLeft if ctx has ended, and why otherwise.
func noTimeOr(ctx context.Context, why string) string {
	if ctx.Err() != nil {
		return noTimeLeft
	}
	return why
}

// save writes the file, and adds the command that replays it to the finding. It reports whether the
// file was written.
func (w *replayFiles) save(file *replayFile, found *fuzz.Candidate) bool {
	f := file.finding
	argv, err := w.a.writeReplay(w.f, w.o, &fuzz.Finding{
		Candidate: *found, Revision: f.Revision, Transport: f.Transport, Script: file.script, Retries: verdict.Retries{Attempts: replayPlays, Reproduced: replayPlays},
	}, file.name)
	if err != nil {
		w.failures = errors.Join(w.failures, err)
		return false
	}
	f.Play = argv
	return true
}

// shrink rewrites the files with shrunk scripts that still show their findings, while there is
// time. It begins with the longest script.
func (w *replayFiles) shrink(ctx context.Context, doing func(string)) {
	slices.SortStableFunc(w.written, func(a, b replayFile) int { return len(b.script.Operations) - len(a.script.Operations) })
	for i := range w.written {
		file := &w.written[i]
		if ctx.Err() != nil {
			return
		}
		doing(fmt.Sprintf("shrinking replay file %d of %d", i+1, len(w.written)))
		shrunk, _, _ := fuzz.Shrink(ctx, file.script, nil, replayShrink, func(s script.Script) bool {
			return w.reproduce(ctx, file.server, s, file.finding, 1) != nil
		})
		if reflect.DeepEqual(shrunk.Operations, file.script.Operations) {
			continue
		}
		shrunk = shrunk.WithTools(file.server.Callable)
		if found := w.reproduce(ctx, file.server, shrunk, file.finding, replayPlays); found != nil {
			file.script = shrunk
			w.save(file, found)
		}
	}
}

// server connects to the server to learn what it offers, once for each revision.
// It returns nil if that fails.
func (w *replayFiles) server(ctx context.Context, rev spec.Revision) *fuzz.ServerInfo {
	server, known := w.servers[rev]
	if !known {
		server, _, _ = fuzz.Probe(ctx, w.o.Dialer, rev, w.o.Policy, client.Options{Timeout: w.f.timeout, StartTimeout: w.f.start})
		w.servers[rev] = server
	}
	return server
}

// reproduce plays the script the given number of times. It returns the finding if
// every play shows it, and nil otherwise.
func (w *replayFiles) reproduce(ctx context.Context, server *fuzz.ServerInfo, sc script.Script, f *verdict.Finding, plays int) *fuzz.Candidate {
	o := fuzz.Options{Dialer: w.o.Dialer, Laws: w.law, Timeout: w.f.timeout, Start: w.f.start, Discounts: w.o.Discounts}
	var found *fuzz.Candidate
	for range plays {
		again := fuzz.ReproduceCandidate(ctx, o, server, sc, f.Key().Mistake())
		if again == nil || found != nil && found.Method != again.Method {
			return nil
		}
		found = again
	}
	return found
}

// reserveName returns a unique name for the replay file, without its extension.
func (w *replayFiles) reserveName(f *verdict.Finding) string {
	base := f.Requirement + "-" + string(f.Revision)
	name := base
	for n := 2; w.names[name]; n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	w.names[name] = true
	return name
}
