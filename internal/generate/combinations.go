package generate

import "pgregory.net/rapid"

// An enumeration is a sequence of scripts with the combinations that random choice might not
// produce for a long time: each value in each position, each order of methods, each number of
// concurrent requests. There are several kinds of combinations, and the combinations in one script
// are all of one kind.

// combinationKind is one kind of combinations.
type combinationKind struct {
	// share is the number of scripts of this kind in each round of an enumeration.
	share int
	// each is the number of combinations in a script.
	each     int
	validity Validity
	// The function count returns the number of combinations of this kind. The function do adds the
	// combination with the given number to the conversation with the given index.
	count func(o *Offer) int
	do    func(m *maker, conversation, number int)
}

// combinationKinds are all kinds of combinations.
var combinationKinds = []combinationKind{
	{share: 4, each: 24, count: (*Offer).valueCombinations, do: (*maker).valueCombination},
	{share: 1, each: 24, count: (*Offer).mixtureCombinations, do: (*maker).mixtureCombination},
	{share: 1, each: 12, count: (*Offer).sizeCombinations, do: (*maker).sizeCombination},
	{share: 5, each: 1, count: (*Offer).tripleCombinations, do: (*maker).tripleCombination},
	{share: 1, each: 1, count: (*Offer).pairCombinations, do: (*maker).pairCombination},
	{share: 1, each: 1, validity: InvalidParams, count: (*Offer).wrongPairCombinations, do: (*maker).wrongPairCombination},
	{share: 1, each: 4, count: (*Offer).concurrentCombinations, do: (*maker).concurrentCombination},
	{share: 2, each: 1, count: (*Offer).repeatCombinations, do: (*maker).repeatCombination},
	{share: 2, each: 6, count: (*Offer).changeCombinations, do: (*maker).changeCombination},
	{share: 1, each: 6, validity: InvalidParams, count: (*Offer).invalidAfterChangeCombinations, do: (*maker).invalidAfterChangeCombination},
}

// An Enumeration says which script of which enumeration to generate.
type Enumeration struct {
	// Index is the number of the script in the enumeration, from 0.
	Index uint64
	// Seed is the seed of the enumeration, not of the script. It determines the order
	// of the combinations.
	Seed uint64
	// Scale multiplies the number of combinations in the script; 0 means 1. If a
	// server starts slowly, long scripts are more efficient.
	Scale int
}

// kind returns the kind of combinations in the script, and the number of the script's first
// combination.
func (e *Enumeration) kind() (d *combinationKind, first uint64) {
	shares := 0
	for i := range combinationKinds {
		shares += combinationKinds[i].share
	}
	round, slot := e.Index/uint64(shares), int(e.Index%uint64(shares)) //nolint:gosec // small
	for i := range combinationKinds {
		// The kinds take turns: in each round, a kind gets as many scripts as its share.
		if d = &combinationKinds[i]; slot < d.share {
			break
		}
		slot -= d.share
	}
	return d, (round*uint64(d.share) + uint64(slot)) * uint64(d.each*max(1, e.Scale)) //nolint:gosec // small
}

// Validity returns the validity of the script that e selects.
func (e *Enumeration) Validity() Validity {
	d, _ := e.kind()
	return d.validity
}

// enumerate adds the combinations of the script that enumeration selects.
func (m *maker) enumerate(enumeration *Enumeration) {
	d, first := enumeration.kind()
	count := d.count(m.offer)
	if count == 0 { // the server offers nothing for this kind
		for range orderSteps {
			m.addNext()
		}
		return
	}
	m.enumeration = enumeration
	for i := range uint64(d.each * max(1, enumeration.Scale)) { //nolint:gosec // small
		d.do(m, m.drawConversation(), permute(first+i, count, enumeration.Seed))
	}
	m.addFence(m.drawConversation())
}

// drawConversation draws the index of one of the conversations.
func (m *maker) drawConversation() int {
	if len(m.conversations) == 1 {
		return 0
	}
	return rapid.IntRange(0, len(m.conversations)-1).Draw(m.t, "conversation")
}

// permute returns the n-th number of a sequence of numbers below count. The sequence consists of
// passes, in each of which every number occurs once, in an order that depends on the seed and the
// pass.
func permute(n uint64, count int, seed uint64) int {
	c := uint64(count) //nolint:gosec // positive
	pass := n / c
	step, offset := hashOf(seed, 2*pass)%c, hashOf(seed, 2*pass+1)%c
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

// hashOf hashes two numbers.
func hashOf(seed, n uint64) uint64 { return HashNumber(seed + (n+1)*0x9e3779b97f4a7c15) }

// HashNumber hashes a number. Different numbers have different results (these are
// the last steps of splitmix64).
func HashNumber(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
