package fuzz

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/locks"
	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// searchTimeout limits the wait for a response while searching. The retries of a missing response
// wait for the whole timeout.
const searchTimeout = script.MidScript

// search is the state of one search.
type search struct {
	Options
	started    time.Time
	servers    []*ServerInfo // one for each revision that the server speaks
	overhead   time.Duration // how long opening a conversation, walking all lists and closing the conversation takes
	novelty    *novelty
	inputs     *inputs
	executor   *executor
	judge      judge
	throttle   *throttle
	deadlines  deadlines
	stopSearch context.CancelCauseFunc
	stopAll    context.CancelFunc // ends the search, and also the shrinking and retrying of findings

	// exclusive is read-locked by workers that search, and write-locked by a worker that retries a
	// finding, so that no other server runs during the retry.
	exclusive  *locks.RWMutex
	repetition *repetition
	claims     claims
	activities activities
	hangs      hangs
	// failedStarts counts consecutive scripts for which no server could be started.
	failedStarts atomic.Int64
}

func newSearch(o Options) *search {
	return &search{
		Options: o, started: time.Now(), novelty: newNovelty(), executor: newExecutor(o), judge: newJudge(o), throttle: newThrottle(o.Jobs),
		exclusive: locks.NewRWMutex(), repetition: newRepetition(o.Laws),
		claims: claims{found: o.Found, states: map[verdict.SearchKey]*candidateState{}}, activities: activities{workers: map[string]int{}},
		hangs: hangs{methods: map[string]bool{}},
	}
}

// errFinished is the cancellation cause of a search that ends as planned.
var errFinished = errors.New("the search is finished")

// Run searches until the limits of the options are reached, and returns the findings. If it returns
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
	s.inputs = &inputs{
		seed: o.Seed, most: o.Operations, transport: o.Dialer.Transport(), servers: s.servers, overhead: s.overhead, novelty: s.novelty, repetition: s.repetition,
	}
	searching, stopSearch := context.WithCancelCause(ctx)
	defer stopSearch(nil)
	s.stopSearch = stopSearch
	if s.repetition.some && s.Dialer.Transport() != spec.Stdio {
		s.repetition.unreadable.Store(true)
		s.endIfOver()
	}
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
		wg.Go(func() { s.playScripts(whole, searching) })
	}
	over, ticking := make(chan struct{}), make(chan struct{})
	go s.tick(over, ticking)
	wg.Wait()
	close(over)
	<-ticking
	s.claims.reportHeldBack()
	r := &Report{Status: s.status(), Findings: s.claims.findings}
	for _, server := range s.servers {
		r.Revisions = append(r.Revisions, server.Offer.Revision)
	}
	r.Revisions = spec.NewestFirst(r.Revisions)
	switch cause := context.Cause(searching); {
	case ctx.Err() != nil:
		r.Incomplete = context.Cause(ctx).Error()
	case cause != nil && !errors.Is(cause, errFinished) && !errors.Is(cause, context.Canceled):
		r.Incomplete = cause.Error()
	case s.repetition.unreadable.Load():
		r.Incomplete = errUnreadable.Error()
	case slices.ContainsFunc(r.Findings, func(f *Finding) bool { return f.unretried }):
		r.Incomplete = "there was no time to retry a finding that may break a requirement"
	}
	if o.Corpus != "" {
		return r, s.novelty.save(o.Corpus, o.Redact)
	}
	return r, nil
}

// discoverTime is the longest wait for server/discover if the server speaks an older revision, in
// which case it may ignore the request.
const discoverTime = 2 * time.Second

// probe takes the inventory in each revision of Options.Revisions, or in all revisions.
func (s *search) probe(ctx context.Context) error {
	first := max(s.Start, s.FirstStart)
	if len(s.Revisions) > 0 {
		return s.probeRevisions(ctx, s.Revisions, s.Timeout, first)
	}
	switch err := s.probeRevisions(ctx, spec.HandshakeRevisions(), s.Timeout, first); {
	case errors.Is(err, ErrNotSpoken):
		return s.probeRevisions(ctx, spec.StatelessRevisions(), s.Timeout, first)
	case err != nil:
		return err
	default:
		short := min(s.Timeout, discoverTime)
		return s.probeRevisions(ctx, spec.StatelessRevisions(), short, min(s.executor.start, short+3*s.overhead))
	}
}

// probeRevisions takes the inventory in each of the revisions. timeout limits the wait for a
// response, and start the wait for the first response of the first process. It returns ErrNotSpoken
// if the server speaks none of these revisions, nor one probed before.
func (s *search) probeRevisions(ctx context.Context, revisions []spec.Revision, timeout, start time.Duration) error {
	for _, rev := range revisions {
		if !s.Dialer.Transport().IsDefinedIn(rev) {
			continue
		}
		began := time.Now()
		server, events, err := Probe(ctx, s.Dialer, rev, s.Policy, client.Options{Timeout: timeout, StartTimeout: start})
		start = s.executor.start
		if err != nil {
			return err
		}
		s.executor.counts.servers.Add(1)
		if server == nil {
			s.executor.counts.messages.Add(int64(script.CountFrames(events)))
			continue
		}
		s.executor.counts.messages.Add(int64(server.messages))
		s.overhead = time.Since(began)
		// The limit for the first start may be long. A server that hangs at a later start must not
		// cost as much time.
		s.executor.start = min(s.executor.start, max(s.Timeout, 3*s.overhead))
		start = s.executor.start
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

// playScripts plays scripts until the context searching ends. It continues to shrink and retry the
// candidates found by then until ctx ends.
func (s *search) playScripts(ctx, searching context.Context) {
	d, end := s.executor.freshDialer()
	defer func() { end() }()
	for searching.Err() == nil {
		release := s.throttle.acquire(searching)
		n := s.executor.counts.cases.Add(1) - 1
		if s.Cases > 0 && n >= int64(s.Cases) {
			s.executor.counts.cases.Add(-1)
			release()
			return
		}
		in := s.inputs.next(s.Shard.globalIndex(uint64(n), uint64(len(s.servers)))) //nolint:gosec // a count
		x, interrupted := s.playInput(ctx, searching, d, in)
		release()
		if x.Refused != nil && searching.Err() == nil {
			end()
			d, end = s.executor.freshDialer()
			if s.failedStarts.Add(1) >= int64(5*s.Jobs) {
				s.stopSearch(fmt.Errorf("the server can no longer be reached: %w", x.Refused))
				return
			}
		} else {
			s.failedStarts.Store(0)
		}
		if interrupted {
			return
		}
		s.evaluate(ctx, in, x)
	}
}

// playInput plays a script. When the context searching ends, no further operation begins.
// Operations that have begun are finished. If that takes too long, the script is interrupted and
// not judged.
func (s *search) playInput(ctx, searching context.Context, d transport.Dialer, in input) (x *Execution, interrupted bool) {
	defer s.repetition.lockIfRepeating(&in.script)()
	s.exclusive.RLock()
	defer s.exclusive.RUnlock()
	ctx, cancel := withLimit(ctx, unlimited, s.deadlines.shrink)
	defer cancel()
	p := s.executor.newPlayer(d, in.server, searchTimeout)
	p.Pace = s.executor.countAndPace
	p.Stop, p.Hangs, p.HangTimeout = searching.Done(), func(method string) bool { return s.hangs.isKnown(methodGroup(method)) }, s.hangTimeout()
	x = s.executor.play(ctx, p, in.server, in.script)
	return x, ctx.Err() != nil
}

// evaluate judges an execution, and shrinks and retries new candidates.
func (s *search) evaluate(ctx context.Context, in input, x *Execution) {
	if ctx.Err() != nil {
		return
	}
	if repeated := s.repetition.record(x); repeated {
		s.endIfOver()
	} else {
		s.executor.counts.novel.Add(int64(s.novelty.record(x, in.validity)))
	}
	for _, c := range mergeByExit(x, s.judge.candidates(s.Laws, x)) {
		if c.Outcome <= verdict.Note && !isUnspecified(s.Laws, c.Law) || s.blamesWrongRequest(ctx, in, x, &c) || !s.claims.claim(c.Key()) {
			continue
		}
		if _, hangs := x.hungOperation(&c); hangs {
			s.hangs.record(c.Method, true)
		}
		f := s.investigate(ctx, in, x, c)
		if f == nil || !f.Recurred() {
			s.hangs.record(c.Method, false)
		}
		if f == nil || s.claims.holdBack(f) {
			continue
		}
		s.claims.addFinding(f)
		if s.StopAt != nil && s.StopAt(f) {
			s.stopSearch(errFinished)
			s.stopAll()
		}
	}
}

// endIfOver ends a search that has nothing left to search for.
func (s *search) endIfOver() {
	if s.repetition.isOver() {
		s.stopSearch(errUnreadable)
	}
}

// An input is a generated script with the server info, validity and seed from which it was
// generated.
type input struct {
	script   script.Script
	server   *ServerInfo
	validity generate.Validity
	seed     uint64
}
