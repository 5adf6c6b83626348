package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/discount"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/stderr"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// explainUnreachable returns an error that says why a server did not respond to the opening
// request. If that was initialize, it also tries server/discover, because a server of the stateless
// era may ignore initialize.
func (r *prober) explainUnreachable(ctx context.Context, p *probed) error {
	if p.conv == nil {
		return &UnreachableError{Reason: p.err.Error(), Err: p.err}
	}
	if reason := whyEnded(ctx); reason != "" {
		return &NothingJudgedError{reason + " while waiting for the response to " + p.revision.OpeningMethod()}
	}
	if errors.Is(p.reply.Err, client.ErrEnded) {
		awaitExit(ctx, p.conv.Record)
	}
	patience := shortPatience
	if r.s.transport() == spec.Stdio {
		patience.AfterClose = flushTime
	}
	p.conv.Shutdown(patience)
	if p.revision.Era() == spec.Handshake && !discount.IsFlooded(p.conv.Record.From(0)) && r.discoverStateless(ctx) == "" {
		return ErrStatelessOnly
	}
	e := &UnreachableError{Stderr: p.conv.Stderr(stderr.Searched), Err: p.reply.Err}
	if r.s.transport() != spec.Stdio {
		refused := ExplainRefusal(p.conv.Record.From(0), p.conv.Options().StartTimeout)
		refused.Stderr, refused.Err = e.Stderr, p.reply.Err
		refused.AdviseToken(r.s.o.TokenAdvice)
		if r.s.o.Answered && !slices.ContainsFunc(p.conv.Record.From(0), func(e *transcript.Event) bool { return e.Kind == transcript.Responded }) {
			refused.Reason += "; the first connection, which detected the transport, got a response, so the second one may have stopped the server"
			refused.Advice = "make the server survive a closed connection and accept several; its log may say why it stopped"
		}
		return refused
	}
	e.Reason, e.Advice = ExplainSilence(p.conv.Record.From(0), p.revision.OpeningMethod(), p.conv.Options().StartTimeout, errors.Is(p.reply.Err, client.ErrEnded))
	return e
}

// flushTime is how long a server that did not respond to initialize may continue to run after its
// stdin was closed. If a response comes in that time, the server had written it before but flushed
// it only when its stdin was closed. The time affects only how the failure is explained, not the
// verdict.
const flushTime = 2 * time.Second

// awaitExit gives a server that closed the connection time to exit, so that its exit is not
// mistaken for an effect of the client's shutdown.
func awaitExit(ctx context.Context, record *transcript.Transcript) {
	ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	for pos := 0; ; {
		events, err := record.Wait(ctx, pos)
		pos += len(events)
		if err != nil || transcript.HasExited(events) {
			return
		}
	}
}

// ExplainSilence returns, from a transcript over stdio, why the opening request got no response,
// and what to do. opening is the method of the request; waited is how long the client waited; ended
// is set if the server closed the connection.
func ExplainSilence(events []*transcript.Event, opening string, waited time.Duration, ended bool) (reason, advice string) {
	var junk, flooded, exited, late *transcript.Event
	var otherID *wire.Message
	answered, stopped := 0, false // stopped: the client has closed stdin or sent a signal
	d := transcript.DialogueOf(events)
	for _, e := range events {
		switch e.Kind {
		case transcript.Received:
			if answered++; junk == nil && (!e.Frame.IsReadable() || e.IsCut()) {
				junk = e
			}
			if late == nil && stopped && slices.ContainsFunc(d.Requests(), func(r *transcript.Request) bool { return r.Response() != nil && r.Response().Event == e }) {
				late = e
			}
			if i := slices.IndexFunc(e.Messages(), isResponseWithResult); otherID == nil && i >= 0 && late != e {
				otherID = &e.Messages()[i]
			}
		case transcript.Flooded:
			flooded = e
		case transcript.InputClosed, transcript.Signalled:
			stopped = true
		case transcript.Exited:
			if !stopped {
				exited = e
			}
		}
	}
	before := ""
	toStderr := "write logs and banners to stderr: stdout is only for MCP messages"
	if junk != nil {
		fault := "which is not an MCP message"
		if rules.IsCutShort(junk.Raw) {
			fault, toStderr = "which ends inside a message", "write each message as a whole, and end it with a newline"
		}
		before = fmt.Sprintf("; on stdout it wrote %q (%d bytes), %s", wire.Excerpt(string(junk.Raw), 120), junk.Size, fault)
	}
	switch {
	case late != nil && late.Unterminated:
		return "the server's response to " + opening + " has no newline at its end, so it was not complete before stdin was closed", "end each message with a newline"
	case late != nil:
		return fmt.Sprintf("the server's response to %s came only when stdin was closed, not within %v, which looks like output that is not flushed", opening, waited),
			"flush stdout after each message; a server that starts slowly needs more time, like --start-timeout 2m"
	case junk != nil && strings.HasPrefix(strings.ToLower(string(junk.Raw)), "content-length:"):
		return "the server frames its messages with Content-Length headers, so " + opening + " was not answered in a readable way", "end each message with a newline instead: that is how MCP's stdio transport delimits messages"
	case junk != nil && strings.TrimSpace(string(junk.Raw)) == "{":
		return "the server spreads its JSON over several lines, so " + opening + " was not answered in a readable way", "write each message on one line: a message must not contain newlines"
	case flooded != nil && discount.IsOverlong(flooded):
		return fmt.Sprintf("the server sent a message that is longer than mcp-conform reads, and %s was not answered before: %s; it began with %q", opening, flooded.Detail, wire.Excerpt(string(flooded.Raw), 120)),
			"send a smaller message: the specification has no limit, but clients do"
	case flooded != nil:
		return fmt.Sprintf("the server flooded stdout and did not answer %s: %s; it began with %q", opening, flooded.Detail, wire.Excerpt(string(flooded.Raw), 120)), toStderr
	case ended && exited != nil:
		return "the server ended before it answered " + opening + ": " + exited.Detail + before, "run the command by hand: it has to keep running and read MCP messages from stdin"
	case ended:
		return "the server closed its stdout before it answered " + opening + ", and kept running" + before, "keep stdout open until stdin is closed"
	case junk != nil:
		return fmt.Sprintf("the server did not answer %s within %v%s", opening, waited, before), toStderr
	case otherID != nil:
		return fmt.Sprintf("the server answered %s with id %s instead of that of the request", opening, wire.Excerpt(cmp.Or(otherID.ID.Raw(), "(none)"), 40)),
			"return the id of the request as it came, with its JSON type"
	case answered > 0:
		return fmt.Sprintf("the server wrote %d messages, but did not answer %s within %v", answered, opening, waited), "answer the request with its own id"
	default:
		return fmt.Sprintf("the server did not answer %s within %v and wrote nothing to stdout", opening, waited),
			"check that the command starts an MCP server on stdio; one that starts slowly needs more time, like --start-timeout 2m"
	}
}

func isResponseWithResult(m wire.Message) bool { return m.Kind == wire.Response && m.Has("result") }

// whyUnresponsive returns why a server serves no requests after the handshake, or "" if it does.
// One request may get lost, so whyUnresponsive sends a second one before it gives up.
func whyUnresponsive(ctx context.Context, conv *client.Conversation) string {
	var r *client.Reply
	for range 2 {
		if r = conv.Do(ctx, conv.HarmlessMethod(), nil); r.Err == nil || errors.Is(r.Err, client.ErrTooLong) {
			return ""
		}
	}
	if conv.Web() != nil {
		return "after the handshake " + ExplainRefusal(conv.Record.From(0), conv.Options().Timeout).Reason
	}
	hint := ""
	if errors.Is(r.Err, client.ErrUnanswered) {
		hint = " (does the server flush stdout after each message?)"
	}
	return "the first requests after the handshake got no responses: " + r.Err.Error() + hint
}
