package fuzz

// A Part is one of several parts of a search, which several processes make. The parts draw
// different sequences, and together those of the whole search, which the zero value stands for.
type Part struct {
	Index uint64 // from 0
	Count uint64
}

// turns is how many rounds through the places belong together: three of a sweep and a random one.
const turns = 4

// number returns the number of the part's nth sequence in the whole search. A part has whole
// groups of rounds, so that each has all places and all kinds of sequences.
func (p Part) number(n, places uint64) uint64 {
	if p.Count < 2 {
		return n
	}
	round, place := n/places, n%places
	round = (round/turns*p.Count+p.Index)*turns + round%turns
	return round*places + place
}
