package fuzz

import (
	"cmp"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/discount"
)

// A judge applies laws to executions, and leaves out candidates that do not count.
type judge struct {
	// discounts decides which candidates do not count, and which count only if each retry shows
	// them. A search does not call discount.Run.Observe, because a discount.Claim holds all that a
	// discount needs here, and notices would be about requests that the search itself made unusual.
	discounts *discount.Run
}

func newJudge(o Options) judge { return judge{cmp.Or(o.Discounts, discount.NewRun())} }

// candidates applies the laws to an execution, and leaves out what a discount voids.
func (j judge) candidates(laws []Law, x *Execution) []Candidate {
	return slices.DeleteFunc(Judge(laws, x), func(c Candidate) bool {
		effect, _ := j.discount(x, &c)
		return effect == discount.Void
	})
}

// mustRecurEachTime reports whether the candidate counts only if each retry shows it.
func (j judge) mustRecurEachTime(x *Execution, c *Candidate) bool {
	effect, _ := j.discount(x, c)
	return effect == discount.EachTime
}

// discount returns the effect that a discount has on a candidate, and the reason.
func (j judge) discount(x *Execution, c *Candidate) (discount.Effect, string) {
	claim := &discount.Claim{Requirement: c.Requirement, Outcome: c.Outcome, At: c.At, ByCase: c.Law != rulesLaw, Search: true, Concurrent: len(x.Conversations) > 1}
	for i, conv := range x.Conversations {
		claim.Conversations = append(claim.Conversations, conv.Events)
		if i == c.Conversation {
			claim.Events = conv.Events
		}
	}
	return j.discounts.Discount(claim)
}
