package fuzz

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/fuzz"
	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// toolCall is an answered tool call.
type toolCall struct {
	tool            string
	proof           generate.Proof
	arguments       jsontext.Value
	asked, answered int // positions in the transcript
	answer          *wire.Message
	// disturbed is set if the call was cancelled, or if the server sent the client a request during
	// the call. Either may be the cause of a failure.
	disturbed bool
}

func (c *toolCall) failed() bool {
	return c.answer.IsError() || string(c.answer.ResultAt("/isError")) == "true"
}

// validArguments looks for tools that refuse arguments that their schemas permit. A tool may fail
// for other reasons, so a failed result counts only if it says that the arguments are invalid.
func validArguments(execution *fuzz.Execution) []fuzz.Breach {
	if slices.ContainsFunc(execution.Conversations, func(t *script.Conversation) bool { return hasListChanged(t, 0, len(t.Events)) }) {
		return nil // the tool may have been removed
	}
	var out []fuzz.Breach
	for n, t := range execution.Conversations {
		for _, c := range answeredCalls(execution, t) {
			if c.proof != generate.Fits || c.disturbed || !c.failed() || c.answer.IsOverloadError() {
				continue
			}
			summary := "The server answers valid arguments with an error."
			switch {
			case c.answer.IsError() && mayHaveOtherCause(c.answer), !c.answer.IsError() && !invalidity.Match(c.answer.Result()):
				continue
			case !c.answer.IsError():
				summary = "The server's tool rejects valid arguments as invalid."
			}
			out = append(out, fuzz.Breach{Conversation: n, Deviation: verdict.Deviation{
				Requirement: validatesInputs,
				Summary:     summary,
				Permitted:   "a result; the specification does not ask for it",
				Seen:        "with " + excerpt(c.arguments) + " " + c.tool + " answers " + excerpt(c.answer.Raw),
				At:          []int{c.asked, c.answered},
				Weight:      verdict.OnlyNote,
			}})
		}
	}
	return out
}

// invalidity matches the wording of libraries for invalid arguments.
var invalidity = lazyregexp.New(`(?i)-32602|validation (error|failed)|(invalid|malformed) (tool )?(argument|input|param)`)

// mayHaveOtherCause reports whether an error is about something other than the arguments: the way
// to call the tool, a required user action, or the name.
func mayHaveOtherCause(m *wire.Message) bool {
	code, _ := m.ErrorCode()
	text, _ := wire.Text(wire.At(m.Member("error"), "/message"))
	text = strings.ToLower(text)
	return spec.Code(code) == spec.CodeMethodNotFound || spec.Code(code) == spec.CodeURLElicitation ||
		strings.Contains(text, "unknown tool") || strings.Contains(text, "not found") || strings.Contains(text, "no such tool")
}

// invalidArguments looks for tools that accept arguments that their schemas forbid and that no
// conversion makes valid.
func invalidArguments(execution *fuzz.Execution) []fuzz.Breach {
	var out []fuzz.Breach
	for n, t := range execution.Conversations {
		for _, c := range answeredCalls(execution, t) {
			if c.proof != generate.Breaks || c.failed() || !c.answer.Has("result") {
				continue
			}
			out = append(out, fuzz.Breach{Conversation: n, Deviation: verdict.Deviation{
				Requirement: validatesInputs,
				Summary:     "The server's tool accepts arguments that break its inputSchema.",
				Permitted:   "a result with isError true, or an error",
				Seen:        "with " + excerpt(c.arguments) + " " + c.tool + " answers " + excerpt(c.answer.Raw),
				At:          []int{c.asked, c.answered},
				Weight:      verdict.OnlyNote,
			}})
		}
	}
	return out
}

// answeredCalls returns the answered calls of a conversation, but only calls in which nothing
// except the arguments can be invalid.
func answeredCalls(execution *fuzz.Execution, t *script.Conversation) []toolCall {
	if execution.Offer == nil {
		return nil
	}
	var out []toolCall
	d := transcript.DialogueOf(t.Events)
	for e, m := range transcript.Messages(t.Events, transcript.Received) {
		r := d.RequestOf(m)
		if m.Kind != wire.Response || r == nil || r.Response().Message != m {
			continue
		}
		if slices.ContainsFunc(d.RequestsWithID(m.ID), func(q *transcript.Request) bool { return q != r && q.Event.Seq < e.Seq }) {
			continue // two requests have the same id, so it is unclear which of them got the response
		}
		if c := readCall(execution, t, r.Event, r.Message); c != nil {
			c.answer, c.answered = m, e.Seq
			c.disturbed = len(r.Cancellations) > 0 || slices.ContainsFunc(d.ServerRequests(), func(q *transcript.Request) bool { return r.InFlight(q.Event.Seq) })
			out = append(out, *c)
		}
	}
	return out
}

// readCall returns the parsed call. It returns nil if the message is not a valid tools/call that
// an operation of the script sent, or if its params have more members than a call needs.
func readCall(execution *fuzz.Execution, t *script.Conversation, e *transcript.Event, m *wire.Message) *toolCall {
	op := execution.OperationOf(t, m)
	if m.Method != spec.MethodToolsCall || op == nil || op.Do != script.Send || op.Violates != "" || len(e.Frame.Problems) > 0 {
		return nil
	}
	_, params := wire.Members(m.Params())
	for name := range params {
		if name != "name" && name != "arguments" && name != "_meta" {
			return nil
		}
	}
	_, meta := wire.Members(params["_meta"])
	if delete(meta, "progressToken"); len(meta) > 0 {
		return nil
	}
	tool, ok := wire.Text(params["name"])
	if !ok {
		return nil
	}
	return &toolCall{tool: tool, proof: execution.Offer.CheckArguments(tool, params["arguments"]), arguments: params["arguments"], asked: e.Seq}
}
