package engine

import (
	"cmp"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// contextOf returns the positions of the events to show in addition to the given ones: the first
// events of the conversation, those before each given event, and a few after the last given event.
// They are chosen and returned in exchange order, because the order in which concurrent responses
// arrive depends on timing.
func contextOf(events []*transcript.Event, at []int) []int {
	order := exchangeOrder(events)
	place := make([]int, len(events)) // for each position, its index in the slice order
	for n, i := range order {
		place[i] = n
	}
	given := make([]int, len(at))
	for n, i := range at {
		given[n] = place[i]
	}
	slices.Sort(given)
	var open []int // indexes, in the slice order, of events that may be shown
	for n, i := range order {
		if isInformative(events[i]) && !slices.Contains(at, i) {
			open = append(open, n)
		}
	}
	chosen := slices.Clone(open[:min(beginning, len(open))])
	take := func(n int) {
		if len(chosen) < maxContext && !slices.Contains(chosen, n) {
			chosen = append(chosen, n)
		}
	}
	last, _ := slices.BinarySearch(open, given[len(given)-1])
	for _, n := range open[last:min(last+following, len(open))] {
		take(n)
	}
	for back := 1; back <= len(open) && len(chosen) < maxContext; back++ { // first the nearest event before each given one, then the second nearest, and so on
		for _, n := range slices.Backward(given) {
			if near, _ := slices.BinarySearch(open, n); near >= back {
				take(open[near-back])
			}
		}
	}
	slices.Sort(chosen)
	out := make([]int, len(chosen))
	for i, n := range chosen {
		out[i] = order[n]
	}
	return out
}

// exchangeOrder returns the positions of the events, ordered by the beginning of their HTTP
// exchange. An event outside an exchange is ordered by its own position.
func exchangeOrder(events []*transcript.Event) []int {
	began := map[int]int{} // by the number of the exchange
	order, from := make([]int, len(events)), make([]int, len(events))
	for i, e := range events {
		order[i], from[i] = i, i
		if e.Exchange == 0 {
			continue
		}
		if _, known := began[e.Exchange]; !known {
			began[e.Exchange] = i
		}
		from[i] = began[e.Exchange]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(from[a], from[b]) })
	return order
}

// isInformative reports whether an event is worth showing as context.
func isInformative(e *transcript.Event) bool {
	switch e.Kind {
	case transcript.Remark, transcript.CaseBegan, transcript.Stderr, transcript.Streamed, transcript.Opened:
		return false
	case transcript.Over:
		return e.How != transcript.Complete
	}
	return true
}
