package fuzz

import (
	"cmp"
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

// searchTimeout limits the wait for a response while searching. A missing response
// is retried with the whole timeout.
const searchTimeout = script.MidScript

// search is one search.
type search struct {
	Options
	started      time.Time
	servers      []*ServerInfo // one for each revision that the server speaks
	novelty      *novelty
	cases        atomic.Int64
	requests     atomic.Int64
	novel        atomic.Int64
	serverStarts atomic.Int64
	messages     atomic.Int64
	pace         func(context.Context) // waits until one more request may be sent
	throttle     *throttle
	// discounts says which candidates do not count, or only if each retry shows them. A search does not
	// let it observe conversations: a claim holds all that a discount needs here, and the notices would
	// be about requests that the search itself made unusual.
	discounts  *discount.Run
	deadlines  deadlines
	stopSearch context.CancelCauseFunc
	stopAll    context.CancelFunc // also ends the shrinking and retrying of findings

	// exclusive is read-locked by workers that search, and write-locked by a
	// worker that retries a finding, so that no other server runs at that time.
	exclusive *locks.RWMutex
	// repeating is locked while a request is repeated to measure the server's
	// memory. unreadable is set if the memory cannot be measured.
	repeating  *locks.RWMutex
	unreadable atomic.Bool

	mu           sync.Mutex
	states       map[Key]*candidateState
	findings     []*Finding
	busy         map[string]int  // workers by what they do besides searching
	hanging      map[string]bool // methods whose requests hang the server
	finalWait    time.Duration   // how long to wait at the end of each script for notifications of changes
	overhead     time.Duration   // how long it takes to open a conversation, walk through the lists, and close it
	failedStarts int             // consecutive scripts for which no server could be started
}

func newSearch(o Options) *search {
	return &search{
		Options: o, started: time.Now(), novelty: newNovelty(), throttle: newThrottle(o.Jobs), discounts: cmp.Or(o.Discounts, discount.NewRun()),
		exclusive: locks.NewRWMutex(), repeating: locks.NewRWMutex(),
		states: map[Key]*candidateState{}, busy: map[string]int{}, hanging: map[string]bool{},
	}
}

// errFinished is the cause if a search ends as planned.
var errFinished = errors.New("the search is finished")

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
	s.pace = newLimiter(o.Rate)
	searching, stopSearch := context.WithCancelCause(ctx)
	defer stopSearch(nil)
	s.stopSearch = stopSearch
	s.checkMemoryReadable()
	if o.Time > 0 {
		timer := time.AfterFunc(o.Time, func() { stopSearch(errFinished) })
		defer timer.Stop()
	}
	s.deadlines = deadlinesAfter(o.Time, o.Timeout)
	whole, stopAll := context.WithCancelCause(ctx)
	defer stopAll(nil)
	s.stopAll = func() { stopAll(errFinished) }
	var wg sync.WaitGroup
	for range o.Jobs {
		wg.Go(func() { s.work(whole, searching) })
	}
	over, ticking := make(chan struct{}), make(chan struct{})
	go s.tick(over, ticking)
	wg.Wait()
	close(over)
	<-ticking
	for _, key := range slices.SortedFunc(maps.Keys(s.states), Key.compare) {
		if f := s.states[key].flaky; f != nil {
			s.report(f)
		}
	}
	r := &Report{Status: s.status(), Findings: s.findings}
	for _, server := range s.servers {
		r.Revisions = append(r.Revisions, server.Offer.Revision)
	}
	r.Revisions = spec.NewestFirst(r.Revisions)
	switch cause := context.Cause(searching); {
	case ctx.Err() != nil:
		r.Incomplete = context.Cause(ctx).Error()
	case cause != nil && !errors.Is(cause, errFinished) && !errors.Is(cause, context.Canceled):
		r.Incomplete = cause.Error()
	case s.unreadable.Load():
		r.Incomplete = errUnreadable.Error()
	case slices.ContainsFunc(r.Findings, func(f *Finding) bool { return f.unretried }):
		r.Incomplete = "there was no time to retry a finding that may break a requirement"
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
	if errors.Is(err, ErrNotSpoken) && len(s.Revisions) == 0 {
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
		server, events, err := Probe(ctx, s.Dialer, rev, s.Policy, client.Options{Timeout: s.Timeout, StartTimeout: start})
		start = s.Start
		if err != nil {
			return err
		}
		s.serverStarts.Add(1)
		if server == nil {
			s.messages.Add(int64(script.Frames(events)))
			continue
		}
		s.messages.Add(int64(server.messages))
		s.overhead = time.Since(began)
		// A server that hangs later must not cost the time of a slow start.
		s.Start = min(s.Start, max(s.Timeout, 3*s.overhead))
		start = s.Start
		if s.Probed != nil {
			s.Probed(rev, server)
		}
		s.servers = append(s.servers, server)
	}
	if len(s.servers) == 0 {
		return ErrNotSpoken
	}
	return nil
}

// work plays scripts until searching ends. It shrinks and retries the candidates
// found by then until ctx ends.
func (s *search) work(ctx, searching context.Context) {
	d, end := s.dialer()
	defer func() { end() }()
	for searching.Err() == nil {
		release := s.throttle.acquire(searching)
		n := s.cases.Add(1) - 1
		if s.Cases > 0 && n >= int64(s.Cases) {
			s.cases.Add(-1)
			release()
			return
		}
		in := s.nextInput(s.Shard.globalIndex(uint64(n), uint64(len(s.servers)))) //nolint:gosec // a count
		x, interrupted := s.playInput(ctx, searching, d, in)
		release()
		s.requests.Add(int64(x.Requests))
		if x.Refused != nil && searching.Err() == nil {
			end()
			d, end = s.dialer()
			if s.recordFailedStart(x.Refused) {
				return
			}
		} else {
			s.recordStart()
		}
		if interrupted {
			return
		}
		s.evaluate(ctx, in, x)
	}
}

// playInput plays a script. When searching ends, no further operation begins.
// Operations that have begun are finished, unless that takes too long: then the
// script is interrupted and not judged.
func (s *search) playInput(ctx, searching context.Context, d transport.Dialer, in input) (x *Execution, interrupted bool) {
	defer s.lockRepetition(&in.script)()
	s.exclusive.RLock()
	defer s.exclusive.RUnlock()
	ctx, cancel := withLimit(ctx, unlimited, s.deadlines.shrink)
	defer cancel()
	p := s.player(d, in.server, searchTimeout)
	p.Stop, p.Hangs, p.HangTimeout = searching.Done(), func(method string) bool { return s.isKnownToHang(methodGroup(method)) }, s.hangTimeout()
	x = s.play(ctx, p, in.server, in.script)
	return x, ctx.Err() != nil
}

// evaluate judges an execution, and shrinks and retries new candidates.
func (s *search) evaluate(ctx context.Context, in input, x *Execution) {
	if ctx.Err() != nil {
		return
	}
	if !s.recordRepetition(x) {
		s.novel.Add(int64(s.novelty.record(x, in.validity)))
	}
	for _, c := range mergeByExit(x, s.judge(s.Laws, x)) {
		if c.Outcome <= verdict.Note && !s.isUnspecified(c.Law) || s.blamesLater(ctx, in, x, &c) || !s.claim(&c) {
			continue
		}
		if _, hangs := x.hungOperation(&c); hangs {
			s.recordHang(c.Method, true)
		}
		f := s.investigate(ctx, in, x, c)
		if f == nil || !f.Recurred() {
			s.recordHang(c.Method, false)
		}
		if f == nil || s.holdBack(f) {
			continue
		}
		s.report(f)
		if s.StopAt != nil && s.StopAt(f) {
			s.stopSearch(errFinished)
			s.stopAll()
		}
	}
}

// recordFailedStart records that no server could be started, and reports whether the
// search must end.
func (s *search) recordFailedStart(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failedStarts++
	if s.failedStarts < 5*s.Jobs {
		return false
	}
	s.stopSearch(fmt.Errorf("the server can no longer be reached: %w", err))
	return true
}

// recordStart records that a server could be started.
func (s *search) recordStart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failedStarts = 0
}

// dialer returns the worker's access to the server. A server that the run
// starts is not shared with other workers.
func (s *search) dialer() (d transport.Dialer, end func()) { return freshDialer(s.Dialer) }

// freshDialer returns a dialer for a server that is not shared, if the run
// starts the server, and a function that stops it.
func freshDialer(d transport.Dialer) (transport.Dialer, func()) {
	if sharer, ok := d.(transport.Sharer); ok && !sharer.Single() {
		return sharer.Fresh()
	}
	return d, func() {}
}

// An input is a generated script with its origin.
type input struct {
	script   script.Script
	server   *ServerInfo
	validity generate.Validity
	seed     uint64
}
