package client

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// TryTogether is Try for several requests in one write, with one timeout for
// all of them. The replies are in the order of the requests. A frame that is
// no request is a defect of the caller, so it panics.
func (c *Conversation) TryTogether(ctx context.Context, requests ...[]byte) []*Reply {
	return c.TryTogetherFor(ctx, c.opts.Timeout, requests...)
}

// TryTogetherFor is TryTogether with a shorter timeout.
func (c *Conversation) TryTogetherFor(ctx context.Context, limit time.Duration, requests ...[]byte) []*Reply {
	from := c.Record.Len()
	bounded, cancel := c.within(ctx, min(limit, c.opts.Pace.limit(c.opts.Timeout)), opens(requests...))
	defer cancel()
	sendErr := c.send(bounded, requests...)
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
		r := c.awaitAnswer(bounded, from, id, frame)
		r.Sent = c.sentWith(from, id)
		if errors.Is(r.Err, ErrUnanswered) {
			_ = c.Cancel(ctx, id, transcript.OverdueReason)
		}
		replies = append(replies, r)
	}
	return replies
}

// Cancel sends a notification that the request with this id, be there one or
// not, is cancelled.
func (c *Conversation) Cancel(ctx context.Context, id wire.ID, reason string) error {
	return c.Notify(ctx, spec.MethodCancelled, map[string]any{"requestId": json.RawMessage(id.Raw()), "reason": reason})
}
