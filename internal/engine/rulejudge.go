package engine

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// A ruleJudge applies the rules of a run to its conversations.
type ruleJudge struct {
	rules []rules.Rule
	over  spec.Transport
	limit *timeLimit

	large    sync.Mutex   // held while a conversation that takes much memory is judged
	unjudged atomic.Int64 // how many conversations there was no time to judge
}

// ruleResults returns the results of the rules for the conversation, or nil if there was no time to
// judge it.
func (j *ruleJudge) ruleResults(conv *client.Conversation) []rules.Result {
	if conv.Record.IsHeavy() {
		j.large.Lock()
		defer j.large.Unlock()
	}
	results, err := rules.JudgeUntil(j.limit.judging, j.rules, conv.Record.From(0), conv.Revision(), j.over)
	if err != nil {
		j.unjudged.Add(1)
	}
	return results
}

// unjudgedNotice returns a notice about conversations that there was no time to
// judge, or "".
func (j *ruleJudge) unjudgedNotice() string {
	switch n := j.unjudged.Load(); n {
	case 0:
		return ""
	case 1:
		return "one conversation was not judged: the run reached its time limit"
	default:
		return fmt.Sprintf("%d conversations were not judged: the run reached its time limit", n)
	}
}
