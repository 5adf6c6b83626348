package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// TestNoAdviceForUnfinishedCases checks that a verdict says that its case did not
// run to its end, and then advises no line of mcp-conform.yaml.
func TestNoAdviceForUnfinishedCases(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		ends          bool
		elsewhere     bool // the unfinished case is about another transport, so it could not have shown it
		reason, lacks string
	}{
		"to its end":                      {false, false, "no tool that may be called is known to be slow", "fixtures: {slow: "},
		"cut short":                       {true, false, "the run ended before the case toy.then finished", ""},
		"cut short, for a case elsewhere": {true, true, "no tool that may be called is known to be slow", "fixtures: {slow: "},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, end := context.WithCancelCause(t.Context())
			lacking, last := pinging(true), pinging(true)
			lacking.Run = func(_ context.Context, t *suite.T) { t.RequireTool(inventory.Slow) }
			last.ID, last.Requirements, last.Provokes = "toy.then", []string{"base.request-answered"}, lacking.Requirements
			last.Run = func(context.Context, *suite.T) {
				if test.ends {
					end(errors.New("the time is over"))
				}
			}
			elsewhere := last
			elsewhere.ID, elsewhere.OnlyOver = "toy.elsewhere", spec.StreamableHTTP
			if test.elsewhere {
				last.Provokes = nil
			}
			p, err := engine.Run(ctx, engine.Options{Dialer: (&toy{}).dialer(), Revisions: []spec.Revision{spec.V20251125}, Cases: []suite.Case{lacking, last, elsewhere}})
			if err != nil {
				t.Fatal(err)
			}
			v := p.Verdicts[slices.IndexFunc(p.Verdicts, func(v verdict.Verdict) bool { return v.Requirement == lacking.Requirements[0] })]
			if !strings.HasPrefix(v.Reason, test.reason) || !strings.HasPrefix(v.Lacks.String(), test.lacks) || v.Lacks.IsZero() != (test.lacks == "") {
				t.Errorf("reason %q, lacks %q", v.Reason, v.Lacks)
			}
		})
	}
}

// TestTimeLimit checks that a run ends with a report soon after its limit,
// although a case does not end with its context and a rule is slow.
func TestTimeLimit(t *testing.T) {
	t.Parallel()
	limit := errors.New("the time is over")
	ctx, end := context.WithCancelCause(t.Context())
	released := make(chan struct{})
	defer close(released)
	stuck := pinging(true)
	stuck.Run = func(context.Context, *suite.T) {
		end(limit)
		<-released
	}
	slow := rules.Rule{ID: "rule.slow", Requirements: stuck.Requirements, Start: rules.WithoutState(rules.Fold{
		OnEvent: func(*rules.Session, *transcript.Event, *rules.Reporter) {
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
	if !strings.Contains(strings.Join(report.Notices, "\n"), "not judged: the run reached its time limit") {
		t.Errorf("notices: %q", report.Notices)
	}
}
