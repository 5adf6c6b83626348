package streamablehttp

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	methodStatus     = "streamable-http.method-not-found-404"
	endpointPost     = "streamable-http.single-endpoint-post"
	getRefused       = "streamable-http.get-405"
	deleteRefused    = "streamable-http.delete-405"
	noBuffering      = "streamable-http.sse-no-buffering-header"
	notResumable     = "streamable-http.not-resumable"
	statelessRelated = "streamable-http.sse-interim-related-2026-07-28"
	progressStream   = "progress.http-stream"
)

func statelessRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.method-status",
			Title:        "an unknown method gets 404 with -32601, and POST is served at the endpoint",
			Requirements: []string{methodStatus, endpointPost},
			Start:        judgeExchangesAtEnd(judgeMethodStatus),
		},
		{
			ID:           "rule.other-methods-refused",
			Title:        "a server of only the stateless era refuses GET and DELETE with 405",
			Requirements: []string{getRefused, deleteRefused},
			Start:        judgeExchangesAtEnd(judgeOtherMethods),
		},
		{
			ID:           "rule.stream-form",
			Title:        "streams ask proxies not to buffer, and have no event ids",
			Requirements: []string{noBuffering, notResumable},
			Start:        judgeExchangesAtEnd(judgeStreamForm),
		},
		{
			ID:           "rule.stream-of-request",
			Title:        "what comes on the stream of a request of the stateless era belongs to it",
			Requirements: []string{statelessRelated, progressStream},
			Start:        judgeExchangesAtEnd(judgeStreamOwner),
		},
	}
}

func judgeMethodStatus(v *view, out *rules.Reporter) {
	v.forEachRequest(func(x *exchange, req *rules.Request) {
		if !req.IsRegular() {
			return
		}
		e := x.errorIn()
		d := verdict.Deviation{Requirement: methodStatus, Permitted: "status 404 with error -32601", Seen: x.describeSeen(), At: x.positions()}
		switch unknown := e != nil && errorCode(e) == spec.CodeMethodNotFound; {
		case x.Status() == 405:
			d.Requirement, d.Summary, d.Permitted = endpointPost, "The server refuses POST at its endpoint.", "POST for every request"
			out.Report(d)
			return
		case unknown && x.Status() == 404:
			out.MarkObserved(methodStatus)
		case unknown:
			d.Summary = "The server's error -32601 comes with a status other than 404."
			out.Report(d)
		case x.Status() == 404 && e == nil && v.servesTarget(x):
			d.Summary = "The server answers 404 without a JSON-RPC error."
			if !isLoopback(x.RequestHead().Get("Host")) {
				d.Weight = verdict.AtMostWarning // it may come from a proxy in front
			}
			out.Report(d)
		}
		if x.Succeeded() {
			out.MarkObserved(endpointPost)
		}
	})
}

// servesTarget reports whether the server accepted another POST to the same target.
func (v *view) servesTarget(x *exchange) bool {
	return slices.ContainsFunc(v.all, func(y *exchange) bool {
		return y != x && y.Method() == "POST" && y.isAccepted() && y.RequestHead().Target() == x.RequestHead().Target()
	})
}

// judgeOtherMethods judges the responses to GET and DELETE, which only older revisions have, from a
// server that supports no older revision.
func judgeOtherMethods(v *view, out *rules.Reporter) {
	if v.s.Era() != spec.Stateless || !v.s.IsStatelessOnly() {
		return
	}
	for _, x := range v.all {
		requirement := map[string]string{"GET": getRefused, "DELETE": deleteRefused}[x.Method()]
		switch {
		case requirement == "" || x.Response == nil || isAmbiguousStatus(x.Status()):
		case x.Status() == 405:
			out.MarkObserved(requirement)
		default:
			out.Report(verdict.Deviation{
				Requirement: requirement, Summary: "The server answers " + x.Method() + " with a status other than 405.",
				Permitted: "status 405, because this revision has only POST", Seen: x.describeSeen(), At: x.positions(),
			})
		}
	}
}

// forEachOwnStream calls visit with each stream that responds to a single request, if the stateless
// revision by which the conversation is judged applies to that request.
func (v *view) forEachOwnStream(visit func(x *exchange, req *rules.Request)) {
	if v.s.Era() != spec.Stateless {
		return
	}
	for _, x := range v.all {
		if len(x.requests) == 1 && x.isStreamOpened() && v.s.AppliesTo(x.requests[0]) {
			visit(x, x.requests[0])
		}
	}
}

func judgeStreamForm(v *view, out *rules.Reporter) {
	v.forEachOwnStream(func(x *exchange, _ *rules.Request) {
		if x.ResponseHead().Get("X-Accel-Buffering") == "no" {
			out.MarkObserved(noBuffering)
		} else {
			d := verdict.Deviation{
				Requirement: noBuffering, Summary: "The server's event stream lacks X-Accel-Buffering: no.", Permitted: "the header X-Accel-Buffering: no",
				Seen: rules.Excerpt(x.ResponseHead().Describe("X-Accel-Buffering")), At: x.positions(),
			}
			if !isLoopback(x.RequestHead().Get("Host")) {
				d.Weight = verdict.OnlyNote // a proxy in front may have removed the header
			}
			out.Report(d)
		}
		for _, p := range x.events {
			if p.sse.ID == "" {
				continue
			}
			out.Report(verdict.Deviation{
				Requirement: notResumable, Summary: "The server's events have ids, which this revision does not define.", Permitted: "events without ids: streams can't be resumed",
				Seen: rules.Excerpt(p.Stream), At: positionsOf(x.Request, x.Response, p.Event),
			})
			return
		}
		if len(x.events) > 0 {
			out.MarkObserved(notResumable)
		}
	})
}

// judgeStreamOwner judges whether messages belong to the request on whose stream they come. A
// subscription's notifications are judged here only if they come on the stream of another request.
// Log messages, and notifications on the stream of their subscription, have rules of their own.
func judgeStreamOwner(v *view, out *rules.Reporter) {
	v.forEachOwnStream(func(x *exchange, req *rules.Request) {
		for _, p := range x.events {
			if p.Kind != transcript.Received || p.IsCut() {
				continue
			}
			for i := range p.Frame.Messages {
				v.judgeOwner(x, req, p, &p.Frame.Messages[i], out)
			}
		}
	})
}

func (v *view) judgeOwner(x *exchange, req *rules.Request, p streamEvent, m *wire.Message, out *rules.Reporter) {
	d := verdict.Deviation{Permitted: "messages that belong to the request of the stream", Seen: rules.Excerpt(m.Raw), At: positionsOf(x.Request, x.Sent, p.Event)}
	switch {
	case m.Kind == wire.Notification && m.Method == spec.MethodProgress && req.Message.Method == spec.MethodListen:
		token := m.ParamIDAt("/progressToken")
		if !token.IsString() && !token.IsInteger() || slices.Contains(v.s.RequestsWithToken(token), req) {
			return // another rule reports an illegal token, and the client may request progress of the subscription itself
		}
		d.Requirement, d.Summary = progressStream, "The server sends progress on the stream of a subscription."
		d.Permitted = "progress on the stream of the request that it is about"
		if owner, _ := v.requestOfProgress(p); owner != nil {
			d.At = positionsOf(x.Request, x.Sent, owner.Event, p.Event)
		}
		out.Report(d)
		out.MarkReportedElsewhere(statelessRelated)
	case m.Kind == wire.Notification && m.Method == spec.MethodProgress:
		owner, _ := v.requestOfProgress(p)
		switch owner {
		case nil:
		case req:
			out.MarkObserved(progressStream)
			out.MarkObserved(statelessRelated)
		default:
			d.Requirement, d.Summary = progressStream, "The server sends progress on the stream of another request."
			d.At = positionsOf(x.Request, x.Sent, owner.Event, p.Event)
			out.Report(d)
			out.MarkReportedElsewhere(statelessRelated)
		}
	case m.Kind == wire.Notification && req.Message.Method != spec.MethodListen && v.isSubscribed(m.Method, p.Seq):
		d.Requirement, d.Summary = statelessRelated, "The server sends a subscription's notification on another stream."
		out.Report(d)
	case m.Kind == wire.Response && !m.ID.Same(req.Message.ID) && len(v.s.RequestsWithID(m.ID)) == 1:
		d.Requirement, d.Summary = statelessRelated, "The server sends the response of another request."
		d.Weight = verdict.AtMostWarning // the requirement mentions only notifications
		out.Report(d)
	}
}

// isSubscribed reports whether notifications of this method may belong to a subscription that was
// open at the given position: the subscription requests them, or they acknowledge it.
func (v *view) isSubscribed(method string, at int) bool {
	filter := spec.FilterMember(method)
	return slices.ContainsFunc(v.s.ClientRequests(), func(req *rules.Request) bool {
		if req.Message.Method != spec.MethodListen || !req.InFlight(at) {
			return false
		}
		wanted := req.Message.ParamAt("/notifications/" + filter)
		return method == spec.MethodAcknowledged || filter != "" && (wanted.Kind() == 't' || wanted.Kind() == '[')
	})
}
