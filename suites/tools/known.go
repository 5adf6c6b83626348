package tools

import (
	"context"
	"fmt"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const knownEffect = "tools.call.known-effect"

// An effect is the known effect of a role, and how to observe it.
type effect struct {
	role inventory.Role
	// lacks is the summary of the finding if the effect is missing.
	lacks, permitted string
	// seen reports whether the effect is visible in the response and in the server's messages
	// since the call. token is the progress token of the call, or "" if it has none.
	seen func(response *wire.Message, during []*wire.Message, token string) bool
	// message is set if the effect is a message in addition to the response.
	message bool
}

// effects returns the effects that one call shows. For changes of lists and resources see
// changes.go.
func effects() []effect {
	content := func(role inventory.Role) func(*wire.Message, []*wire.Message, string) bool {
		return func(m *wire.Message, _ []*wire.Message, _ string) bool { return role.IsShownBy(m) }
	}
	sends := func(method string) func(*wire.Message, []*wire.Message, string) bool {
		return func(_ *wire.Message, during []*wire.Message, token string) bool {
			return slices.ContainsFunc(during, func(m *wire.Message) bool {
				return m.Method == method && (method != spec.MethodProgress || tokenIn(m) == token)
			})
		}
	}
	return []effect{
		{inventory.Fails, "The server's tool succeeds, although it is expected to fail.", "a result with isError true", content(inventory.Fails), false},
		{inventory.Structured, "The server's tool does not return the structured content expected of it.", "a result with structuredContent", content(inventory.Structured), false},
		{inventory.GivesText, "The server's tool does not return the text that is expected of it.", "a result with a text block", content(inventory.GivesText), false},
		{inventory.GivesImage, "The server's tool does not return the image that is expected of it.", "a result with an image", content(inventory.GivesImage), false},
		{inventory.GivesAudio, "The server's tool does not return the audio that is expected of it.", "a result with audio", content(inventory.GivesAudio), false},
		{inventory.GivesResource, "The server's tool does not embed the resource that is expected of it.", "a result with an embedded resource", content(inventory.GivesResource), false},
		{inventory.GivesLink, "The server's tool does not send the resource link expected of it.", "a result with a resource link", content(inventory.GivesLink), false},
		{inventory.Progress, "The server's tool does not report the progress expected of it.", "notifications/progress with the token of the call", sends(spec.MethodProgress), true},
		{inventory.Logging, "The server's tool does not send the log message expected of it.", "a log message (notifications/message); the client has set the level debug", sends(spec.MethodMessage), true},
		{inventory.AsksSampling, "The server's tool does not send the sampling request expected of it.", "a request " + spec.MethodSampling, sends(spec.MethodSampling), true},
		{inventory.AsksElicitation, "The server's tool does not send the elicitation expected of it.", "a request " + spec.MethodElicit, sends(spec.MethodElicit), true},
		{inventory.AsksRoots, "The server's tool does not send the roots/list request expected of it.", "a request " + spec.MethodRootsList, sends(spec.MethodRootsList), true},
	}
}

// tokenIn returns the progress token of a notification, if it is a string.
func tokenIn(m *wire.Message) string {
	token, _ := wire.Text(wire.At(m.Params(), "/progressToken"))
	return token
}

// knownCalls makes the calls whose effects are known, from the configuration or from the names of
// the official suite's tools, and checks for these effects.
func knownCalls(ctx context.Context, t *suite.T) {
	if !slices.ContainsFunc(effects(), func(e effect) bool { return len(promisedCalls(t, e)) > 0 }) {
		t.GiveUp("no tool that may be called has a known effect; name one under fixtures: in mcp-conform.yaml")
	}
	c := t.Start(ctx, client.Options{})
	if c.Server().Declares("logging") {
		c.Do(ctx, spec.MethodSetLevel, map[string]any{"level": "debug"})
		t.Fence(ctx, c)
	}
	k := newCaller(c)
	for _, e := range effects() {
		if e.role == inventory.Logging && !c.Server().Declares("logging") {
			continue
		}
		for i, known := range promisedCalls(t, e) {
			if !e.judge(ctx, t, k, known, fmt.Sprintf("mcp-conform-%s-%d", e.role, i)) {
				return
			}
		}
	}
}

// promisedCalls returns the calls that have the effect according to the server's author, if the
// revision supports it.
func promisedCalls(t *suite.T, e effect) []inventory.KnownCall {
	if !e.role.ExistsIn(t.Revision) {
		return nil
	}
	return slices.DeleteFunc(t.Inventory.KnownCalls(e.role), func(k inventory.KnownCall) bool { return !k.IsPromised || !schemaAccepts(t, k) })
}

// schemaAccepts reports whether the tool's schema accepts the arguments of the call.
func schemaAccepts(t *suite.T, known inventory.KnownCall) bool {
	tool, _ := t.Inventory.Tool(known.Tool)
	return !generate.NewSchema(wire.At(tool.Raw, "/inputSchema"), t.Revision).Refuses(known.Arguments)
}

// judge makes one call, and reports whether more may follow.
func (e effect) judge(ctx context.Context, t *suite.T, k caller, known inventory.KnownCall, token string) bool {
	params := known.Params()
	if e.role == inventory.Progress {
		params = known.ParamsWithToken(token)
	} else {
		token = ""
	}
	from := k.c.Record.Len()
	r, more := k.callTool(ctx, params)
	switch {
	case r.Busy():
		return more
	case !r.Answered():
		e.judgeStuckCall(ctx, t, k.c, known, r, from)
		return more // what judgeStuckCall does not report, other cases and rules judge
	}
	if e.message && t.Transport == spec.StreamableHTTP {
		if x := transcript.ExchangesOf(k.c.Record.From(from)).Of(r.Sent); x == nil || !x.IsStream() {
			return more // a server that responds with JSON alone has no stream for the message
		}
	}
	seen := func() bool {
		return e.seen(r.Message, receivedMessages(k.c.Record.From(from)), token) && (e.role == inventory.Fails || r.Succeeded() && !inventory.Fails.IsShownBy(r.Message))
	}
	if !seen() {
		t.AwaitQuiet(ctx, k.c) // the message may come after the response
	}
	if seen() {
		t.MarkKept(knownEffect)
		return more
	}
	t.Report(k.c, verdict.Deviation{
		Requirement: knownEffect, Summary: e.lacks, Permitted: e.permitted,
		Seen: "the call of " + wire.Excerpt(known.Tool, 60) + " got " + suite.Describe(r), At: r.Positions(), Fix: knownFix(known),
	})
	return more
}

// knownFix returns the fix of a tool without its known effect.
func knownFix(known inventory.KnownCall) string {
	if known.IsConfigured {
		return "Make the tool do what fixtures: in mcp-conform.yaml says of it, or correct that entry."
	}
	return "Make the tool do what the official suite expects of its name, or rename the tool."
}

// judgeStuckCall judges a call that sent the client a request, got the response, and then did not
// finish. A tool with only this known effect has nothing more to wait for.
func (e effect) judgeStuckCall(ctx context.Context, t *suite.T, c *client.Conversation, known inventory.KnownCall, r *client.Reply, from int) {
	var question *transcript.Request
	for _, q := range c.Record.Dialogue().ServerRequests() {
		if q.Event.Seq >= from && inventory.AskingRole(q.Message.Method) == e.role {
			question = q
		}
	}
	if question == nil || question.Response() == nil || r.Sent == nil {
		return
	}
	t.Fence(ctx, c) // the server has read that response
	if c.Record.Dialogue().RequestOf(&r.Sent.Messages()[0]).Response() != nil {
		return
	}
	t.Report(c, verdict.Deviation{
		Requirement: knownEffect, Summary: "The server's tool does not continue after the client's response.",
		Permitted: "a result, once the client has responded",
		Seen:      "no response to the call of " + wire.Excerpt(known.Tool, 60) + " after the client responded to " + question.Message.Method,
		At:        []int{r.Sent.Seq, question.Response().Event.Seq},
	})
}

// receivedMessages returns the messages from the server among the events.
func receivedMessages(events []*transcript.Event) []*wire.Message {
	var out []*wire.Message
	for _, m := range transcript.Messages(events, transcript.Received) {
		out = append(out, m)
	}
	return out
}
