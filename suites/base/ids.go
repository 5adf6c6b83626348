package base

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// idShapes returns ids that every server must be able to return. No string among them spells one of
// the integers, so a response with an id of the wrong type can't match another request. The
// greatest integer is the last one that a double distinguishes from its neighbors.
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
		// If the server does not escape this id in its response, the response spans several lines.
		wire.StringID("line\nbreak, tab\t, quote\" and backslash\\"),
		wire.StringID(strings.Repeat("long-", 50)),
		// JSON permits these line separators unescaped in strings. Readers that
		// split text at every kind of newline cut the message there.
		wire.StringID("next\u0085line, line\u2028separator, paragraph\u2029separator"),
		wire.StringID("before\x00after"),       // has a null character, which ends C strings
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
			requests = append(requests, escapeNonASCII(c.Request(wire.StringID("escaped-ключ-鍵-🗝"), c.HarmlessMethod(), nil)))
			for _, r := range c.DoAll(ctx, requests) {
				if !r.Answered() {
					return // rules judge what came instead
				}
			}
			t.MarkKept("base.request-answered")
			t.MarkKept("base.response-id-echo")
			sendEqualLookingIDs(ctx, t, c)
			sendHugeIDs(ctx, c)
		},
	}
}

// sendEqualLookingIDs sends two concurrent requests whose ids differ only in type.
func sendEqualLookingIDs(ctx context.Context, t *suite.T, c *client.Conversation) {
	number, text := wire.IntID(7_000_011), wire.StringID("7000011")
	method, member := c.HarmlessMethod(), ""
	for _, l := range lists {
		if c.Server().Declares(l.capability) {
			method, member = l.method, l.capability
		}
	}
	replies := c.DoAll(ctx, [][]byte{c.Request(number, c.HarmlessMethod(), nil), c.Request(text, method, nil)})
	if member != "" {
		expectNoList(t, c, replies[0], replies[1], member)
	}
}

// sendHugeIDs sends integer ids that a double can't hold. Even when rounded to doubles, they differ
// from each other. A rule notes the outcome.
func sendHugeIDs(ctx context.Context, c *client.Conversation) {
	for _, n := range []int64{1<<53 + 1, -(1<<53 + 3)} {
		c.DoRaw(ctx, wire.IntID(n), c.Request(wire.IntID(n), c.HarmlessMethod(), nil), client.MayIgnore)
	}
}

// escapeNonASCII writes characters outside of ASCII as escapes, and those beyond U+FFFF as
// surrogate pairs, as many JSON libraries do.
func escapeNonASCII(frame []byte) []byte {
	var escaped []byte
	for _, r := range string(frame) {
		if r < utf8.RuneSelf {
			escaped = append(escaped, byte(r))
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			escaped = fmt.Appendf(escaped, `\u%04x`, unit)
		}
	}
	return escaped
}

// requestSpellings returns equivalent JSON spellings of a request. A server that searches lines for
// text instead of parsing them recognizes only one.
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
		func(request []byte) []byte { // an escaped method
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
