package rules

import (
	"math"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// An unmatchedResponse is a response whose id matches no request.
type unmatchedResponse struct {
	event   *transcript.Event
	message *wire.Message

	class        mismatch
	request      *Request            // the request it was meant for, if any
	notification *transcript.Message // for toNotification: the notification it answers
}

// A mismatch is the reason why a response matches no request. It determines which requirement, if
// any, the response breaks.
type mismatch int

const (
	unsolicited    mismatch = iota // it belongs to nothing that the client sent
	excused                        // it may belong to a message that could not be read
	respelled                      // the same id, written in another way
	changedID                      // the response to a request, with a changed id
	rounded                        // like changedID, but the id was beyond 2^53-1
	withoutID                      // an error without an id, although the request could be read
	toNotification                 // it answers a notification
	toResponse                     // it answers a response that matched no request
)

// maxUnmatched bounds the work for a server that sends nothing but unmatched responses. Responses
// beyond this number count as unsolicited.
const maxUnmatched = 1000

// unmatchedResponses are the responses whose id matches no request, and what each was meant for.
type unmatchedResponses struct {
	all          []*unmatchedResponse
	isAttributed bool
	excusing     map[*Request]bool // requests to which no response was due, each of which excuses one error without an id

	requests    *Requests
	sent        *SentMessages
	negotiation *Negotiation
}

// note records a response whose id matches no request.
func (u *unmatchedResponses) note(e *transcript.Event, m *wire.Message) {
	u.all = append(u.all, &unmatchedResponse{event: e, message: m})
}

// attributeAll returns the responses, each with its class. It can be called only at the end. For
// example, a response that came while a request was pending may have been meant for that request,
// but not if the request got its own response later.
func (u *unmatchedResponses) attributeAll() []*unmatchedResponse {
	if !u.isAttributed {
		u.isAttributed = true
		for i, r := range u.all {
			if i == maxUnmatched {
				break
			}
			u.attribute(r)
			if r.request != nil {
				r.request.misidentified = r
			}
		}
		u.attributeExtras()
	}
	return u.all
}

func (u *unmatchedResponses) attribute(r *unmatchedResponse) {
	if !r.message.ID.IsPresent() || r.message.ID.IsNull() {
		u.attributeWithoutID(r)
		return
	}
	isError := r.message.IsError()
	if req, class := u.similarRequest(r); req != nil {
		r.request, r.class = req, class
		return
	}
	if u.sent.answersUnmatchedReply(r.event, r.message) {
		r.class = toResponse
		return
	}
	if u.sent.hasGarbledID(r.message.ID) || u.mayHaveMisreadID(r) || isError && u.sent.hasIllegalBefore(r.event) {
		r.class = excused
		return
	}
	if all := u.unansweredBefore(r.event); len(all) == 1 && u.hasOnlyUnmatchedID(r, all[0]) {
		r.request, r.class = all[0], changedID
		return
	}
	switch n := u.sent.lastNotification(r.event); {
	case n != nil && isZero(r.message.ID):
		r.notification, r.class = n, toNotification
	case u.isTooEarly(r.event):
		r.class = excused
	}
}

// hasOnlyUnmatchedID reports whether every unmatched response between the request and the client's
// next request has the same id as r. With several ids it is unclear which response was meant for
// the request.
func (u *unmatchedResponses) hasOnlyUnmatchedID(r *unmatchedResponse, req *Request) bool {
	end := math.MaxInt
	if later := u.requests.RequestsFrom(req.Event.Seq + 1); len(later) > 0 {
		end = later[0].Event.Seq
	}
	return !slices.ContainsFunc(u.all[:min(len(u.all), maxUnmatched)], func(other *unmatchedResponse) bool {
		return !other.message.ID.Same(r.message.ID) && req.Event.Seq < other.event.Seq && other.event.Seq < end
	})
}

// attributeWithoutID attributes responses with no id or a null id.
func (u *unmatchedResponses) attributeWithoutID(r *unmatchedResponse) {
	isError := r.message.IsError()
	switch {
	case isError && (u.sent.hasIllegalBefore(r.event) || u.hasUnansweredBatch(r.event)):
		r.class = excused
		return
	case !r.message.Has("result") && !isError:
		r.class = excused // another rule judges that it is not a response at all
	}
	if all := u.unansweredBefore(r.event); len(all) > 0 {
		r.request = all[0]
		switch {
		case r.class == excused:
		case isError:
			r.class = withoutID
		default:
			r.class = changedID
		}
		return
	}
	if r.class == excused {
		return
	}
	n := u.sent.lastNotification(r.event)
	switch req := u.lastNotDueBefore(r.event); {
	case req != nil && (n == nil || req.Event.Seq > n.Event.Seq || req.isCancelledBy(n)):
		if u.excusing == nil {
			u.excusing = map[*Request]bool{}
		}
		u.excusing[req] = true
		r.class = excused
	case n != nil:
		r.notification, r.class = n, toNotification
	}
}

// lastNotDueBefore returns the last request sent before e that has no response and does not already
// excuse another error (see the field excusing); nil if there is none. The caller has checked that
// unansweredBefore returns nothing, so no response to that request is due.
func (u *unmatchedResponses) lastNotDueBefore(e *transcript.Event) *Request {
	for _, req := range slices.Backward(u.requests.client) {
		if req.Event.Seq < e.Seq && len(req.Responses) == 0 && req.misidentified == nil && !u.excusing[req] {
			return req
		}
	}
	return nil
}

// isTooEarly reports whether e may be the response to a request in a conversation in which
// initialize never succeeded: no response to such a request is due, but a server may send one.
func (u *unmatchedResponses) isTooEarly(e *transcript.Event) bool {
	if u.negotiation.Initialize == nil || u.negotiation.isAccepted() {
		return false
	}
	return slices.ContainsFunc(u.requests.client, func(req *Request) bool {
		return req != u.negotiation.Initialize && req.Event.Seq < e.Seq && len(req.Responses) == 0 && req.misidentified == nil
	})
}

// attributeExtras looks for second and later responses to a request that were meant for another
// message, because a server may change an id into that of another request. It moves them from the
// request to the unmatched responses.
func (u *unmatchedResponses) attributeExtras() {
	for _, req := range u.requests.client {
		for i := min(len(req.Responses), maxUnmatched) - 1; i > 0; i-- {
			r := &unmatchedResponse{event: req.Responses[i].Event, message: req.Responses[i].Message, class: changedID}
			if u.sent.answersUnmatchedReply(r.event, r.message) {
				r.class = toResponse
			} else if r.request = u.intendedRequest(r.event, r.message); r.request != nil {
				r.request.misidentified = r
			} else {
				continue
			}
			u.all = append(u.all, r)
			req.Responses = slices.Delete(req.Responses, i, i+1)
		}
	}
}

// mayHaveMisreadID reports whether the client sent a request whose bytes can't be read with
// certainty, so that the server may have read the id of the response from it.
func (u *unmatchedResponses) mayHaveMisreadID(r *unmatchedResponse) bool {
	return slices.ContainsFunc(u.requests.client, func(req *Request) bool {
		return !req.isStrictJSON && req.Event.Seq < r.event.Seq && len(req.Responses) == 0 && compareIDs(req.Message.ID, r.message.ID) != unsolicited
	})
}

// intendedRequest returns the unanswered request for which m, a second response to another request,
// was meant: a request whose illegal id is similar to the id of m or, failing that, the only
// overdue request. It returns nil if there is neither.
func (u *unmatchedResponses) intendedRequest(e *transcript.Event, m *wire.Message) *Request {
	var missing []*Request
	for _, b := range u.unansweredBefore(e) {
		switch {
		case !b.HasLegalID() && compareIDs(b.Message.ID, m.ID) != unsolicited:
			return b
		case b.overdue != nil:
			missing = append(missing, b)
		}
	}
	if len(missing) == 1 {
		return missing[0]
	}
	return nil
}

// hasUnansweredBatch reports whether some request of a batch that the client sent before e has no
// response. A legal batch may be refused as a whole. Whether batches are served is judged by the
// cases that send them.
func (u *unmatchedResponses) hasUnansweredBatch(e *transcript.Event) bool {
	return slices.ContainsFunc(u.requests.client, func(req *Request) bool {
		return req.batched && req.Event.Seq < e.Seq && len(req.Responses) == 0
	})
}

// unansweredBefore returns the requests sent before e that have no response and should have one. It
// includes requests with an illegal id: a server may ignore them, but must not send a wrong
// response.
func (u *unmatchedResponses) unansweredBefore(e *transcript.Event) []*Request {
	var out []*Request
	for _, req := range u.requests.client {
		if req.Event.Seq < e.Seq && len(req.Responses) == 0 && req.misidentified == nil && req.isStrictJSON && !req.IsCancelled() && !req.batched && (req.due || !req.HasLegalID()) {
			out = append(out, req)
		}
	}
	return out
}

// similarRequest returns the first unanswered request whose id a known mistake of servers turns
// into the response's id, and the kind of mistake. If there is none, it returns nil and
// unsolicited.
func (u *unmatchedResponses) similarRequest(r *unmatchedResponse) (*Request, mismatch) {
	for _, req := range u.requests.client {
		if req.Event.Seq >= r.event.Seq || len(req.Responses) > 0 || req.misidentified != nil || !req.isStrictJSON {
			continue
		}
		if class := compareIDs(req.Message.ID, r.message.ID); class != unsolicited {
			return req, class
		}
	}
	return nil, unsolicited
}
