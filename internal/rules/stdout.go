package rules

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	onlyMessages       = "stdio.stdout-only-messages"
	newlineDelimited   = "stdio.newline-delimited"
	noEmbeddedNewlines = "stdio.no-embedded-newlines"
)

// stdoutRules returns the rules on the server's stdout. No rule judges stdio.one-message-per-line:
// base.batch-not-emitted, which has the better basis, and stdio.newline-delimited cover all its
// violations.
func stdoutRules() []Rule {
	return []Rule{
		{
			ID:           "rule.stdout-purity",
			Title:        "only messages on stdout, from start to exit",
			Requirements: []string{onlyMessages},
			Start:        WithoutState(Fold{OnEvent: judgePurity}),
		},
		{
			ID:           "rule.line-framing",
			Title:        "one message per line, no newline inside a message",
			Requirements: []string{newlineDelimited, noEmbeddedNewlines},
			Start:        WithoutState(Fold{OnEvent: judgeFraming}),
		},
	}
}

func judgePurity(s *Session, e *transcript.Event, out *Reporter) {
	if e.Kind == transcript.Flooded {
		judgeFlood(e, out)
		return
	}
	if e.Kind != transcript.Received {
		return
	}
	got := s.output.reading(e)
	if got == nil {
		return
	}
	empty := got.shape == plain && got.batch && len(got.messages) == 0
	if got.shape == spread || got.shape == plain && !empty {
		out.MarkObserved(onlyMessages)
		return
	}
	d := verdict.Deviation{Requirement: onlyMessages, At: got.positions(), Permitted: "only JSON-RPC messages; logs and banners belong on stderr"}
	switch got.shape {
	case foreign:
		d.Summary, d.Seen = "The server writes text to stdout that is not an MCP message.", excerpt(got.events[0].Raw)
		if e.Frame.IsReadable() && !e.Frame.Has(wire.TrailingText) || len(got.events) > 1 {
			d.Summary = "The server writes JSON to stdout that is not an MCP message."
		}
		if len(got.events) == 1 && IsCutShort(e.Raw) {
			d.Summary = "The server writes a newline inside a message."
			d.Permitted = "each message complete on its own line"
			d.Fix = "Write compact JSON on one line; within strings, write a newline as \\n."
		}
		for _, p := range e.Frame.Problems {
			if p.Kind == wire.TrailingText && e.Frame.IsReadable() && len(got.events) == 1 {
				d.Summary, d.Seen = "The server writes extra text on the line of a message.", "`"+excerpt(e.Raw[p.Offset:])+"` after the message"
				d.Permitted = "a newline right after each message"
				d.Fix = "Write one message per line and nothing else on it, not even a comma."
			}
		}
		out.Report(d)
	case truncated:
		if s.InputClosed || s.Signalled {
			return // the harness cut the line off
		}
		d.Summary, d.Seen = "The server's output ends inside a message.", excerpt(got.lastEvent().Raw)
		d.Permitted = "only complete messages, each followed by a newline"
		d.Fix = "Write and flush the whole message before the process exits."
		out.Report(d)
	case blank:
		d.Summary, d.Seen, d.Weight = "The server writes blank lines to stdout.", "a line without a message", verdict.AtMostWarning
		d.Permitted = "a JSON-RPC message on every line"
		d.Fix = "End each message with exactly one newline."
		out.Report(d)
	case headed:
		d.Summary, d.Seen = "The server frames messages with headers, not newlines.", excerpt(e.Raw)
		d.Permitted = "each message on its own line, and nothing else"
		d.Fix = "Write no headers such as Content-Length; end each message with a newline instead."
		out.Report(d)
	case joined: // the line as a whole is not a message; the rule on line framing describes it better
		out.MarkReportedElsewhere(onlyMessages)
	case unread:
	case plain: // an empty batch is judged as a batch if the revision has none, or if the client sent one
		if s.Revision().HasBatches() && s.Sent.batches == 0 {
			d.Summary, d.Seen = "The server writes JSON to stdout that is not an MCP message.", excerpt(e.Raw)
			out.Report(d)
		}
	}
}

// joinLines joins lines, without their indentation, with spaces. It stops when the result is longer
// than an excerpt.
func joinLines(events []*transcript.Event) string {
	var b strings.Builder
	for i, e := range events {
		if b.Len() > maxExcerpt {
			break
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.Write(bytes.TrimSpace(e.Raw))
	}
	return b.String()
}

// IsCutShort reports whether a line begins like a JSON-RPC message or batch, but does not contain
// its end.
func IsCutShort(line []byte) bool {
	return wire.OpensMultilineJSON(line) && bytes.Contains(line, []byte(`"jsonrpc"`))
}

// judgeFlood judges an endless line. A message may be longer than the harness accepts, so a line
// that begins like a message is not reported.
func judgeFlood(e *transcript.Event, out *Reporter) {
	if len(bytes.TrimSpace(e.Raw)) == 0 || wire.LooksLikeMessage(e.Raw) {
		return
	}
	out.Report(verdict.Deviation{
		Requirement: onlyMessages,
		Summary:     "The server floods stdout with text that is not an MCP message.",
		Permitted:   "only JSON-RPC messages, each followed by a newline",
		Seen:        e.Detail + ": " + excerpt(e.Raw),
		At:          positionsOf(e),
	})
}

func judgeFraming(s *Session, e *transcript.Event, out *Reporter) {
	if e.Kind != transcript.Received {
		return
	}
	got := s.output.reading(e)
	if got == nil {
		return
	}
	if got.shape == headed { // the rule on stdout reports the headers as text
		out.MarkReportedElsewhere(newlineDelimited)
		return
	}
	if len(got.messages) == 0 {
		return
	}
	if got.shape == plain {
		out.MarkObserved(newlineDelimited)
		if !bytes.HasSuffix(e.Raw, []byte("\r")) {
			out.MarkObserved(noEmbeddedNewlines)
			return
		}
	}
	d := verdict.Deviation{Requirement: newlineDelimited, At: got.positions()}
	switch got.shape {
	case joined:
		d.Summary, d.Permitted, d.Seen = "The server writes several messages on one line.", "a newline after each message", excerpt(e.Raw)
		out.Report(d)
	case spread:
		d.Requirement = noEmbeddedNewlines
		d.Summary, d.Permitted = "The server spreads a message over several lines.", "a message without raw newlines; within strings they are written as \\n"
		d.Seen = fmt.Sprintf("on %d lines: %s", len(got.events), excerpt(joinLines(got.events)))
		out.Report(d)
		out.MarkReportedElsewhere(newlineDelimited)
	case plain:
		d.Requirement, d.Weight = noEmbeddedNewlines, verdict.OnlyNote
		d.Summary, d.Permitted, d.Seen = "The server ends lines with a carriage return and a newline.", "\\n alone; the carriage return is tolerated", "a line that ends with CR LF"
		d.Fix = "End each line with \\n alone, not with \\r\\n."
		out.Report(d)
	}
}
