package client

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Harmless returns the method of a request that every server answers with a
// result, that needs no params, and that changes nothing.
func (c *Conversation) Harmless() string {
	if c.opts.Revision.Era() == spec.Stateless {
		return spec.MethodDiscover
	}
	return spec.MethodPing
}

// Request returns the bytes of a request as this conversation sends it, with
// the metadata that its era asks for. Params may be nil.
func (c *Conversation) Request(id wire.ID, method string, params map[string]any) []byte {
	return wire.NewRequest(id, method, anyOrNil(c.params(params)))
}

// AskTogether sends requests in one write where the transport has such a
// thing, and waits for all answers. Each has the conversation's timeout from
// the moment on that those before it were answered, as a server may serve one
// after the other; when one was waited for in vain, those behind it have only
// the grace left, from the last answer on. The replies are in the order of the
// requests. A frame that is no request is a defect of the caller, so it panics.
func (c *Conversation) AskTogether(ctx context.Context, requests ...[]byte) []*Reply {
	owed := c.opts.Pace.limit(c.opts.Timeout)
	limit := owed
	from := c.Record.Len()
	bounded, cancel := context.WithTimeoutCause(ctx, limit, ErrUnanswered)
	sendErr := c.send(bounded, requests...)
	cancel()
	if sendErr != nil {
		sendErr = c.sendError(ctx, sendErr)
	}
	replies := make([]*Reply, 0, len(requests))
	for _, frame := range requests {
		if sendErr != nil {
			replies = append(replies, &Reply{Err: sendErr})
			continue
		}
		id := wire.Parse(frame).Messages[0].ID
		bounded, cancel := context.WithTimeoutCause(ctx, limit, ErrUnanswered)
		r := c.awaitAnswer(bounded, from, id, frame)
		cancel()
		r.Sent = c.sentWith(from, id)
		switch {
		case r.Answered() == (limit < owed):
			limit = c.Grace()
		case !r.Answered():
			limit = 0 // what came meanwhile is seen all the same
		}
		if owed == c.opts.Timeout {
			c.gaveUp(r)
		}
		replies = append(replies, r)
	}
	return replies
}

func (c *Conversation) sentWith(from int, id wire.ID) *transcript.Event {
	for _, e := range c.Record.From(from) {
		if e.Kind != transcript.Sent {
			continue
		}
		for i := range e.Frame.Messages {
			if e.Frame.Messages[i].ID == id {
				return e
			}
		}
	}
	return nil
}
