// Package load holds many sessions with one server at once, each with requests
// of every sort, and has the rules judge all of them: neither the server nor the
// judges may err because there is much to do.
package load

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/judges"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// Plan says how much there is to do.
type Plan struct {
	Dialer   transport.Dialer
	Revision spec.Revision
	// Sessions are held at once.
	Sessions int
	// Requests are made in a session; then it is judged, and another one takes
	// its place, so that no transcript grows for ever.
	Requests int
	// Rate is how many requests are to be made a second, all sessions together;
	// zero for as many as can be answered.
	Rate float64
	// Time is how long sessions are begun; those under way go on to their end.
	// Zero means one session in each place.
	Time time.Duration
}

// Report is what came of it.
type Report struct {
	Sessions, Requests int64
	Took               time.Duration
	Slowest            time.Duration // of the requests
	// Wrong are findings above a note, requests that failed and answers that
	// were for somebody else, each with how often it came.
	Wrong map[string]int
}

// Rate returns how many requests were answered a second.
func (r *Report) Rate() float64 { return float64(r.Requests) / r.Took.Seconds() }

// run is a plan being carried out.
type run struct {
	Plan
	rules    []rules.Rule
	started  time.Time
	sessions atomic.Int64
	requests atomic.Int64

	mu      sync.Mutex
	slowest time.Duration
	wrong   map[string]int
}

// Run carries out the plan.
func Run(ctx context.Context, p Plan) Report {
	r := &run{Plan: p, rules: judges.All(), started: time.Now(), wrong: map[string]int{}}
	var wg sync.WaitGroup
	for place := range p.Sessions {
		wg.Go(func() { r.hold(ctx, place) })
	}
	wg.Wait()
	return Report{
		Sessions: r.sessions.Load(), Requests: r.requests.Load(), Took: time.Since(r.started), Slowest: r.slowest, Wrong: r.wrong,
	}
}

// hold holds one session after the other.
func (r *run) hold(ctx context.Context, place int) {
	pace := newPace(r.started, r.Rate, r.Sessions, place)
	for n := 0; ctx.Err() == nil; n++ {
		r.session(ctx, fmt.Sprintf("session-%d-%d.", place, n), pace)
		if time.Since(r.started) >= r.Time {
			return
		}
	}
}

// session holds one session and judges it.
func (r *run) session(ctx context.Context, sign string, pace *pace) {
	o := client.Options{Revision: r.Revision, Timeout: time.Minute, StartTimeout: time.Minute}
	answers := client.NewAnswers(client.AllCapabilities(r.Revision))
	answers.Set(spec.MethodSampling, sampled(sign))
	o.Answer = answers.Answer
	c, err := client.Open(ctx, r.Dialer, o)
	if err != nil {
		r.fails("no connection: " + err.Error())
		return
	}
	r.sessions.Add(1)
	if err := c.Handshake(ctx); err != nil {
		r.fails("the handshake failed: " + err.Error())
	} else {
		r.work(ctx, c, sign, pace)
	}
	c.Close()
	r.judge(c, sign)
}

// work makes the requests of a session.
func (r *run) work(ctx context.Context, c *client.Conversation, sign string, pace *pace) {
	for i := range r.Requests {
		pace.wait(ctx)
		began := time.Now()
		task := tasks[i%len(tasks)]
		if complaint := task.do(ctx, c, sign); complaint != "" {
			r.fails(task.name + ": " + complaint)
		}
		r.requests.Add(1)
		took := time.Since(began)
		r.mu.Lock()
		r.slowest = max(r.slowest, took)
		r.mu.Unlock()
	}
}

// judge folds the rules over the session, and looks for what is another's.
func (r *run) judge(c *client.Conversation, sign string) {
	events := c.Record.From(0)
	if foreign := strays(events, sign); foreign != "" {
		r.fails("a session got what is for another: " + foreign)
	}
	for _, result := range rules.Judge(r.rules, events, c.Revision(), r.Dialer.Transport()) {
		q := spec.Requirements().Lookup(result.Requirement)
		for _, d := range result.Deviations {
			if d.Outcome(q, c.Revision()) > verdict.Note {
				r.fails(d.Requirement + ": " + d.Summary)
			}
		}
	}
}

func (r *run) fails(complaint string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrong[complaint]++
}

// Complaints returns what was wrong, in words.
func (r *Report) Complaints() []string {
	var out []string
	for complaint, n := range r.Wrong {
		out = append(out, fmt.Sprintf("%d times: %s", n, complaint))
	}
	slices.Sort(out)
	return out
}

// pace spreads the requests of one session over time.
type pace struct {
	next  time.Time
	every time.Duration
}

// newPace returns the pace of a place; the places begin one after the other.
func newPace(from time.Time, rate float64, places, place int) *pace {
	if rate <= 0 {
		return &pace{}
	}
	every := time.Duration(float64(places) / rate * float64(time.Second))
	return &pace{next: from.Add(every * time.Duration(place) / time.Duration(places)), every: every}
}

// wait waits for the next request to be due. What is late is not caught up
// with for ever.
func (p *pace) wait(ctx context.Context) {
	if p.every == 0 {
		return
	}
	if late := time.Since(p.next); late > 0 {
		p.next = p.next.Add(max(p.every, late-time.Second))
		return
	}
	select {
	case <-time.After(time.Until(p.next)):
	case <-ctx.Done():
	}
	p.next = p.next.Add(p.every)
}
