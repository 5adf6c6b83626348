package fuzz

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/discount"
	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// A Finding is a candidate that was shrunk and retried.
type Finding struct {
	Candidate
	Revision  spec.Revision
	Transport spec.Transport
	// Script is the smallest script that shows the finding, or the first one if
	// the finding did not recur.
	Script script.Script
	// Evidence is the outcome of the last script that showed the finding.
	Evidence *Outcome
	// Retries are the final retries, which run alone on a fresh server with the
	// whole timeout.
	Retries verdict.Retries
	// Shrinking is the number of attempts to shrink the finding. Cut reports
	// that time ran out before all smaller scripts were tried.
	Shrinking int
	Cut       bool
	// Case is the seed of the script that first showed the finding, and After is
	// the time until then.
	Case  uint64
	After time.Duration
	// Cases and Requests are the numbers of scripts and requests before the
	// finding.
	Cases, Requests int64

	untried bool // it breaks a requirement, but there was no time to retry it
}

// Recurred reports whether a retry reproduced the finding.
func (f *Finding) Recurred() bool { return f.Retries.Reproduced > 0 }

// verifyingTime limits the time of all final retries of a finding.
const verifyingTime = time.Minute

// follow shrinks and retries a candidate while there is time. A finding that was
// never retried is unconfirmed. It returns nil if the candidate is dropped.
func (s *search) follow(ctx context.Context, c drawn, o *Outcome, sight Candidate) *Finding {
	f := &Finding{
		Retries:   verdict.Retries{CountAll: true},
		Candidate: sight, Revision: c.script.Revision, Transport: o.Transport, Script: c.script, Evidence: o,
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
			return nil // a script that was cut off shows nothing
		}
		for _, again := range s.judge(laws, out) {
			if again.Key() == key && again.Outcome == sight.Outcome {
				f.Breach, f.Evidence = again.Breach, out // the breach points into this outcome
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
	if f.Retries.Attempts == 0 && errors.Is(context.Cause(ctx), errEnough) {
		return nil
	}
	effect, _ := s.discount(f.Evidence, &f.Candidate)
	f.Retries.EachTime = effect == discount.EachTime
	f.Outcome = f.Retries.Conclude(f.Outcome)
	f.untried = f.Outcome == verdict.Unconfirmed && sight.Outcome == verdict.Broken
	f.Script = f.Script.WithTools(c.place.Callable)
	return f
}

// judge applies the laws to an outcome, and leaves out what a discount voids.
func (s *search) judge(laws []Law, o *Outcome) []Candidate {
	return slices.DeleteFunc(Judge(laws, o), func(sight Candidate) bool {
		effect, _ := s.discount(o, &sight)
		return effect == discount.Void
	})
}

// discount returns the effect that a discount has on a candidate, and the reason.
func (s *search) discount(o *Outcome, sight *Candidate) (discount.Effect, string) {
	claim := &discount.Claim{Requirement: sight.Requirement, Outcome: sight.Outcome, At: sight.At, ByCase: sight.Law != rulesLaw}
	for i, c := range o.Conversations {
		claim.Conversations = append(claim.Conversations, c.Events)
		if i == sight.Conversation {
			claim.Events = c.Events
		}
	}
	return s.discounts.Discount(claim)
}

// showing plays a script on a fresh server, and returns its outcome if it shows
// the finding, else nil.
type showing func(ctx context.Context, what script.Script, most time.Duration, place sync.Locker) *Outcome

// reduce shrinks a finding, and returns how often it must be retried. Each
// attempt waits at most the given time for a response; back reports whether the
// finding recurred.
func (s *search) reduce(ctx context.Context, f *Finding, evidence []int, wait time.Duration, back bool, shows showing) (repeats int) {
	defer s.doing("shrinking " + f.Requirement)()
	ctx, cancel := within(ctx, s.Shrink.Time, s.closing.small)
	defer cancel()
	repeats = 1
	together := s.alone.RLocker()
	if small, ok := justEvidence(f.Script, evidence); ok && !back && shows(ctx, small, exploring, together) != nil {
		f.Script, back, evidence = small, true, nil
	}
	back = back || shows(ctx, f.Script, exploring, together) != nil
	for try := 0; try < 3 && !back && ctx.Err() == nil; try++ {
		repeats = 4
		back = shows(ctx, f.Script, exploring, together) != nil
	}
	switch {
	case back:
		f.Script, f.Shrinking, f.Cut = Shrink(ctx, f.Script, evidence, s.Shrink, func(smaller script.Script) bool {
			for range repeats {
				if shows(ctx, smaller, wait, together) != nil {
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

// justEvidence returns the script with only the operations that the evidence
// shows. It is tried first, because it makes a finding small even if there is
// no time to shrink it.
func justEvidence(s script.Script, evidence []int) (small script.Script, ok bool) {
	if len(evidence) == 0 || len(evidence) >= len(s.Operations) {
		return s, false
	}
	small = script.Script{Revision: s.Revision}
	for _, i := range evidence {
		small.Operations = append(small.Operations, s.Operations[i])
	}
	return small, true
}

// shrinking returns the wait for a response during shrinking: waiting the whole
// timeout in each attempt would cost too much. A server that is silent for
// several times as long as a first walk through all lists took will most likely
// stay silent. The final retries confirm it.
func (s *search) shrinking() time.Duration {
	return min(max(3*s.overhead, 500*time.Millisecond), exploring)
}

// verify retries the scripts until one of them shows the finding, the shrunk
// one first and the original last. Each retry runs alone on a fresh server,
// with the whole timeout. While it waits for a hung server, other scripts may
// run.
func (s *search) verify(ctx context.Context, f *Finding, scripts []script.Script, repeats int, hangs bool, shows showing) {
	ctx, cancel := within(ctx, verifyingTime, s.closing.sure)
	defer cancel()
	for i, what := range scripts {
		if i == 1 && len(what.Operations) == len(scripts[2].Operations) {
			continue // the same script: nothing was left out
		}
		f.Retries.Limit = f.Retries.Attempts + s.closing.attempts()*min(repeats, 2)
		for !f.Retries.Done() {
			if ctx.Err() != nil {
				return
			}
			place := sync.Locker(s.alone)
			if hangs && f.Recurred() {
				place = s.alone.RLocker()
			}
			o := shows(ctx, what, s.Timeout, place)
			if o == nil && ctx.Err() != nil {
				return // the script was cut off
			}
			if f.Retries.Record(o != nil); o != nil {
				f.Script = what
			}
		}
		if f.Recurred() {
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

// ByItself returns what the client did on its own, without an operation of the
// script, when the finding was last shown.
func (f *Finding) ByItself() []script.ByItself {
	if f.Evidence == nil || len(f.Evidence.Script.Operations) != len(f.Script.Operations) {
		return nil
	}
	return f.Evidence.ByItself()
}
