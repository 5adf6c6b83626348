package rules

import (
	"bytes"
	"cmp"
	"fmt"
	"unicode/utf8"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	jsonrpc20       = "base.jsonrpc-2-0"
	messageUTF8     = "base.message-utf8"
	batchNotEmitted = "base.batch-not-emitted"
)

func envelopeRules() []Rule {
	return []Rule{
		{
			ID:           "rule.jsonrpc-version",
			Title:        "each message is a request, a notification or a response of JSON-RPC 2.0",
			Requirements: []string{jsonrpc20},
			Start:        WithoutState(Fold{OnEvent: judgeEnvelope}),
		},
		{
			ID:           "rule.message-utf8",
			Title:        "messages are UTF-8",
			Requirements: []string{messageUTF8, jsonrpc20},
			Start:        WithoutState(Fold{OnEvent: judgeEncoding}),
		},
		{
			ID:           "rule.batch-not-emitted",
			Title:        "no batches in revisions without them",
			Requirements: []string{batchNotEmitted},
			Start:        WithoutState(Fold{OnEvent: judgeBatches}),
		},
	}
}

func judgeEnvelope(s *Session, e *transcript.Event, out *Reporter) {
	messages := receivedMessages(s, e)
	if len(messages) > 0 && e.Frame.Has(wire.DuplicateKey) {
		out.Report(verdict.Deviation{
			Requirement: jsonrpc20,
			Summary:     "The server's message has a member twice.",
			Permitted:   "objects in which each name occurs once",
			Seen:        describeProblem(e.Frame, wire.DuplicateKey),
			At:          positionsOf(e),
			Fix:         "Write each member of an object once.",
			Weight:      verdict.AtMostWarning,
		})
		return
	}
	for _, m := range messages {
		d := verdict.Deviation{Requirement: jsonrpc20}
		if describeMalformed(m, &d) {
			d.Seen, d.At = excerpt(m.Raw), positionsOf(e)
			out.Report(d)
		} else if m.Kind != wire.Invalid {
			out.MarkObserved(jsonrpc20)
		}
	}
}

// describeMalformed reports whether the envelope of m is malformed, and describes in d what is
// wrong. A message that has an id, but no method, result or error, breaks
// base.response-result-or-error instead.
func describeMalformed(m *wire.Message, d *verdict.Deviation) bool {
	switch {
	case m.Members == nil:
		d.Summary, d.Permitted = "The server's batch has a member that is not a message.", "an array of requests, notifications and responses"
	case !m.Has("jsonrpc"):
		d.Summary, d.Permitted = "The server's message has no jsonrpc member.", `"jsonrpc":"2.0" in every message`
		d.Fix = `Put "jsonrpc": "2.0" into every message.`
	case !m.HasVersion():
		d.Summary, d.Permitted = `The server's message has a jsonrpc member other than "2.0".`, `"jsonrpc":"2.0" in every message`
		d.Fix = `Send the string "2.0" as jsonrpc in every message.`
	case m.Kind == wire.Invalid && !m.ID.IsPresent():
		d.Summary, d.Permitted = "The server's message is not a request, notification or response.", "a method, or an id with a result or an error"
		d.Fix = "Send no empty messages, not even to keep a stream open or to begin it."
	case m.Has("method") && m.Member("method").Kind() != '"':
		d.Summary, d.Permitted = "The server's message has a method that is not a string.", "a string as method"
		d.Fix = "Send the name of the method as a string."
	case string(m.Member("method")) == `""`:
		d.Weight = verdict.AtMostWarning // the method is a string, as required, though an empty one
		d.Summary, d.Permitted = "The server's message has an empty method.", "the name of a method"
	case m.Has("method") && m.Has("params") && m.Params().Kind() != '{' && m.Params().Kind() != '[':
		d.Summary, d.Permitted = "The server's message has params that are not an object or array.", "params that are an object, or none"
		d.Fix = "Send params as an object; leave them out, instead of null, if there are none."
	case m.Kind == wire.Request && isResponse(m):
		d.Weight = verdict.AtMostWarning
		d.Summary, d.Permitted = "The server's message is both a request and a response.", "either a method, or a result or an error"
		d.Fix = "Leave method out of responses, and result and error out of requests."
	default:
		return false
	}
	return true
}

// describeProblem describes the frame's first problem of the given kind.
func describeProblem(f *wire.Frame, kind wire.ProblemKind) string {
	for _, p := range f.Problems {
		if p.Kind == kind {
			text := cmp.Or(p.Detail, string(p.Kind)) + fmt.Sprintf(" at byte %d", p.Offset)
			if p.Pointer != "" {
				text += " (" + p.Pointer + ")"
			}
			return excerpt(text)
		}
	}
	return string(kind)
}

// judgeEncoding judges the bytes of messages. If the revision says nothing about encoding, only
// JSON itself requires UTF-8, and a violation is at most a warning.
func judgeEncoding(s *Session, e *transcript.Event, out *Reporter) {
	if len(receivedMessages(s, e)) == 0 {
		return
	}
	judged := out.Judges(messageUTF8)
	if !judged && e.Stream != nil && s.Transport == spec.SSE {
		return // sse.utf8 describes it better
	}
	raw, f := s.output.reading(e).raw(), e.Frame
	valid := utf8.Valid(raw)
	if valid && !f.Has(wire.ByteOrderMark) && !f.Has(wire.InvalidUTF8) {
		if judged && (hasBeyondASCII(raw) || bytes.Contains(raw, []byte(`\u`))) {
			out.MarkObserved(messageUTF8) // only a message that is not plain ASCII shows the encoding: ASCII has the same bytes in most encodings
		}
		return
	}
	d := verdict.Deviation{Requirement: messageUTF8, At: positionsOf(e), Permitted: "UTF-8, without a byte order mark"}
	if !judged {
		d.Requirement, d.Weight = jsonrpc20, verdict.AtMostWarning
	}
	switch {
	case !valid:
		d.Summary, d.Seen = "The server's message is not valid UTF-8.", describeProblem(f, wire.InvalidUTF8)
	case f.Has(wire.ByteOrderMark):
		d.Summary, d.Seen = "The server's message begins with a byte order mark.", "the bytes EF BB BF before the message"
	default:
		d.Weight = verdict.OnlyNote
		d.Summary, d.Permitted, d.Seen = "The server's message has a string with half a surrogate pair.", `surrogates in pairs only, such as \ud83d\ude00`, describeProblem(f, wire.InvalidUTF8)
	}
	out.Report(d)
}

// raw returns the bytes of the lines, joined.
func (r *reading) raw() []byte {
	if len(r.events) == 1 {
		return r.events[0].Raw
	}
	var out []byte
	for _, e := range r.events {
		out = append(out, e.Raw...)
	}
	return out
}

func hasBeyondASCII(text []byte) bool {
	for _, b := range text {
		if b >= utf8.RuneSelf {
			return true
		}
	}
	return false
}

// judgeBatches judges arrays of messages. A batch in response to the client's own batch, which the
// client was not permitted to send, is at most a warning. Revision 2024-11-05 does not mention
// batches, but says that messages follow JSON-RPC 2.0, which permits them.
func judgeBatches(s *Session, e *transcript.Event, out *Reporter) {
	if e.Kind != transcript.Received || e.IsCut() {
		return
	}
	got := s.output.reading(e)
	empty := got != nil && got.shape == plain && got.batch
	if got == nil || len(got.messages) == 0 && !empty {
		return
	}
	if !got.batch {
		out.MarkObserved(batchNotEmitted)
		return
	}
	d := verdict.Deviation{
		Requirement: batchNotEmitted,
		Summary:     "The server sends a batch in a revision without batches.",
		Permitted:   "each message as a separate object",
		Seen:        fmt.Sprintf("an array of %d: %s", len(got.messages), excerpt(got.events[0].Raw)),
		At:          got.positions(),
	}
	if s.Sent.batches > 0 {
		d.Weight = verdict.AtMostWarning
		d.Summary = "The server answers a batch in a revision without batches."
	}
	if s.Revision() == spec.V20241105 {
		d.Weight = verdict.OnlyNote
	}
	out.Report(d)
}
