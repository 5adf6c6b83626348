package cancellation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// frameMaker returns the bytes of the nth request of a race.
type frameMaker func(id wire.ID, n int) []byte

// raceRun is one go at a race.
type raceRun struct {
	ctx     context.Context
	c       *client.Conversation
	make    frameMaker
	random  *rand.Rand
	rounds  int
	runs    bool // the requests report progress when they run
	cancels bool // else it is played without the cancellations

	from   int
	frames [][]byte
	asked  []*raceRequest
	raced  bool // something was cancelled
}

// raceRequest is one request of a race.
type raceRequest struct {
	id        wire.ID
	cancelled bool
	ending    suite.Endings
}

// How often a race is run. Over HTTP each message is an exchange of its own.
const (
	rounds    = 5
	roundsWeb = 2
	crowdWeb  = 12
)

func newRaceRun(ctx context.Context, c *client.Conversation, ask frameMaker) *raceRun {
	p := &raceRun{ctx: ctx, c: c, make: ask, random: rand.New(rand.NewPCG(1, 1)), rounds: rounds, cancels: true, from: c.Record.Len()}
	if c.Web() != nil {
		p.rounds = roundsWeb
	}
	return p
}

// concurrency is how many requests at once the server is asked to bear, at most n.
func (p *raceRun) concurrency(n int) int {
	if p.c.Web() != nil {
		n = min(n, crowdWeb)
	}
	return p.c.BurstSize(n, p.make(p.c.NewID(), 0), p.make(p.c.NewID(), 1))
}

func (p *raceRun) request() wire.ID {
	id := p.c.NewID()
	p.requestWithID(id)
	return id
}

func (p *raceRun) requestWithID(id wire.ID) {
	p.frames = append(p.frames, p.make(id, len(p.asked)))
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

// send sends what was said since, in one write. That it can't be sent shows in
// what follows.
func (p *raceRun) send() {
	if len(p.frames) > 0 {
		_ = p.c.Send(p.ctx, p.frames...)
	}
	p.frames = nil
}

// await waits for the answer to the request, and reports whether it came.
func (p *raceRun) await(id wire.ID) bool {
	return awaitDue(p.ctx, p.c, p.from, id).Answered()
}

// awaitRunning waits until the requests are seen to be under way.
func (p *raceRun) awaitRunning() bool {
	return len(p.asked) > 0 && suite.IsRunning(p.ctx, p.c, p.from, p.asked[0].id)
}

// least is how long a request is waited for at least when one behind it was
// answered.
const least = 500 * time.Millisecond

// settle waits until what became of the requests is known, when one behind them
// was answered: whoever is not answered then has a little longer, and the
// others, when that timed out, no more than the grace.
func (p *raceRun) settle() {
	limit := max(least, 2*p.c.Grace())
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

// awaitWithin waits for the answer to a request no longer than said.
func (p *raceRun) awaitWithin(id wire.ID, limit time.Duration) bool {
	return p.c.AwaitResponse(p.ctx, p.from, id, client.Within(limit)).Answered()
}

// outcomeIn is what an event shows of the outcome of the request with the id.
func outcomeIn(e *transcript.Event, id wire.ID) suite.Endings {
	answers := suite.MatchResponse(id)
	switch {
	case !suite.HasMessage(e, answers):
		return suite.Silence
	case suite.HasMessage(e, func(m *wire.Message) bool { return answers(m) && m.IsError() }):
		return suite.Refusal
	default:
		return suite.Result
	}
}

// firstNotPermitted returns the first request that came to what the race does not
// permit.
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

// run plays the race and judges it, and returns the conversation to go on with.
func (r race) run(ctx context.Context, t *suite.T, c *client.Conversation, ask frameMaker, runs ...bool) *client.Conversation {
	if r.ordered && t.Transport != spec.Stdio {
		return c
	}
	p := newRaceRun(ctx, c, ask)
	p.runs = len(runs) > 0
	r.steps(p)
	if next := conversationAfter(ctx, t, c); next != c {
		return next // the server has ended, which the rules say
	}
	if r.Others == 0 {
		return c
	}
	p.settle()
	if !p.raced {
		t.NotObserved(r.requirement, "nothing was seen to be running that could be cancelled")
		return c
	}
	e := p.firstNotPermitted(r)
	if e == nil {
		t.Kept(r.requirement)
		return c
	}
	if ctx.Err() != nil || !c.Alive() {
		t.NotObserved(r.requirement, "the answers could not be waited for")
		return c
	}
	if !r.succeedsUncancelled(ctx, c, p, e) {
		t.NotObserved(r.requirement, "the requests are not all answered where nothing is cancelled either, or only late")
		return c
	}
	d := verdict.Deviation{
		Requirement: r.requirement,
		Summary:     r.unanswered,
		Permitted:   r.Others.String() + " for each request that was not cancelled",
		Seen:        fmt.Sprintf("no answer to the request with id %s, though all are answered where nothing is cancelled", wire.Excerpt(e.id.Raw(), 40)),
		At:          transcript.Positions(c.RequestSent(p.from, e.id)),
	}
	if r.ClientForbidden {
		d.Weight = verdict.OnlyNote
	}
	t.Deviates(c, d)
	return c
}

// succeedsUncancelled plays the race without its cancellations, and reports whether all that is
// answered there, while e is not, though it has had twice as long once more.
func (r race) succeedsUncancelled(ctx context.Context, c *client.Conversation, with *raceRun, e *raceRequest) bool {
	p := newRaceRun(ctx, c, with.make)
	p.cancels, p.runs = false, with.runs
	began := time.Now()
	r.steps(p)
	for _, e := range p.asked {
		if !p.awaitWithin(e.id, c.Options().Timeout) {
			return false
		}
	}
	return !with.awaitWithin(e.id, 2*time.Since(began)) && c.Alive()
}
