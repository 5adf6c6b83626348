package streamablehttp

import (
	"context"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const noBroadcast = "streamable-http.no-broadcast"

// oneChange makes a single change, of which a notification tells once: two that
// are alike may tell of two changes otherwise.
func oneChange() suite.Case {
	return suite.Case{
		ID:           "streamable-http.one-change",
		Title:        "Changes something once, while two streams are open on which the server may tell of it",
		Requirements: []string{noBroadcast},
		Exclusive:    true, // a change that another session makes may be told, too
		Run: suite.Over(spec.StreamableHTTP, func(ctx context.Context, t *suite.T) {
			change, uri, ok := changing(t)
			if !ok {
				t.Needs(inventory.ChangesResource, inventory.ChangesResources, inventory.ChangesTools, inventory.ChangesPrompts)
				t.GiveUp("the resource that changes can't be subscribed to")
			}
			c := t.Start(ctx, client.Options{})
			w := t.Web(c)
			if uri != "" && !c.Try(ctx, spec.MethodResourcesSubscribe, map[string]any{"uri": uri}).Succeeded() {
				t.GiveUp("the resource that changes can't be subscribed to")
			}
			streams := [2]*suite.Stream{}
			for i := range streams {
				streams[i] = w.Begin(suite.WebRequest{Method: "GET"})
				defer streams[i].Drop()
				if !streams[i].Opened(ctx) {
					t.GiveUp("the server opens no two streams at once")
				}
			}
			t.Quiet(ctx, c)
			from := c.Record.Len()
			if !c.TryFor(ctx, callTime, spec.MethodToolsCall, change.Params()).Succeeded() {
				t.GiveUp("the call that changes something does not succeed")
			}
			t.Quiet(ctx, c) // what tells of it may come a little later
			told(t, c, streams, from)
		}),
	}
}

// maxPages bounds a walk through a list.
const maxPages = 20

// changeable are the lists, and the members of their results.
var changeable = []struct{ method, member string }{
	{spec.MethodToolsList, "tools"}, {spec.MethodPromptsList, "prompts"}, {spec.MethodResourcesList, "resources"},
}

// listChanges changes all lists that can be, each walked through before and
// after, for the rules to see whether that is told.
func listChanges() suite.Case {
	return suite.Case{
		ID:        "streamable-http.list-changes",
		Title:     "Changes the lists that are known to change, walked through before and after",
		Provokes:  []string{"tools.list-changed.", "prompts.list-changed.", "resources.list-changed."},
		Needs:     []string{"tools"},
		Exclusive: true, // other sessions are told, too
		Run: suite.Over(spec.StreamableHTTP, func(ctx context.Context, t *suite.T) {
			t.Needs(inventory.ChangesTools, inventory.ChangesPrompts, inventory.ChangesResources)
			c := t.Start(ctx, client.Options{})
			walk := func() {
				for _, l := range changeable {
					if _, ok := t.Inventory.ChangingList(l.method); ok {
						inventory.Walk(ctx, c, l.method, l.member, maxPages)
					}
				}
			}
			walk()
			for _, l := range changeable {
				if change, ok := t.Inventory.ChangingList(l.method); ok {
					c.TryFor(ctx, callTime, spec.MethodToolsCall, change.Params())
				}
			}
			t.Quiet(ctx, c) // what tells of it may come a little later
			walk()
		}),
	}
}

// changing returns a call that makes one change, and the URI of what is to be
// subscribed to before, if anything is.
func changing(t *suite.T) (k inventory.Known, uri string, ok bool) {
	if k, uri, ok = t.Inventory.Changing(); ok && t.Inventory.Declares("resources.subscribe") {
		return k, uri, true
	}
	for _, list := range []string{spec.MethodResourcesList, spec.MethodToolsList, spec.MethodPromptsList} {
		if k, ok = t.Inventory.ChangingList(list); ok {
			return k, "", true
		}
	}
	return k, "", false
}

// told judges what came on the two streams from a position on. Where one was
// closed, as by a server that lets a new one take over, nothing is said.
func told(t *suite.T, c *client.Conversation, streams [2]*suite.Stream, from int) {
	first, second := streams[0].Exchange(), streams[1].Exchange()
	if first.End != nil || second.End != nil {
		t.GiveUp("the server does not keep two streams open")
	}
	one, other := changesOn(first, from), changesOn(second, from)
	switch {
	case len(one)+len(other) == 0:
		t.NotObserved(noBroadcast, "neither stream told of the change")
	case len(one) == 1 && len(other) == 1 && string(one[0].Raw) == string(other[0].Raw):
		at := transcript.Positions(first.Request, second.Request, one[0], other[0])
		slices.Sort(at)
		t.Deviates(c, verdict.Deviation{
			Requirement: noBroadcast,
			Summary:     "A notification of one change comes on two streams.",
			Permitted:   "each message on one stream alone",
			Seen:        suite.Excerpt(string(one[0].Raw), 200), At: at,
		})
	case len(one) > 0 && len(other) > 0:
		t.NotObserved(noBroadcast, "both streams told of changes, and not of the one alone")
	default:
		t.Kept(noBroadcast)
	}
}

// changesOn returns the notifications of changes that came on a stream from a
// position on.
func changesOn(x *transcript.Exchange, from int) []*transcript.Event {
	var out []*transcript.Event
	for _, e := range x.Body {
		if e.Seq >= from && e.Kind == transcript.Received && !e.Cut() && suite.Carries(e, func(m *wire.Message) bool {
			return m.Kind == wire.Notification && slices.Contains([]string{
				spec.MethodResourcesUpdated, spec.MethodResourcesChanged, spec.MethodToolsChanged, spec.MethodPromptsChanged,
			}, m.Method)
		}) {
			out = append(out, e)
		}
	}
	return out
}
