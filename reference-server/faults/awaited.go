package faults

// awaitedFaults are those whose requirement nobody judges so far: they show
// what a judge has to find, and wait for it in the self-test.
func awaitedFaults() []Fault {
	return []Fault{
		breaks("pagination.walk.complete/gap", "between two pages of a list an item is left out", pages(func(all []any) [][]any {
			return [][]any{all[:1], all[min(2, len(all)):]}
		}, plainCursor)),
	}
}
