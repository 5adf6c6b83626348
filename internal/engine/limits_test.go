package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// A run ends soon after its time, with a report, though a case does not end
// with its context and a rule takes long over each event.
func TestTheLimitHolds(t *testing.T) {
	t.Parallel()
	limit := errors.New("the time is over")
	ctx, end := context.WithCancelCause(t.Context())
	released := make(chan struct{})
	defer close(released)
	stuck := pinging(true) // in a conversation
	stuck.Run = func(context.Context, *suite.T) {
		end(limit)
		<-released
	}
	slow := rules.Rule{ID: "rule.slow", Requirements: stuck.Requirements, Start: rules.Stateless(rules.Fold{
		See: func(*rules.Session, *transcript.Event, *rules.Out) {
			select {
			case <-released:
			case <-time.After(time.Second):
			}
		},
	})}
	y := &toy{}
	began := time.Now()
	report, err := engine.Run(ctx, engine.Options{Dialer: y.dialer(), Cases: []suite.Case{stuck}, Rules: []rules.Rule{slow}})
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("the run took %v", took)
	}
	if !strings.Contains(report.Incomplete, limit.Error()) {
		t.Errorf("incomplete: %q", report.Incomplete)
	}
	if !strings.Contains(strings.Join(report.Notices, "\n"), "not judged: the time of the run was over") {
		t.Errorf("notices: %q", report.Notices)
	}
}
