// Package subscriptions subscribes to changes, makes them happen, and ends
// subscriptions in every way. Most of what the server sends is judged by rules.
package subscriptions

import (
	"context"
	"errors"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	cancelled        = "subscriptions.client-cancel-http"
	gracefulResponse = "subscriptions.graceful-close-response"
	endAnnounced     = "cancellation.server-ends-subscription"
)

// Cases returns the cases of this area.
func Cases() []suite.Case {
	return []suite.Case{
		{
			ID:           "subscriptions.changes",
			Title:        "Subscribes to all changes and to some, makes them happen, cancels a subscription, makes them happen again, and cancels another one over stdio",
			Requirements: []string{cancelled},
			Provokes: []string{
				"subscriptions.", "resources.listen.", "resources.updated.", "resources.subscribe.update-may-name-sub-resource",
				"tools.list-changed.", "prompts.list-changed.", "resources.list-changed.",
				"cancellation.server-only-subscriptions", "cancellation.no-messages-after-cancel.stdio",
				"stateless.message-patterns-supported", "stateless.server-capabilities-respected",
			},
			Revisions: spec.StatelessRevisions(),
			Waits:     true,
			Run:       subscribeToChanges,
		},
		{
			ID:       "subscriptions.without",
			Title:    "Makes changes happen without a subscription",
			Provokes: []string{"subscriptions.change-notifications-only-on-listen"},
			Needs:    []string{"tools"},
			Waits:    true,
			Run:      changeWithout,
		},
		{
			ID:       "subscriptions.refused",
			Title:    "Subscribes without a filter, with filters that are not objects, and with deficient metadata",
			Provokes: []string{"subscriptions.filter-required", "subscriptions.error-response"},
			Waits:    true,
			Run:      subscribeWrongly,
		},
		{
			ID:       "subscriptions.idle",
			Title:    "Subscribes and sends nothing for a second",
			Provokes: []string{"subscriptions.stays-open", "subscriptions.http-sse"},
			Waits:    true,
			Run:      stayIdle,
		},
		{
			ID:           "subscriptions.shutdown",
			Title:        "Terminates the server while a subscription is open",
			Requirements: []string{gracefulResponse, endAnnounced},
			Provokes:     []string{"subscriptions.graceful-close-id", "cancellation.server-only-subscriptions"},
			Waits:        true,
			SpoilsServer: true,
			Run:          terminate,
		},
	}
}

// A knownChange is a call that is known to change something, and a function that reads what the
// call changes.
type knownChange struct {
	call         func(n int) inventory.KnownCall // each number makes another change
	notification string
	read         func(ctx context.Context, c *client.Conversation)
}

// knownChanges returns a call for each change that is known.
func knownChanges(t *suite.T) []knownChange {
	var out []knownChange
	for _, list := range []struct {
		role                         inventory.Role
		method, member, notification string
	}{
		{inventory.ChangesTools, spec.MethodToolsList, "tools", spec.MethodToolsChanged},
		{inventory.ChangesPrompts, spec.MethodPromptsList, "prompts", spec.MethodPromptsChanged},
		{inventory.ChangesResources, spec.MethodResourcesList, "resources", spec.MethodResourcesChanged},
	} {
		if t.Inventory.HasCall(list.role) {
			out = append(out, knownChange{
				call:         func(n int) inventory.KnownCall { return t.Inventory.NumberedCall(list.role, n) },
				notification: list.notification,
				read: func(ctx context.Context, c *client.Conversation) {
					inventory.Walk(ctx, c, list.method, list.member, maxPages)
				},
			})
		}
	}
	if _, uri, ok := t.Inventory.ResourceChangeCall(); ok {
		out = append(out, knownChange{
			call:         func(n int) inventory.KnownCall { k, _, _ := t.Inventory.NumberedResourceChangeCall(n); return k },
			notification: spec.MethodResourcesUpdated,
			read: func(ctx context.Context, c *client.Conversation) {
				c.Do(ctx, spec.MethodResourcesRead, map[string]any{"uri": uri}, client.Within(0))
			},
		})
	}
	return out
}

// Limits on what a case requests, because a server may offer a lot.
const (
	maxPages = 20
	maxURIs  = 3
)

// makeChange makes the change for the nth time and gives the server time to send a notification of
// it. Before and after the change, it reads what the call changes. announced reports whether a
// notification came; ok is false if the case can't continue.
func (ch knownChange) makeChange(ctx context.Context, t *suite.T, c *client.Conversation, n int) (announced, ok bool) {
	ch.read(ctx, c)
	from := c.Record.Len()
	if !c.Do(ctx, spec.MethodToolsCall, ch.call(n).Params(), client.Within(0)).Answered() {
		return false, false
	}
	ch.read(ctx, c)
	announced = t.AwaitNotification(ctx, c, from, ch.notification)
	return announced, ctx.Err() == nil && c.Alive()
}

// makeTwice makes the change twice, because the second call may remove what the first one adds. It
// reports in missed whether only the first update of a resource was announced. A further change
// would then hide that, because its notification could be a late one of the second change. Such a
// notification gets twice the usual time, because a server may collect changes.
func (ch knownChange) makeTwice(ctx context.Context, t *suite.T, c *client.Conversation) (missed, ok bool) {
	first, ok := ch.makeChange(ctx, t, c, 1)
	if !ok {
		return false, false
	}
	second, ok := ch.makeChange(ctx, t, c, 2)
	if !ok || ch.notification != spec.MethodResourcesUpdated || !first || second {
		return false, ok
	}
	missed = !t.AwaitNotification(ctx, c, c.Record.Len(), ch.notification)
	return missed, ctx.Err() == nil && c.Alive()
}

// watchedURIs returns the URI of the resource that a known call changes, or of the first resource
// if no such call is known, and the URIs of other listed resources. So one subscription can leave
// out the resource that may change.
func watchedURIs(t *suite.T) (changing, others []string) {
	_, uri, ok := t.Inventory.ResourceChangeCall()
	if !ok && len(t.Inventory.Resources) > 0 {
		uri = t.Inventory.Resources[0]
		ok = true
	}
	if ok {
		changing = []string{uri}
	}
	for _, other := range t.Inventory.Resources {
		if other != uri && len(others) < maxURIs {
			others = append(others, other)
		}
	}
	return changing, others
}

// zero is the first id of some clients. A server that regards it as missing, as many languages do
// in a condition, does not return it.
var zero = wire.IntID(0)

// subscribeToChanges opens several subscriptions at the same time: one to nothing, one to
// everything, one whose id is a string, one to some things, whose id is 0, one with an empty
// filter, and two to one list each. The one to nothing comes first, because servers that know only
// one subscription send everything with the id of the first.
func subscribeToChanges(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	changing, others := watchedURIs(t)
	none := map[string]any{"toolsListChanged": false, "promptsListChanged": false, "resourcesListChanged": false, "resourceSubscriptions": []any{}}
	listen(ctx, c, c.NewID(), none)
	first, err := c.Subscribe(ctx, client.FilterForAll(append(changing, others...)))
	if err != nil {
		t.GiveUp("mcp-conform could not send subscriptions/listen: " + err.Error())
	}
	if !awaitAcknowledgement(ctx, t, c, first) {
		return // rules judge the missing acknowledgement
	}
	text := wire.StringID(first.ID.Raw()) // the id of the first one, but for its type
	some := map[string]any{"toolsListChanged": true}
	if len(others) > 0 {
		some["resourceSubscriptions"] = others
	}
	second, err := c.SubscribeAs(ctx, text, map[string]any{"notifications": client.FilterForAll(changing)})
	if err != nil || !awaitAcknowledgement(ctx, t, c, second) {
		return
	}
	listen(ctx, c, zero, some)
	for _, filter := range []map[string]any{{}, {"promptsListChanged": true}, {"resourcesListChanged": true}} {
		listen(ctx, c, c.NewID(), filter)
	}
	all := knownChanges(t)
	hidden := false // a further change of the first kind would hide that an update is missing
	for i, ch := range all {
		missed, ok := ch.makeTwice(ctx, t, c)
		if !ok {
			return
		}
		hidden = hidden || missed && i == 0
	}
	if second.Cancel(ctx) != nil {
		return
	}
	t.Fence(ctx, c)
	t.Fence(ctx, c) // messages in transit have arrived
	if len(all) > 0 && !hidden {
		if _, ok := all[0].makeChange(ctx, t, c, 3); !ok {
			return
		}
	}
	t.AwaitQuiet(ctx, c)
	if t.Transport == spec.Stdio && first.Cancel(ctx) == nil { // a rule compares what becomes of it with the other cancelled one
		t.Fence(ctx, c)
		t.Fence(ctx, c)
	}
	judgeCancelled(ctx, t, c, text)
}

// awaitAcknowledgement reports whether the server acknowledges the subscription. If the server
// neither acknowledges nor refuses it within the time for a notification, awaitAcknowledgement
// cancels it and sends two requests. Once these requests have responses, the rules know that no
// acknowledgement is still in transit.
func awaitAcknowledgement(ctx context.Context, t *suite.T, c *client.Conversation, s *client.Subscription) bool {
	_, err := s.AwaitAcknowledgement(ctx)
	if err == nil || errors.Is(err, client.ErrRefused) {
		return err == nil
	}
	if _, err := s.AwaitAcknowledgement(ctx, client.Within(verdict.NoticeTime)); err == nil {
		return true
	}
	if s.Cancel(ctx) == nil {
		t.Fence(ctx, c)
		t.Fence(ctx, c)
	}
	return false
}

// listen subscribes and returns the subscription, nil if it is not acknowledged.
func listen(ctx context.Context, c *client.Conversation, id wire.ID, filter map[string]any) *client.Subscription {
	s, err := c.SubscribeAs(ctx, id, map[string]any{"notifications": filter})
	if err != nil {
		return nil
	}
	if _, err := s.AwaitAcknowledgement(ctx); err != nil {
		return nil
	}
	return s
}

// judgeCancelled subscribes once more with the id of a subscription whose stream was closed. A
// client should not reuse the id of a request that got no response, so a refusal is at most a
// warning.
func judgeCancelled(ctx context.Context, t *suite.T, c *client.Conversation, id wire.ID) {
	if t.Transport != spec.StreamableHTTP {
		return
	}
	if listen(ctx, c, c.NewID(), map[string]any{"toolsListChanged": true}) == nil {
		t.MarkNotObserved(cancelled, "the server does not acknowledge another subscription, either")
		return
	}
	from := c.Record.Len()
	if listen(ctx, c, id, map[string]any{"toolsListChanged": true}) != nil {
		t.MarkKept(cancelled)
		return
	}
	d := verdict.Deviation{
		Requirement: cancelled,
		Summary:     "The server keeps a subscription whose stream was closed.",
		Permitted:   "another subscription with the same id",
		Seen:        "no acknowledgement, though one with another id gets it",
		Weight:      verdict.AtMostWarning,
	}
	if sent := c.RequestSent(from, id); sent != nil {
		d.At = []int{sent.Seq}
	}
	t.Report(c, d)
}

// idleTime is a little longer than the time in which the end of a subscription counts as too early.
const idleTime = 1100 * time.Millisecond

// stayIdle sends nothing after subscriptions/listen, so that no request can be the cause if the
// subscription ends. The requests that show that the server still has the subscription come only
// afterwards.
func stayIdle(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	from := c.Record.Len()
	s, err := c.Subscribe(ctx, map[string]any{"toolsListChanged": true})
	if err != nil {
		t.GiveUp("mcp-conform could not send subscriptions/listen: " + err.Error())
	}
	if c.AwaitResponse(ctx, from, s.ID, client.Within(idleTime)).Answered() {
		return
	}
	t.Fence(ctx, c)
	t.Fence(ctx, c)
}

func changeWithout(ctx context.Context, t *suite.T) {
	t.RequireTool(inventory.ChangesTools, inventory.ChangesPrompts, inventory.ChangesResources, inventory.ChangesResource)
	c := t.Conversation(ctx)
	for _, ch := range knownChanges(t) {
		for n := range 2 {
			if !c.Do(ctx, spec.MethodToolsCall, ch.call(n+1).Params(), client.Within(0)).Answered() {
				return
			}
		}
	}
	t.AwaitQuiet(ctx, c)
}

// subscribeWrongly sends subscription requests that the server has to refuse, and cancels each
// that the server acknowledges instead.
func subscribeWrongly(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	filter := client.FilterForAll(nil)
	for _, params := range []map[string]any{
		{"_meta": c.Metadata()},
		{"_meta": c.Metadata(), "notifications": nil},
		{"_meta": c.Metadata(), "notifications": []any{"toolsListChanged"}},
		{"_meta": c.Metadata(), "notifications": "toolsListChanged"},
		{"_meta": suite.WithoutMeta(c, spec.MetaClientCapabilities), "notifications": filter},
		{"_meta": suite.WithMeta(c, spec.MetaClientCapabilities, nil), "notifications": filter},
		{"_meta": suite.WithMeta(c, spec.MetaClientCapabilities, []any{}), "notifications": filter},
		{"_meta": suite.WithMeta(c, spec.MetaVersion, "1900-01-01"), "notifications": filter},
	} {
		id := c.NewID()
		s, err := c.SubscribeRaw(ctx, id, wire.NewRequest(id, spec.MethodListen, params))
		if err != nil || !c.Alive() {
			return
		}
		if _, err := s.AwaitAcknowledgement(ctx); err == nil {
			_ = s.Cancel(ctx)
		}
	}
}
