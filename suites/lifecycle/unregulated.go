package lifecycle

import (
	"context"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// sendOutOfOrder does in one conversation what the specification leaves open. The second initialize
// comes last, because the revision is unclear after it. If the server ends or the conversation
// becomes unusable before that, the case continues with a fresh one.
func sendOutOfOrder(ctx context.Context, t *suite.T) {
	c := t.Open(ctx, client.Options{})
	usable := requestBeforeInitialize(ctx, t, c)
	replace := func() {
		if !usable || !c.Alive() {
			c.CloseIdle()
			c, usable = t.Start(ctx, client.Options{}), true
		}
	}
	for _, method := range []string{"shutdown", "exit"} {
		replace()
		requestShutdown(ctx, t, c, method)
	}
	replace()
	initializeAgain(ctx, t, c)
	judgeAnnouncedEnd(ctx, t, c)
}

// requestBeforeInitialize sends a request before initialize, completes the handshake, and sends
// another request during the handshake. It reports whether the conversation is usable.
func requestBeforeInitialize(ctx context.Context, t *suite.T, c *client.Conversation) bool {
	early := wire.NewRequest(c.NewID(), spec.MethodToolsList, nil)
	_ = c.Send(ctx, early) // if this can't be sent, initialize shows why
	r := c.Initialize(ctx)
	switch {
	case hasEndedInstead(ctx, c, r):
		reportDeviation(t, c, r, beforeInitialize, "The server exits at a request before initialized.", "an error, a result or silence")
		return false
	case !r.Answered():
		t.MarkNotObserved(beforeInitialize, "the server did not answer initialize after an earlier request")
		return false
	}
	usable := r.Succeeded() && c.Server().ProtocolVersion == string(t.Revision)
	if usable {
		list, early, alive := requestBeforeInitialized(ctx, t, c)
		if !alive {
			return false
		}
		err := c.Initialized(ctx)
		if err == nil {
			err = c.AwaitQuiet(ctx)
		}
		if suite.HasEnded(ctx, c, err) {
			reportDeviation(t, c, r, beforeInitialize, "The server exits at a request before initialized.", "an error, a result or silence")
			return false
		}
		if err != nil {
			t.MarkNotObserved(beforeInitialize, "the server did not answer a later request: "+err.Error())
			return false
		}
		if list != "" {
			judgeServedLater(ctx, t, c, list, early)
		}
	}
	t.MarkKept(beforeInitialize)
	return usable
}

// requestBeforeInitialized sends a supported request after the response to initialize and before
// initialized. The specification neither forbids clients to do so nor obliges the server to serve
// the request. It returns the method, "" for none, the request as it was sent, and whether the server is
// still alive.
func requestBeforeInitialized(ctx context.Context, t *suite.T, c *client.Conversation) (method string, sent *transcript.Event, alive bool) {
	for _, list := range listMethods {
		if c.Server().Declares(list.capability) && t.Inventory.Incomplete[list.method] != inventory.NoResult {
			id := c.NewID()
			r := c.DoRaw(ctx, id, wire.NewRequest(id, list.method, nil), client.MayIgnore)
			if hasEndedInstead(ctx, c, r) {
				reportDeviation(t, c, r, beforeInitialize, "The server exits at a request before initialized.", "an error, a result or silence")
				return "", nil, false
			}
			return list.method, r.Sent, true
		}
	}
	return "", nil, true
}

// judgeServedLater judges whether the server serves a method that was also requested before
// initialized, in the request early.
func judgeServedLater(ctx context.Context, t *suite.T, c *client.Conversation, method string, early *transcript.Event) {
	t.Expect(c, c.Do(ctx, method, nil), early).Keeps(serves, "The server refuses a list that was also requested before initialized.", suite.BeResult(), verdict.AtMostWarning)
}

// requestShutdown sends a request that ends the session in other protocols.
func requestShutdown(ctx context.Context, t *suite.T, c *client.Conversation, method string) {
	from := c.Record.Len()
	r := c.Do(ctx, method, nil)
	if hasEndedInstead(ctx, c, r) {
		reportDeviation(t, c, r, noShutdown, "The server exits at a request named shutdown or exit.", "an error: there is no such method")
		return
	}
	if !r.Answered() && suite.IsRefused(c, from) { // by HTTP status
		t.MarkKept(noShutdown)
		return
	}
	if !t.CanInterpret(suite.NewOddReply(r, c.Do(ctx, c.HarmlessMethod(), nil)), noShutdown) {
		return
	}
	t.Expect(c, r).Keeps(noShutdown, "The server serves a request named shutdown or exit.", suite.BeAnyError())
}

// initializeAgain sends initialize in a running session, with another version, so that a changed
// version is visible. It requests the other versions one after the other, also those that the run
// does not judge, until the server changes the version or gives no result.
func initializeAgain(ctx context.Context, t *suite.T, c *client.Conversation) {
	params := c.InitializeParams()
	for _, other := range spec.NewestFirst(spec.HandshakeRevisions()) {
		if other == t.Revision {
			continue
		}
		params["protocolVersion"] = string(other)
		id := c.NewID()
		r := c.DoRaw(ctx, id, wire.NewRequest(id, spec.MethodInitialize, params), client.MayIgnore)
		if suite.HasEnded(ctx, c, r.Err) {
			reportDeviation(t, c, r, reinitialize, "The server exits at a second initialize.", "an error, a result or silence")
			return
		}
		t.MarkKept(reinitialize)
		if !r.Succeeded() {
			return
		}
		if version, ok := wire.Text(wire.At(r.Message.Result(), "/protocolVersion")); ok && version != string(t.Revision) {
			reportDeviation(t, c, r, reinitialize, "The server answers a second initialize with another version.", "an error, or the version agreed on")
			return
		}
	}
}

// farewells are the names of messages that announce the end in other protocols.
var farewells = []string{"shutdown", "exit", "quit", "bye", "goodbye", "close", "closing", "closed", "disconnect", "terminated"}

// judgeAnnouncedEnd closes the server's input and checks whether the server announces its end with
// a message.
func judgeAnnouncedEnd(ctx context.Context, t *suite.T, c *client.Conversation) {
	if t.Transport != spec.Stdio || !c.Alive() {
		return
	}
	from := c.Record.Len()
	if c.CloseInput() != nil {
		return
	}
	wait, cancel := context.WithTimeout(ctx, c.Options().Patience.AfterClose)
	defer cancel()
	defer c.BeginIdle()()
	farewell, err := c.Await(wait, from, isFarewell)
	if err != nil {
		return // no message came, whether the server ended or not
	}
	t.Report(c, verdict.Deviation{
		Requirement: noShutdown,
		Summary:     "The server announces its shutdown with a message of its own.",
		Permitted:   "an exit without a message: the end of the stream is the signal",
		Seen:        wire.Excerpt(string(farewell.Raw), 200),
		At:          transcript.Positions(farewell),
	})
}

func isFarewell(e *transcript.Event) bool {
	if e.Kind != transcript.Received {
		return false
	}
	for _, m := range e.Messages() {
		name := strings.ToLower(m.Method[strings.LastIndexByte(m.Method, '/')+1:])
		if m.Method != "" && slices.Contains(farewells, name) {
			return true
		}
	}
	return false
}
