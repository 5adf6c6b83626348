package stateless

import (
	"context"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const bothEras = "versioning.dual-era-initialize"

// initializeCase begins with initialize, as a client of a handshake revision does. Only the
// response shows whether the server serves such clients. A server that does not serve them has no
// reason to regard requests without metadata as theirs, so its responses to such requests are
// judged strictly. If the server is known to serve them, the first initialize requests the stateless
// revision, and the server has to choose a handshake revision instead.
func initializeCase() suite.Case {
	return suite.Case{
		ID:           "stateless.initialize",
		Title:        "Begins with initialize; sends requests without metadata in its session, or after it was refused",
		Requirements: []string{bothEras, noPriorContext},
		Provokes: []string{
			"versioning.modern-only-initialize-error", "versioning.modern-only-initialize-refused", "stateless.removed.initialize",
			"stateless.meta-missing", "stateless.meta-protocol-version-required", "stateless.meta-missing-http-400", "discover.requires-meta",
			"versioning.known-legacy-version-in-meta", "streamable-http.version-header-required", "streamable-http.get-405", "streamable-http.delete-405",
			"streamable-http.session-header-ignored", "streamable-http.last-event-id-ignored",
		},
		Run: func(ctx context.Context, t *suite.T) {
			version := t.HandshakeRevision()
			open := func(requested spec.Revision) (*client.Conversation, map[string]any, *client.Reply) {
				c := t.Open(ctx, client.Options{})
				params := c.InitializeParams()
				params["protocolVersion"], params["capabilities"] = string(requested), client.AllCapabilities(version)
				id := c.NewID()
				return c, params, c.DoRaw(ctx, id, wire.NewRequest(id, spec.MethodInitialize, params))
			}
			requested := version
			if t.SpeaksHandshake() {
				requested = t.Revision
			}
			c, params, r := open(requested)
			if requested != version {
				judgeChosen(t, c, r)
				if !r.Succeeded() || !choosesHandshake(r) {
					c, params, r = open(version)
				}
			}
			switch {
			case r.Succeeded() && !choosesHandshake(r) && !t.SpeaksHandshake():
				t.MarkNotObserved(bothEras, "the server chooses no handshake revision")
				initializeAfterDiscover(ctx, t, params)
			case r.Succeeded():
				_ = c.Send(ctx, wire.NewNotification(spec.MethodInitialized, nil))
				judgeSession(ctx, t, c, r)
			case !r.Answered() && !suite.IsRefused(c, 0):
				t.MarkNotObserved(bothEras, "the server did not answer initialize")
			default:
				t.MarkNotObserved(bothEras, "the server refuses initialize")
				continueWithoutHandshake(ctx, t, c, params)
			}
		},
	}
}

// chosenVersion returns the version that the result of initialize names.
func chosenVersion(r *client.Reply) spec.Revision {
	chosen, _ := wire.Text(wire.At(r.Message.Result(), "/protocolVersion"))
	return spec.Revision(chosen)
}

// choosesHandshake reports whether the result of initialize names a handshake revision.
func choosesHandshake(r *client.Reply) bool { return chosenVersion(r).Era() == spec.Handshake }

// judgeChosen judges which version a server of both eras chooses if initialize requests one that has
// no handshake. It may refuse that, too.
func judgeChosen(t *suite.T, c *client.Conversation, r *client.Reply) {
	if !r.Succeeded() || chosenVersion(r) != t.Revision {
		return
	}
	t.Report(c, verdict.Deviation{
		Requirement: bothEras, Summary: "The server negotiates " + string(spec.V20260728) + " with initialize, although that revision has no handshake.",
		Permitted: "a handshake revision, or an error", Seen: suite.Describe(r), At: r.Positions(),
	})
}

// initializeAfterDiscover sends server/discover and then initialize, with the params in the
// parameter initialize. The versions that server/discover lists show whether the server has to
// refuse initialize.
func initializeAfterDiscover(ctx context.Context, t *suite.T, initialize map[string]any) {
	c := t.Open(ctx, client.Options{})
	if !c.Discover(ctx).Succeeded() {
		t.GiveUp("server/discover got no result")
	}
	id := c.NewID()
	c.DoRaw(ctx, id, wire.NewRequest(id, spec.MethodInitialize, initialize))
}

// continueWithoutHandshake continues after initialize was refused; initialize has the params of
// that request.
func continueWithoutHandshake(ctx context.Context, t *suite.T, c *client.Conversation, initialize map[string]any) {
	method := t.DeclaredListOr(spec.MethodDiscover)
	before := sendWithoutMetaKey(ctx, c, method, spec.MetaVersion)
	complete := c.Discover(ctx)
	if !complete.Succeeded() {
		t.GiveUp("server/discover got no result")
	}
	id := c.NewID()
	if frame := wire.NewRequest(id, spec.MethodInitialize, initialize); c.Web() == nil {
		c.DoRaw(ctx, id, frame)
	} else { // with none of the headers that only clients of the stateless era know
		w := t.Web(c)
		w.RoundTrip(ctx, suite.WebRequest{Body: frame, Headers: []suite.Header{suite.WithHeader("MCP-Protocol-Version"), suite.WithHeader("Mcp-Method")}})
		w.SendHarmless(ctx, suite.WithHeader("MCP-Protocol-Version"))
		w.SendHarmless(ctx, suite.WithHeader("Mcp-Session-Id", "mcp-conform-00000000-0000-4000-8000-000000000000"))
		w.SendHarmless(ctx, suite.WithHeader("Last-Event-ID", "1"))
		w.Get(ctx)
		w.RoundTrip(ctx, suite.WebRequest{Method: "DELETE"})
	}
	c.Do(ctx, spec.MethodInitialize, initialize)
	for _, method := range slices.Compact([]string{spec.MethodDiscover, method}) {
		for _, params := range versionlessParams(c) {
			id := c.NewID()
			c.DoRaw(ctx, id, wire.NewRequest(id, method, params))
		}
	}
	c.Do(ctx, spec.MethodDiscover, map[string]any{"_meta": map[string]any{spec.MetaVersion: string(spec.V20251125)}})
	judgeLacking(t, c, spec.MetaVersion, before, complete, sendWithoutMetaKey(ctx, c, method, spec.MetaVersion))
}

// judgeSession judges the first requests of a session that initialize opened: a ping, and a list
// that the server declared. Both have the form of the handshake revisions.
func judgeSession(ctx context.Context, t *suite.T, c *client.Conversation, opened *client.Reply) {
	requests := []string{spec.MethodPing}
	_, declared := wire.Members(wire.At(opened.Message.Result(), "/capabilities"))
	for _, l := range []struct{ capability, method string }{{"tools", spec.MethodToolsList}, {"resources", spec.MethodResourcesList}, {"prompts", spec.MethodPromptsList}} {
		if declared[l.capability] != nil {
			requests = append(requests, l.method)
			break
		}
	}
	for _, method := range requests {
		id := c.NewID()
		r := c.DoRaw(ctx, id, wire.NewRequest(id, method, nil))
		switch {
		case !r.Answered() || r.Busy():
			t.MarkNotObserved(bothEras, "the server did not answer "+method)
		case r.Succeeded():
			t.MarkKept(bothEras)
		case isModernError(r) && !sendStatelessControl(ctx, t, requests):
			t.MarkNotObserved(bothEras, "the server refuses "+method+", as it may refuse a request of "+string(spec.V20260728))
		case isModernError(r):
			t.Report(c, verdict.Deviation{
				Requirement: bothEras, Summary: "The server treats a session as stateless although initialize opened it.",
				Permitted: "a result in the form of the negotiated revision", Seen: method + ": " + suite.Describe(r),
				At: slices.Concat(opened.Positions(), r.Positions()),
			})
			return
		default:
			t.MarkNotObserved(bothEras, method+" got an error that may have another cause")
		}
	}
}

// sendStatelessControl sends a request for comparison, as a client of the stateless era, and
// reports whether it succeeds. The method is that of the list among the requests or, if there is
// none, server/discover.
func sendStatelessControl(ctx context.Context, t *suite.T, requests []string) bool {
	method := requests[len(requests)-1]
	if method == spec.MethodPing {
		method = spec.MethodDiscover
	}
	return t.Open(ctx, client.Options{}).Do(ctx, method, nil).Succeeded()
}

// isModernError reports whether a response is an error for which only the stateless era has a
// reason, because the request has everything that a handshake revision requires.
func isModernError(r *client.Reply) bool {
	code, _ := r.Message.ErrorCode()
	switch spec.Code(code) {
	case spec.CodeMethodNotFound, spec.CodeInvalidParams, spec.CodeHeaderMismatch, spec.CodeUnsupported:
		return true
	}
	return false
}
