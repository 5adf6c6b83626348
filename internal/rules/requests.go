package rules

import (
	"cmp"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Requests are the requests of both sides, each with its outcome as the dialogue found it. They
// include malformed requests and those that span several lines. For the requests of the client,
// there is also what the rules need to know about them.
type Requests struct {
	dialogue transcript.Dialogue
	client   []*Request // in the order of the dialogue
	// cancelled are the keys of the ids that the client has cancelled.
	cancelled map[string]bool
	// burst is the number of the current burst, see Request.burst.
	burst int
	// settled is how many requests at the start of client are known not to be pending any more; see
	// isBusy.
	settled int
}

// ClientRequests returns the client's requests in the order in which they were sent.
func (r *Requests) ClientRequests() []*Request { return r.client }

// ServerRequests returns the server's requests in the order in which they came, including those
// that the client can't respond to because of their ids.
func (r *Requests) ServerRequests() []*transcript.Request { return r.dialogue.ServerRequests() }

// Exchanges returns the HTTP exchanges so far.
func (r *Requests) Exchanges() *transcript.Exchanges { return r.dialogue.Exchanges() }

// RequestsWithID returns the client's requests with this id, oldest first.
func (r *Requests) RequestsWithID(id wire.ID) []*Request {
	return r.requestsOf(r.dialogue.RequestsWithID(id))
}

// RequestsWithToken returns the client's requests with this progress token, oldest first.
func (r *Requests) RequestsWithToken(token wire.ID) []*Request {
	return r.requestsOf(r.dialogue.RequestsWithToken(token))
}

// ServerRequestsWithToken returns the server's requests with this progress token, oldest first.
func (r *Requests) ServerRequestsWithToken(token wire.ID) []*transcript.Request {
	return r.dialogue.ServerRequestsWithToken(token)
}

// RequestsFrom returns the client's requests that were sent at this position or later.
func (r *Requests) RequestsFrom(seq int) []*Request {
	first, _ := slices.BinarySearchFunc(r.client, seq, func(req *Request, seq int) int { return cmp.Compare(req.Event.Seq, seq) })
	return r.client[first:]
}

// RequestsPostedIn returns the client's requests in the body of an exchange.
func (r *Requests) RequestsPostedIn(x *transcript.Exchange) []*Request {
	if x.Sent == nil {
		return nil
	}
	var out []*Request
	for i := range x.Sent.Messages() {
		m := &x.Sent.Messages()[i]
		if req := r.requestOf(m); req != nil && req.Message == m {
			out = append(out, req)
		}
	}
	return out
}

// RequestOfExchange returns the request that was posted in the HTTP exchange of an event; nil if
// none or several were. In the stateless era the server's messages in that exchange belong to the
// request.
func (r *Requests) RequestOfExchange(e *transcript.Event) *Request {
	x := r.Exchanges().Of(e)
	if x == nil {
		return nil
	}
	if posted := r.RequestsPostedIn(x); len(posted) == 1 {
		return posted[0]
	}
	return nil
}

// requestOf returns the client's request to which m belongs, or nil. m may be the request itself, a
// response to it, its cancellation, or a progress notification for it.
func (r *Requests) requestOf(m *wire.Message) *Request {
	return r.clientRequestOf(r.dialogue.RequestOf(m))
}

// clientRequestOf returns the Request for a client's request in the dialogue. It returns nil if
// known is nil or a request of the server.
func (r *Requests) clientRequestOf(known *transcript.Request) *Request {
	if known == nil || known.Event.Kind != transcript.Sent {
		return nil
	}
	return r.client[known.Index]
}

func (r *Requests) requestsOf(all []*transcript.Request) []*Request {
	var out []*Request
	for _, known := range all {
		out = append(out, r.clientRequestOf(known))
	}
	return out
}

// serverRequestOf returns the server request to which m is the client's first response, or nil.
func (r *Requests) serverRequestOf(m *wire.Message) *transcript.Request {
	if known := r.dialogue.RequestOf(m); known != nil && known.Response() != nil && known.Response().Message == m {
		return known
	}
	return nil
}

// noteRequest records a request of the client, or a message that may be taken for one.
func (r *Requests) noteRequest(e *transcript.Event, m *wire.Message, era spec.Era) *Request {
	reused := len(r.dialogue.RequestsWithID(m.ID)) > 0
	req := &Request{Request: r.dialogue.NoteRequest(e, m), reused: reused, burst: r.burst}
	if era == spec.Stateless {
		req.Metadata = metadataOf(m)
	}
	r.client = append(r.client, req)
	return req
}

// noteNotification records a notification of the client.
func (r *Requests) noteNotification(e *transcript.Event, m *wire.Message) {
	r.dialogue.NoteNotification(e, m)
	if m.Method != spec.MethodCancelled {
		return
	}
	if r.cancelled == nil {
		r.cancelled = map[string]bool{}
	}
	r.cancelled[cancelledID(m).Key()] = true
}

// noteReply records a response of the client. It reports whether a server request with its id was
// pending.
func (r *Requests) noteReply(e *transcript.Event, m *wire.Message) bool {
	r.dialogue.NoteResponse(e, m)
	return r.serverRequestOf(m) != nil
}

// isBusy reports whether a request of the client is pending, which may be the reason for what the
// server does.
func (r *Requests) isBusy() bool {
	for ; r.settled < len(r.client); r.settled++ {
		req := r.client[r.settled]
		if len(req.Responses) == 0 && !req.IsCancelled() && req.overdue == nil && req.due {
			return true
		}
	}
	return false
}

// hasAnsweredLater reports whether a later request was answered, which shows that the server was
// still responsive when it left req without a response.
func (r *Requests) hasAnsweredLater(req *Request) bool {
	return slices.ContainsFunc(r.RequestsFrom(req.Event.Seq+1), func(b *Request) bool { return len(b.Responses) > 0 && b.due })
}

// cancelledID returns the id that a cancellation names.
func cancelledID(m *wire.Message) wire.ID { return m.ParamIDAt("/requestId") }
