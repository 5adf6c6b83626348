package client

import (
	"bytes"
	"context"
	"net/url"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// endsWithoutResponse reports whether e ends the HTTP exchange that carried the frame, sent at or
// after the given position, without a response: the request was refused, or the body has ended. It
// returns false if the response may still come in another exchange:
//
//   - A stream with event ids may be resumed, unless an attempt to resume it was refused or brought
//     no event with an id.
//   - A redirection sends the frame to another URL of the host.
//   - Over HTTP+SSE, responses come on a separate stream.
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

// isErrorStatus reports whether e is the status line of an HTTP exchange that carried the frame,
// sent at or after the given position, and has an error status (400 or higher).
func (c *Conversation) isErrorStatus(e *transcript.Event, from int, frame []byte) bool {
	return e.Kind == transcript.Responded && e.Head.Status() >= 400 && c.isOfExchange(e, from, frame)
}

// exceedsLimits reports whether e says that the response in the HTTP exchange that carried the
// frame, sent at or after the given position, is longer than the client reads.
func (c *Conversation) exceedsLimits(e *transcript.Event, from int, frame []byte) bool {
	return e.Kind == transcript.Flooded && e.Exchange != 0 && c.isOfExchange(e, from, frame)
}

// isOfExchange reports whether e belongs to an HTTP exchange that carried the frame, sent at or
// after the given position.
func (c *Conversation) isOfExchange(e *transcript.Event, from int, frame []byte) bool {
	x := transcript.ExchangesOf(c.Record.From(from)).Of(e)
	return x != nil && carriesFrame(x, frame)
}

// resumableIDs returns the event ids from which the stream with the response to the frame could be
// resumed before exchange x: those of the exchange that carried the frame, and of the streams that
// resumed it. Exchanges that are still open do not count.
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

// awaitOtherStreams waits until the response to a request whose own exchange has ended can no
// longer come. If no other exchange may bring messages, it returns at once; otherwise it sends a
// later request and returns after the response to that. If that request fails, or cannot be sent
// because the handshake is not over, it waits until ctx ends.
func (c *Conversation) awaitOtherStreams(ctx context.Context) {
	if c.mayReceiveMore() && (c.Server().Result == nil || c.Fence(ctx) != nil) {
		<-ctx.Done()
	}
}

// mayReceiveMore reports whether an exchange may still bring messages: its event stream is open, or
// its response has not begun.
func (c *Conversation) mayReceiveMore() bool {
	return slices.ContainsFunc(transcript.ExchangesOf(c.Record.From(0)).All(), func(x *transcript.Exchange) bool {
		return x.End == nil && (x.Response == nil || x.Succeeded() && x.IsStream())
	})
}

// carriesFrame reports whether the frame was posted in the exchange.
func carriesFrame(x *transcript.Exchange, frame []byte) bool {
	return x.Sent != nil && bytes.Equal(x.Sent.Raw, frame)
}

// eventIDs returns the ids of the events that an exchange brought.
func eventIDs(x *transcript.Exchange) []string {
	var ids []string
	for _, piece := range x.Body {
		if ev := piece.StreamEvent(); ev != nil && ev.HasID {
			ids = append(ids, ev.ID)
		}
	}
	return ids
}

// isRedirectedOnHost reports whether the response redirects the request to another URL on the same
// host, with status 307 or 308, which preserve the method and the body.
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

// IsSessionLost reports whether the server no longer serves this HTTP session, though it may serve
// others: the last exchange ended without a response, and so did the exchange of one more request.
func (c *Conversation) IsSessionLost(ctx context.Context) bool {
	return c.unansweredExchanges.Load() > 0 && c.Fence(ctx) != nil && c.unansweredExchanges.Load() > 1
}

// IsHung reports whether a server over stdio has stopped serving: it has sent nothing since the
// client gave up waiting for a response or a fence timed out, and does not respond to one more
// request.
func (c *Conversation) IsHung(ctx context.Context) bool {
	if c.Web() != nil {
		return false
	}
	missedFence := int(c.missedFence.Load())
	for _, e := range slices.Backward(c.Record.From(0)) {
		switch {
		case e.Kind == transcript.GaveUp, e.Seq < missedFence:
			return c.Fence(ctx) != nil
		case e.Kind == transcript.Received:
			return false
		}
	}
	return false
}
