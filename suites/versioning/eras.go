package versioning

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const noPriorContext = "stateless.no-prior-request-context"

// erasCase sends the same requests of the stateless era before and after another client opens a
// session. Over stdio, initialize selects the older revision for the process, so nothing is judged
// there.
func erasCase() suite.Case {
	return suite.Case{
		ID:           "versioning.eras-side-by-side",
		Title:        "Sends the same requests of 2026-07-28 before and after another client opens a session with initialize and sets its log level",
		Requirements: []string{dualEraModern, noPriorContext},
		Provokes:     []string{"logging.per-request.silent-without-level", "stateless.meta-client-capabilities-required"},
		Revisions:    spec.StatelessRevisions(),
		OnlyOver:     spec.StreamableHTTP,
		OwnServer:    true,
		SpoilsServer: true,
		Run:          useBothEras,
	}
}

func useBothEras(ctx context.Context, t *suite.T) {
	if !t.SpeaksHandshake() {
		t.Skip("the server supports no handshake revision")
	}
	c := t.Start(ctx, client.Options{})
	method := t.DeclaredListOr(spec.MethodDiscover)
	lacking := func() *client.Reply {
		id := c.NewID()
		return c.DoRaw(ctx, id, suite.RequestWith(id, method, suite.WithoutMeta(c, spec.MetaClientCapabilities)))
	}
	before, lackingBefore := c.Do(ctx, method, nil), lacking()
	if !looksModern(before) {
		t.GiveUp("the server does not serve " + method + " before a client opens a session, either")
	}
	openSession(ctx, t)
	after := c.Do(ctx, method, nil)
	if !after.Answered() || after.Busy() {
		t.GiveUp("the server did not answer " + method + " after a client opened a session")
	}
	if !t.Expect(c, after, before.Sent, before.Event).Keeps(dualEraModern,
		"After another client has sent initialize, the server answers a 2026-07-28 request as in an older revision.",
		suite.Satisfy("a result with resultType, as before initialize", looksModern)) {
		return
	}
	judgeLacking(t, c, lackingBefore, lacking())
	if tool, ok := t.Inventory.LoggingCall(); ok {
		c.Do(ctx, spec.MethodToolsCall, tool.Params(), client.Within(0)) // a rule judges whether it gets log messages
		t.AwaitQuiet(ctx, c)
	}
}

// judgeLacking compares the responses to a request without capabilities before and after another
// client declared some in a session.
func judgeLacking(t *suite.T, c *client.Conversation, before, after *client.Reply) {
	switch {
	case !before.Answered() || before.Busy() || !after.Answered() || after.Busy():
		t.MarkNotObserved(noPriorContext, "the server did not answer the request without "+spec.MetaClientCapabilities)
	case before.Succeeded():
		t.MarkNotObserved(noPriorContext, "the server serves requests without "+spec.MetaClientCapabilities+" in any case")
	default:
		t.Expect(c, after, before.Sent, before.Event).Keeps(noPriorContext,
			"After another client has sent initialize, the server serves a request without capabilities.",
			suite.Satisfy("an error because "+spec.MetaClientCapabilities+" is missing, as before initialize", func(r *client.Reply) bool { return !r.Succeeded() }))
	}
}

// looksModern reports whether a response is a result of the stateless era.
func looksModern(r *client.Reply) bool {
	return r.Succeeded() && wire.At(r.Message.Result(), "/resultType") != nil
}

// openSession opens a session as a client of a handshake revision, with all capabilities and, if
// the server declares logging, with the lowest log level. It ends the case if the server does not
// open one.
func openSession(ctx context.Context, t *suite.T) {
	version := t.HandshakeRevision()
	c := t.Open(ctx, client.Options{})
	params := c.InitializeParams()
	params["protocolVersion"], params["capabilities"] = string(version), client.AllCapabilities(version)
	id := c.NewID()
	opened := c.DoRaw(ctx, id, wire.NewRequest(id, spec.MethodInitialize, params))
	if !opened.Succeeded() || c.Send(ctx, wire.NewNotification(spec.MethodInitialized, nil)) != nil {
		t.GiveUp("the server opens no session")
	}
	if wire.At(opened.Message.Result(), "/capabilities/logging") != nil {
		id := c.NewID()
		c.DoRaw(ctx, id, wire.NewRequest(id, spec.MethodSetLevel, map[string]any{"level": "debug"}))
	}
}
