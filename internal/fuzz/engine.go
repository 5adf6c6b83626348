package fuzz

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/discount"
	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/locks"
	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// exploring limits the wait for a response while searching. A missing response
// is retried with the whole timeout.
const exploring = script.MidScript

// search is one run.
type search struct {
	Options
	started  time.Time
	places   []*Surroundings
	novelty  *novelty
	cases    atomic.Int64
	requests atomic.Int64
	novel    atomic.Int64
	servers  atomic.Int64
	messages atomic.Int64
	pace     func(context.Context)
	crowd    *crowd
	// discounts says which candidates do not count, or only if each retry shows them.
	discounts *discount.Run
	closing   closing
	stop      context.CancelCauseFunc
	quit      context.CancelFunc // also ends the shrinking and retrying of findings

	// alone is read-locked by workers that search, and write-locked by a worker
	// that confirms a finding, so that no other server runs at that time.
	alone *locks.RWMutex
	// weighing is locked while a request is repeated. blind reports that the
	// server's memory cannot be measured.
	weighing *locks.RWMutex
	blind    atomic.Bool

	mu       sync.Mutex
	known    map[Key]*known
	findings []*Finding
	busy     map[string]int
	halting  map[string]bool // by method
	linger   time.Duration   // time at the end of each script for late notifications of changes
	overhead time.Duration   // of opening and closing a conversation
	refused  int             // consecutive scripts for which no server could be started
}

func newSearch(o Options) *search {
	return &search{
		Options: o, started: time.Now(), novelty: newNovelty(), crowd: newCrowd(o.Jobs), discounts: discount.NewRun(),
		alone: locks.NewRWMutex(), weighing: locks.NewRWMutex(),
		known: map[Key]*known{}, busy: map[string]int{}, halting: map[string]bool{},
	}
}

var errEnough = errors.New("enough was seen")

// Run searches until its time is over, and returns the findings. If it returns
// both a report and an error, the corpus could not be written.
func Run(ctx context.Context, o Options) (*Report, error) {
	o = o.withDefaults()
	s := newSearch(o)
	if o.Corpus != "" {
		if err := s.novelty.load(o.Corpus); err != nil {
			return nil, err
		}
	}
	if err := s.probe(ctx); err != nil {
		return nil, err
	}
	s.pace = limiter(o.Rate)
	bounded, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s.stop = stop
	s.weigh()
	if o.Time > 0 {
		timer := time.AfterFunc(o.Time, func() { stop(errEnough) })
		defer timer.Stop()
	}
	s.closing = closingAt(o.Time, o.Timeout)
	working, quit := context.WithCancelCause(ctx)
	defer quit(nil)
	s.quit = func() { quit(errEnough) }
	var wg sync.WaitGroup
	for range o.Jobs {
		wg.Go(func() { s.work(working, bounded) })
	}
	over, ticking := make(chan struct{}), make(chan struct{})
	go s.tick(over, ticking)
	wg.Wait()
	close(over)
	<-ticking
	for _, key := range slices.SortedFunc(maps.Keys(s.known), Key.compare) {
		if f := s.known[key].doubtful; f != nil {
			s.report(f)
		}
	}
	r := &Report{Status: s.status(), Findings: s.findings}
	for _, p := range s.places {
		r.Revisions = append(r.Revisions, p.Offer.Revision)
	}
	r.Revisions = spec.NewestFirst(r.Revisions)
	switch cause := context.Cause(bounded); {
	case ctx.Err() != nil:
		r.Incomplete = context.Cause(ctx).Error()
	case cause != nil && !errors.Is(cause, errEnough) && !errors.Is(cause, context.Canceled):
		r.Incomplete = cause.Error()
	case s.blind.Load():
		r.Incomplete = errBlind.Error()
	case slices.ContainsFunc(r.Findings, func(f *Finding) bool { return f.untried }):
		r.Incomplete = "there was no time to try again what would break a requirement"
	}
	if o.Corpus != "" {
		return r, s.novelty.save(o.Corpus, o.Redact)
	}
	return r, nil
}

// probe takes the inventory in each revision. Unless the user names revisions, 2026-07-28 is
// searched in a server that speaks no other.
func (s *search) probe(ctx context.Context) error {
	revisions := s.Revisions
	if len(revisions) == 0 {
		revisions = spec.HandshakeRevisions()
	}
	err := s.probeRevisions(ctx, revisions)
	if errors.Is(err, ErrUnspoken) && len(s.Revisions) == 0 {
		err = s.probeRevisions(ctx, []spec.Revision{spec.V20260728})
	}
	return err
}

func (s *search) probeRevisions(ctx context.Context, revisions []spec.Revision) error {
	start := max(s.Start, s.FirstStart)
	for _, rev := range revisions {
		if !s.Dialer.Transport().DefinedIn(rev) {
			continue
		}
		began := time.Now()
		place, events, err := Probe(ctx, s.Dialer, rev, s.Policy, client.Options{Timeout: s.Timeout, StartTimeout: start})
		start = s.Start
		if err != nil {
			return err
		}
		s.servers.Add(1)
		if place == nil {
			s.messages.Add(int64(script.Frames(events)))
			continue
		}
		s.messages.Add(int64(place.messages))
		s.overhead = time.Since(began)
		// A server that hangs later must not cost the time of a slow start.
		s.Start = min(s.Start, max(s.Timeout, 3*s.overhead))
		start = s.Start
		if s.Stock != nil {
			s.Stock(rev, place)
		}
		s.places = append(s.places, place)
	}
	if len(s.places) == 0 {
		return ErrUnspoken
	}
	return nil
}

// work plays scripts until bounded ends. Findings made by then are followed up
// under ctx.
func (s *search) work(ctx, bounded context.Context) {
	d, end := s.dialer()
	defer func() { end() }()
	for bounded.Err() == nil {
		leave := s.crowd.search(bounded)
		n := s.cases.Add(1) - 1
		if s.Cases > 0 && n >= int64(s.Cases) {
			s.cases.Add(-1)
			leave()
			return
		}
		c := s.draw(s.Part.number(uint64(n), uint64(len(s.places)))) //nolint:gosec // a count
		o, cut := s.hold(ctx, bounded, d, c)
		leave()
		s.requests.Add(int64(o.Requests))
		if o.Refused != nil && bounded.Err() == nil {
			end()
			d, end = s.dialer()
			if s.refuse(o.Refused) {
				return
			}
		} else {
			s.served()
		}
		if cut {
			return
		}
		s.look(ctx, c, o)
	}
}

// hold plays a drawn script. When bounded ends, no further operation begins.
// Operations that have begun are finished, unless that takes too long: then the
// script is cut off and not judged.
func (s *search) hold(ctx, bounded context.Context, d transport.Dialer, c drawn) (o *Outcome, cut bool) {
	defer s.lockMemoryUse(&c.script)()
	s.alone.RLock()
	defer s.alone.RUnlock()
	ctx, cancel := within(ctx, long, s.closing.small)
	defer cancel()
	p := s.player(d, c.place, exploring)
	p.Stop, p.Hangs, p.Brief = bounded.Done(), func(method string) bool { return s.hangs(family(method)) }, s.brief()
	o = s.play(ctx, p, c.place, c.script)
	return o, ctx.Err() != nil
}

// look judges an outcome, and follows up new candidates.
func (s *search) look(ctx context.Context, c drawn, o *Outcome) {
	if ctx.Err() != nil {
		return
	}
	if !s.weighed(o) {
		s.novel.Add(int64(s.novelty.note(o, c.mood)))
	}
	for _, sight := range oneEnd(o, s.judge(s.Laws, o)) {
		if sight.Outcome <= verdict.Note && !s.wantsNotes(sight.Law) || s.namesOther(ctx, c, o, &sight) || !s.claim(&sight) {
			continue
		}
		if _, hangs := o.hangs(&sight); hangs {
			s.recordHang(sight.Method, true)
		}
		f := s.follow(ctx, c, o, sight)
		if f == nil || !f.Recurred() {
			s.recordHang(sight.Method, false)
		}
		if f == nil || s.doubt(f) {
			continue
		}
		s.report(f)
		if s.Enough != nil && s.Enough(f) {
			s.stop(errEnough)
			s.quit()
		}
	}
}

// refuse records that no server could be started, and reports whether the
// search must end.
func (s *search) refuse(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused++
	if s.refused < 5*s.Jobs {
		return false
	}
	s.stop(fmt.Errorf("the server can no longer be reached: %w", err))
	return true
}

func (s *search) served() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = 0
}

// dialer returns the worker's access to the server. A server that the run
// starts is not shared with other workers.
func (s *search) dialer() (d transport.Dialer, end func()) { return fresh(s.Dialer) }

func fresh(d transport.Dialer) (transport.Dialer, func()) {
	if sharer, ok := d.(transport.Sharer); ok && !sharer.Single() {
		return sharer.Fresh()
	}
	return d, func() {}
}

// drawn is a script with its origin.
type drawn struct {
	script script.Script
	place  *Surroundings
	mood   generate.Mood
	seed   uint64
}
