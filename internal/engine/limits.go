package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/discount"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// A run ends at its limit whatever the server does: what it sent may take long
// to judge, and much memory to keep. So judging goes on for a moment after the
// end of the run's time, and no longer; and no record is kept that nothing
// refers to.

// afterLimit is how long what was seen may be judged after the end of the
// run's time.
const afterLimit = 2 * time.Second

// limitTime takes ctx for the run's time; that of judging ends afterLimit after
// it.
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

// judgedBy returns what the rules say of the conversation, nothing where there
// was no time for it.
func (r *session) judgedBy(conv *client.Conversation) []rules.Result {
	if conv.Record.Heavy() {
		r.largeJudging.Lock()
		defer r.largeJudging.Unlock()
	}
	results, err := rules.JudgeUntil(r.judging, r.o.Rules, conv.Record.From(0), conv.Revision(), r.transport())
	if err != nil {
		r.unjudged.Add(1)
	}
	return results
}

// unjudgedNotice says that there was no time to judge conversations, "" where
// there was.
func (r *session) unjudgedNotice() string {
	switch n := r.unjudged.Load(); n {
	case 0:
		return ""
	case 1:
		return "one conversation was not judged: the time of the run was over"
	default:
		return fmt.Sprintf("%d conversations were not judged: the time of the run was over", n)
	}
}

// dropRecords lets go of all records of a unit, of which nothing is quoted.
func (u *unit) dropRecords() {
	for _, conv := range u.conversations {
		conv.Record.Release()
	}
}

// release lets go of the records of a unit that was judged, as far as no
// deviation refers to them. The others lose what is far from all deviations
// where the server flooded them, or where all records hold much.
func (u *unit) release(r *execution) {
	u.exchangedByCase = map[string]string{}
	for _, c := range u.cases {
		u.exchangedByCase[c.ID] = u.exchangesOf(c)
	}
	quoted := map[*transcript.Transcript][]int{}
	for _, c := range u.sightings(r.transport()) {
		if c.record != nil {
			quoted[c.record] = append(quoted[c.record], c.At...)
		}
	}
	for _, conv := range u.conversations {
		switch at, needed := quoted[conv.Record]; {
		case !needed:
			conv.Record.Release()
		case discount.IsFlooded(conv.Record.From(0)), r.budget.Pressed():
			conv.Record.Thin(at...)
		}
	}
}
