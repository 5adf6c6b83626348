// Package load opens many concurrent sessions with one server, sends requests
// of every kind, and judges all sessions with the rules. Neither the server nor
// the rules may fail under load.
package load

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/ruleset"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// Plan configures a load test.
type Plan struct {
	Dialer   transport.Dialer
	Revision spec.Revision
	// Sessions is the number of workers, each of which runs one session at a time.
	Sessions int
	// Requests is the number of requests in a session. After them, the session
	// is judged and replaced by another one, so that no transcript grows without
	// limit.
	Requests int
	// Rate is the number of requests per second of all sessions together; zero
	// means no limit.
	Rate float64
	// Time is the period in which new sessions begin. Sessions in progress are completed. In the
	// first session of a worker the number of requests is smaller, and depends on the worker, so
	// that the sessions do not all end, and are not all judged, at the same moment. Zero means
	// one session per worker.
	Time time.Duration
}

// A Report is the result of a load test.
type Report struct {
	Sessions, Requests int64
	// InTime is the number of requests that were done within the plan's time, or of all requests if
	// the plan sets no time. Later requests do not count, because fewer and fewer sessions remain.
	InTime  int64
	Time    time.Duration // the time that InTime refers to
	Took    time.Duration
	Slowest time.Duration // how long the slowest request took
	// Wrong counts findings more severe than a note, connections and handshakes that failed, failed
	// requests, and messages that belong to another session.
	Wrong map[string]int
}

// run is the execution of a plan.
type run struct {
	Plan
	rules    []rules.Rule
	started  time.Time
	sessions atomic.Int64
	requests atomic.Int64
	inTime   atomic.Int64

	mu      sync.Mutex
	slowest time.Duration
	wrong   map[string]int
}

// Run executes the plan.
func Run(ctx context.Context, p Plan) Report {
	r := &run{Plan: p, rules: ruleset.All(), started: time.Now(), wrong: map[string]int{}}
	var wg sync.WaitGroup
	for worker := range p.Sessions {
		wg.Go(func() { r.work(ctx, worker) })
	}
	wg.Wait()
	took := time.Since(r.started)
	report := Report{Sessions: r.sessions.Load(), Requests: r.requests.Load(), Took: took, Slowest: r.slowest, Wrong: r.wrong}
	report.InTime, report.Time = report.Requests, took
	if p.Time > 0 {
		report.InTime, report.Time = r.inTime.Load(), p.Time
	}
	return report
}

// work runs the sessions of one worker, one after another.
func (r *run) work(ctx context.Context, worker int) {
	pace := newPace(r.started, r.Rate, r.Sessions, worker)
	for n := 0; ctx.Err() == nil; n++ {
		requests := r.Requests
		if n == 0 && r.Time > 0 {
			requests = max(1, requests*(worker+1)/r.Sessions)
		}
		r.runSession(ctx, fmt.Sprintf("%s%d-%d.", signed, worker, n), requests, pace)
		if time.Since(r.started) >= r.Time {
			return
		}
	}
}

// runSession runs one session and judges it. The argument sign is a string that only this session
// sends.
func (r *run) runSession(ctx context.Context, sign string, requests int, pace *pace) {
	o := client.Options{Revision: r.Revision, Timeout: time.Minute, StartTimeout: time.Minute}
	answers := client.NewAnswers(client.AllCapabilities(r.Revision))
	answers.Set(spec.MethodSampling, samplingHandler(sign))
	o.Answer = answers.Answer
	c, err := client.Open(ctx, r.Dialer, o)
	if err != nil {
		r.noteFailure("no connection: " + err.Error())
		return
	}
	r.sessions.Add(1)
	if err := c.Handshake(ctx); err != nil {
		r.noteFailure("the handshake failed: " + err.Error())
	} else {
		r.sendRequests(ctx, c, sign, requests, pace)
	}
	c.Close()
	r.judge(c, sign)
}

// sendRequests performs the operations in turn until they have sent at least the given number of
// requests.
func (r *run) sendRequests(ctx context.Context, c *client.Conversation, sign string, requests int, pace *pace) {
	for i, made := 0, 0; made < requests; i++ {
		task := operations[i%len(operations)]
		pace.wait(ctx, task.requests)
		began := time.Now()
		if complaint := task.do(ctx, c, sign); complaint != "" {
			r.noteFailure(task.name + ": " + complaint)
		}
		made += task.requests
		r.requests.Add(int64(task.requests))
		if time.Since(r.started) <= r.Time {
			r.inTime.Add(int64(task.requests))
		}
		took := time.Since(began)
		r.mu.Lock()
		r.slowest = max(r.slowest, took)
		r.mu.Unlock()
	}
}

// judge applies the rules to the session, and looks for messages that belong to
// another session.
func (r *run) judge(c *client.Conversation, sign string) {
	events := c.Record.From(0)
	if foreign := foreignMessage(events, sign); foreign != "" {
		r.noteFailure("a session received a message of another session: " + foreign)
	}
	for _, result := range rules.Judge(r.rules, events, c.Revision(), r.Dialer.Transport()) {
		q := spec.Requirements().Lookup(result.Requirement)
		for _, d := range result.Deviations {
			if d.Outcome(q, c.Revision()) > verdict.Note {
				r.noteFailure(d.Requirement + ": " + d.Summary)
			}
		}
	}
}

func (r *run) noteFailure(complaint string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrong[complaint]++
}

// Complaints returns one line for each kind of failure.
func (r *Report) Complaints() []string {
	var out []string
	for complaint, n := range r.Wrong {
		out = append(out, fmt.Sprintf("%d times: %s", n, complaint))
	}
	slices.Sort(out)
	return out
}

// pace distributes the requests of one session over time. It is not a token
// bucket like that of x/time/rate: the sessions start one after another, and
// they catch up on delays. A token bucket large enough for that would allow a
// burst at the start.
type pace struct {
	next  time.Time
	every time.Duration
}

// newPace returns the pace of a worker. The argument from is the start of the test, at which the
// first worker starts; the others follow one after another. rate is the number of requests per
// second of all workers together; zero means no limit.
func newPace(from time.Time, rate float64, workers, worker int) *pace {
	if rate <= 0 {
		return &pace{}
	}
	every := time.Duration(float64(workers) / rate * float64(time.Second))
	return &pace{next: from.Add(every * time.Duration(worker) / time.Duration(workers)), every: every}
}

// mostLate limits the delay that a session catches up on. It suffices for a
// handshake or the judging of a session, but not for a machine that is too slow
// for the rate.
const mostLate = 5 * time.Second

// wait waits until the next requests are due or ctx ends. It returns at once if they are late. The
// argument requests is the number of these requests.
func (p *pace) wait(ctx context.Context, requests int) {
	if p.every == 0 {
		return
	}
	early := time.Until(p.next)
	if early > 0 {
		timer := time.NewTimer(early)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	p.next = p.next.Add(max(p.every*time.Duration(requests), -early-mostLate))
}
