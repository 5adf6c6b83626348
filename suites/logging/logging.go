// Package logging makes servers log, and sets the level from which on they
// may. The results are judged by rules.
package logging

import (
	"context"
	"slices"
	"strconv"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const sendsAll = "logging.set-level.sends-everything-above"

// Cases returns the cases of this area.
func Cases() []suite.Case {
	return []suite.Case{
		{
			ID:           "logging.levels",
			Title:        "Sets each log level, and calls a logging tool before and after each",
			Requirements: []string{sendsAll},
			Provokes:     []string{"logging.capability.declared", "logging.message.schema", "logging.set-level."},
			Needs:        []string{"logging"},
			Revisions:    spec.HandshakeRevisions(),
			Waits:        true,
			Run:          setLevels,
		},
		{
			ID:           "logging.levels-and-others",
			Title:        "Sets valid and invalid log levels in turn, and calls a logging tool after each",
			Requirements: []string{sendsAll},
			Provokes:     []string{"logging.capability.declared", "logging.message.schema", "logging.set-level."},
			Needs:        []string{"logging"},
			Revisions:    spec.HandshakeRevisions(),
			Waits:        true,
			Run:          setInvalidLevels,
		},
		{
			ID:                 "logging.undeclared",
			Title:              "Sets a log level where logging is not declared",
			Provokes:           []string{"logging.set-level.unsupported"},
			Revisions:          spec.HandshakeRevisions(),
			SharesConversation: true,
			Run:                setLevelUndeclared,
		},
		{
			ID:           "logging.secrets",
			Title:        "Calls a logging tool with a made-up bearer token",
			Requirements: []string{noSecrets},
			Needs:        []string{"logging"},
			Revisions:    spec.HandshakeRevisions(),
			Run:          suite.OnlyOver(spec.StreamableHTTP, findSecrets),
		},
	}
}

// known are the levels, the most severe first.
var known = []string{"emergency", "alert", "critical", "error", "warning", "notice", "info", "debug"}

// unknown are values that are no level.
var unknown = []any{"verbose", 3, nil, "INFO"}

// setLevels has a conversation of its own: what is set can't be asked for, and so
// not be set back.
func setLevels(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	judgeLogging(ctx, t, c, "")
	for _, level := range known {
		r := setLevel(ctx, c, level)
		switch {
		case !r.Answered():
			t.GiveUp("a level could not be set: " + suite.Describe(r))
		case !r.Succeeded(): // whatever comes now says nothing
		default:
			judgeLogging(ctx, t, c, level)
		}
	}
}

// setInvalidLevels sets what is no level between two that are, and behind the last: what
// was refused leaves the level as it was. That shows by milder messages only
// where the level lets few through.
func setInvalidLevels(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	if !setLevel(ctx, c, "debug").Answered() {
		t.GiveUp("a level could not be set")
	}
	for _, level := range unknown {
		if !setLevel(ctx, c, level).Answered() {
			return // a rule judges it
		}
	}
	judgeLogging(ctx, t, c, "")
	if !setLevel(ctx, c, "warning").Succeeded() { // from everything to less
		return
	}
	judgeLogging(ctx, t, c, "warning")
	if r := setLevel(ctx, c, unknown[0]); r.Answered() && !r.Succeeded() {
		judgeLogging(ctx, t, c, "warning")
	}
}

func setLevel(ctx context.Context, c *client.Conversation, level any) *client.Reply {
	return c.Do(ctx, spec.MethodSetLevel, map[string]any{"level": level})
}

// judgeLogging has the server log, if a tool is known that does. Of the levels that it
// is known to log at, those must come that the level lets through.
// The fence before it sees to it that what was in flight when the level was set
// has come.
func judgeLogging(ctx context.Context, t *suite.T, c *client.Conversation, level string) {
	t.Fence(ctx, c)
	if !t.KnowsTool(inventory.Logging) {
		return
	}
	tool, _ := t.Inventory.Logging()
	r := c.Do(ctx, spec.MethodToolsCall, tool.Params(), client.Within(0))
	if level == "" || !r.Succeeded() || string(wire.At(r.Message.Result(), "/isError")) == "true" {
		return
	}
	want := slices.DeleteFunc(slices.Clone(known[:slices.Index(known, level)+1]), func(l string) bool { return !slices.Contains(tool.Levels, l) })
	if len(want) == 0 {
		return
	}
	if firstMissingLevel(c, r.Sent.Seq, want) != "" {
		t.Quiet(ctx, c) // they may come behind the answer
	}
	if want = provenLevels(c, tool, want); len(want) == 0 {
		t.NotObserved(sendsAll, whyInconclusive(tool))
		return
	}
	if lacks := firstMissingLevel(c, r.Sent.Seq, want); lacks != "" {
		t.Deviates(c, verdict.Deviation{
			Requirement: sendsAll,
			Summary:     "The server withholds a log message of an enabled level.",
			Permitted:   "all messages of the set level and above",
			Seen:        "at level " + level + " no message of level " + lacks + ", of which the tool sends one",
			At:          []int{r.Sent.Seq, r.Event.Seq},
		})
		return
	}
	t.Kept(sendsAll)
}

// provenLevels returns those of the levels of which the tool is certain to send a
// message. A tool that is known by its name alone has to show that it logs, at
// that very level; whoever configured one knows its levels, if it logs at all.
func provenLevels(c *client.Conversation, tool inventory.Known, want []string) []string {
	shown := func(levels ...string) bool { return firstMissingLevel(c, 0, levels) == "" }
	if tool.Own {
		if slices.ContainsFunc(known, func(level string) bool { return shown(level) }) {
			return want
		}
		return nil
	}
	return slices.DeleteFunc(want, func(level string) bool { return !shown(level) })
}

// whyInconclusive says why the silence of a tool shows nothing.
func whyInconclusive(tool inventory.Known) string {
	name := strconv.Quote(wire.Excerpt(tool.Tool, 60))
	if tool.Own {
		return "the tool " + name + ", which is configured to log, was not seen to log anything"
	}
	return "the tool " + name + ", which is known by its name alone, was not seen to log at the levels at which such tools do"
}

// firstMissingLevel returns the first of the levels of which no message came since from,
// or "".
func firstMissingLevel(c *client.Conversation, from int, want []string) string {
	got := map[string]bool{}
	for _, m := range transcript.Messages(c.Record.From(from)) {
		if m.Method == spec.MethodMessage {
			level, _ := wire.Text(wire.At(m.Params(), "/level"))
			got[level] = true
		}
	}
	for _, level := range want {
		if !got[level] {
			return level
		}
	}
	return ""
}

func setLevelUndeclared(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	if c.Server().Declares("logging") {
		t.Skip("the server declares logging")
	}
	setLevel(ctx, c, "debug") // whatever it logs, it goes on with
}
