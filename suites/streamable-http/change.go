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

// oneChangeCase makes the same call repeatedly, with two additional streams open and then without
// them. Only the server knows how many changes a call makes, and it may send each notification on a
// different stream. So the case judges only if both streams have the same notifications, and if a
// call without the streams causes no more notifications than one stream had.
func oneChangeCase() suite.Case {
	return suite.Case{
		ID:           "streamable-http.one-change",
		Title:        "Changes something while two further streams are open, and again without them if both deliver the notification",
		Requirements: []string{noBroadcast},
		Exclusive:    true, // a change by another session may be announced too
		OnlyOver:     spec.StreamableHTTP,
		Run: func(ctx context.Context, t *suite.T) {
			call, uri, ok := changingCall(t)
			if !ok {
				t.RequireTool(inventory.ChangesResource, inventory.ChangesResources, inventory.ChangesTools, inventory.ChangesPrompts)
				t.GiveUp("mcp-conform can't subscribe to the resource that changes")
			}
			c := t.Start(ctx, client.Options{})
			w := t.Web(c)
			if uri != "" && !c.Do(ctx, spec.MethodResourcesSubscribe, map[string]any{"uri": uri}, client.Within(0)).Succeeded() {
				t.GiveUp("mcp-conform can't subscribe to the resource that changes")
			}
			streams := [2]*suite.Stream{}
			for i := range streams {
				streams[i] = w.Begin(suite.WebRequest{Method: "GET"})
				defer streams[i].Drop()
				if !streams[i].AwaitOpened(ctx) {
					t.GiveUp("the server does not open two streams at once")
				}
			}
			change := func() int { return makeChange(ctx, t, c, call) }
			judgeBroadcast(t, c, streams, change)
		},
	}
}

// makeChange makes the call that changes something. It returns the position of the first event that
// may announce the change.
func makeChange(ctx context.Context, t *suite.T, c *client.Conversation, call inventory.KnownCall) int {
	t.AwaitQuiet(ctx, c)
	from := c.Record.Len()
	if !c.Do(ctx, spec.MethodToolsCall, call.Params(), client.Within(callTime)).Succeeded() {
		t.GiveUp("the call that should change something fails")
	}
	t.AwaitQuiet(ctx, c) // the notification may come a little later
	return from
}

// maxPages bounds a walk through a list.
const maxPages = 20

// changeable are the lists, the members of their results, and the notifications of their changes.
var changeable = []struct{ method, member, changed string }{
	{spec.MethodToolsList, "tools", spec.MethodToolsChanged},
	{spec.MethodPromptsList, "prompts", spec.MethodPromptsChanged},
	{spec.MethodResourcesList, "resources", spec.MethodResourcesChanged},
}

// listChangeCase changes every list that can be changed, and walks through it before and after.
// Rules judge whether the changes are announced.
func listChangeCase() suite.Case {
	return suite.Case{
		ID:        "streamable-http.list-changes",
		Title:     "Changes lists, and walks through them before and after",
		Provokes:  []string{"tools.list-changed.", "prompts.list-changed.", "resources.list-changed."},
		Needs:     []string{"tools"},
		Exclusive: true, // other sessions get notifications too
		OnlyOver:  spec.StreamableHTTP,
		Run: func(ctx context.Context, t *suite.T) {
			t.RequireTool(inventory.ChangesTools, inventory.ChangesPrompts, inventory.ChangesResources)
			c := t.Start(ctx, client.Options{})
			walk := func() {
				for _, l := range changeable {
					if _, ok := t.Inventory.ListChangeCall(l.method); ok {
						inventory.Walk(ctx, c, l.method, l.member, maxPages)
					}
				}
			}
			walk()
			for range 2 { // the second call may remove what the first one added
				from, announced := c.Record.Len(), true
				for _, l := range changeable {
					if change, ok := t.Inventory.ListChangeCall(l.method); ok {
						c.Do(ctx, spec.MethodToolsCall, change.Params(), client.Within(callTime))
					}
				}
				t.AwaitQuiet(ctx, c) // the notification may come a little later
				walk()
				for _, l := range changeable {
					if _, ok := t.Inventory.ListChangeCall(l.method); ok && t.Inventory.Declares(l.member+".listChanged") {
						announced = t.AwaitNotification(ctx, c, from, l.changed) && announced
					}
				}
				if !announced {
					return
				}
			}
		},
	}
}

// changingCall returns a call that makes one change, of which the server should notify its clients.
// If the change is of a resource, it also returns the URI of the resource, to which the client must
// subscribe first.
func changingCall(t *suite.T) (k inventory.KnownCall, uri string, ok bool) {
	if k, uri, ok = t.Inventory.ResourceChangeCall(); ok && t.Inventory.Declares("resources.subscribe") {
		return k, uri, true
	}
	for _, list := range []string{spec.MethodResourcesList, spec.MethodToolsList, spec.MethodPromptsList} {
		if k, ok = t.Inventory.ListChangeCall(list); ok {
			return k, "", true
		}
	}
	return k, "", false
}

// judgeBroadcast judges the notifications on the two streams after a change, and after another
// one. It gives up if one stream was closed, for example by a server that permits only one. If
// both streams have the same notifications both times, two calls without these streams show how
// many notifications a call causes. One such call is not enough, because the number may alternate
// from call to call.
func judgeBroadcast(t *suite.T, c *client.Conversation, streams [2]*suite.Stream, change func() int) {
	var same []string
	var at []int
	for range 2 {
		from := change()
		first, second := streams[0].Exchange(), streams[1].Exchange()
		if first.End != nil || second.End != nil {
			t.GiveUp("the server does not keep two streams open")
		}
		one, other := changesOn(first, from), changesOn(second, from)
		switch {
		case len(one)+len(other) == 0:
			t.MarkNotObserved(noBroadcast, "neither stream carried a notification of the change")
			return
		case len(one) == 0 || len(other) == 0:
			t.MarkKept(noBroadcast)
			return
		case !slices.Equal(messageTexts(one), messageTexts(other)), same != nil && len(same) != len(one):
			t.MarkNotObserved(noBroadcast, "the two streams carried notifications of different changes")
			return
		}
		same = messageTexts(one)
		at = transcript.Positions(first.Request, second.Request, one[0], other[0])
	}
	for _, s := range streams {
		s.Drop()
	}
	for range 2 {
		if n := len(changesIn(c.Record.From(change()))); n != len(same) {
			t.MarkNotObserved(noBroadcast, "both streams carried a notification, but one call may make several changes")
			return
		}
	}
	slices.Sort(at)
	t.Report(c, verdict.Deviation{
		Requirement: noBroadcast,
		Summary:     "The server sends one notification on two streams.",
		Permitted:   "each message on only one stream",
		Seen:        wire.Excerpt(same[0], 200), At: at,
	})
}

// messageTexts returns the JSON texts of the messages in the events, sorted. It ignores the ids of
// the stream events that carry the messages.
func messageTexts(events []*transcript.Event) []string {
	var out []string
	for _, m := range transcript.Messages(events) {
		out = append(out, string(m.Raw))
	}
	slices.Sort(out)
	return out
}

// changesOn returns the change notifications on a stream at or after the given position.
func changesOn(x *transcript.Exchange, from int) []*transcript.Event {
	i := slices.IndexFunc(x.Body, func(e *transcript.Event) bool { return e.Seq >= from })
	if i < 0 {
		return nil
	}
	return changesIn(x.Body[i:])
}

// changesIn returns the events that are change notifications.
func changesIn(events []*transcript.Event) []*transcript.Event {
	var out []*transcript.Event
	for _, e := range events {
		if e.Kind == transcript.Received && !e.IsCut() && suite.HasMessage(e, func(m *wire.Message) bool {
			return m.Kind == wire.Notification && slices.Contains([]string{
				spec.MethodResourcesUpdated, spec.MethodResourcesChanged, spec.MethodToolsChanged, spec.MethodPromptsChanged,
			}, m.Method)
		}) {
			out = append(out, e)
		}
	}
	return out
}
