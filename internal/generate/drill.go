package generate

import "pgregory.net/rapid"

// A sweep goes through what can be combined one after the other, where chance
// would leave out some for long: each value at each place, each order of
// methods, each number of requests at once. What a sweep goes through are
// drills, of which there are several sorts.

// drill is one sort.
type drill struct {
	// share is how many of the scripts of a sweep hold it.
	share int
	// each is how many of them a script holds.
	each int
	mood Mood
	// count is how many there are; do adds the one with a number.
	count func(o *Offer) int
	do    func(m *maker, on, number int)
}

// drills are all sorts.
var drills = []drill{
	{share: 4, each: 24, count: (*Offer).valueDrills, do: (*maker).valueDrill},
	{share: 1, each: 24, count: (*Offer).soupDrills, do: (*maker).soupDrill},
	{share: 1, each: 12, count: (*Offer).sizeDrills, do: (*maker).sizeDrill},
	{share: 5, each: 1, count: (*Offer).triples, do: (*maker).tripleDrill},
	{share: 1, each: 1, count: (*Offer).pairs, do: (*maker).pairDrill},
	{share: 1, each: 1, mood: Odd, count: (*Offer).wrongPairs, do: (*maker).wrongPairDrill},
	{share: 1, each: 4, count: (*Offer).crowdDrills, do: (*maker).crowdDrill},
	{share: 2, each: 1, count: (*Offer).repeatDrills, do: (*maker).repeatDrill},
	{share: 2, each: 6, count: (*Offer).switchDrills, do: (*maker).switchDrill},
	{share: 1, each: 6, mood: Odd, count: (*Offer).lapseDrills, do: (*maker).lapseDrill},
}

// Turn is one script's part of a sweep.
type Turn struct {
	// Number counts the turns of a sweep, from 0.
	Number uint64
	// Seed is that of the sweep, not of the script: it says in which order
	// things come.
	Seed uint64
	// More is how many times as much the script holds as usual; 0 is 1. Who
	// takes long to start is better asked much at once.
	More int
}

// of returns the kind of drill of the turn, and the number of its first.
func (t *Turn) of() (d *drill, first uint64) {
	shares := 0
	for i := range drills {
		shares += drills[i].share
	}
	round, slot := t.Number/uint64(shares), int(t.Number%uint64(shares)) //nolint:gosec // small
	for i := range drills {
		// Sorts take turns: a slot that is used up is passed on.
		if d = &drills[i]; slot < d.share {
			break
		}
		slot -= d.share
	}
	return d, (round*uint64(d.share) + uint64(slot)) * uint64(d.each*max(1, t.More)) //nolint:gosec // small
}

// Mood says which one the script of the turn needs.
func (t *Turn) Mood() Mood {
	d, _ := t.of()
	return d.mood
}

// sweep adds the drills of a turn.
func (m *maker) sweep(turn *Turn) {
	d, first := turn.of()
	count := d.count(m.offer)
	if count == 0 { // the server has nothing of that sort
		for range run {
			m.next()
		}
		return
	}
	m.turn = turn
	for i := range uint64(d.each * max(1, turn.More)) { //nolint:gosec // small
		d.do(m, m.on(), permuted(first+i, count, turn.Seed))
	}
	m.fence(m.on())
}

// on draws one of the conversations.
func (m *maker) on() int {
	if len(m.held) == 1 {
		return 0
	}
	return rapid.IntRange(0, len(m.held)-1).Draw(m.t, "conversation")
}

// permuted returns a number below count, each once before any comes again, in
// an order that hangs on the seed and differs from pass to pass.
func permuted(n uint64, count int, seed uint64) int {
	c := uint64(count) //nolint:gosec // positive
	pass := n / c
	step, offset := scrambled(seed, 2*pass)%c, scrambled(seed, 2*pass+1)%c
	for gcd(step, c) != 1 {
		step = (step + 1) % c
	}
	return int((n%c*step + offset) % c) //nolint:gosec // less than count
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// scrambled mixes two numbers.
func scrambled(seed, n uint64) uint64 { return Scatter(seed + (n+1)*0x9e3779b97f4a7c15) }

// Scatter returns a number that looks like no other for each that it is given
// (the last steps of splitmix64).
func Scatter(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
