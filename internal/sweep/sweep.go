// Package sweep judges many servers. Each is judged by a process of its own, mcp-conform run, with
// a folder, a home, an environment and limits of its own, so that a server that hangs, forks or
// floods harms no other. Each result is written at once, so that a sweep that was killed can
// continue.
package sweep

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Options configure a sweep.
type Options struct {
	Program string   // mcp-conform
	Version string   // its version
	Environ []string // the environment of this process

	Out    string  // the folder for the results
	Shard  Shard   // the part of the list to judge; the zero value for all
	Whole  []Entry // the whole list
	OptOut *OptOut // may be nil

	Flags  []string // of mcp-conform run, for each server
	Env    []string // variables that every server is given: NAME or NAME=VALUE
	Files  []string // the reports to keep of each server: names of formats
	Jobs   int      // servers judged at once
	Limits Limits
	// RetryFailed makes the sweep judge servers without a verdict again, see Outcome.Failed.
	RetryFailed bool
	// Weights are the seconds that servers took in an earlier sweep; they balance shards.
	Weights map[string]float64

	// Done is called with the result of each server, and Paused when the servers of a host have to
	// wait because it limits requests. Waiting is called with the servers that are being judged when
	// none has started or ended for a while. They are never called concurrently, and may be nil.
	Done    func(*Result, Progress)
	Paused  func(host string, wait time.Duration)
	Waiting func([]Running)
}

// Limits bound what one server may use. A field that is zero sets no limit.
type Limits struct {
	Time      time.Duration // for the run
	Grace     time.Duration // for the run to end by itself after Time, before it is stopped
	Memory    int64         // bytes of its processes, without the memory that they share
	Disk      int64         // bytes in its folder
	Processes int
}

// A Progress is the progress of a sweep.
type Progress struct {
	Done, All int
	Earlier   bool          // the result is from an earlier start of this sweep, or needed no run
	Left      time.Duration // the estimated time that the rest will take; 0 if unknown
}

// A supervisor runs a sweep.
type supervisor struct {
	Options
	entries []Entry
	results map[string]*Result // by name
	began   time.Time
	judged  int // the number of servers judged since began
	// interrupted are the servers that were being judged when the context ended.
	interrupted []Running
	// written is when sweep.json was last written, and cost is how long that took.
	written time.Time
	cost    time.Duration
	// judgeServer is judge, or a stub in tests.
	judgeServer func(ctx context.Context, e *Entry) (*Result, error)
}

// Run judges the servers of a shard, and returns all results. If the context ends, the error is
// nil, and Sweep.Unfinished counts the servers that are not finished. Their outcome is Pending, or
// their earlier outcome if they were to be judged again only because of RetryFailed.
func Run(ctx context.Context, o Options) (*Sweep, error) {
	s := &supervisor{Options: o}
	s.judgeServer = s.judge
	return s.run(ctx)
}

func (s *supervisor) run(ctx context.Context) (*Sweep, error) {
	s.entries, s.results = s.Shard.Select(s.Whole, s.Weights), map[string]*Result{}
	var err error
	if s.Out, err = filepath.Abs(s.Out); err != nil {
		return nil, err
	}
	unlock, err := lockFolder(s.Out)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := s.prepare(); err != nil {
		return nil, err
	}
	pending, err := s.collectEarlier()
	if err != nil {
		return nil, err
	}
	if err := s.writeSweep(); err != nil { // replaces the file of an earlier sweep
		return nil, err
	}
	s.began = time.Now()
	unfinished, err := s.judgeAll(ctx, pending)
	if alsoWrong := s.writeSweep(); err == nil {
		err = alsoWrong
	}
	removeLeftovers(s.Out)
	w := s.currentSweep()
	w.Unfinished, w.Interrupted = unfinished, s.interrupted
	return w, err
}

// workFolder returns the parent of the folders in which servers run, below the folder of the sweep.
func workFolder(out string) string { return filepath.Join(out, "work") }

func (s *supervisor) folder(e *Entry) string { return filepath.Join(s.Out, "servers", e.Folder) }

// newPartialFolder makes a folder for the reports of a server that is being judged. The name of the
// folder is new, because a run of a killed sweep may still be writing to an old folder.
func (s *supervisor) newPartialFolder(e *Entry) (string, error) {
	folder, err := os.MkdirTemp(filepath.Join(s.Out, "servers"), partialPrefix+e.Folder+"-*")
	if err != nil {
		return "", err
	}
	return folder, os.Chmod(folder, 0o755) //nolint:gosec // the results are for others to read
}

// partialPrefix begins the names of the folders of servers that are being judged. No
// server's own folder begins with a dot.
const partialPrefix = ".partial-"

// prepare removes what earlier sweeps left behind, and makes the folders below Out.
func (s *supervisor) prepare() error {
	removeLeftovers(s.Out)
	for _, folder := range []string{filepath.Join(s.Out, "servers"), workFolder(s.Out)} {
		if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // the results are for others to read
			return unwritableError(s.Out, err)
		}
	}
	return nil
}

// unwritableError returns an error that says why the folder of --out can't be written.
func unwritableError(out string, err error) error {
	return usagef("name a folder that can be written", "--out %s: %v", out, err)
}

// removeLeftovers removes the folders and files that servers and a killed sweep or merge left
// behind in the folder of a sweep. What can't be removed, because a process still writes it, stays;
// nothing reads it.
func removeLeftovers(out string) {
	left, _ := filepath.Glob(filepath.Join(escapeGlob(out), "servers", partialPrefix+"*")) // the pattern is valid
	writing, _ := filepath.Glob(filepath.Join(escapeGlob(out), writingPrefix+"*"))
	for _, folder := range slices.Concat(left, writing, []string{workFolder(out)}) {
		_ = removeAll(folder)
	}
}

// escapeGlob escapes a path for filepath.Glob.
func escapeGlob(path string) string {
	return strings.NewReplacer(`[`, `[[]`, `*`, `[*]`, `?`, `[?]`).Replace(path)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// removeAll removes a folder, even if a server made folders in it that can't be written.
func removeAll(folder string) error {
	if os.RemoveAll(folder) == nil {
		return nil
	}
	_ = filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // a folder has to be searched
		}
		return nil
	})
	return os.RemoveAll(folder)
}

// collectEarlier collects and reports the results of earlier sweeps, and of entries that need no
// run because they are opted out or unusable. It returns the other entries.
func (s *supervisor) collectEarlier() (pending []*Entry, err error) {
	for i := range s.entries {
		e := &s.entries[i]
		e.asked = entryDigest(e, slices.Concat(s.Flags, e.Flags, s.Env, e.Env, s.Files, []string{s.maxTime(e).String()}), s.Version)
		fresh := &Result{Name: e.Name, Folder: e.Folder, Outcome: Pending, Asked: e.asked, Package: e.Package, Published: e.Version}
		s.results[e.Name] = fresh
		if rule := s.OptOut.matchingRule(e); rule != "" {
			fresh.Outcome, fresh.Problem = OptedOut, "the opt-out list has "+rule
		} else if e.Unusable != "" {
			fresh.Outcome, fresh.Problem = Unusable, shorten(e.Unusable, maxProblem)
		}
		if fresh.Outcome != Pending {
			if err := s.saveResult(e, fresh, ""); err != nil {
				return nil, err
			}
			continue
		}
		known, err := readResult(s.folder(e))
		switch {
		case err != nil:
			return nil, usagef("delete its folder, and the server is judged again", "an earlier result can't be read: %v", err)
		case known != nil && known.belongsTo(e) && known.Outcome != OptedOut:
			s.results[e.Name] = known // until the server is judged again
			if s.RetryFailed && known.Outcome.Failed() {
				pending = append(pending, e)
			}
		default:
			pending = append(pending, e)
		}
	}
	done := len(s.entries) - len(pending)
	for i := range s.entries {
		if e := &s.entries[i]; !slices.Contains(pending, e) && s.Done != nil {
			s.Done(s.results[e.Name], Progress{Done: done, All: len(s.entries), Earlier: true})
		}
	}
	return pending, nil
}

// maxTime returns the time limit of a server, 0 for none.
func (s *supervisor) maxTime(e *Entry) time.Duration {
	if e.MaxTime > 0 {
		return e.MaxTime
	}
	return s.Limits.Time
}

// finishedServer is the outcome of judging one server.
type finishedServer struct {
	entry  *Entry
	result *Result // nil if the sweep ended first
	err    error   // a failure of the sweep, such as a full disk
}

// judgeAll judges the entries, up to Jobs of them at a time, but servers on the same host one after
// another. If the sweep itself fails, judgeAll stops and returns the error. It returns the number
// of entries without a new result.
func (s *supervisor) judgeAll(ctx context.Context, pending []*Entry) (unfinished int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ends := make(chan finishedServer)
	running, busy, pauses, quiet := runningServers{}, map[string]bool{}, hostPauses{}, quietClock{}
	unfinished = len(pending)
	quiet.reset(time.Now())
	for {
		now := time.Now()
		for len(running) < max(s.Jobs, 1) && ctx.Err() == nil {
			i := slices.IndexFunc(pending, func(e *Entry) bool { return !busy[e.host()] && !now.Before(pauses[e.host()].end) })
			if i < 0 {
				break
			}
			e := pending[i]
			pending = slices.Delete(pending, i, i+1)
			if host := e.host(); host != "" {
				busy[host] = true
			}
			running = append(running, startedServer{e, now})
			quiet.reset(now)
			go func() {
				r, err := s.judgeServer(ctx, e)
				ends <- finishedServer{e, r, err}
			}()
		}
		if len(running) == 0 && (len(pending) == 0 || ctx.Err() != nil) {
			return unfinished, err
		}
		var idle <-chan struct{}
		if len(running) == 0 {
			idle = ctx.Done()
		}
		var end finishedServer
		select {
		case end = <-ends:
		case <-pauses.next(pending, now):
			continue
		case <-idle:
			continue
		case <-quiet.next(now):
			s.reportRunning(ctx, &quiet, running)
			continue
		}
		if judged := running.remove(end.entry); end.result == nil && end.err == nil {
			s.interrupted = append(s.interrupted, judged)
		}
		quiet.reset(time.Now())
		delete(busy, end.entry.host())
		finished := []finishedServer{end}
		if end.err == nil && end.result != nil {
			var refused []*Entry
			refused, pending = s.notePause(pauses, end, pending)
			for _, e := range refused {
				finished = append(finished, finishedServer{e, unjudgedResult(e), nil})
			}
		}
		for i, end := range finished {
			if end.err == nil && end.result != nil {
				end.err = s.keepResult(end.entry, end.result)
			}
			switch {
			case end.err != nil && err == nil:
				err = fmt.Errorf("server %s: %w", end.entry.Name, end.err)
				cancel()
			case end.err == nil && end.result != nil:
				unfinished--
				s.reportProgress(end.result, len(running)+len(pending)+len(finished)-1-i)
			}
		}
	}
}

// keepResult writes a result, and now and then sweep.json, which is computed from all results.
func (s *supervisor) keepResult(e *Entry, r *Result) error {
	if err := s.saveResult(e, r, r.partial); err != nil {
		return err
	}
	s.results[e.Name] = r
	s.judged++
	if time.Since(s.written) < max(writeInterval, writeShare*s.cost) {
		return nil
	}
	return s.writeSweep()
}

// sweep.json is written again writeInterval after it was last written, or later, so that writing
// takes at most 1/writeShare of the time.
const (
	writeInterval = 5 * time.Second
	writeShare    = 20
)

// reportProgress reports that a server was judged; rest is the number of servers that remain. It
// estimates that each of them takes as long as the average so far.
func (s *supervisor) reportProgress(r *Result, rest int) {
	if s.Done == nil {
		return
	}
	left := time.Since(s.began) / time.Duration(s.judged) * time.Duration(rest)
	s.Done(r, Progress{Done: len(s.entries) - rest, All: len(s.entries), Left: left})
}

// saveResult writes a result into partial, the folder with its reports, or into a new folder
// if partial is "". The folder of the server appears with all its files, or not at all.
func (s *supervisor) saveResult(e *Entry, r *Result, partial string) (err error) {
	if partial == "" {
		if partial, err = s.newPartialFolder(e); err != nil {
			return err
		}
	}
	if err := writeJSON(filepath.Join(partial, resultFile), r); err != nil {
		return err
	}
	if err := removeAll(s.folder(e)); err != nil {
		return err
	}
	return os.Rename(partial, s.folder(e))
}
