package fuzz

// A Shard is one of several parts of a search, each of which runs in another process. The shards
// generate different inputs; together, these are the inputs of the whole search. The zero value is
// the whole search.
type Shard struct {
	Index uint64 // from 0
	Count uint64
}

// A round has one input for each revision. A cycle consists of three rounds of enumerated inputs
// and one of random inputs.
const roundsPerCycle = 4

// globalIndex returns the index, in the whole search, of the shard's nth input. A shard consists of
// whole cycles, so that each shard has all revisions and all kinds of inputs.
func (s Shard) globalIndex(n, revisions uint64) uint64 {
	if s.Count < 2 {
		return n
	}
	round, revision := n/revisions, n%revisions
	round = (round/roundsPerCycle*s.Count+s.Index)*roundsPerCycle + round%roundsPerCycle
	return round*revisions + revision
}
