package stateless

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	noPriorContext   = "stateless.no-prior-request-context"
	perRequest       = "versioning.per-request"
	sameEachTime     = "discover.independent-of-connection"
	manyClients      = "stateless.multiple-conversations"
	noSameConnection = "stateless.no-same-connection"
)

// ancient is older than any revision.
const ancient = "1900-01-01"

// contextCase sends the same invalid requests before and after valid ones. If the server declares a
// list, no server/discover comes before the first valid request, which is for that list.
func contextCase() suite.Case {
	return suite.Case{
		ID:           "stateless.no-context",
		Title:        "Sends requests that lack metadata, or name an unknown version, before and after complete ones",
		Requirements: []string{noPriorContext, perRequest, sameEachTime},
		Provokes:     []string{"stateless.no-initialize-needed"},
		Reuses:       suite.ReuseNone,
		Run: func(ctx context.Context, t *suite.T) {
			c := t.Open(ctx, client.Options{})
			method := t.DeclaredListOr(spec.MethodDiscover)
			lacking := func() *client.Reply { return sendWithoutMetaKey(ctx, c, method, spec.MetaClientCapabilities) }
			unknown := func() *client.Reply {
				return c.Do(ctx, method, map[string]any{"_meta": map[string]any{spec.MetaVersion: ancient}})
			}
			lackingBefore, unknownBefore := lacking(), unknown()
			before := c.Do(ctx, method, nil)
			judgeBeforeDiscovery(ctx, t, c, method, before)
			compareDiscovery(ctx, t, c)
			judgeChanged(ctx, t, c, method, before)
			judgeLacking(t, c, spec.MetaClientCapabilities, lackingBefore, before, lacking())
			judgeUnknown(t, c, unknownBefore, before, unknown())
		},
	}
}

// sendWithoutMetaKey sends a request without one key of its metadata.
func sendWithoutMetaKey(ctx context.Context, c *client.Conversation, method, key string) *client.Reply {
	id := c.NewID()
	return c.DoRaw(ctx, id, suite.RequestWith(id, method, suite.WithoutMeta(c, key)))
}

// judgeBeforeDiscovery judges the response to a complete request before any server/discover.
func judgeBeforeDiscovery(ctx context.Context, t *suite.T, c *client.Conversation, method string, r *client.Reply) {
	switch {
	case r.Succeeded():
		t.MarkKept(noPriorContext)
		return
	case !r.Answered() || r.Busy() || method == spec.MethodDiscover:
		t.MarkNotObserved(noPriorContext, "the server did not answer the first complete request")
		return
	}
	discovery := c.Do(ctx, spec.MethodDiscover, nil)
	later := c.Do(ctx, method, nil)
	if !discovery.Succeeded() || !later.Succeeded() {
		t.MarkNotObserved(noPriorContext, "the server does not serve "+method+" after server/discover, either")
		return
	}
	t.Report(c, verdict.Deviation{
		Requirement: noPriorContext, Summary: "The server serves a request only after server/discover.",
		Permitted: "a result, as after server/discover", Seen: suite.Describe(r),
		At: slices.Concat(r.Positions(), discovery.Positions(), later.Positions()),
	})
}

// judgeChanged compares the items of a list before and after server/discover. Another request
// shows whether the list changes by itself.
func judgeChanged(ctx context.Context, t *suite.T, c *client.Conversation, method string, before *client.Reply) {
	member := generate.ListMember(method)
	if member == "" || !before.Succeeded() {
		return
	}
	after, again := c.Do(ctx, method, nil), c.Do(ctx, method, nil)
	if !after.Succeeded() || !again.Succeeded() {
		return
	}
	names := func(r *client.Reply) string {
		var out []string
		for _, item := range wire.Elements(wire.At(r.Message.Result(), "/"+member)) {
			out = append(out, string(wire.At(item, "/name")))
		}
		slices.Sort(out)
		return strings.Join(out, ", ")
	}
	if names(before) == names(after) || names(after) != names(again) {
		return
	}
	t.Report(c, verdict.Deviation{
		Requirement: noPriorContext, Summary: "The server lists other items before server/discover than after it.",
		Permitted: "the same items", Seen: wire.Excerpt(names(before), 120) + " before, and " + wire.Excerpt(names(after), 120) + " after it",
		At: slices.Concat(before.Positions(), after.Positions(), again.Positions()),
	})
}

// judgeLacking compares the responses to an incomplete request before and after a complete one. If
// the server serves it even before, nothing is judged here, because the requirement on the missing
// key covers that.
func judgeLacking(t *suite.T, c *client.Conversation, key string, before, complete, after *client.Reply) {
	switch {
	case !before.Answered() || before.Busy():
		t.MarkNotObserved(noPriorContext, "the server did not answer the request without "+key)
	case before.Succeeded():
		t.MarkNotObserved(noPriorContext, "the server serves requests without "+key+" in any case")
	default:
		t.Expect(c, after, before.Sent, before.Event, complete.Sent, complete.Event).Keeps(noPriorContext, "The server lets a request use the metadata of an earlier one.",
			suite.Satisfy("an error because "+key+" is missing, as before the first complete request", func(r *client.Reply) bool { return !r.Succeeded() }))
	}
}

// judgeUnknown compares the responses to a request with an unknown version before and after a
// complete one.
func judgeUnknown(t *suite.T, c *client.Conversation, before, complete, after *client.Reply) {
	switch {
	case !before.Answered() || before.Busy():
		t.MarkNotObserved(perRequest, "the server did not answer the request of an unknown version")
	case before.Succeeded():
		t.MarkNotObserved(perRequest, "the server serves an unknown version in any case")
	default:
		t.Expect(c, after, before.Sent, before.Event, complete.Sent, complete.Event).About("/params"+spec.MetaPointer(spec.MetaVersion)).Keeps(perRequest, "The server serves an unknown version after a request of a supported one.", suite.BeAnyError())
	}
}

// compareDiscovery compares the result of server/discover with that on another connection.
func compareDiscovery(ctx context.Context, t *suite.T, c *client.Conversation) {
	known := t.Inventory.Server.Result
	r := c.Discover(ctx)
	if !r.Succeeded() || known == nil {
		t.MarkNotObserved(sameEachTime, "the server did not answer server/discover with a result to compare")
		return
	}
	for _, member := range []string{"supportedVersions", "capabilities"} {
		if areEqualInAnyOrder(wire.At(known, "/"+member), wire.At(r.Message.Result(), "/"+member)) {
			continue
		}
		t.Report(c, verdict.Deviation{
			Requirement: sameEachTime, Summary: "The server's server/discover result differs between connections.",
			Permitted: "the same versions and capabilities", Seen: suite.Describe(r) + "; on another connection it had " + member + " " + wire.Excerpt(string(wire.At(known, "/"+member)), 200),
			At: r.Positions(),
		})
		return
	}
	t.MarkKept(sameEachTime)
}

// areEqualInAnyOrder reports whether two values are equal. If they are arrays, it ignores the order
// of their elements, and repeated ones.
func areEqualInAnyOrder(a, b []byte) bool { return normalize(a) == normalize(b) }

func normalize(v []byte) string {
	if len(v) > 0 && v[0] == '[' {
		var out []string
		for _, e := range wire.Elements(v) {
			out = append(out, string(e))
		}
		slices.Sort(out)
		return fmt.Sprint(slices.Compact(out))
	}
	return canonicalForm(v)
}

// interleavedCase sends requests with the metadata of several clients concurrently in one
// conversation.
func interleavedCase() suite.Case {
	return suite.Case{
		ID:                 "stateless.interleaved",
		Title:              "Sends requests of several clients, with different capabilities and trace contexts, at once",
		Requirements:       []string{manyClients},
		SharesConversation: true,
		Run: func(ctx context.Context, t *suite.T) {
			c := t.Conversation(ctx)
			var methods []string
			for _, method := range append([]string{spec.MethodDiscover}, t.DeclaredLists()...) {
				if c.Do(ctx, method, nil).Succeeded() {
					methods = append(methods, method)
				}
			}
			var frames [][]byte
			for i, capabilities := range []any{map[string]any{}, c.Options().Capabilities, map[string]any{"elicitation": map[string]any{}}} {
				for _, method := range methods {
					meta := c.Metadata()
					meta[spec.MetaClientInfo] = map[string]any{"name": fmt.Sprintf("mcp-conform-%d", i+1), "version": "1"}
					meta[spec.MetaClientCapabilities] = capabilities
					meta["traceparent"] = fmt.Sprintf("00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333%d-01", i+1)
					frames = append(frames, suite.RequestWith(c.NewID(), method, meta))
				}
			}
			if len(frames) == 0 {
				t.GiveUp("the server does not serve any of the requests alone, either")
			}
			for _, r := range c.DoAll(ctx, frames) {
				t.Expect(c, r).Keeps(manyClients, "The server refuses a request of another client on the same connection.", suite.BeResult())
			}
		},
	}
}

// connectionsCase requests the second page of a list on the connection of the first page, and on
// another one.
func connectionsCase() suite.Case {
	return suite.Case{
		ID:                 "stateless.connections",
		Title:              "Uses a cursor on the connection on which it came, and on another one",
		Requirements:       []string{noSameConnection},
		SharesConversation: true,
		Run: func(ctx context.Context, t *suite.T) {
			c := t.Conversation(ctx)
			if c.Web() == nil {
				t.MarkNotObserved(noSameConnection, "over stdio each connection has its own process, with its own cursors")
				return
			}
			w := t.Web(c)
			page := func(method string, cursor any, keep bool) *transcript.Exchange {
				var params map[string]any
				if cursor != nil {
					params = map[string]any{"cursor": cursor}
				}
				return w.RoundTrip(ctx, suite.WebRequest{Body: c.Request(c.NewID(), method, params), Keep: keep})
			}
			for _, method := range t.DeclaredLists() {
				x := page(method, nil, true)
				cursor, more := cursorIn(x)
				if !more {
					continue
				}
				if !suite.IsServed(page(method, cursor, true)) {
					t.GiveUp("the server does not accept the cursor on the connection on which it came, either")
				}
				other := page(method, cursor, false)
				switch {
				case suite.IsServed(other):
					t.MarkKept(noSameConnection)
				case other == nil || other.Response == nil:
					t.MarkNotObserved(noSameConnection, "the server did not answer the request on the other connection")
				case suite.IsServed(page(method, cursor, true)):
					t.Report(c, verdict.Deviation{
						Requirement: noSameConnection, Summary: "The server refuses a cursor on another connection.",
						Permitted: "the page that it gives on the connection on which the cursor came", Seen: suite.DescribeExchange(other),
						At: slices.Concat(suite.PositionsOf(x), suite.PositionsOf(other)),
					})
				default:
					t.MarkNotObserved(noSameConnection, "the server does not accept the cursor a second time on its own connection, either")
				}
				return
			}
			t.MarkNotObserved(noSameConnection, "no list has a second page")
		},
	}
}

// cursorIn returns the cursor of the next page in the response to a list request.
func cursorIn(x *transcript.Exchange) (cursor string, ok bool) {
	if !suite.IsServed(x) {
		return "", false
	}
	for _, m := range x.Messages() {
		if cursor, ok = wire.Text(wire.At(m.Result(), "/nextCursor")); ok && cursor != "" {
			return cursor, true
		}
	}
	return "", false
}
