// Package logging makes servers log, and sets the level from which on they
// may. What comes of it is judged by rules.
package logging

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

// Cases returns the cases of this area.
func Cases() []suite.Case {
	return []suite.Case{
		{
			ID:        "logging.levels",
			Title:     "Sets each level, and calls a tool that logs before that, at three levels, and after levels that do not exist",
			Provokes:  []string{"logging.capability.declared", "logging.message.schema", "logging.set-level."},
			Needs:     []string{"logging"},
			Revisions: spec.HandshakeRevisions(),
			Run:       levels,
		},
		{
			ID:        "logging.undeclared",
			Title:     "Sets a level where logging was not declared",
			Provokes:  []string{"logging.set-level.unsupported"},
			Revisions: spec.HandshakeRevisions(),
			Asks:      true,
			Run:       undeclared,
		},
	}
}

// known are the levels, the most severe first.
var known = []string{"emergency", "alert", "critical", "error", "warning", "notice", "info", "debug"}

// unknown are values that are no level.
var unknown = []any{"verbose", 3, nil, "INFO"}

// levels has a conversation of its own: what is set can't be asked for, and so
// not be set back.
func levels(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	logs(ctx, t, c)
	for _, level := range known {
		r := set(ctx, c, level)
		switch {
		case !r.Answered():
			t.GiveUp("a level could not be set: " + suite.Describe(r))
		case level == "emergency", level == "error", level == "debug":
			logs(ctx, t, c)
		}
	}
	for _, level := range unknown {
		if !set(ctx, c, level).Answered() {
			return // a rule has something to say of it
		}
	}
	logs(ctx, t, c)
}

func set(ctx context.Context, c *client.Conversation, level any) *client.Reply {
	return c.Ask(ctx, spec.MethodSetLevel, map[string]any{"level": level})
}

// logs has the server log, if a tool is known that does. The fence before it
// sees to it that what was in flight when the level was set has come.
func logs(ctx context.Context, t *suite.T, c *client.Conversation) {
	t.Fence(ctx, c)
	if tool, ok := t.Inventory.Logging(); ok {
		c.Try(ctx, spec.MethodToolsCall, tool.Params())
	}
}

func undeclared(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	if c.Server().Declares("logging") {
		t.Skip("the server declares logging")
	}
	set(ctx, c, "debug") // whatever it logs, it goes on with
}
