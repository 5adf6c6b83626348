package stateless

import (
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// judgeDelivery judges one notification of the server.
func judgeDelivery(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	if s.Era() != spec.Stateless || s.MayBeHandshakeMessage(obs.Event) {
		return
	}
	capability, isChange := changes[obs.Message.Method]
	member := spec.FilterMember(obs.Message.Method)
	isAck := obs.Message.Method == spec.MethodAcknowledged
	f := sharedSubscriptions.Of(s)
	sub, sameID := f.subscriptionOf(s, obs)
	d := verdict.Deviation{Seen: rules.Excerpt(obs.Message.Raw), At: rules.PositionsOf(obs.Event)}
	if isChange {
		judgeCapability(s, capability, obs, out)
	}
	if sub == nil {
		if isChange || isAck {
			f.judgeUnmatched(s, isChange, obs, d, out)
		}
		return
	}
	if !isChange && !isAck && (s.Transport == spec.Stdio || obs.Message.Method == spec.MethodProgress || obs.Message.Method == spec.MethodMessage) {
		return // it belongs to another request, and other rules judge it
	}
	d.At = rules.PositionsOf(sub.request.Event, obs.Event)
	switch id := subscriptionID(obs.Message); {
	case !id.IsPresent():
		d.Requirement, d.Summary = idPresent, "The server's notification on a subscription has no subscriptionId."
		d.Permitted = spec.MetaSubscriptionID + " in _meta, with the id of the request"
		out.Report(d)
	case isAck && sub.isOtherID(id):
		out.MarkObserved(idPresent)
		out.MarkReportedElsewhere(idValue) // as an acknowledgement of another subscription
	case !sameID:
		out.MarkObserved(idPresent)
		d.Requirement, d.Summary = idValue, "The server's subscriptionId is not the id of the request."
		showWrongID(&d, id, sub.request.Message.ID, "/params")
		d.Permitted = "the id of the request in type and value: " + rules.Excerpt(sub.request.Message.ID.Raw())
		out.Report(d)
	default:
		out.MarkObserved(idPresent)
		out.MarkObserved(idValue)
	}
	switch {
	case s.Transport == spec.Stdio && sub.cancelled != nil && sub.sinceCancelled.n >= settlingTrips:
		d.Requirement, d.Summary, d.Permitted = cancelledOnStdio, "The server sends a notification of a cancelled subscription.", "no further notification for it"
		d.At = rules.PositionsOf(sub.request.Event, sub.cancelled, obs.Event)
		if isAck && sub.ack == nil {
			d.Weight = verdict.AtMostWarning // a busy server may have begun to acknowledge before it read the cancellation
		}
		out.Report(d)
		return
	case sub.response != nil && sub.response.Event.Seq < obs.Event.Seq && isChange:
		d.Requirement, d.Summary, d.Permitted = onlyOnListen, "The server sends a notification of a subscription that has ended.", "nothing after the response to subscriptions/listen"
		d.At = rules.PositionsOf(sub.request.Event, sub.response.Event, obs.Event)
		out.Report(d)
		return
	}
	if isAck {
		if sub.ack == nil && !sub.early {
			out.MarkObserved(ackFirst)
		}
		return
	}
	if sub.ack == nil && !sub.early {
		sub.early = true
		d.Requirement, d.Summary, d.Permitted = ackFirst, "The server sends a notification before it acknowledges the subscription.", "notifications/subscriptions/acknowledged first"
		out.Report(d)
	}
	if isChange {
		out.MarkObserved(onlyOnListen)
		sub.judgeRequested(member, obs, d, out)
		for _, other := range f.all {
			if other != sub && other.cancelled != nil && other.sinceCancelled.n >= settlingTrips && other.hasRequested(member) {
				other.spared = true
				out.MarkObserved(cancelledOnStdio)
			}
		}
	}
}

// judgeRequested judges whether the subscription requests a change notification that it got. member
// is the notification's type in the filter.
func (sub *subscription) judgeRequested(member string, obs *rules.Observation, d verdict.Deviation, out *rules.Reporter) {
	if sub.filter == nil {
		return // judged as a subscription without a filter
	}
	if !sub.hasRequested(member) {
		d.Requirement, d.Summary = onlyTypes, "The server sends a type of notification that was not requested."
		d.Permitted, d.Earlier = "types that the filter requests: "+rules.Excerpt(sub.filter), "/params/notifications"
		out.Report(d)
		return
	}
	out.MarkObserved(onlyTypes)
	if obs.Message.Method != spec.MethodResourcesUpdated {
		return
	}
	about, ok := wire.Text(obs.Message.ParamAt("/uri"))
	wanted, _ := stringsOf(wire.At(sub.filter, "/resourceSubscriptions"))
	switch {
	case !ok: // the shape rules report it
	case slices.ContainsFunc(wanted, func(uri string) bool { return strings.HasPrefix(about, uri) }): // the URI itself or one below it
		out.MarkObserved(onlyResources)
	default:
		d.Requirement, d.Summary = onlyResources, "The server sends an update of a resource that was not requested."
		d.Permitted = "updates of the requested URIs, and of what is below them: " + rules.Excerpt(wire.At(sub.filter, "/resourceSubscriptions"))
		d.Pointer, d.Earlier = "/params/uri", "/params/notifications"
		out.Report(d)
	}
}

// judgeCapability judges whether the server declares the capability for a change notification.
func judgeCapability(s *rules.Session, capability string, obs *rules.Observation, out *rules.Reporter) {
	switch {
	case !s.Began():
	case s.ServerDeclared(capability):
		out.MarkObserved(serverRespects)
	default:
		d := verdict.Deviation{
			Requirement: serverRespects, Summary: "The server sends a change notification without declaring it.",
			Permitted: "the capability " + capability + " in the result of server/discover, or no such notification",
			Seen:      rules.Excerpt(obs.Message.Raw), At: rules.PositionsOf(obs.Event),
		}
		s.ShowDeclared(&d)
		out.Report(d)
	}
}

// judgeUnmatched judges a notification whose stream or id matches no subscription. Over stdio, a
// notification with a wrong id, or without one, may belong to any active subscription.
func (f *subscriptions) judgeUnmatched(s *rules.Session, isChange bool, obs *rules.Observation, d verdict.Deviation, out *rules.Reporter) {
	id := subscriptionID(obs.Message)
	var active *subscription
	for _, sub := range f.all {
		if sub.isActive() {
			active = sub
		}
	}
	switch {
	case s.Transport != spec.Stdio:
		if !isChange || slices.ContainsFunc(f.all, func(sub *subscription) bool {
			return sub.isActive() && sub.hasRequested(spec.FilterMember(obs.Message.Method))
		}) {
			return // it is on the wrong stream, which package streamablehttp judges
		}
	case active != nil && !id.IsPresent():
		d.Requirement, d.Summary = idPresent, "The server's notification on a subscription has no subscriptionId."
		d.Permitted = spec.MetaSubscriptionID + " in _meta, with the id of the request"
		d.At = rules.PositionsOf(active.request.Event, obs.Event)
		out.Report(d)
		return
	case active != nil:
		d.Requirement, d.Summary = idValue, "The server's subscriptionId is not the id of the request."
		showWrongID(&d, id, active.request.Message.ID, "/params")
		d.Permitted = "the id of a subscriptions/listen request, in type and value"
		d.At = rules.PositionsOf(active.request.Event, obs.Event)
		out.Report(d)
		return
	case !isChange:
		return
	}
	d.Requirement, d.Summary = onlyOnListen, "The server sends a change notification without a subscription."
	d.Permitted = "change notifications on subscriptions that request them"
	out.Report(d)
}

// judgeForeignID judges notifications that do not belong to a subscription.
func judgeForeignID(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	if s.Era() != spec.Stateless || s.MayBeHandshakeMessage(obs.Event) {
		return
	}
	if !subscriptionID(obs.Message).IsPresent() {
		out.MarkObserved(idElsewhere)
		return
	}
	out.Report(verdict.Deviation{
		Requirement: idElsewhere, Summary: "The server's progress or log notification has a subscriptionId.",
		Permitted: spec.MetaSubscriptionID + " only in notifications of a subscription", Seen: rules.Excerpt(obs.Message.Raw), At: rules.PositionsOf(obs.Event),
		Pointer: "/params" + spec.MetaPointer(spec.MetaSubscriptionID),
	})
}

// judgeRelation judges notifications that come over stdio while no request is in progress. It skips
// those that have rules of their own: among them change, progress and, after the first request, log
// notifications.
func judgeRelation(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	if s.Era() != spec.Stateless || s.Transport != spec.Stdio || s.MayBeHandshakeMessage(obs.Event) {
		return
	}
	requests := s.ClientRequests()
	for _, req := range requests {
		if len(req.Responses) == 0 && !req.IsCancelled() {
			out.MarkObserved(relatedOnly)
			return
		}
	}
	_, isChange := changes[obs.Message.Method]
	switch method := obs.Message.Method; {
	case isChange, method == spec.MethodAcknowledged, method == spec.MethodProgress, method == spec.MethodCancelled, method == spec.MethodElicitDone:
	case method == spec.MethodMessage && len(requests) > 0:
	default:
		out.Report(verdict.Deviation{
			Requirement: relatedOnly, Summary: "The server sends a notification while no request is in progress.",
			Permitted: "notifications of requests in progress, and of subscriptions", Seen: rules.Excerpt(obs.Message.Raw), At: rules.PositionsOf(obs.Event),
		})
	}
}
