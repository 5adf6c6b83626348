package client

import (
	"bytes"
	"context"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// fruitless tells whether e is the end of the HTTP exchange that carried the
// frame, sent at position from or later, and that can bring no answer any more:
// it was refused, or its body is over. A stream with event ids may be taken up
// again, and a redirection sends the frame elsewhere.
func (c *Conversation) fruitless(e *transcript.Event, from int, frame []byte) bool {
	if e.Kind != transcript.Over {
		return false
	}
	x := transcript.ExchangesOf(c.Record.From(from)).Of(e)
	if x == nil || x.Sent == nil || !bytes.Equal(x.Sent.Raw, frame) || x.Status() == 307 || x.Status() == 308 {
		return false
	}
	for _, piece := range x.Body {
		if ev := piece.StreamEvent(); ev != nil && ev.HasID {
			return false
		}
	}
	return true
}

// Deserted tells whether this session over HTTP is served no more, though the
// server may serve others: the last exchange was over without an answer, and
// so is that of one more request.
func (c *Conversation) Deserted(ctx context.Context) bool {
	return c.barren.Load() > 0 && c.Fence(ctx) != nil && c.barren.Load() > 1
}
