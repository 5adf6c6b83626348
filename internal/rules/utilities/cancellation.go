package utilities

import (
	"slices"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	stopProcessing = "cancellation.stop-processing"
	noResponse     = "cancellation.no-response-after-cancel"
	progressStops  = "progress.stops-after-cancel"
	ownRequests    = "cancellation.server-cancels-own-requests"
	noMessages     = "cancellation.no-messages-after-cancel.stdio"
	onlyListen     = "cancellation.server-only-subscriptions"
)

func cancellationRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.cancelled-requests",
			Title:        "a cancelled request is stopped, and gets no response",
			Requirements: []string{stopProcessing, noResponse, progressStops, noMessages},
			Start:        cancelledRequests,
		},
		{
			ID:           "rule.cancellations-of-server",
			Title:        "the server cancels only its own requests that may be in progress",
			Requirements: []string{ownRequests},
			Start:        serverCancellations,
		},
		{
			ID:           "rule.cancellations-of-subscriptions",
			Title:        "in the stateless era the server cancels only subscriptions",
			Requirements: []string{onlyListen},
			Start: rules.WithoutState(rules.Fold{
				OnMessage: rules.Handlers{rules.Notification(spec.MethodCancelled): judgeStatelessCancellation},
			}),
		},
		disruptionRule(),
	}
}

// cancelledRequest is a request that was cancelled while it was in progress. It tracks what
// happened after the cancellation.
type cancelledRequest struct {
	request           *rules.Request
	cancellation      *transcript.Event
	since             *roundTrips         // the round trips since the cancellation
	ran               bool                // the request reported progress before the cancellation
	progress          []*transcript.Event // progress after the server had certainly read the cancellation
	reports           int                 // the number of progress notifications after the cancellation, whether or not the server had read it
	response          *transcript.Event
	result            bool          // the response is a result
	failed            *wire.Message // the response, if it means that the request failed
	crossed           bool          // a response came that may have been in transit
	namesCancellation bool          // the response names the cancellation, so it was not in transit
	gotClientReply    bool          // after the cancellation, the client responded to a request that the server had sent while this request ran
}

func cancelledRequests() rules.Fold {
	var all []*cancelledRequest
	g := newTokenRequests()
	ran := map[*rules.Request]bool{}
	var last *transcript.Event
	return rules.Fold{
		OnMessage: withResponses(rules.Handlers{
			rules.ClientRequest(""): func(_ *rules.Session, obs *rules.Observation, _ *rules.Reporter) { g.note(obs.Request) },
			rules.ClientNotification(spec.MethodCancelled): func(s *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
				if req := cancelledBy(s, obs); req != nil {
					all = append(all, &cancelledRequest{request: req, cancellation: obs.Event, since: roundTripsSince(obs.Event), ran: ran[req]})
				}
			},
			rules.ClientReply(""): func(_ *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
				for _, c := range all {
					c.gotClientReply = c.gotClientReply || c.response == nil && len(obs.ServerRequest.Cancellations) == 0 && obs.ServerRequest.Event.Seq < c.cancellation.Seq && obs.ServerRequest.Event.Seq > c.request.Event.Seq
				}
			},
			rules.Notification(spec.MethodProgress): func(_ *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
				last = obs.Event
				req := g.onlyPossibleRequest(namedToken(obs.Message))
				if req == nil {
					return
				}
				ran[req] = true
				for _, c := range all {
					if c.request != req {
						continue
					}
					c.reports++
					if c.since.n >= settlingTrips {
						c.progress = append(c.progress, obs.Event)
					}
				}
			},
		}, func(_ *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
			last = obs.Event
			for _, c := range all {
				switch {
				case obs.Request != c.request:
					c.since.note(obs)
				case c.since.n < settlingTrips && isFailure(obs.Message) && saysCancelled(obs.Message):
					c.response, c.failed, c.namesCancellation = obs.Event, obs.Message, true
				case c.since.n < settlingTrips:
					c.crossed = true
				case c.response == nil && !c.crossed:
					c.response, c.result = obs.Event, obs.Message.Has("result")
					if isFailure(obs.Message) {
						c.failed = obs.Message
					}
				}
			}
		}),
		AtEnd: func(s *rules.Session, out *rules.Reporter) {
			for _, c := range all {
				if hasOrderedTransport(s) || c.response == nil && len(c.progress) == 0 { // over HTTP, late messages show nothing, but missing ones do
					c.judge(s, last, out)
				}
			}
		},
	}
}

// cancelledBy returns the request that a cancellation stops, or nil. It excludes initialize,
// which can't be cancelled, and task calls, which tasks/cancel stops.
func cancelledBy(s *rules.Session, obs *rules.Observation) *rules.Request {
	all := s.RequestsWithID(obs.Message.ParamIDAt("/requestId"))
	if len(all) != 1 || s.Era() == spec.Handshake && !s.Began() {
		return nil
	}
	// Over HTTP, a client of the stateless era cancels a request by closing its stream.
	// Subscriptions have rules of their own.
	if s.Era() == spec.Stateless && (s.Transport != spec.Stdio || all[0].Message.Method == spec.MethodListen) {
		return nil
	}
	req := all[0]
	if len(req.Responses) > 0 || !req.IsRegular() || req.Message.ParamAt("/task") != nil {
		return nil
	}
	return req
}

func (c *cancelledRequest) judge(s *rules.Session, last *transcript.Event, out *rules.Reporter) {
	// A single progress notification soon after the cancellation may be about a step that was in
	// progress at that time. Whether it comes before or after the responses to later requests is
	// chance.
	if c.reports == 1 && len(c.progress) == 1 && !c.result && c.progress[0].At-c.cancellation.At < 2*c.runTime() {
		c.progress = nil
	}
	switch {
	case len(c.progress) > 0 && out.Judges(noMessages):
		c.judgeMessages(out)
		return
	case len(c.progress) > 0 && (c.reports > 1 || c.result):
		out.Report(verdict.Deviation{
			Requirement: stopProcessing,
			Summary:     "The server continues to work on a cancelled request.",
			Permitted:   "no progress and no response after the cancellation; a request that cannot be cancelled may continue",
			Weight:      verdict.OnlyNote, // only the server knows what can't be cancelled
			Seen:        "more progress, after the server had answered two requests that were sent after the cancellation",
			At:          rules.PositionsOf(append([]*transcript.Event{c.request.Event, c.cancellation}, c.progress[:min(2, len(c.progress))]...)...),
		})
		out.MarkReportedElsewhere(progressStops)
		out.MarkReportedElsewhere(noResponse)
		return
	case len(c.progress) == 1:
		out.Report(verdict.Deviation{
			Requirement: progressStops,
			Summary:     "The server reports progress for a cancelled request.",
			Permitted:   "no progress after the server has read the cancellation; one late notification is only noted",
			Seen:        "progress, after the server had answered two requests that were sent after the cancellation",
			At:          rules.PositionsOf(c.request.Event, c.cancellation, c.progress[0]),
			Weight:      verdict.OnlyNote,
		})
		out.MarkReportedElsewhere(stopProcessing)
	}
	switch {
	case c.response != nil && c.request.Message.Method != spec.MethodToolsCall:
		// Few servers can interrupt requests other than tool calls, and none has to.
	case c.namesCancellation && !c.othersSucceed(s):
		// The tool may have failed by itself, and described that in similar words.
	case c.response != nil:
		d := verdict.Deviation{
			Requirement: noResponse,
			Summary:     "The server answers a cancelled request.",
			Permitted:   "no response after the server has read the cancellation",
			Seen:        "a response, after the server had answered two requests that were sent after the cancellation",
			At:          rules.PositionsOf(c.request.Event, c.cancellation, c.response),
		}
		if c.namesCancellation {
			d.Seen = "an error that names the cancellation: " + rules.Excerpt(c.failed.Raw)
		}
		if c.gotClientReply || !c.isHeeded(s) {
			d.Summary = "The server answers a cancelled request as if it were not cancelled."
			d.Permitted += "; a request that can't be cancelled may still be answered"
			d.Weight = verdict.OnlyNote // only the server knows what can't be cancelled
		}
		out.Report(d)
	case len(c.progress) == 0 && c.hasStopped(last):
		out.MarkObserved(stopProcessing)
		out.MarkObserved(progressStops)
		out.MarkObserved(noResponse)
		out.MarkObserved(noMessages)
	}
}

// judgeMessages judges progress after the cancellation in revisions that permit no further
// messages for the request. Responses are judged separately, because the specification says both
// that they must not and that they should not come.
func (c *cancelledRequest) judgeMessages(out *rules.Reporter) {
	came, messages := "progress", append([]*transcript.Event{c.request.Event, c.cancellation}, c.progress[:min(2, len(c.progress))]...)
	if c.response != nil {
		came, messages = "progress and a response", []*transcript.Event{c.request.Event, c.cancellation, c.response, c.progress[0]}
	}
	out.Report(verdict.Deviation{
		Requirement: noMessages,
		// The page on cancellation permits servers to ignore what can't be cancelled; only the
		// server knows what that is.
		Weight:    verdict.AtMostWarning,
		Summary:   "The server sends progress for a cancelled request.",
		Permitted: "nothing more for the request after the server has read the cancellation",
		Seen:      came + ", after the server had answered two requests that were sent after the cancellation",
		At:        rules.PositionsOf(messages...),
	})
	for _, id := range []string{stopProcessing, progressStops, noResponse} {
		out.MarkReportedElsewhere(id)
	}
}

// runTime returns how long the request ran before it was cancelled.
func (c *cancelledRequest) runTime() time.Duration { return c.cancellation.At - c.request.Event.At }

// isHeeded reports whether the response shows that the server heeded the cancellation: the call
// failed, and either the error names the cancellation, or other calls of the same tool succeed. A
// server that responds as usual may have ignored the cancellation, which is permitted for a request
// that can't be cancelled.
func (c *cancelledRequest) isHeeded(s *rules.Session) bool {
	if c.failed == nil {
		return false
	}
	return saysCancelled(c.failed) || c.othersSucceed(s)
}

// saysCancelled reports whether a failure says that the request was cancelled.
func saysCancelled(m *wire.Message) bool {
	code, _ := m.ErrorCode()
	return code == requestCancelled || cancelWords.Match(m.Raw)
}

// othersSucceed reports whether other calls of the tool succeed.
func (c *cancelledRequest) othersSucceed(s *rules.Session) bool {
	tool, _ := wire.Text(c.request.Message.ParamAt("/name"))
	return slices.ContainsFunc(s.ClientRequests(), func(req *rules.Request) bool {
		name, ok := wire.Text(req.Message.ParamAt("/name"))
		return req.Message.Method == spec.MethodToolsCall && ok && name == tool && req.Succeeded() && !isFailure(req.Responses[0].Message)
	})
}

// requestCancelled is the code of the Language Server Protocol for a cancelled request, which
// some MCP servers use.
const requestCancelled = -32800

var cancelWords = lazyregexp.New(`(?i)cancel|abort`)

// isFailure reports whether a response says that the request failed.
func isFailure(m *wire.Message) bool {
	return m.IsError() || string(m.ResultAt("/isError")) == "true"
}

// hasStopped reports whether the request was seen to run, and after its cancellation showed no sign
// of running for at least as long as it had run. A response that may have crossed the cancellation
// shows neither that the request ran nor that it stopped.
func (c *cancelledRequest) hasStopped(last *transcript.Event) bool {
	ran := c.runTime()
	return c.ran && !c.crossed && c.since.n >= settlingTrips && ran > 0 && last.At-c.cancellation.At >= ran
}

// serverCancellations judges which requests the server cancels.
func serverCancellations() rules.Fold {
	var replied []*clientReply             // replies that the server may not have read yet
	read := map[*transcript.Request]bool{} // requests whose reply the server has certainly read
	return rules.Fold{OnMessage: withResponses(rules.Handlers{
		rules.ClientReply(""): func(_ *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
			replied = append(replied, &clientReply{obs.ServerRequest, roundTripsSince(obs.Event)})
		},
		rules.Notification(spec.MethodCancelled): func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
			if s.Began() && s.Era() == spec.Handshake {
				judgeServerCancellation(s, obs, read, out)
			}
		},
	}, func(_ *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
		replied = slices.DeleteFunc(replied, func(r *clientReply) bool {
			r.since.note(obs)
			read[r.to] = r.since.n >= settlingTrips
			return read[r.to]
		})
	})}
}

// clientReply is a response of the client, with the round trips since.
type clientReply struct {
	to    *transcript.Request
	since *roundTrips
}

func judgeServerCancellation(s *rules.Session, obs *rules.Observation, read map[*transcript.Request]bool, out *rules.Reporter) {
	id := obs.Message.ParamIDAt("/requestId")
	d := verdict.Deviation{Requirement: ownRequests, Permitted: "the id of a request of the server that has no response yet", Seen: rules.Excerpt(obs.Message.Raw), At: rules.PositionsOf(obs.Event)}
	if !id.IsPresent() {
		if s.Revision() != spec.V20251125 { // 2025-11-25 has a separate requirement on a missing requestId
			d.Summary = "The server's cancellation names no request."
			out.Report(d)
		}
		return
	}
	if !id.IsString() && !id.IsInteger() {
		d.Summary = "The server's cancellation has a requestId that is not an id."
		out.Report(d)
		return
	}
	switch p := newestWithID(s.ServerRequests(), id); {
	case p != nil && (p.Response() == nil || !hasOrderedTransport(s) || !read[p]):
		out.MarkObserved(ownRequests)
		return
	case p != nil:
		d.Summary, d.At = "The server cancels a request that the client has answered.", rules.PositionsOf(p.Event, p.Response().Event, obs.Event)
		d.Seen += ", though two requests sent after the answer were answered"
	case differsInType(s.ServerRequests(), id):
		d.Summary = "The server cancels its request by an id of another type."
	case len(s.RequestsWithID(id)) > 0:
		d.Summary = neverSent
		d.Seen += "; only the client has sent a request with this id"
	case s.OutputEnded: // after the end of the output, nothing is judged
		return
	default:
		d.Summary = neverSent
	}
	out.Report(d)
}

const neverSent = "The server cancels a request that it never sent."

// judgeStatelessCancellation judges which requests the server cancels in the stateless era. A
// server may cancel only the client's subscriptions.
func judgeStatelessCancellation(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	if s.Era() != spec.Stateless || s.MayBeHandshakeMessage(obs.Event) {
		return
	}
	id := obs.Message.ParamIDAt("/requestId")
	d := verdict.Deviation{
		Requirement: onlyListen, Summary: "The server cancels what is not a subscription.",
		Permitted: "the id of a subscriptions/listen request", Seen: rules.Excerpt(obs.Message.Raw), At: rules.PositionsOf(obs.Event),
	}
	for _, req := range s.ClientRequests() {
		if req.Message.Method != spec.MethodListen || normalizeToken(req.Message.ID) != normalizeToken(id) {
			continue
		}
		if req.Message.ID.Same(id) {
			out.MarkObserved(onlyListen)
			return
		}
		d.Summary, d.Weight = "The server cancels a subscription by an id of another type.", verdict.AtMostWarning
	}
	out.Report(d)
}

// newestWithID returns the server's newest request with this id, or nil. Unlike Dialogue.RequestOf,
// it also finds a request that follows the cancellation in the same batch, because the messages of
// a batch have no order.
func newestWithID(all []*transcript.Request, id wire.ID) *transcript.Request {
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Message.ID.Same(id) {
			return all[i]
		}
	}
	return nil
}

// differsInType reports whether the id equals that of an open server request, apart from the
// differences that normalizeToken ignores, such as the type.
func differsInType(all []*transcript.Request, id wire.ID) bool {
	for _, p := range all {
		if p.Response() == nil && normalizeToken(p.Message.ID) == normalizeToken(id) {
			return true
		}
	}
	return false
}
