package streamablehttp

import (
	"bytes"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	eventIDUnique = "streamable-http.event-id-unique"
	replay        = "streamable-http.last-event-id-replay"
	noCross       = "streamable-http.no-cross-stream-replay"
	resumeViaGet  = "streamable-http.resume-via-get"
	noBroadcast   = "streamable-http.no-broadcast"
)

func resumeRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.event-ids",
			Title:        "event ids are unique over the streams of a session",
			Requirements: []string{eventIDUnique},
			Start:        judgeExchangesAtEnd(judgeEventIDs),
		},
		{
			ID:           "rule.resumption",
			Title:        "a resumed stream continues, without messages of other streams",
			Requirements: []string{replay, noCross, resumeViaGet},
			Start:        judgeExchangesAtEnd(judgeResumptions),
		},
		{
			ID:           "rule.one-stream",
			Title:        "each message is sent on one stream only",
			Requirements: []string{noBroadcast},
			Start:        judgeExchangesAtEnd(judgeBroadcasts),
		},
	}
}

// judgeEventIDs judges whether event ids are unique in a session. It skips events that the server
// delivers again, as when a stream is resumed.
func judgeEventIDs(v *view, out *rules.Reporter) {
	type place struct {
		session, id string
	}
	first := map[place]streamEvent{}
	for _, p := range v.eventsInOrder() {
		if v.s.Transport != spec.StreamableHTTP || p.sse.ID == "" || !p.sse.IsComplete() {
			continue
		}
		x := v.exchangeOf(p.Event)
		if x.session == "" && !v.isSessionless() {
			continue // without a session there is no scope in which ids must be unique
		}
		at := place{x.session, p.sse.ID}
		known, seen := first[at]
		if !seen {
			first[at] = p
			out.MarkObserved(eventIDUnique)
			continue
		}
		same := bytes.Equal(known.sse.Data, p.sse.Data)
		if x.isResumption() && (same || len(p.sse.Data) == 0 || len(known.sse.Data) == 0 && !(isPriming(v, known) && isMessage(p))) || same && len(p.sse.Data) > 0 && known.Exchange != p.Exchange {
			continue // redelivered or broadcast
		}
		gets := x.Method() == "GET" && v.exchangeOf(known.Event).Method() == "GET"
		if gets && (len(p.sse.Data) == 0 || len(known.sse.Data) == 0 && known.Exchange != p.Exchange) {
			continue // an id that marks a position in the same stream, sent again when the client reopened it; connections may overtake each other
		}
		out.Report(verdict.Deviation{
			Requirement: eventIDUnique,
			Summary:     "The server uses an event id twice.",
			Permitted:   "ids that are unique over all streams of the session",
			Seen:        "the id " + rules.Excerpt(p.sse.ID) + " of both events",
			At:          positionsOf(known.Event, p.Event),
		})
	}
}

// isPriming reports whether known, an event without a message, came on the stream of a POST that
// resumes no other stream. The id of such an event belongs to no message, and may be repeated when
// the stream is resumed.
func isPriming(v *view, known streamEvent) bool {
	x := v.exchangeOf(known.Event)
	return x.Method() == "POST" && !x.isResumption()
}

// isMessage reports whether the event has a message. If an event without a message is sent again,
// some servers send it with an empty object as its data.
func isMessage(p streamEvent) bool {
	return slices.ContainsFunc(p.Event.Messages(), func(m wire.Message) bool {
		return m.Kind == wire.Request || m.Kind == wire.Notification || m.Kind == wire.Response
	})
}

// isSessionless reports whether the server is known to use no sessions: it served initialize, and
// never assigned a session id.
func (v *view) isSessionless() bool {
	if len(v.sessions.assigned) > 0 {
		return false
	}
	return slices.ContainsFunc(v.s.ClientRequests(), func(req *rules.Request) bool { return req.Message.Method == spec.MethodInitialize && req.Succeeded() })
}

// eventsInOrder returns the events of all streams in the order in which they came.
func (v *view) eventsInOrder() []streamEvent {
	return rules.Memo(v.s, eventsInOrderKey{}, v.sortEvents)
}

type eventsInOrderKey struct{}

// judgeResumptions judges the response to a GET with the id of a received event.
func judgeResumptions(v *view, out *rules.Reporter) {
	for _, x := range v.all {
		id, resumes := x.lastEventID()
		origin := v.streamStart(x)
		if resumes && origin == nil && x.flaws == 0 && x.isStreamOpened() {
			v.judgeForeignMessages(x, out)
		}
		if !resumes || x.Method() != "GET" || origin == nil || x.flaws != 0 || isAmbiguousStatus(x.Status()) {
			continue
		}
		if x.isStreamOpened() {
			if origin.Method() == "POST" {
				out.MarkObserved(resumeViaGet)
			}
			v.judgeReplayed(x, origin, id, out)
			continue
		}
		if origin.Method() == "POST" && v.isResumptionRefused(x) {
			v.judgeNotResumed(x, origin, id, out)
		}
	}
}

// isResumptionRefused reports whether the status of x refuses to resume a stream. 404
// tells a client that the session has ended, so it counts only if the session
// continues.
func (v *view) isResumptionRefused(x *exchange) bool {
	switch x.Status() {
	case 400, 405, 500, 501:
		return true
	case 404:
		return x.session != "" && v.isSessionServedAfter(x)
	}
	return false
}

// judgeNotResumed judges a refused GET with the id of an event from a POST stream. If the server
// closed the connection before the response, it relies on the client to reconnect, so any refusal
// counts. Otherwise 405 is only a note, because it is the required status of a server without GET
// streams.
func (v *view) judgeNotResumed(x, origin *exchange, id string, out *rules.Reporter) {
	d := verdict.Deviation{
		Requirement: resumeViaGet,
		Summary:     "The server's POST stream has event ids, but cannot be resumed.",
		Permitted:   "an event stream, or 405",
		Seen:        x.describeSeenWith("Last-Event-ID: " + rules.Excerpt(id)),
		Header:      "Last-Event-ID",
		At:          positionsOf(origin.Request, x.Request, x.Response),
	}
	switch closed := v.earlyClose(x, origin, id); {
	case closed != nil:
		d.Permitted = "the rest of the stream, because its response was not yet sent"
		d.At = positionsOf(origin.Request, closed, x.Request, x.Response)
	case x.Status() == 405:
		d.Summary, d.Weight = "The server sends event ids, but refuses to resume with 405.", verdict.OnlyNote
		d.Permitted = "an event stream, or 405, because resending missed messages is optional"
	}
	out.Report(d)
}

// earlyClose returns the end of the connection that delivered the event with this id, if the server
// closed the connection before x and has not sent all responses of the stream since; otherwise nil.
func (v *view) earlyClose(x, origin *exchange, id string) *transcript.Event {
	last := v.ids[x.session][id]
	if last.HowEnded() != transcript.Complete || last.End.Seq > x.Request.Seq || origin.flaws != 0 || v.mayBeMisread(origin) || v.isExcused(last) || v.mayBeSessionOver(last) {
		return nil
	}
	// A cancellation after the stream was lost is not an excuse.
	if slices.ContainsFunc(origin.requests, func(req *rules.Request) bool { return len(req.Responses) == 0 && !req.CancelledBefore(last.End.Seq) }) {
		return last.End
	}
	return nil
}

// judgeReplayed judges the events on x, which resumes the stream of origin. The parameter last is
// the Last-Event-ID of x.
func (v *view) judgeReplayed(x, origin *exchange, last string, out *rules.Reporter) {
	old := v.eventIDsUpTo(origin, last, x)
	clean, fresh := true, true
	for _, p := range x.events {
		if p.Kind != transcript.Received || p.IsCut() {
			continue
		}
		if v.isForeignTo(p, x, origin) {
			clean = false
			out.Report(verdict.Deviation{
				Requirement: noCross,
				Summary:     "The server resumes a stream with messages of another one.",
				Permitted:   "the later messages of the named event's stream",
				Seen:        rules.Excerpt(p.Raw),
				At:          positionsOf(origin.Request, x.Request, p.Event),
			})
		}
		if fresh && p.sse.ID != "" && old[p.sse.ID] {
			fresh = false
			out.Report(verdict.Deviation{
				Requirement: replay,
				Summary:     "The server resumes a stream before the event that the client named.",
				Permitted:   "the events after it",
				Seen:        "after " + rules.Excerpt(last) + " the event " + rules.Excerpt(p.sse.ID),
				At:          positionsOf(x.Request, p.Event),
			})
		}
	}
	if clean {
		out.MarkObserved(noCross)
	}
	if fresh {
		out.MarkObserved(replay)
	}
}

// eventIDsUpTo returns the ids of the events with data on the stream of origin, up to the event
// whose id the argument last holds. It skips the events of the exchange that is passed as before,
// and returns nil if none of the other events has that id.
func (v *view) eventIDsUpTo(origin *exchange, last string, before *exchange) map[string]bool {
	ids := map[string]bool{}
	for _, p := range v.eventsInOrder() {
		y := v.exchangeOf(p.Event)
		if y == before || y.session != before.session || p.sse.ID == "" || v.streamStart(y) != origin {
			continue
		}
		if len(p.sse.Data) > 0 {
			ids[p.sse.ID] = true
		}
		if p.sse.ID == last {
			return ids
		}
	}
	return nil
}

// isForeignTo reports whether a message on the resumed stream x belongs to a stream other than that
// of origin: it was delivered on the other stream before, or it is the response to, or progress of,
// a request that another POST sent. Events without a message are not foreign.
func (v *view) isForeignTo(p streamEvent, x, origin *exchange) bool {
	if !isMessage(p) {
		return false
	}
	if known := v.ids[x.session][p.sse.ID]; p.sse.ID != "" && known != nil && known.Number < x.Number {
		// Many servers treat all GETs of a session as one stream.
		if at := v.streamStart(known); at != nil && at != origin && (at.Method() != "GET" || origin.Method() != "GET") {
			return true
		}
	}
	if m := responseIn(p); m != nil {
		if m.ID.IsNull() {
			return false // an error for a message whose id could not be read
		}
		for _, req := range v.s.RequestsWithID(m.ID) {
			if req.Event.Exchange == origin.Number {
				return false
			}
		}
		return len(v.s.RequestsWithID(m.ID)) > 0
	}
	owner, _ := v.requestOfProgress(p)
	return owner != nil && owner.Event.Exchange != origin.Number && origin.Method() == "POST"
}

func judgeBroadcasts(v *view, out *rules.Reporter) {
	several := false
	for _, x := range v.all {
		if v.s.Transport != spec.StreamableHTTP || x.isResumption() {
			continue
		}
		for _, p := range x.events {
			first, twice := v.earlierDelivery(p)
			if twice {
				out.Report(verdict.Deviation{
					Requirement: noBroadcast,
					Summary:     "The server sends a message on two streams.",
					Permitted:   "each message on only one stream",
					Seen:        rules.Excerpt(p.Raw),
					At:          positionsOf(first.Event, p.Event),
				})
			} else if !several && p.Kind == transcript.Received && v.hasOtherOpenStream(x, p.Seq) {
				several = true
				out.MarkObserved(noBroadcast)
			}
		}
	}
}

// hasOtherOpenStream reports whether another stream of the session was open at a position. The
// later of the two must have been requested when the earlier one was open, because it is chance
// whether the responses to requests that were sent together overlap.
func (v *view) hasOtherOpenStream(x *exchange, at int) bool {
	for _, y := range v.all {
		if y != x && y.session == x.session && y.isOpenAt(at) && (x.isOpenAt(y.Request.Seq) || y.isOpenAt(x.Request.Seq)) {
			return true
		}
	}
	return false
}

// earlierDelivery returns the earlier event on another stream of the session with the same message.
// Notifications may be equal legitimately, apart from progress, which must grow for each token;
// progress is compared only if exactly one request has the token.
func (v *view) earlierDelivery(p streamEvent) (streamEvent, bool) {
	if p.Kind != transcript.Received || p.IsCut() || len(p.Frame.Messages) != 1 || !v.isDistinguishable(&p.Frame.Messages[0]) {
		return streamEvent{}, false
	}
	x := v.exchangeOf(p.Event)
	first, ok := v.firstDeliveries()[messageKey{x.session, string(p.Raw)}]
	if !ok || first.Seq == p.Seq || first.Exchange == p.Exchange || x.isResumption() {
		return streamEvent{}, false
	}
	if x.Response == nil || x.Response.Seq > first.Seq || x.session == "" && p.Frame.Messages[0].Kind == wire.Request {
		return streamEvent{}, false // a new message that equals the earlier one
	}
	if m := responseIn(p); m != nil && len(x.requests) > 0 && belongsToExchange(x, m) {
		return streamEvent{}, false // each request with this id is answered on its own stream
	}
	return first, true
}

func (v *view) isDistinguishable(m *wire.Message) bool {
	switch m.Kind {
	case wire.Request, wire.Response:
		return m.ID.IsPresent() && !m.ID.IsNull()
	case wire.Notification:
		token := m.ParamIDAt("/progressToken")
		return m.Method == spec.MethodProgress && len(v.s.RequestsWithToken(token)) == 1
	default:
		return false
	}
}

type messageKey struct{ session, text string }

type firstDeliveriesKey struct{}

// firstDeliveries returns the first event with each message in each session.
func (v *view) firstDeliveries() map[messageKey]streamEvent {
	return rules.Memo(v.s, firstDeliveriesKey{}, func() map[messageKey]streamEvent {
		out := map[messageKey]streamEvent{}
		for _, p := range v.eventsInOrder() {
			k := messageKey{v.exchangeOf(p.Event).session, string(p.Raw)}
			if _, ok := out[k]; !ok && p.Kind == transcript.Received && !p.IsCut() {
				out[k] = p
			}
		}
		return out
	})
}
