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

// Finding is a sighting that was made small and tried again.
type Finding struct {
	Sighting
	Revision  spec.Revision
	Transport spec.Transport
	// Script is the smallest that shows it, or the first that did where it did
	// not come back.
	Script script.Script
	// Evidence is what came of the script when it last showed the finding.
	Evidence *Outcome
	// Tries is how often it was tried at the end, alone on a fresh server and
	// with the whole time for answers, and Again how often it came back.
	Tries, Again int
	// Shrinking is how many tries it took to make it small, and Cut that there
	// was no time left to try all that may be smaller.
	Shrinking int
	Cut       bool
	// Case is the seed of the script that first showed it, After when that was.
	Case  uint64
	After time.Duration
	// Cases and Requests are how many there had been by then.
	Cases, Requests int64

	untried bool // it would break a requirement, and there was no time to try it again
}

// Flaky reports whether it did not come back whenever it was tried.
func (f *Finding) Flaky() bool { return f.Again == 0 }

// verifying is how often a finding is tried at the end.
const verifying = 3

// verifyingTime bounds all tries of a finding at the end.
const verifyingTime = time.Minute

// follow makes a sighting small and tries it again, as long as there is time for
// that: what could not be tried again is unconfirmed. It returns nil where nothing
// more is asked for.
func (s *search) follow(ctx context.Context, c drawn, o *Outcome, sight Sighting) *Finding {
	f := &Finding{
		Sighting: sight, Revision: c.script.Revision, Transport: o.Transport, Script: c.script, Evidence: o,
		Case: c.seed, After: time.Since(s.started), Cases: s.cases.Load(), Requests: s.requests.Load(),
	}
	s.crowd.follow(true)
	defer s.crowd.follow(false)
	laws := s.lawsOf(sight.Law)
	key := sight.Key()
	shows := func(ctx context.Context, what script.Script, most time.Duration, place sync.Locker) *Outcome {
		place.Lock()
		defer place.Unlock()
		if ctx.Err() != nil {
			return nil
		}
		out := s.playFresh(ctx, c.place, what, most)
		if ctx.Err() != nil {
			return nil // what was cut off shows nothing
		}
		for _, again := range Judge(laws, out) {
			if again.Key() == key && again.Outcome == sight.Outcome {
				f.Breach, f.Evidence = again.Breach, out // the one points into the other
				return out
			}
		}
		return nil
	}
	last, hangs := o.hangs(&sight)
	evidence, wait := o.evidence(sight.Breach), s.shrinking()
	small := hangs && s.cutBehind(ctx, f, last, shows)
	if small {
		evidence, wait = nil, s.brief()
	}
	whole := f.Script
	repeats := s.reduce(ctx, f, evidence, wait, small, shows)
	defer s.doing("making sure of " + sight.Requirement)()
	s.verify(ctx, f, []script.Script{f.Script, whole, c.script}, repeats, hangs, shows)
	if f.Tries == 0 && errors.Is(context.Cause(ctx), errEnough) {
		return nil
	}
	f.untried = f.Tries == 0 && f.Outcome == verdict.Broken
	f.Outcome = f.Outcome.Confirmed(f.Tries, f.Again, 1)
	f.Script = f.Script.WithTools(c.place.Callable)
	return f
}

// showing holds a script on a fresh server, and returns what came of it where it
// shows the finding, else nil.
type showing func(ctx context.Context, what script.Script, most time.Duration, place sync.Locker) *Outcome

// reduce makes a finding small where it comes back, and returns how often it has
// to be tried for that. Each try waits that long for an answer; back says that it
// did come back.
func (s *search) reduce(ctx context.Context, f *Finding, evidence []int, wait time.Duration, back bool, shows showing) (repeats int) {
	defer s.doing("shrinking " + f.Requirement)()
	ctx, cancel := within(ctx, s.Shrink.Time, s.closing.small)
	defer cancel()
	repeats = 1
	beside := s.alone.RLocker()
	back = back || shows(ctx, f.Script, exploring, beside) != nil
	for try := 0; try < 3 && !back && ctx.Err() == nil; try++ {
		repeats = 4
		back = shows(ctx, f.Script, exploring, beside) != nil
	}
	switch {
	case back:
		f.Script, f.Shrinking, f.Cut = Shrink(ctx, f.Script, evidence, s.Shrink, func(smaller script.Script) bool {
			for range repeats {
				if shows(ctx, smaller, wait, beside) != nil {
					return true
				}
			}
			return false
		})
	case ctx.Err() != nil:
		f.Cut = (&shrinker{best: f.Script}).more()
	}
	return repeats
}

// shrinking is what a request is waited for while a finding is made small: what
// shows because something does not come would cost the whole time with each try.
// A server that answered nothing for several times as long as a whole round of
// asking it for all lists took at first has most likely nothing to say; that it
// is so is made sure of at the end.
func (s *search) shrinking() time.Duration {
	return min(max(3*s.overhead, 500*time.Millisecond), exploring)
}

// verify tries the scripts until one of them comes back, the small one first and
// that with which it began last: alone on a fresh server, and with the whole time for answers. Where that
// shows that a server came to a halt, others need not wait while it is waited for
// that once more.
func (s *search) verify(ctx context.Context, f *Finding, scripts []script.Script, repeats int, hangs bool, shows showing) {
	ctx, cancel := within(ctx, verifyingTime, s.closing.sure)
	defer cancel()
	for i, what := range scripts {
		if i == 1 && len(what.Operations) == len(scripts[2].Operations) {
			continue // nothing was left out before
		}
		for range s.closing.tries() * min(repeats, 2) {
			if ctx.Err() != nil {
				return
			}
			place := sync.Locker(&s.alone)
			if hangs && f.Again > 0 {
				place = s.alone.RLocker()
			}
			o := shows(ctx, what, s.Timeout, place)
			if o == nil && ctx.Err() != nil {
				return // it was cut off
			}
			f.Tries++
			if o != nil {
				f.Again++
				f.Script = what
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

// ByItself returns what the client did by itself when the script last showed the
// finding.
func (f *Finding) ByItself() []script.ByItself {
	if f.Evidence == nil || len(f.Evidence.Script.Operations) != len(f.Script.Operations) {
		return nil
	}
	return f.Evidence.ByItself()
}
