package rules_test

import (
	"context"
	"errors"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// Judging stops with its context, even in the middle of a message, and then returns no results.
func TestJudgeUntil(t *testing.T) {
	t.Parallel()
	rec := transcript.New()
	for range 10 {
		rec.Add(transcript.Event{Kind: transcript.Received, Raw: []byte(`{"jsonrpc":"2.0","method":"notifications/message"}`)})
	}
	over := errors.New("the time is over")
	ctx, end := context.WithCancelCause(t.Context())
	heard := 0
	rule := func(id string) rules.Rule {
		return rules.Rule{ID: id, Start: rules.WithoutState(rules.Fold{OnMessage: rules.Handlers{
			rules.Notification(spec.MethodMessage): func(*rules.Session, *rules.Observation, *rules.Reporter) {
				if heard++; heard == 3 {
					end(over)
				}
			},
		}})}
	}
	results, err := rules.JudgeUntil(ctx, []rules.Rule{rule("a"), rule("b")}, rec.From(0), spec.V20251125, spec.Stdio)
	if !errors.Is(err, over) || results != nil || heard != 3 {
		t.Errorf("the rules heard %d messages; results %v, error %v", heard, results, err)
	}
}
