package client

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// HarmlessMethod returns the method of a harmless request: it needs no params, changes nothing, and
// every server answers it with a result.
func (c *Conversation) HarmlessMethod() string {
	if c.opts.Revision.Era() == spec.Stateless {
		return spec.MethodDiscover
	}
	return spec.MethodPing
}

// Request returns the bytes of a request as this conversation sends it, with
// the metadata that its era requires. Params may be nil.
func (c *Conversation) Request(id wire.ID, method string, params map[string]any) []byte {
	return wire.NewRequest(id, method, anyOrNil(c.withMeta(params)))
}

// Notification is like Request for a notification.
func (c *Conversation) Notification(method string, params map[string]any) []byte {
	return wire.NewNotification(method, anyOrNil(c.withMeta(params)))
}

// DoAll sends requests in one write if the transport allows it, and waits for all responses. The
// timeout of each request starts when those before it have got their responses, because a server
// may serve them one after another. After a request without a response, the next ones have only the
// time that Grace returns; after two such requests in a row, only responses that have already
// arrived count. The option Within limits the time of all requests together. The replies are in the
// order of the requests. Each frame must be one request.
func (c *Conversation) DoAll(ctx context.Context, requests [][]byte, options ...Option) []*Reply {
	if w := newWait(options); w.isLimited {
		return c.doAllWithin(ctx, &w, requests)
	}
	full := c.opts.Pace.requestLimit(&c.opts)
	limit := full
	from := c.Record.Len()
	bounded, cancel := c.Record.WithTimeout(ctx, limit, ErrUnanswered)
	sendErr := c.send(bounded, requests...)
	cancel()
	if sendErr != nil {
		sendErr = c.sendError(ctx, sendErr)
	}
	return eachReply(requests, sendErr, func(id wire.ID, frame []byte) *Reply {
		bounded, cancel := c.Record.WithTimeout(ctx, limit, ErrUnanswered)
		r := c.awaitFrameResponse(bounded, from, id, frame)
		cancel()
		r.Sent = c.RequestSent(from, id)
		switch {
		case r.Answered() == (limit < full):
			limit = c.Grace()
		case !r.Answered():
			limit = 0 // responses that have already arrived are still found
		}
		c.recordGaveUpAfter(full, r)
		return r
	})
}

func (c *Conversation) doAllWithin(ctx context.Context, w *wait, requests [][]byte) []*Reply {
	from := c.Record.Len()
	bounded, cancel := c.boundWait(ctx, w.limitFor(c), hasOpeningRequest(requests...))
	defer cancel()
	sendErr := c.send(bounded, requests...)
	if sendErr != nil {
		sendErr = c.sendError(ctx, sendErr)
	}
	return eachReply(requests, sendErr, func(id wire.ID, frame []byte) *Reply {
		r := c.awaitFrameResponse(bounded, from, id, frame)
		r.Sent = c.RequestSent(from, id)
		if errors.Is(r.Err, ErrUnanswered) {
			_ = c.Cancel(ctx, id, transcript.OverdueReason)
		}
		return r
	})
}

// eachReply calls the function await for each request, in order, and returns the replies. If the
// requests could not be sent, each reply holds the error.
func eachReply(requests [][]byte, sendErr error, await func(id wire.ID, frame []byte) *Reply) []*Reply {
	replies := make([]*Reply, len(requests))
	for i, frame := range requests {
		if sendErr != nil {
			replies[i] = &Reply{Err: sendErr}
		} else {
			replies[i] = await(wire.Parse(frame).Messages[0].ID, frame)
		}
	}
	return replies
}

// RequestSent returns the first event at or after the given position in which a request with this
// id was sent, or nil.
func (c *Conversation) RequestSent(from int, id wire.ID) *transcript.Event {
	for e, m := range transcript.Messages(c.Record.From(from), transcript.Sent) {
		if m.Kind == wire.Request && m.ID.Same(id) {
			return e
		}
	}
	return nil
}

// Cancel sends a notification that cancels the request with this id, which need not
// exist. In the stateless era over HTTP it closes the response
// instead, which is how a client cancels there.
func (c *Conversation) Cancel(ctx context.Context, id wire.ID, reason string) error {
	if link, ok := c.link.(transport.Canceller); ok && c.opts.Revision.Era() == spec.Stateless {
		link.CloseResponse(id, reason)
		return nil
	}
	return c.Notify(ctx, spec.MethodCancelled, map[string]any{"requestId": json.RawMessage(id.Raw()), "reason": reason})
}
