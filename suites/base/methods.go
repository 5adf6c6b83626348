package base

import (
	"context"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

const methodNotFound = "base.method-not-found"

// unknown are methods that no server has. Errors that quote the second one show how a server
// writes non-ASCII text.
var unknown = []struct {
	method string
	params map[string]any
}{
	{"com.example/does-not-exist", nil},
	{"com.example/unbekannt-✓-未知", map[string]any{"größe": "🗝"}},
	{"tools/does-not-exist", map[string]any{"name": "any"}},
	{"Ping", nil}, // method names are case-sensitive
	{"", nil},
	// Members that every object has in JavaScript or Python. Some servers look methods up in an
	// object.
	{"constructor", nil},
	{"toString", nil},
	{"__proto__", nil},
	{"__init__", nil},
}

func unknownMethodCase() suite.Case {
	return suite.Case{
		ID:    "errors.unknown-methods",
		Title: "Sends requests with unknown methods",
		Requirements: []string{
			methodNotFound, "base.request-answered", "base.error-code-and-message", "base.error-code-integer",
			"base.error-message-concise", "base.error-response-id", "base.error-response-id-always", "base.message-utf8",
		},
		SharesConversation: true,
		Run: func(ctx context.Context, t *suite.T) {
			c := t.Conversation(ctx)
			var requests [][]byte
			for _, u := range unknown {
				if isSendable(u.method, t.Revision, t.Transport) {
					requests = append(requests, c.Request(c.NewID(), u.method, u.params))
				}
			}
			ordinary, list := c.Do(ctx, c.HarmlessMethod(), nil), ""
			if ordinary.Answered() && !ordinary.Succeeded() && !ordinary.Message.IsOverloadError() {
				list = servedList(ctx, t, c)
			}
			replies := c.DoAll(ctx, requests)
			if list != "" {
				if again := c.Do(ctx, list, nil); again.Succeeded() {
					ordinary = again
				}
			}
			for _, r := range replies {
				if list != "" && r.Answered() && r.Message.IsOverloadError() {
					continue
				}
				if !t.CanInterpret(suite.NewOddReply(r, ordinary), methodNotFound) {
					continue
				}
				t.Expect(c, r).Keeps(methodNotFound, "The server does not answer an unknown method with -32601.",
					suite.BeErrorFor(spec.UnknownMethod, t.Revision))
			}
		},
	}
}

// servedList returns the method of a list that the server declares and serves, or "". The list
// replaces ping for a server that refuses even pings, perhaps because it does not know that method
// either. If such a server serves the list before and after the unknown methods, it does not refuse
// all requests for another reason.
func servedList(ctx context.Context, t *suite.T, c *client.Conversation) string {
	for _, method := range t.DeclaredLists() {
		if t.Inventory.Incomplete[method] != inventory.NoResult && c.Do(ctx, method, nil).Succeeded() {
			return method
		}
	}
	return ""
}

// isSendable reports whether a request may have the method. Since 2026-07-28 each
// POST repeats it as a header, which carries only printable ASCII
// (2026-07-28, basic/transports/streamable-http#standard-request-headers).
func isSendable(method string, r spec.Revision, over spec.Transport) bool {
	if r.Era() == spec.Handshake || over == spec.Stdio {
		return true
	}
	return method != "" && !strings.ContainsFunc(method, func(c rune) bool { return c < '!' || c > '~' })
}
