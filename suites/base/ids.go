package base

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// idShapes are ids that every server must be able to give back. None of them
// has a twin of the other type, so that an answer with the type changed can't
// be taken for the answer to another request. The greatest integer is the last
// that a double tells from its neighbours.
func idShapes() []wire.ID {
	return []wire.ID{
		wire.IntID(0),
		wire.IntID(-1),
		wire.IntID(7_000_001),
		wire.IntID(1<<53 - 1),
		wire.StringID("MCP-Conform"),
		wire.StringID(" padded "),
		wire.StringID("7000002"),
		wire.StringID(""),
		wire.StringID("ключ-鍵-🗝"),
		// An answer that does not escape this one spans lines.
		wire.StringID("line\nbreak, tab\t, quote\" and backslash\\"),
		wire.StringID(strings.Repeat("long-", 50)),
		// JSON permits these line separators raw within a string; readers that
		// split text at every kind of newline cut the message there.
		wire.StringID("next\u0085line, line\u2028separator, paragraph\u2029separator"),
		wire.StringID("before\x00after"),       // escaped on the wire; strings of C end there
		wire.StringID("de\u0301compose\u0301"), // Unicode normalization changes it
	}
}

func idCase() suite.Case {
	return suite.Case{
		ID:    "messages.ids",
		Title: "Sends requests with string and integer ids of every legal shape: same digits, beyond 2^53, unusual spellings",
		Requirements: []string{
			"base.response-id-echo", "base.request-answered", "base.response-once",
			"base.response-unsolicited", "base.message-utf8", "stdio.no-embedded-newlines",
		},
		SharesConversation: true,
		Run: func(ctx context.Context, t *suite.T) {
			c := t.Conversation(ctx)
			var requests [][]byte
			for _, id := range idShapes() {
				requests = append(requests, c.Request(id, c.HarmlessMethod(), nil))
			}
			for _, write := range requestSpellings() {
				requests = append(requests, write(c.Request(c.NewID(), c.HarmlessMethod(), nil)))
			}
			for _, r := range c.DoAll(ctx, requests) {
				if !r.Answered() {
					return // the rules tell what came instead
				}
			}
			t.Kept("base.request-answered")
			t.Kept("base.response-id-echo")
			sendEqualLookingIDs(ctx, t, c)
			sendHugeIDs(ctx, c)
		},
	}
}

// sendEqualLookingIDs sends two requests at once whose ids differ in type alone.
func sendEqualLookingIDs(ctx context.Context, t *suite.T, c *client.Conversation) {
	number, text := wire.IntID(7_000_011), wire.StringID("7000011")
	method, member := c.HarmlessMethod(), ""
	for _, l := range lists {
		if c.Server().Declares(l.capability) {
			method, member = l.method, "/"+l.capability
		}
	}
	for _, r := range c.DoAll(ctx, [][]byte{c.Request(number, c.HarmlessMethod(), nil), c.Request(text, method, nil)}) {
		if member == "" || !r.Succeeded() {
			continue
		}
		listed := r.Message.ID.Same(text)
		t.Expect(c, r).Keeps("base.response-id-echo", "The server confuses the ids 1 and \"1\" of two requests.",
			suite.Satisfy("the result of the method that was requested with this id", func(r *client.Reply) bool {
				return (wire.At(r.Message.Result(), member) != nil) == listed
			}))
	}
}

// sendHugeIDs sends ids that not every server can hold. None becomes the other when it
// is rounded. What becomes of them a rule notes.
func sendHugeIDs(ctx context.Context, c *client.Conversation) {
	for _, n := range []int64{1<<53 + 1, -(1<<53 + 3)} {
		c.DoRaw(ctx, wire.IntID(n), c.Request(wire.IntID(n), c.HarmlessMethod(), nil), client.MayIgnore)
	}
}

// requestSpellings are ways to write a request that are all the same to JSON. Who looks
// for texts in a line instead of reading it knows one of them alone.
func requestSpellings() []func(request []byte) []byte {
	return []func([]byte) []byte{
		func(request []byte) []byte { // the last member first
			names, members := wire.Members(request)
			slices.Reverse(names)
			return wire.Object(names, members)
		},
		func(request []byte) []byte { // blanks between the tokens
			names, members := wire.Members(request)
			var written []string
			for _, name := range names {
				written = append(written, fmt.Sprintf(" %s : %s", wire.Quote(name), members[name]))
			}
			return []byte("{" + strings.Join(written, " ,") + "}")
		},
		func(request []byte) []byte { // a method in escapes
			names, members := wire.Members(request)
			method, _ := wire.Text(members["method"])
			var escaped strings.Builder
			for _, r := range method {
				fmt.Fprintf(&escaped, `\u%04x`, r)
			}
			members["method"] = jsontext.Value(`"` + escaped.String() + `"`)
			return wire.Object(names, members)
		},
		func(request []byte) []byte { return append(request, " \t "...) },
	}
}
