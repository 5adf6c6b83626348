// Package logging makes servers log, and sets the minimum level: for the session, or in the
// stateless era for each request. Rules judge the results.
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

const (
	sendsAll  = "logging.set-level.sends-everything-above"
	threshold = "logging.set-level.threshold"
)

// Cases returns the cases of this area.
func Cases() []suite.Case {
	return []suite.Case{
		{
			ID:            "logging.levels",
			Title:         "Sets each log level, and calls a logging tool before and after each",
			Requirements:  []string{sendsAll, threshold},
			Provokes:      []string{"logging.capability.declared", "logging.message.schema", "logging.set-level."},
			Needs:         []string{"logging"},
			Revisions:     spec.HandshakeRevisions(),
			Waits:         true,
			SpoilsSession: true,
			Run:           setLevels,
		},
		{
			ID:            "logging.levels-and-others",
			Title:         "Sets valid and invalid log levels in turn, and calls a logging tool after each",
			Requirements:  []string{sendsAll, threshold},
			Provokes:      []string{"logging.capability.declared", "logging.message.schema", "logging.set-level."},
			Needs:         []string{"logging"},
			Revisions:     spec.HandshakeRevisions(),
			Waits:         true,
			SpoilsSession: true,
			Run:           setInvalidLevels,
		},
		{
			ID:                 "logging.undeclared",
			Title:              "Sets a log level where logging is not declared",
			Provokes:           []string{"logging.set-level.unsupported"},
			SharesConversation: true,
			Run:                setLevelUndeclared,
		},
		{
			ID:           "logging.secrets",
			Title:        "Calls a logging tool with a made-up bearer token",
			Requirements: []string{noSecrets},
			Needs:        []string{"logging"},
			OnlyOver:     spec.StreamableHTTP,
			Run:          findSecrets,
		},
		{
			ID:        "logging.requests",
			Title:     "Calls a logging tool with and without log levels",
			Provokes:  []string{"logging.capability.declared", "logging.message.schema", "logging.per-request.", "subscriptions.id-absent-elsewhere"},
			Needs:     []string{"tools"},
			Revisions: spec.StatelessRevisions(),
			Waits:     true,
			Run:       requestLogs,
		},
		{
			ID:       "logging.streams",
			Title:    "Calls a logging tool while a subscription and another call are in progress",
			Provokes: []string{"logging.per-request.own-stream-only", "logging.per-request.silent-without-level"},
			Needs:    []string{"tools"},
			Waits:    true,
			OnlyOver: spec.StreamableHTTP,
			Run:      requestLogsOnStreams,
		},
		{
			ID:                 "logging.unknown-levels",
			Title:              "Sends server/discover with unknown log levels",
			Provokes:           []string{"logging.per-request.invalid-level"},
			Needs:              []string{"logging"},
			SharesConversation: true,
			Run:                requestUnknownLevels,
		},
	}
}

// known are the levels, from most to least severe.
var known = []string{"emergency", "alert", "critical", "error", "warning", "notice", "info", "debug"}

// unknown are values that are not levels.
var unknown = []any{"verbose", 3, nil, "INFO"}

// setLevels has its own conversation, because the previous level can't be queried, and so can't be
// restored. The server is fresh, because many servers log only when a conversation begins.
func setLevels(ctx context.Context, t *suite.T) {
	c := t.StartFresh(ctx, client.Options{})
	judgeLogging(ctx, t, c, "")
	for _, level := range known {
		r := setLevel(ctx, c, level)
		switch {
		case !r.Answered():
			t.GiveUp("the server did not set a log level: " + suite.Describe(r))
		case !r.Succeeded(): // later messages show nothing
		default:
			judgeLogging(ctx, t, c, level)
		}
	}
}

// setInvalidLevels sets invalid levels between and after two valid ones, because a refused level
// must leave the current level unchanged. Only if the current level is restrictive does the absence
// of less severe messages show that it is unchanged.
func setInvalidLevels(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	if !setLevel(ctx, c, "debug").Answered() {
		t.GiveUp("the server did not answer logging/setLevel")
	}
	for _, level := range unknown {
		if !setLevel(ctx, c, level).Answered() {
			return // a rule judges it
		}
	}
	judgeLogging(ctx, t, c, "")
	if !setLevel(ctx, c, "warning").Succeeded() { // from all messages to fewer
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

// judgeLogging makes the server log, if a suitable tool is known. After the level is set to level,
// a message must come for each enabled level at which the tool logs. If level is "", nothing is
// judged. Fence ensures that the messages that were in transit when the level was set have come.
func judgeLogging(ctx context.Context, t *suite.T, c *client.Conversation, level string) {
	t.Fence(ctx, c)
	if !t.KnowsTool(inventory.Logging) {
		return
	}
	if level != "" && len(logsOnListeningStream(t, c, 0)) > 0 {
		t.AwaitQuiet(ctx, c) // the response to the fence came on another stream
	}
	tool, _ := t.Inventory.LoggingCall()
	r := c.Do(ctx, spec.MethodToolsCall, tool.Params(), client.Within(0))
	if level != "" && r.Sent != nil {
		defer judgeListeningStream(t, c, r, level)
	}
	if level == "" || !r.Succeeded() || string(wire.At(r.Message.Result(), "/isError")) == "true" {
		return
	}
	want := slices.DeleteFunc(slices.Clone(known[:slices.Index(known, level)+1]), func(l string) bool { return !slices.Contains(tool.Levels, l) })
	if len(want) == 0 {
		return
	}
	if firstMissingLevel(c, r.Sent.Seq, want) != "" {
		t.AwaitQuiet(ctx, c) // the log messages may come after the response
	}
	if want = provenLevels(c, tool, want); len(want) == 0 {
		t.MarkNotObserved(sendsAll, whyInconclusive(tool))
		return
	}
	if lacks := firstMissingLevel(c, r.Sent.Seq, want); lacks != "" {
		t.Report(c, verdict.Deviation{
			Requirement: sendsAll,
			Summary:     "The server withholds a log message of an enabled level.",
			Permitted:   "all messages of the set level and above",
			Seen:        "at level " + level + " no message of level " + lacks + ", although the tool logs at that level",
			At:          []int{r.Sent.Seq, r.Event.Seq},
		})
		return
	}
	t.MarkKept(sendsAll)
}

// judgeListeningStream judges the log messages that came since the call on a stream that a GET
// opened. Rules can't judge these messages, because no response on that stream shows that the
// messages that were in transit when the level was set have arrived.
func judgeListeningStream(t *suite.T, c *client.Conversation, call *client.Reply, level string) {
	for _, l := range logsOnListeningStream(t, c, call.Sent.Seq) {
		got, _ := wire.Text(wire.At(l.m.Params(), "/level"))
		if slices.Index(known, got) <= slices.Index(known, level) {
			continue
		}
		t.Report(c, verdict.Deviation{
			Requirement: threshold, Weight: verdict.AtMostWarning,
			Summary:   "The server sends a log message below the level that was set.",
			Permitted: "messages of the level that was set and above",
			Seen:      wire.Excerpt(string(l.m.Raw), 200),
			At:        []int{call.Sent.Seq, l.event.Seq},
		})
		return
	}
}

// A logEntry is a log message, with the event in which it was received.
type logEntry struct {
	event *transcript.Event
	m     *wire.Message
}

// logsOnListeningStream returns the log messages at or after the given position that came on a
// stream that a GET opened over Streamable HTTP.
func logsOnListeningStream(t *suite.T, c *client.Conversation, from int) (out []logEntry) {
	if t.Transport != spec.StreamableHTTP {
		return nil
	}
	exchanges := transcript.ExchangesOf(c.Record.From(0))
	for e, m := range transcript.Messages(c.Record.From(from), transcript.Received) {
		if x := exchanges.Of(e); m.Method == spec.MethodMessage && x != nil && x.Method() == "GET" {
			out = append(out, logEntry{e, m})
		}
	}
	return out
}

// provenLevels returns the levels in want at which the tool certainly logs. A tool that is known
// only by its name has to show that it logs at the level. A configured tool has to show only that
// it logs at all.
func provenLevels(c *client.Conversation, tool inventory.KnownCall, want []string) []string {
	isLogged := func(levels ...string) bool { return firstMissingLevel(c, 0, levels) == "" }
	if tool.IsConfigured {
		if slices.ContainsFunc(known, func(level string) bool { return isLogged(level) }) {
			return want
		}
		return nil
	}
	return slices.DeleteFunc(want, func(level string) bool { return !isLogged(level) })
}

// whyInconclusive returns why missing log messages of a tool are not evidence.
func whyInconclusive(tool inventory.KnownCall) string {
	name := strconv.Quote(wire.Excerpt(tool.Tool, 60))
	if tool.IsConfigured {
		return "the tool " + name + ", which the configuration names as one that logs, sent no log message"
	}
	return "the tool " + name + ", which only its name suggests to log, sent no log message at the levels of such tools"
}

// firstMissingLevel returns the first level in want that no log message at or after the given
// position has, or "".
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
	setLevel(ctx, c, "debug") // the shared conversation continues, whatever the server logs now
}
