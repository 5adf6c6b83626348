package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/fuzz"
	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// The bounds of what is held again for replay files.
const (
	replayTime  = time.Minute
	replayShows = 2 // how often a script has to show its finding, one time after the other
)

// replayFiles writes the findings of a run as replay files.
type replayFiles struct {
	a        *app
	f        *runFlags
	o        *engine.Options
	law      []fuzz.Law
	sighted  map[string]engine.Sighting
	places   map[spec.Revision]*fuzz.Surroundings
	names    map[string]bool
	failures error
}

// keepSightings makes the engine hand over where each finding was seen; nil
// where no replay files are asked for.
func (a *app) keepSightings(f *runFlags, o *engine.Options) (*replayFiles, error) {
	if !f.replayFiles {
		return nil, nil
	}
	law, err := lawsBy([]string{"rules"})
	if err != nil {
		return nil, err
	}
	w := &replayFiles{a: a, f: f, o: o, law: law, sighted: map[string]engine.Sighting{}, places: map[spec.Revision]*fuzz.Surroundings{}, names: map[string]bool{}}
	o.Sighted = func(id string, s engine.Sighting) { w.sighted[id] = s }
	return w, nil
}

// write writes a file for each finding whose conversation shows it again when
// it is held as a replay, in the first revision in which it does, and puts the
// command into the finding.
func (w *replayFiles) write(ctx context.Context, p *verdict.Report, doing func(string)) error {
	if w == nil || ctx.Err() != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, replayTime)
	defer cancel()
	wanted, written := map[string]bool{}, map[string]bool{}
	for i := range p.Findings {
		f := &p.Findings[i]
		key := f.Judge + " " + f.Requirement + " " + f.Summary
		if f.Outcome <= verdict.Note {
			continue
		}
		wanted[key] = true
		doing(fmt.Sprintf("holding again for a replay file: finding %d of %d", i+1, len(p.Findings)))
		if s, ok := w.sighted[f.ID]; ok && !written[key] && f.Revision.Era() == spec.Handshake {
			written[key] = w.one(ctx, f, s)
		}
	}
	doing("")
	if len(wanted) > 0 {
		n := 0
		for _, ok := range written {
			if ok {
				n++
			}
		}
		p.Notices = append(p.Notices, fmt.Sprintf("--replay-files: %d of %s in %s.", n, amount(len(wanted), "finding stands in a file", "findings stand in files"), w.f.out))
	}
	return w.failures
}

// one writes the file of a finding; false where no script shows it.
func (w *replayFiles) one(ctx context.Context, f *verdict.Finding, s engine.Sighting) bool {
	if s.Said { // a replay is judged by what holds of all traffic
		return false
	}
	place := w.place(ctx, f.Revision)
	if place == nil {
		return false
	}
	for _, candidate := range script.FromRecord(s.Events, s.Deviation.At, f.Revision) {
		candidate = candidate.WithTools(place.Callable)
		sight := w.shows(ctx, place, candidate, f)
		if sight == nil {
			continue
		}
		argv, err := w.a.writeReplay(w.f, w.o, &fuzz.Finding{
			Sighting: *sight, Revision: f.Revision, Transport: f.Transport, Script: candidate, Tries: replayShows, Again: replayShows,
		}, w.name(f))
		if err != nil {
			w.failures = errors.Join(w.failures, err)
			return false
		}
		f.Play = argv
		return true
	}
	return false
}

// place takes stock of the server, once for each revision; nil where that
// can't be done.
func (w *replayFiles) place(ctx context.Context, rev spec.Revision) *fuzz.Surroundings {
	place, known := w.places[rev]
	if !known {
		place, _, _ = fuzz.Probe(ctx, w.o.Dialer, rev, w.o.Policy, client.Options{Timeout: w.f.timeout, StartTimeout: w.f.start})
		w.places[rev] = place
	}
	return place
}

// shows plays the script, and returns the finding where it comes each time.
func (w *replayFiles) shows(ctx context.Context, place *fuzz.Surroundings, candidate script.Script, f *verdict.Finding) *fuzz.Sighting {
	player := script.Player{Dialer: w.o.Dialer, Timeout: w.f.timeout, Start: w.f.start, Linger: fuzz.Linger(f.Requirement), Forbidden: place.Forbidden}
	var found *fuzz.Sighting
	for range replayShows {
		out := &fuzz.Outcome{Playback: player.Play(ctx, candidate)}
		all := fuzz.Judge(w.law, out)
		at := slices.IndexFunc(all, func(s fuzz.Sighting) bool {
			return s.Requirement == f.Requirement && s.Summary == f.Summary && (found == nil || found.Method == s.Method)
		})
		if ctx.Err() != nil || at < 0 || len(out.Skipped) > 0 {
			return nil
		}
		found = &all[at]
	}
	return found
}

// name is that of the file, without its end.
func (w *replayFiles) name(f *verdict.Finding) string {
	base := f.Requirement + "-" + string(f.Revision)
	name := base
	for n := 2; w.names[name]; n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	w.names[name] = true
	return name
}
