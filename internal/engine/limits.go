package engine

import (
	"context"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/discount"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// A run ends at its time limit whatever the server does. Judging a lot of
// traffic takes long, so it continues only for a moment after the limit. Keeping
// it takes much memory, so records that no evidence refers to are dropped.

// afterLimit is how long judging continues after the run's limit.
const afterLimit = 2 * time.Second

// limitTime makes ctx the limit of the run; the context for judging ends
// afterLimit later.
func (r *session) limitTime(ctx context.Context) (stop func()) {
	judging, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	r.time, r.judging = ctx, judging
	unhook := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(afterLimit)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel(context.Cause(ctx))
		case <-judging.Done():
		}
	})
	return func() { unhook(); cancel(nil) }
}

// ruleResults returns the results of the rules for the conversation, or nil if
// there was no time.
func (r *session) ruleResults(conv *client.Conversation) []rules.Result {
	if conv.Record.IsHeavy() {
		r.largeJudging.Lock()
		defer r.largeJudging.Unlock()
	}
	results, err := rules.JudgeUntil(r.judging, r.o.Rules, conv.Record.From(0), conv.Revision(), r.transport())
	if err != nil {
		r.counts.unjudged.Add(1)
	}
	return results
}

// dropRecords releases all records of the run of a unit that no evidence refers to.
func (r *unitResult) dropRecords() {
	for _, conv := range r.conversations {
		conv.Record.Release()
	}
}

// release releases the records of a judged unit that no deviation refers to.
// The other records are thinned: if the server flooded them, or if memory is
// short, events far from all deviations are dropped.
func (r *unitResult) release(s *session) {
	quoted := map[*transcript.Transcript][]int{}
	for _, c := range r.sightings(s.transport()) {
		if c.record != nil {
			quoted[c.record] = append(quoted[c.record], c.At...)
		}
	}
	for _, conv := range r.conversations {
		switch at, needed := quoted[conv.Record]; {
		case !needed:
			conv.Record.Release()
		case discount.IsFlooded(conv.Record.From(0)), s.budget.IsHalfUsed():
			conv.Record.Thin(at...)
		}
	}
}
