package client

import (
	"context"
	"errors"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A Subscription is a subscriptions/listen request and the messages that the server sends because
// of it (2026-07-28, basic/patterns/subscriptions). The id of the request identifies the
// subscription.
type Subscription struct {
	ID   wire.ID
	Sent *transcript.Event // the request

	c    *Conversation
	from int // position in the record before the request
}

// ErrRefused says that the server answered subscriptions/listen with an error.
var ErrRefused = errors.New("the server answered subscriptions/listen with an error")

// FilterForAll returns a filter that requests every type of notification, and updates of the
// resources with the given URIs.
func FilterForAll(uris []string) map[string]any {
	filter := map[string]any{"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true}
	if len(uris) > 0 {
		filter["resourceSubscriptions"] = uris
	}
	return filter
}

// Subscribe sends a subscriptions/listen request with the filter and returns without
// waiting for the acknowledgement.
func (c *Conversation) Subscribe(ctx context.Context, filter map[string]any) (*Subscription, error) {
	return c.SubscribeAs(ctx, c.NewID(), map[string]any{"notifications": filter})
}

// SubscribeAs is like Subscribe for an id and params of the caller's choice.
func (c *Conversation) SubscribeAs(ctx context.Context, id wire.ID, params map[string]any) (*Subscription, error) {
	return c.SubscribeRaw(ctx, id, c.Request(id, spec.MethodListen, params))
}

// SubscribeRaw is like SubscribeAs, but sends the frame unchanged.
func (c *Conversation) SubscribeRaw(ctx context.Context, id wire.ID, frame []byte) (*Subscription, error) {
	s := &Subscription{ID: id, c: c, from: c.Record.Len()}
	if err := c.Send(ctx, frame); err != nil {
		return nil, c.sendError(ctx, err)
	}
	s.Sent = c.sentEvent(s.from, frame)
	return s, nil
}

// AwaitAcknowledgement waits for the acknowledgement of the subscription, as Await does with the
// options. Without options it waits no longer than for a fence and the grace after it. The error is
// ErrRefused if the server answered with an error.
func (s *Subscription) AwaitAcknowledgement(ctx context.Context, options ...Option) (*transcript.Message, error) {
	if len(options) == 0 {
		options = []Option{MayIgnore}
	}
	var found *transcript.Message
	var refused *transcript.Event
	_, err := s.c.Await(ctx, s.from, func(e *transcript.Event) bool {
		if m := responseIn(e, s.ID); m != nil && m.IsError() {
			refused = e
		}
		for _, m := range s.messagesIn(e) {
			if m.Method == spec.MethodAcknowledged {
				found = &transcript.Message{Message: m, Event: e}
			}
		}
		return refused != nil || found != nil
	}, options...)
	if refused != nil {
		return nil, ErrRefused
	}
	return found, err
}

// messagesIn returns the messages of a received event that carry the subscription's
// id, with the same JSON type.
func (s *Subscription) messagesIn(e *transcript.Event) []*wire.Message {
	if e.Kind != transcript.Received {
		return nil
	}
	var out []*wire.Message
	for i := range e.Messages() {
		m := &e.Frame.Messages[i]
		if wire.IDAt(m.Params(), spec.MetaPointer(spec.MetaSubscriptionID)).Same(s.ID) || wire.IDAt(m.Result(), spec.MetaPointer(spec.MetaSubscriptionID)).Same(s.ID) {
			out = append(out, m)
		}
	}
	return out
}

// Cancel ends the subscription.
func (s *Subscription) Cancel(ctx context.Context) error {
	return s.c.Cancel(ctx, s.ID, "the client no longer listens")
}
