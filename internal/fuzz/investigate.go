package fuzz

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// A Finding is a candidate that was shrunk and retried.
type Finding struct {
	Candidate
	Revision  spec.Revision
	Transport spec.Transport
	// Script is the smallest script that shows the finding or, if the finding did not recur, the
	// script that first showed it.
	Script script.Script
	// Evidence is the last execution that showed the finding.
	Evidence *Execution
	// Retries are the final retries, each of which runs alone on a fresh server with the whole
	// timeout.
	Retries verdict.Retries
	// Shrinking is the number of attempts to shrink the finding. Cut is set if time ran out before
	// every smaller script was tried.
	Shrinking int
	Cut       bool
	// Case is the seed of the script that first showed the finding, and After is the time from the
	// start of the search until then.
	Case  uint64
	After time.Duration
	// Cases and Requests are how many scripts and requests the search had sent when a script first
	// showed the finding.
	Cases, Requests int64

	unretried bool // the finding may break a requirement, but there was no time for its retries
}

// Recurred reports whether a retry reproduced the finding.
func (f *Finding) Recurred() bool { return f.Retries.Reproduced > 0 }

// retryTime limits the time of all final retries of a finding.
const retryTime = time.Minute

// investigate shrinks and retries a candidate while there is time. If there is no time for its
// retries, the finding is unconfirmed. If the search ended as planned before the first retry,
// investigate returns nil instead.
func (s *search) investigate(ctx context.Context, in input, x *Execution, c Candidate) *Finding {
	f := &Finding{
		Retries:   verdict.Retries{CountAll: true},
		Candidate: c, Revision: in.script.Revision, Transport: x.Transport, Script: in.script, Evidence: x,
		Case: in.seed, After: time.Since(s.started), Cases: s.executor.counts.cases.Load(), Requests: s.executor.counts.requests.Load(),
	}
	s.throttle.setShrinking(true)
	defer s.throttle.setShrinking(false)
	laws := lawsByID(s.Laws, c.Law)
	key := c.Key()
	reproduce := func(ctx context.Context, sc script.Script, timeout time.Duration, lock sync.Locker) recurrence {
		lock.Lock()
		defer lock.Unlock()
		if ctx.Err() != nil {
			return interrupted
		}
		again := s.executor.playFresh(ctx, in.server, sc, timeout)
		if ctx.Err() != nil {
			return interrupted
		}
		for _, other := range s.judge.candidates(laws, again) {
			if other.Key() == key && other.Outcome == c.Outcome {
				f.Breach, f.Evidence = other.Breach, again // the breach points into this execution
				return shown
			}
		}
		if again.Refused != nil {
			return unplayed
		}
		return missing
	}
	last, hangs := x.hungOperation(&c)
	evidence, timeout := x.evidenceOperations(c.Breach), s.shrinkTimeout()
	shrunk := hangs && s.shrinkHang(ctx, f, last, reproduce)
	if shrunk {
		evidence, timeout = nil, s.hangTimeout()
	}
	unshrunk := f.Script
	repeats := s.shrink(ctx, f, evidence, timeout, shrunk, reproduce)
	defer s.activities.begin("confirming " + c.Requirement)()
	s.retry(ctx, f, []script.Script{f.Script, unshrunk, in.script}, repeats, hangs, reproduce)
	if f.Retries.Attempts == 0 && errors.Is(context.Cause(ctx), errFinished) {
		return nil
	}
	f.Retries.EachTime = s.judge.mustRecurEachTime(x, &c) || s.judge.mustRecurEachTime(f.Evidence, &f.Candidate)
	f.Outcome = f.Retries.Conclude(f.Outcome)
	f.unretried = f.Outcome == verdict.Unconfirmed && c.Outcome == verdict.Broken
	f.Script = f.Script.WithTools(in.server.Callable)
	return f
}

// A recurrence says whether a finding recurred when a script was played again.
type recurrence int

const (
	interrupted recurrence = iota // unknown, because the search was interrupted
	unplayed                      // unknown, because no server could be started
	missing                       // the finding did not recur
	shown                         // the finding recurred
)

// A reproducer plays a script on a fresh server while it holds the lock, and returns whether the
// finding recurred. timeout limits the wait for each response.
type reproducer func(ctx context.Context, sc script.Script, timeout time.Duration, lock sync.Locker) recurrence

// shrink shrinks a finding, and returns how often its script must be played to show the finding.
// evidence holds the indexes of the operations that the evidence shows. timeout limits the wait for
// each response. reproduced is set if the script has already shown the finding again.
func (s *search) shrink(ctx context.Context, f *Finding, evidence []int, timeout time.Duration, reproduced bool, reproduce reproducer) (repeats int) {
	defer s.activities.begin("shrinking " + f.Requirement)()
	ctx, cancel := withLimit(ctx, s.Shrink.Time, s.deadlines.shrink)
	defer cancel()
	repeats = 1
	shared := s.exclusive.RLocker()
	for _, only := range scriptsOfEvidence(f.Script, evidence) {
		if !reproduced && reproduce(ctx, only, searchTimeout, shared) == shown {
			f.Script, reproduced, evidence = only, true, nil
		}
	}
	reproduced = reproduced || reproduce(ctx, f.Script, searchTimeout, shared) == shown
	for attempt := 0; attempt < 3 && !reproduced && ctx.Err() == nil; attempt++ {
		repeats = 4
		reproduced = reproduce(ctx, f.Script, searchTimeout, shared) == shown
	}
	switch {
	case reproduced:
		f.Script, f.Shrinking, f.Cut = Shrink(ctx, f.Script, evidence, s.Shrink, func(smaller script.Script) bool {
			for range repeats {
				if reproduce(ctx, smaller, timeout, shared) == shown {
					return true
				}
			}
			return false
		})
	case ctx.Err() != nil:
		f.Cut = (&shrinker{smallest: f.Script}).canShrink()
	}
	return repeats
}

// scriptsOfEvidence returns scripts with only the operations that the evidence shows: one that
// waits for each response and, if it differs, one that waits only where s does. They are tried
// first, because they make a finding small even if there is no time to shrink it.
func scriptsOfEvidence(s script.Script, evidence []int) []script.Script {
	if len(evidence) == 0 || len(evidence) >= len(s.Operations) {
		return nil
	}
	waiting, asBefore := script.Script{Revision: s.Revision}, script.Script{Revision: s.Revision}
	for _, i := range evidence {
		o := s.Operations[i]
		asBefore.Operations = append(asBefore.Operations, o)
		o.Together = false
		awaitResponse(&o)
		waiting.Operations = append(waiting.Operations, o)
	}
	if hashOf(waiting) == hashOf(asBefore) {
		return []script.Script{waiting}
	}
	return []script.Script{waiting, asBefore}
}

// shrinkTimeout returns the wait for a response during shrinking, where waiting the whole timeout
// in each attempt would cost too much. A server that is silent for three times search.overhead will
// most likely stay silent. The final retries confirm that with the whole timeout.
func (s *search) shrinkTimeout() time.Duration {
	return min(max(3*s.overhead, 500*time.Millisecond), searchTimeout)
}

// retry plays the scripts, the shrunk one first and the original last, until one of them shows the
// finding. Each retry runs alone on a fresh server, with the whole timeout. Once a hang has
// recurred, other scripts may run during its further retries.
func (s *search) retry(ctx context.Context, f *Finding, scripts []script.Script, repeats int, hangs bool, reproduce reproducer) {
	ctx, cancel := withLimit(ctx, retryTime, s.deadlines.retry)
	defer cancel()
	for i, sc := range scripts {
		if i == 1 && len(sc.Operations) == len(scripts[2].Operations) {
			continue // the unshrunk script is the original
		}
		f.Retries.Limit = f.Retries.Attempts + s.deadlines.attemptLimit()*min(repeats, 2)
		for !f.Retries.Done() {
			if ctx.Err() != nil {
				return
			}
			lock := sync.Locker(s.exclusive)
			if hangs && f.Recurred() {
				lock = s.exclusive.RLocker()
			}
			switch reproduce(ctx, sc, s.Timeout, lock) {
			case interrupted:
				return
			case unplayed:
				if f.Retries.Void++; f.Retries.Done() {
					return // no fresh server starts any more
				}
			case missing:
				f.Retries.Record(false)
			case shown:
				f.Retries.Record(true)
				f.Script = sc
			}
		}
		if f.Recurred() {
			return
		}
	}
}

// OwnMessages returns the messages that the client sent on its own, without an operation of the
// script, when the finding was last shown. It returns nil if the script was a different one then.
func (f *Finding) OwnMessages() []script.OwnMessage {
	if f.Evidence == nil || len(f.Evidence.Script.Operations) != len(f.Script.Operations) {
		return nil
	}
	return f.Evidence.OwnMessages()
}
