package engine

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// An outlook estimates how long a run still takes. The expected time of a case is its number of
// rounds (see suite.Case) times the response time of the server, corrected by a factor that is
// learned from the cases that have ended.
type outlook struct {
	mu      sync.Mutex
	spans   map[instance]span    // the spans of the cases that have begun, without retries
	retries []retry              // the retries that have not ended
	known   map[verdict.Key]bool // the deviations for which a retry is expected
}

// A span is the time from when a case began to when it ended.
type span struct {
	from, to time.Time // to is zero while the case runs
}

func (s span) hasBegun() bool { return !s.from.IsZero() }
func (s span) hasEnded() bool { return !s.to.IsZero() }

// end returns when the case ended, or the current time.
func (s span) end() time.Time {
	if s.hasEnded() {
		return s.to
	}
	return time.Now()
}

func (s span) took() time.Duration { return s.end().Sub(s.from) }

// spanOf returns when the case ran, or a zero span if it has not begun. The caller must hold o.mu.
func (o *outlook) spanOf(u *unit, c *suite.Case) span { return o.spans[instance{c.ID, u.revision}] }

// ranAt reports whether the case has ended and was running at the given time.
func (o *outlook) ranAt(u *unit, c *suite.Case, at time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.spanOf(u, c)
	return s.from.Before(at) && s.to.After(at)
}

// A retry is an attempt that is expected to run.
type retry struct {
	*attempt
	alone bool      // with no other server running
	began time.Time // zero until it begins
}

func newOutlook() *outlook {
	return &outlook{spans: map[instance]span{}, known: map[verdict.Key]bool{}}
}

// begin notes that a case begins; calling the returned function notes that it has ended.
func (o *outlook) begin(c *suite.Case, rev spec.Revision) (ended func()) {
	key, now := instance{c.ID, rev}, time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.spans[key].hasBegun() {
		return func() {} // a retry
	}
	o.spans[key] = span{from: now}
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.spans[key] = span{now, time.Now()}
	}
}

// expectRetry notes that the attempt will run, unless a retry is already expected for all its
// deviations. alone is set if no other server will run at the same time.
func (o *outlook) expectRetry(a *attempt, alone bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	isNew := false
	for _, c := range a.candidates {
		isNew = isNew || !o.known[c.key]
		o.known[c.key] = true
	}
	if isNew {
		o.retries = append(o.retries, retry{attempt: a, alone: alone})
	}
}

// replaceRetries notes which attempts are left to run, one at a time, once all cases have ended.
func (o *outlook) replaceRetries(all []*attempt) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.retries = nil
	for _, a := range all {
		o.retries = append(o.retries, retry{attempt: a, alone: true})
	}
}

// beginRetry notes that an attempt begins; calling the returned function notes that it has ended.
func (o *outlook) beginRetry(a *attempt) (ended func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range o.retries {
		if o.retries[i].attempt == a {
			o.retries[i].began = time.Now()
		}
	}
	return func() { o.endRetry(a) }
}

func (o *outlook) endRetry(a *attempt) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.retries = slices.DeleteFunc(o.retries, func(r retry) bool { return r.attempt == a })
}

const (
	// minEvidence is the fraction of the expected work that must be done before there is an
	// estimate.
	minEvidence = 0.1
	// priorWork is a fraction of the expected work. The estimate assumes that so much work took as
	// long as expected, so that the first cases alone do not determine the estimate.
	priorWork = 0.05
	// maxFactor limits how much a single case changes the expectation of the others.
	maxFactor = 4
	// emptyFactor is a fraction of the expected time of a case. A case that took less than that had
	// nothing to do.
	emptyFactor = 0.1
	// retryRounds are the rounds of a retry in addition to those of its case: the handshake and the
	// lists.
	retryRounds = 8
)

// slots returns how many units run at once: the average number of cases that ran at once until the
// last unit began, but not more than the second argument. This is lower than the number of slots if
// units wait for each other. The caller must hold o.mu.
func (o *outlook) slots(units []*unit, most int) int {
	var first, last time.Time
	for _, u := range units {
		if u.exclusive || len(u.cases) == 0 {
			continue
		}
		began := o.spanOf(u, u.cases[0]).from
		if began.IsZero() {
			began = time.Now()
		} else if first.IsZero() || began.Before(first) {
			first = began
		}
		if began.After(last) {
			last = began
		}
	}
	passed := last.Sub(first)
	if first.IsZero() || passed < firstOutlook {
		return most
	}
	var all time.Duration
	for _, s := range o.spans {
		all += max(0, min(s.took(), last.Sub(s.from)))
	}
	return min(most, int(math.Round(all.Seconds()/passed.Seconds())))
}

// An experience compares the time that the cases have taken so far with the expected time. Cases
// that had nothing to do are counted separately, because they end early and would make the estimate
// for the others too short.
type experience struct {
	took, expected time.Duration // of the cases that had something to do
	empty          time.Duration // the expected time of the cases that had nothing to do
	all            time.Duration // the expected time of all cases, ended or not
}

// experience returns the experience with the cases so far. The caller must hold o.mu.
func (o *outlook) experience(units []*unit, rates map[spec.Revision]rates) experience {
	var e experience
	for _, u := range units {
		for i, c := range u.cases {
			cost := rates[u.revision].cost(u, c)
			if i == 0 && u.sharesConversation { // the first case opens the conversation
				cost += rates[u.revision].start
			}
			most := maxFactor * (cost + rates[u.revision].start)
			e.all += cost
			s := o.spanOf(u, c)
			switch d := s.took(); {
			case !s.hasBegun():
			case !s.hasEnded():
				e.expected += min(d, cost)
				e.took += min(d, most)
			case d < time.Duration(emptyFactor*float64(cost)):
				e.empty += cost
			default:
				e.expected += cost
				e.took += min(d, most)
			}
		}
	}
	return e
}

// slowdownFactor returns the factor by which cases that have something to do take longer than
// expected.
func (e experience) slowdownFactor() float64 {
	prior := priorWork * float64(e.all)
	return (float64(e.took) + prior) / (float64(e.expected) + prior)
}

// busyProbability returns the probability that a case has something to do.
func (e experience) busyProbability() float64 {
	prior := priorWork * float64(e.all)
	return (float64(e.expected) + prior) / (float64(e.expected+e.empty) + prior)
}

// isSufficient reports whether enough cases have ended for an estimate, see minEvidence.
func (e experience) isSufficient() bool {
	return float64(e.expected+e.empty) >= minEvidence*float64(e.all)
}

// remaining returns how long the run still takes, or 0 if too few cases have ended for an estimate.
func (r *execution) remaining() time.Duration {
	o := r.outlook
	o.mu.Lock()
	defer o.mu.Unlock()
	rates := r.s.timing.allRates()
	e := o.experience(r.plan.units, rates)
	if !e.isSufficient() {
		return 0
	}
	expect := func(d time.Duration) time.Duration { return time.Duration(float64(d) * e.slowdownFactor()) }
	var retries []load
	var alone time.Duration
	for _, a := range o.retries {
		d := expect(a.cost(rates[a.revision]))
		if !a.began.IsZero() {
			d = remainingTime(d, a.began)
		}
		if a.alone {
			alone += d
		} else {
			retries = append(retries, load{left: d})
		}
	}
	left := r.plan.makespan(o.slots(r.plan.units, r.s.gate.slots()), func(u *unit) load {
		var l load
		for _, c := range u.cases {
			s, d := o.spanOf(u, c), expect(rates[u.revision].cost(u, c))
			l.runs = l.runs || s.hasBegun()
			switch {
			case s.hasEnded():
			case s.hasBegun():
				l.left += remainingTime(d, s.from)
			default:
				l.left += time.Duration(float64(d) * e.busyProbability())
			}
		}
		return l
	}, retries...)
	return max(left+alone, time.Millisecond)
}

// remainingTime returns how much longer something that began at the given time takes. The result is
// at least a quarter of the expected time, because the expectation may be too short. It is also at
// least a quarter of the time that has passed, because something overdue, such as a wait for a
// missing response, may take much longer.
func remainingTime(expected time.Duration, began time.Time) time.Duration {
	passed := time.Since(began)
	return max(expected-passed, expected/4, passed/4)
}

// cost estimates the time of a retry that reproduces its deviations at the first attempt: the
// handshake, the lists and the case. If no case was running when the deviations were seen, it
// counts all cases that shared the conversation instead.
func (a *attempt) cost(r rates) time.Duration {
	d := r.start + retryRounds*r.response
	if a.during != nil {
		return d + r.workTime(a.during)
	}
	for _, c := range a.candidates[0].from.unit.cases {
		d += r.workTime(c)
	}
	return d
}

// casesSpan returns when the first case began and the last one ended. A case that still runs counts
// as ending now.
func (o *outlook) casesSpan() (first, last time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.spans {
		if first.IsZero() || s.from.Before(first) {
			first = s.from
		}
		if s.end().After(last) {
			last = s.end()
		}
	}
	return first, last
}

const (
	// longRun is the shortest expected duration of a run that reports its remaining time.
	longRun = 10 * time.Second
	// firstOutlook is how long a run must have lasted before it reports an estimate.
	firstOutlook = 3 * time.Second
)

// showOutlook reports every second how long the run still takes, until stop is called.
func (r *execution) showOutlook(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var showing sync.WaitGroup
	showing.Go(func() {
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			left, passed := r.remaining(), time.Since(r.s.started)
			took := passed + left
			first, _ := r.outlook.casesSpan()
			if passed < firstOutlook || took < longRun || first.IsZero() {
				continue
			}
			faster := r.remedies(took, took-first.Sub(r.s.started))
			r.tally.remaining(r.s.o.Progress, left, r.s.timing.whySlow(r.offer), strings.Join(faster, ", "))
		}
	})
	return func() { cancel(); showing.Wait() }
}

// slowStart is the limit for starts: a server that takes this long or longer counts as slow to
// start.
const slowStart = 500 * time.Millisecond

// whySlow returns what makes the run slow, or "" if that is not known.
func (t *timing) whySlow(offered *offer) string {
	rates := t.rates(offered.newest())
	var takes []string
	if rates.start >= slowStart {
		takes = append(takes, fmt.Sprintf("%.1f s to start", rates.start.Seconds()))
	}
	if rates.response >= client.SlowResponse {
		takes = append(takes, roundTime(rates.response)+" a response")
	}
	var out []string
	if len(takes) > 0 {
		out = append(out, "the server takes "+strings.Join(takes, " and "))
	}
	missed := 0
	for _, rev := range offered.revisions {
		missed += t.paces[rev].Unanswered()
	}
	if missed > 1 {
		out = append(out, fmt.Sprintf("%d requests got no response", missed))
	}
	return strings.Join(out, "; ")
}

// roundTime formats a response time: in seconds if it is at least 1 s, otherwise in milliseconds,
// rounded to 10 ms.
func roundTime(d time.Duration) string {
	if d >= time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%d ms", d.Round(10*time.Millisecond).Milliseconds())
}
