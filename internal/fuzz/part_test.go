package fuzz

import (
	"testing"

	"pgregory.net/rapid"
)

// TestParts checks that the parts of a search draw each of its sequences once.
func TestParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.Uint64Range(1, 12).Draw(t, "count")
		places := rapid.Uint64Range(1, 9).Draw(t, "places")
		groups := rapid.Uint64Range(1, 5).Draw(t, "groups")
		each := groups * turns * places
		seen := map[uint64]bool{}
		for index := range count {
			part := Part{index, count}
			for n := range each {
				number := part.number(n, places)
				if number >= count*each || seen[number] {
					t.Fatalf("sequence %d of %+v is %d, of %d", n, part, number, count*each)
				}
				if number%places != n%places || number/places%turns != n/places%turns {
					t.Fatalf("sequence %d of %+v is %d, of another place or kind", n, part, number)
				}
				seen[number] = true
			}
		}
	})
}
