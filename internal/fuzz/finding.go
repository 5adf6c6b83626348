package fuzz

import (
	"context"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// Finding is a sighting that was made small and tried again.
type Finding struct {
	Sighting
	Revision  spec.Revision
	Transport spec.Transport
	// Script is the smallest that shows it, or the first that did where it did
	// not come back.
	Script generate.Script
	// Evidence is what came of the script when it last showed the finding.
	Evidence *Outcome
	// Tries is how often it was tried at the end, alone on a fresh server and
	// with the whole time for answers, and Again how often it came back.
	Tries, Again int
	// Shrinking is how many tries it took to make it small.
	Shrinking int
	// Case is the seed of the script that first showed it, After when that was.
	Case  uint64
	After time.Duration
	// Cases and Requests are how many there had been by then.
	Cases, Requests int64
}

// Flaky tells whether it did not come back whenever it was tried.
func (f *Finding) Flaky() bool { return f.Again == 0 }

// verifying is how often a finding is tried at the end.
const verifying = 3

// verifyingTime bounds all tries of a finding at the end.
const verifyingTime = time.Minute

// follow makes a sighting small and tries it again; nil where the end of the
// run kept it from that.
func (s *search) follow(ctx context.Context, c drawn, o *Outcome, sight Sighting) *Finding {
	f := &Finding{
		Sighting: sight, Revision: c.script.Revision, Transport: o.Transport, Script: c.script, Evidence: o,
		Case: c.seed, After: time.Since(s.started), Cases: s.cases.Load(), Requests: s.requests.Load(),
	}
	s.crowd.follow(true)
	defer s.crowd.follow(false)
	ctx, cancel := context.WithTimeout(ctx, s.Shrink.Time+verifyingTime)
	defer cancel()
	laws := s.lawsOf(sight.Law)
	key := sight.Key()
	shows := func(script generate.Script, most time.Duration, place sync.Locker) *Outcome {
		place.Lock()
		defer place.Unlock()
		d, end := fresh(s.Dialer)
		defer end()
		out := s.holding(d, c.place, most).Hold(ctx, script)
		for _, again := range Judge(laws, out) {
			if again.Key() == key && again.Outcome == sight.Outcome {
				f.Breach = again.Breach
				return out
			}
		}
		return nil
	}
	done := s.doing("shrinking " + sight.Requirement)
	repeats := 1
	beside := s.alone.RLocker()
	back := shows(f.Script, exploring, beside) != nil
	for try := 0; try < 3 && !back && ctx.Err() == nil; try++ {
		repeats = 4
		back = shows(f.Script, exploring, beside) != nil
	}
	if back {
		f.Script, f.Shrinking = Shrink(ctx, f.Script, o.evidence(sight.Breach), s.Shrink, func(script generate.Script) bool {
			for range repeats {
				if shows(script, s.shrinking(), beside) != nil {
					return true
				}
			}
			return false
		})
	}
	done()
	defer s.doing("making sure of " + sight.Requirement)()
	s.verify(ctx, f, c.script, repeats, func(script generate.Script) *Outcome { return shows(script, s.Timeout, &s.alone) })
	if f.Tries == 0 {
		return nil
	}
	if f.Flaky() {
		f.Outcome = verdict.Flaky
	}
	f.Script = c.place.note(f.Script)
	return f
}

// shrinking is what a request is waited for while a finding is made small: what
// shows because something does not come would cost the whole time with each try.
// A server that answered nothing for several times as long as a whole round of
// asking it for all lists took at first has most likely nothing to say; that it
// is so is made sure of at the end.
func (s *search) shrinking() time.Duration {
	return min(max(3*s.overhead, 500*time.Millisecond), exploring)
}

// verify tries the small script, and the first one where that does not come
// back.
func (s *search) verify(ctx context.Context, f *Finding, first generate.Script, repeats int, shows func(generate.Script) *Outcome) {
	for _, script := range []generate.Script{f.Script, first} {
		for range verifying * min(repeats, 2) {
			if ctx.Err() != nil {
				return
			}
			o := shows(script)
			if o == nil && ctx.Err() != nil {
				return // it was cut off
			}
			f.Tries++
			if o != nil {
				f.Again++
				f.Script, f.Evidence = script, o
			}
		}
		if f.Again > 0 {
			return
		}
	}
}

func (s *search) lawsOf(id string) []Law {
	var out []Law
	for _, l := range s.Laws {
		if l.ID == id {
			out = append(out, l)
		}
	}
	return out
}
