package client

import (
	"context"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

// Web returns the connection to the server as one over which a caller can make its own HTTP
// exchanges, or nil if the transport is not HTTP.
func (c *Conversation) Web() transport.Web {
	web, _ := c.link.(transport.Web)
	return web
}

// ResidentMemory returns the private memory of the server's processes in bytes; ok is false if it
// is unknown.
func (c *Conversation) ResidentMemory() (bytes int64, ok bool) {
	weighed, ok := c.link.(transport.MemoryMeter)
	if !ok {
		return 0, false
	}
	return weighed.ResidentMemory()
}

// HasExpired reports whether the server has ended the session, which it may do at any time: of the
// POSTs of the session that have a response, the last got 404.
func (c *Conversation) HasExpired() bool {
	if c.Web() == nil {
		return false
	}
	session := ""
	for _, f := range c.Web().Headers("POST", nil) {
		if strings.EqualFold(f.Name, sessionHeader) {
			session = f.Value
		}
	}
	if session == "" {
		return false
	}
	for _, x := range slices.Backward(transcript.ExchangesOf(c.Record.From(0)).All()) {
		if x.Method() == "POST" && x.Response != nil && x.RequestHead().Get(sessionHeader) == session {
			return x.Status() == 404
		}
	}
	return false
}

const sessionHeader = "Mcp-Session-Id"

// Exchange makes an HTTP exchange. It returns when the exchange is over or, if the response is an
// event stream, when the head of the response has arrived; the stream then stays open until it is
// dropped or the conversation ends. The error is the cause of the context's end, or says that the
// target is not a URL.
func (c *Conversation) Exchange(ctx context.Context, r transport.Request, target string) (*transcript.Exchange, transport.Exchange, error) {
	from := c.Record.Len()
	p, err := c.Web().Begin(r, target)
	if err != nil {
		return nil, nil, err
	}
	if err := c.awaitClosed(ctx, p.Responded()); err != nil {
		p.Drop()
		return nil, p, err
	}
	x := c.exchangeSoFar(from, p.Number())
	if x.Succeeded() && x.IsStream() {
		return x, p, nil
	}
	if err := c.awaitClosed(ctx, p.Over()); err != nil {
		p.Drop()
		return nil, p, err
	}
	return c.exchangeSoFar(from, p.Number()), p, nil
}

// exchangeSoFar returns the exchange with the given number, as far as it is recorded. from is a
// position at or before the beginning of the exchange.
func (c *Conversation) exchangeSoFar(from, number int) *transcript.Exchange {
	return transcript.ExchangesOf(c.Record.From(from)).Of(&transcript.Event{Exchange: number})
}

func (c *Conversation) awaitClosed(ctx context.Context, done <-chan struct{}) error {
	defer c.BeginWait()()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
