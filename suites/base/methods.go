package base

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

const methodNotFound = "base.method-not-found"

// unknown are methods that no server can have. Errors that quote the second
// show how a server writes what is not ASCII.
var unknown = []struct {
	method string
	params map[string]any
}{
	{"com.example/does-not-exist", nil},
	{"com.example/unbekannt-✓-未知", map[string]any{"größe": "🗝"}},
	{"tools/does-not-exist", map[string]any{"name": "any"}},
	{"Ping", nil}, // names of methods are case-sensitive
	{"", nil},
	// Members that every object has where methods are the members of an object.
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
				requests = append(requests, c.Request(c.NewID(), u.method, u.params))
			}
			control := c.Do(ctx, c.HarmlessMethod(), nil)
			for _, r := range c.DoAll(ctx, requests) {
				if !t.CanInterpret(suite.CompareOdd(r, control), methodNotFound) {
					continue
				}
				t.Expect(c, r).Keeps(methodNotFound, "The server does not answer an unknown method with -32601.",
					suite.BeErrorFor(spec.UnknownMethod, t.Revision))
			}
		},
	}
}
