package fuzz

import (
	"context"
	"time"

	"golang.org/x/time/rate"

	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// mix combines two numbers into a seed that is never 0 and never negative as an
// int.
func mix(seed, n uint64) uint64 {
	return generate.Scatter(seed*0x9e3779b97f4a7c15+(n+1)*0xbf58476d1ce4e5b9)>>2 | 1
}

// draw returns the nth script.
func (s *search) draw(n uint64) drawn {
	seed, places := mix(s.Seed, n), uint64(len(s.places))
	c := drawn{place: s.places[n%places], seed: seed}
	if s.weighs(n / places) {
		c.script = c.place.Offer.Repetition(n / places).Example(int(seed)) //nolint:gosec // mix leaves the sign alone
		return c
	}
	if round := n / places; round%turns < turns-1 {
		return s.sweep(c, round/turns*(turns-1)+round%turns, n%places)
	}
	switch part := seed >> 8 % 100; {
	case part < 65:
		c.mood = generate.Lawful
	case part < 83:
		c.mood = generate.Odd
	default:
		c.mood = generate.Wild
	}
	g := generate.Scripts{
		Offer: c.place.Offer, Mood: c.mood, Operations: s.length(seed >> 16), Conversations: s.conversations(seed >> 24),
		Seeds: s.novelty.seeds(c.mood),
	}
	c.script = g.Script().Example(int(seed)) //nolint:gosec // mix leaves the sign alone
	return c
}

// sweep returns the next script of the systematic sweep through what one
// revision permits. Most scripts belong to a sweep, and are short. Random
// scripts are longer and find the unexpected, but leave systematic gaps.
func (s *search) sweep(c drawn, turn, place uint64) drawn {
	t := generate.Turn{Number: turn, Seed: mix(s.Seed, place^1<<32), More: 1}
	if s.overhead > 100*time.Millisecond {
		t.More = 4
	}
	c.mood = t.Mood()
	g := generate.Scripts{Offer: c.place.Offer, Mood: c.mood, Conversations: s.conversations(c.seed >> 24), Turn: &t}
	c.script = g.Script().Example(int(c.seed)) //nolint:gosec // mix leaves the sign alone
	if s.Operations > 0 && len(c.script.Operations) > s.Operations {
		c.script.Operations = c.script.Operations[:s.Operations]
	}
	return c
}

// length returns the number of operations of a script. It is higher if the
// server is slow to start.
func (s *search) length(at uint64) int {
	lengths := []int{4, 10, 25, 40, 60, 80, 120, 240}
	least := 0
	switch {
	case s.overhead > 100*time.Millisecond:
		least = 4
	case s.overhead > 5*time.Millisecond:
		least = 2
	}
	n := lengths[least+int(at%uint64(len(lengths)-least))] //nolint:gosec // small
	if s.Operations > 0 {
		n = min(n, s.Operations)
	}
	return n
}

// conversations returns the number of conversations of a script. On stdio it is
// usually one, because each conversation needs a process.
func (s *search) conversations(at uint64) int {
	part := at % 100
	if s.Dialer.Transport() == spec.Stdio {
		part /= 2
	}
	switch {
	case part < 48:
		return 1
	case part < 75:
		return 2
	case part < 90:
		return 3
	default:
		return 8
	}
}

// limiter returns a function that waits until one more request may be sent, or
// nil without a limit.
func limiter(perSecond float64) func(context.Context) {
	if perSecond <= 0 {
		return nil
	}
	one := rate.NewLimiter(rate.Limit(perSecond), 1)
	return func(ctx context.Context) {
		if one.Wait(ctx) != nil { // the deadline is earlier than the request's turn
			<-ctx.Done()
		}
	}
}
