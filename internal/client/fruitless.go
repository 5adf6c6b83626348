package client

import (
	"bytes"
	"context"
	"net/url"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// endsWithoutResponse reports whether e is the end of the HTTP exchange that carried the
// frame, sent at position from or later, and that can bring no answer any more:
// it was refused, or its body is over. A stream with event ids may be taken up
// again, unless that was refused, or brought no event at all; a redirection
// sends the frame elsewhere, and over HTTP+SSE answers come on the stream that
// was there before.
func (c *Conversation) endsWithoutResponse(e *transcript.Event, from int, frame []byte) bool {
	if e.Kind != transcript.Over {
		return false
	}
	all := transcript.ExchangesOf(c.Record.From(from))
	x := all.Of(e)
	if x == nil {
		return false
	}
	if last := x.RequestHead().Get("Last-Event-ID"); last != "" {
		return (x.Refused() || len(eventIDs(x)) == 0) && slices.Contains(resumableIDs(all.All(), x, frame), last)
	}
	return carriesFrame(x, frame) && !isRedirectedOnHost(x) && !(c.hasResponseStream && x.Succeeded()) && len(eventIDs(x)) == 0
}

// resumableIDs are the event ids at which the stream with the answer to the frame
// could be taken up before exchange x: those of the exchange that carried it,
// and of the streams that went on with it. All of these are over.
func resumableIDs(all []*transcript.Exchange, x *transcript.Exchange, frame []byte) []string {
	var ids []string
	for _, of := range all {
		last := of.RequestHead().Get("Last-Event-ID")
		if of != x && of.End != nil && (carriesFrame(of, frame) || last != "" && slices.Contains(ids, last)) {
			ids = append(ids, eventIDs(of)...)
		}
	}
	return ids
}

// awaitOtherStreams waits until an answer can't come any more whose own exchange is
// over: at once where no other stream of the server is open, else behind a
// fence. It would be a mistake to send it there, so no server is given longer.
// Before the handshake is answered nothing else is asked.
func (c *Conversation) awaitOtherStreams(ctx context.Context) {
	if c.hasOpenStream() && (c.Server().Result == nil || c.Fence(ctx) != nil) {
		<-ctx.Done()
	}
}

// hasOpenStream reports whether an event stream of the server is open.
func (c *Conversation) hasOpenStream() bool {
	return slices.ContainsFunc(transcript.ExchangesOf(c.Record.From(0)).All(), func(x *transcript.Exchange) bool {
		return x.End == nil && (x.Response == nil || x.Succeeded() && x.Streams())
	})
}

// carriesFrame reports whether the frame was posted in the exchange.
func carriesFrame(x *transcript.Exchange, frame []byte) bool {
	return x.Sent != nil && bytes.Equal(x.Sent.Raw, frame)
}

// eventIDs are the ids of the events that an exchange brought.
func eventIDs(x *transcript.Exchange) []string {
	var ids []string
	for _, piece := range x.Body {
		if ev := piece.StreamEvent(); ev != nil && ev.HasID {
			ids = append(ids, ev.ID)
		}
	}
	return ids
}

// isRedirectedOnHost reports whether the response sends the request elsewhere on its host.
func isRedirectedOnHost(x *transcript.Exchange) bool {
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

// IsSessionLost reports whether this session over HTTP is served no more, though the
// server may serve others: the last exchange was over without an answer, and
// so is that of one more request.
func (c *Conversation) IsSessionLost(ctx context.Context) bool {
	return c.unansweredExchanges.Load() > 0 && c.Fence(ctx) != nil && c.unansweredExchanges.Load() > 1
}
