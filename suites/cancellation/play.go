package cancellation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// raceRequests describes the requests of a race.
type raceRequests struct {
	makeFrame func(id wire.ID, n int) []byte // returns the bytes of the nth request
	runs      bool                           // the requests report progress while they run
	takes     time.Duration                  // how long each request takes, if that is long and known
}

// raceRun is one run of a race.
type raceRun struct {
	raceRequests

	ctx     context.Context
	c       *client.Conversation
	random  *rand.Rand
	rounds  int
	cancels bool // false for a run without the cancellations

	from   int
	frames [][]byte
	asked  []*raceRequest
	raced  bool // something was cancelled
}

// raceRequest is a request in a race.
type raceRequest struct {
	id        wire.ID
	cancelled bool
	ending    suite.Endings
}

// How often the steps of a race are repeated, and how many requests run concurrently over HTTP.
// There, each message is an exchange of its own, so the numbers are lower.
const (
	rounds            = 5
	roundsHTTP        = 2
	maxConcurrentHTTP = 12
)

func newRaceRun(ctx context.Context, c *client.Conversation, ask raceRequests) *raceRun {
	p := &raceRun{raceRequests: ask, ctx: ctx, c: c, random: rand.New(rand.NewPCG(1, 1)), rounds: rounds, cancels: true, from: c.Record.Len()}
	if c.Web() != nil {
		p.rounds = roundsHTTP
	}
	return p
}

// concurrency returns how many requests to send concurrently, at most n.
func (p *raceRun) concurrency(n int) int {
	if p.c.Web() != nil {
		n = min(n, maxConcurrentHTTP)
	}
	return p.c.BurstSize(n, p.makeFrame(p.c.NewID(), 0), p.makeFrame(p.c.NewID(), 1))
}

func (p *raceRun) request() wire.ID {
	id := p.c.NewID()
	p.requestWithID(id)
	return id
}

func (p *raceRun) requestWithID(id wire.ID) {
	p.frames = append(p.frames, p.makeFrame(id, len(p.asked)))
	p.asked = append(p.asked, &raceRequest{id: id})
}

func (p *raceRun) cancel(id wire.ID) {
	if !p.cancels {
		return
	}
	p.frames, p.raced = append(p.frames, cancellationFrame(id)), true
	for _, e := range p.asked {
		e.cancelled = e.cancelled || e.id == id
	}
}

// send sends the pending frames in one write. If that fails, later steps show it.
func (p *raceRun) send() {
	if len(p.frames) > 0 {
		_ = p.c.Send(p.ctx, p.frames...)
	}
	p.frames = nil
}

// await waits for the response to the request, and reports whether it came.
func (p *raceRun) await(id wire.ID) bool {
	return suite.AwaitExpected(p.ctx, p.c, p.from, id).Answered()
}

// awaitRunning waits until the first request is seen to run, and reports whether it is.
func (p *raceRun) awaitRunning() bool {
	return len(p.asked) > 0 && suite.AwaitRunning(p.ctx, p.c, p.from, p.asked[0].id)
}

// minWait is the minimum time to wait for the response to a request after a later request was
// answered.
const minWait = 500 * time.Millisecond

// settle records the outcomes of the requests, after a later request was answered. If responses are
// missing, it waits for the first of them for at least minWait. If that does not come, it waits for
// each of the others only for the grace. It does not wait for responses to cancelled requests.
func (p *raceRun) settle() {
	limit := max(minWait, 2*p.c.Grace())
	limit += p.takes
	for _, e := range p.asked {
		if e.cancelled || p.awaitWithin(e.id, limit) {
			continue
		}
		limit = p.c.Grace()
	}
	for _, e := range p.asked {
		e.ending = suite.Silence
		for _, ev := range p.c.Record.From(p.from) {
			if ev.Kind != transcript.Received || e.ending != suite.Silence {
				continue
			}
			e.ending = outcomeIn(ev, e.id)
		}
	}
}

// awaitWithin waits for the response to a request for at most limit.
func (p *raceRun) awaitWithin(id wire.ID, limit time.Duration) bool {
	return p.c.AwaitResponse(p.ctx, p.from, id, client.Within(limit)).Answered()
}

// outcomeIn returns the outcome of the request with the given id if the event has its response, and
// suite.Silence otherwise.
func outcomeIn(e *transcript.Event, id wire.ID) suite.Endings {
	switch m := e.ResponseTo(id); {
	case m == nil:
		return suite.Silence
	case m.IsError():
		return suite.Refusal
	default:
		return suite.Result
	}
}

// firstNotPermitted returns the first request with an outcome that the race does not permit, or
// nil.
func (p *raceRun) firstNotPermitted(r race) *raceRequest {
	for _, e := range p.asked {
		permitted := r.Others
		if e.cancelled {
			permitted = r.Cancelled
		}
		if !permitted.Permits(e.ending) {
			return e
		}
	}
	return nil
}

// run runs the race and judges it. It returns the conversation with which to continue.
func (r race) run(ctx context.Context, t *suite.T, c *client.Conversation, ask raceRequests) *client.Conversation {
	if r.ordered && t.Transport != spec.Stdio {
		return c
	}
	p := newRaceRun(ctx, c, ask)
	r.steps(p)
	if next := conversationAfter(ctx, t, c); next != c {
		return next // the server has ended, which rules report
	}
	if r.Others == 0 {
		return c
	}
	p.settle()
	if !p.raced {
		t.MarkNotObserved(r.requirement, "mcp-conform saw no running request that it could cancel")
		return c
	}
	e := p.firstNotPermitted(r)
	if e == nil {
		if p.runs || !r.needsRunning {
			t.MarkKept(r.requirement)
		}
		return c
	}
	if ctx.Err() != nil || !c.Alive() {
		t.MarkNotObserved(r.requirement, "mcp-conform could not wait for the responses")
		return c
	}
	if !r.rerunUncancelled(ctx, c, p, e) {
		t.MarkNotObserved(r.requirement, "without a cancellation the server does not answer all of these requests in time, either")
		return c
	}
	d := verdict.Deviation{
		Requirement: r.requirement,
		Summary:     r.unanswered,
		Permitted:   r.Others.String() + " for each request that was not cancelled",
		Seen:        fmt.Sprintf("no answer to the request with id %s, though all are answered where nothing is cancelled", wire.Excerpt(e.id.Raw(), 40)),
		At:          transcript.Positions(cancellationOf(c, p.from, e.id), c.RequestSent(p.from, e.id)),
	}
	if r.ClientForbidden {
		d.Weight = verdict.OnlyNote
	}
	t.Report(c, d)
	return c
}

// cancellationOf returns the first notification since the given position that cancels an id that looks
// like the given one, or nil.
func cancellationOf(c *client.Conversation, from int, id wire.ID) *transcript.Event {
	for e, m := range transcript.Messages(c.Record.From(from), transcript.Sent) {
		if m.Method == spec.MethodCancelled && looksLike(m.ParamIDAt("/requestId"), id) {
			return e
		}
	}
	return nil
}

// looksLike reports whether two ids are equal, if the one is a number and the other its digits as a
// string, too.
func looksLike(a, b wire.ID) bool { return strings.Trim(a.Raw(), `"`) == strings.Trim(b.Raw(), `"`) }

// rerunUncancelled runs the race again without its cancellations. It reports whether every request
// of the rerun gets a response other than an overload error, while the request e of the first run
// still has none after twice the time of the rerun, although the server is alive.
func (r race) rerunUncancelled(ctx context.Context, c *client.Conversation, with *raceRun, e *raceRequest) bool {
	p := newRaceRun(ctx, c, with.raceRequests)
	p.cancels = false
	began := time.Now()
	r.steps(p)
	for _, e := range p.asked {
		limit := c.Options().Timeout
		if p.takes > 0 { // a server that serves the calls one after the other would take too long
			limit = max(time.Millisecond, p.takes+minWait-time.Since(began))
		}
		reply := c.AwaitResponse(ctx, p.from, e.id, client.Within(limit))
		// An overload error comes sooner than the result of a call, and would make the wait too
		// short.
		if !reply.Answered() || reply.Message.IsOverloadError() {
			return false
		}
	}
	limit := 2 * time.Since(began)
	if p.takes > 0 { // settle has already waited for as long as a request takes
		limit = minWait
	}
	return !with.awaitWithin(e.id, limit) && c.Alive()
}
