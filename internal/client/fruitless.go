package client

import (
	"bytes"
	"context"
	"net/url"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// fruitless tells whether e is the end of the HTTP exchange that carried the
// frame, sent at position from or later, and that can bring no answer any more:
// it was refused, or its body is over. A stream with event ids may be taken up
// again, a redirection sends the frame elsewhere, and over HTTP+SSE answers come
// on the stream that was there before.
func (c *Conversation) fruitless(e *transcript.Event, from int, frame []byte) bool {
	if e.Kind != transcript.Over {
		return false
	}
	x := transcript.ExchangesOf(c.Record.From(from)).Of(e)
	if x == nil || x.Sent == nil || !bytes.Equal(x.Sent.Raw, frame) || sentOn(x) || c.apart && x.Succeeded() {
		return false
	}
	for _, piece := range x.Body {
		if ev := piece.StreamEvent(); ev != nil && ev.HasID {
			return false
		}
	}
	return true
}

// sentOn tells whether the response sends the request elsewhere on its host.
func sentOn(x *transcript.Exchange) bool {
	if x.Status() != 307 && x.Status() != 308 {
		return false
	}
	here, err := url.Parse("http://" + x.RequestHead().Get("Host") + x.RequestHead().Target())
	if err != nil {
		return true
	}
	to, err := here.Parse(x.ResponseHead().Get("Location"))
	return err == nil && to.Host == here.Host && to.RequestURI() != here.RequestURI()
}

// Deserted tells whether this session over HTTP is served no more, though the
// server may serve others: the last exchange was over without an answer, and
// so is that of one more request.
func (c *Conversation) Deserted(ctx context.Context) bool {
	return c.barren.Load() > 0 && c.Fence(ctx) != nil && c.barren.Load() > 1
}
