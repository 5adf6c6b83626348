package stateless

import (
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	acknowledged      = "subscriptions.acknowledged"
	ackFirst          = "subscriptions.ack-first"
	ackSubset         = "subscriptions.ack-filter-subset"
	ackSupported      = "subscriptions.ack-filter-supported"
	idPresent         = "subscriptions.id-on-notifications"
	idValue           = "subscriptions.id-value"
	idElsewhere       = "subscriptions.id-absent-elsewhere"
	onlyTypes         = "subscriptions.only-requested-types"
	onlyResources     = "subscriptions.only-requested-resources"
	onlyOnListen      = "subscriptions.change-notifications-only-on-listen"
	staysOpen         = "subscriptions.stays-open"
	cancelledOnStdio  = "subscriptions.client-cancel-stdio"
	gracefulResponse  = "subscriptions.graceful-close-response"
	gracefulID        = "subscriptions.graceful-close-id"
	filterRequired    = "subscriptions.filter-required"
	answeredByStream  = "subscriptions.http-sse"
	refusedByError    = "subscriptions.error-response"
	patternsSupported = "stateless.message-patterns-supported"
	serverRespects    = "stateless.server-capabilities-respected"
	relatedOnly       = "stdio.only-related-notifications"
)

func subscriptionRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.subscriptions-acknowledged",
			Title:        "a subscription is acknowledged with the part of the request that the server agrees to",
			Requirements: []string{acknowledged, ackSubset, ackSupported, filterRequired, refusedByError, patternsSupported, unsupportedVersion, capabilitiesRequired},
			Start:        func() rules.Fold { return rules.Fold{Shared: readsSubscriptions, AtEnd: judgeAcknowledgements} },
		},
		{
			ID:           "rule.subscription-notifications",
			Title:        "a subscription brings what was requested, after the acknowledgement and with its id",
			Requirements: []string{ackFirst, idPresent, idValue, onlyTypes, onlyResources, onlyOnListen, cancelledOnStdio, serverRespects},
			Start: func() rules.Fold {
				return rules.Fold{Shared: readsSubscriptions, OnMessage: rules.Handlers{rules.Notification(""): judgeDelivery}}
			},
		},
		{
			ID:           "rule.subscription-ids-elsewhere",
			Title:        "notifications of other requests have no subscriptionId",
			Requirements: []string{idElsewhere},
			Start:        rules.WithoutState(rules.Fold{OnMessage: rules.Handlers{rules.Notification(spec.MethodProgress): judgeForeignID, rules.Notification(spec.MethodMessage): judgeForeignID}}),
		},
		{
			ID:           "rule.subscription-ends",
			Title:        "a subscription stays open, and ends with a result that names it",
			Requirements: []string{staysOpen, gracefulResponse, gracefulID, answeredByStream},
			Start:        func() rules.Fold { return rules.Fold{Shared: readsSubscriptions, AtEnd: judgeEnds} },
		},
		{
			ID:           "rule.notifications-related",
			Title:        "over stdio a notification belongs to a request in progress or to a subscription",
			Requirements: []string{relatedOnly},
			Start:        rules.WithoutState(rules.Fold{OnMessage: rules.Handlers{rules.Notification(""): judgeRelation}}),
		},
	}
}

// changes maps each notification that only subscriptions deliver to the capability that it needs.
var changes = map[string]string{
	spec.MethodToolsChanged:     "tools.listChanged",
	spec.MethodPromptsChanged:   "prompts.listChanged",
	spec.MethodResourcesChanged: "resources.listChanged",
	spec.MethodResourcesUpdated: "resources.subscribe",
}

// subscription is a subscriptions/listen request and what happened to the subscription.
type subscription struct {
	request *rules.Request
	filter  jsontext.Value // nil if the request has no filter object
	ack     *rules.Observation
	// early is set if a notification came before the acknowledgement.
	early bool
	// misnamed is an acknowledgement that names a subscription that expected none, because it was
	// already acknowledged or cancelled, if it came over stdio while this subscription waited for
	// its acknowledgement.
	misnamed *rules.Observation
	response *rules.Observation
	// atShutdown is set if the response came after the client had begun to end the server.
	atShutdown bool
	cancelled  *transcript.Event
	// sinceCancelled counts the round trips after the cancellation, sinceSent those after the
	// request.
	sinceCancelled, sinceSent roundTrips
	// overdue is set if the server responded to other requests for so long that an acknowledgement
	// should have come, and the client did not cancel the subscription.
	overdue bool
}

// roundTrips counts consecutive requests, each of which was sent after the response to the request
// before it. The type of the same name in package utilities says why.
type roundTrips struct{ after, n int }

func (t *roundTrips) note(obs *rules.Observation) {
	if obs.Request.Event.Seq > t.after {
		t.n++
		t.after = obs.Event.Seq
	}
}

// settlingTrips is how many round trips ensure that no earlier message is still in transit.
const settlingTrips = 2

// subscriptions are the subscriptions of a conversation.
type subscriptions struct{ all []*subscription }

// sharedSubscriptions keeps the subscriptions of each conversation. Requests, cancellations and
// responses are recorded before the rules see them, acknowledgements after that.
var sharedSubscriptions = &rules.Shared[*subscriptions]{Start: func() (f *subscriptions, before, after rules.Handlers) {
	f = &subscriptions{}
	return f, rules.MergeHandlers(rules.Handlers{
			rules.ClientRequest(spec.MethodListen):         f.noteRequest,
			rules.ClientNotification(spec.MethodCancelled): f.noteCancelled,
		}, rules.OnResponse("", f.noteResponse)), rules.Handlers{
			rules.Notification(spec.MethodAcknowledged): f.noteAcknowledged,
		}
}}

var readsSubscriptions = []rules.SharedState{sharedSubscriptions}

func (f *subscriptions) noteRequest(s *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
	if s.Era() != spec.Stateless {
		return
	}
	sub := &subscription{request: obs.Request, sinceSent: roundTrips{after: obs.Event.Seq}}
	if filter := obs.Message.ParamAt("/notifications"); filter.Kind() == '{' {
		sub.filter = filter
	}
	f.all = append(f.all, sub)
}

func (f *subscriptions) noteCancelled(_ *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
	id := obs.Message.ParamIDAt("/requestId")
	for _, sub := range f.all {
		if sub.cancelled == nil && sub.request.Message.ID.Same(id) {
			sub.cancelled, sub.sinceCancelled = obs.Event, roundTrips{after: obs.Event.Seq}
		}
	}
}

func (f *subscriptions) noteResponse(s *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
	for _, sub := range f.all {
		if sub.request == obs.Request {
			if sub.response == nil {
				sub.response, sub.atShutdown = obs, s.InputClosed || s.Signalled
			}
			continue
		}
		sub.sinceSent.note(obs)
		if sub.cancelled == nil && sub.sinceSent.n >= settlingTrips && obs.Event.At-sub.request.Event.At >= verdict.NoticeTime {
			sub.overdue = true
		}
		if sub.cancelled != nil {
			sub.sinceCancelled.note(obs)
		}
	}
}

func (f *subscriptions) noteAcknowledged(s *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
	sub, _ := f.subscriptionOf(s, obs)
	if sub == nil {
		return
	}
	if s.Transport == spec.Stdio && (sub.ack != nil || sub.cancelled != nil && sub.sinceCancelled.n >= settlingTrips) {
		for _, other := range f.all {
			if other != sub && other.ack == nil && other.misnamed == nil && other.response == nil && other.cancelled == nil {
				other.misnamed = obs
			}
		}
	}
	if sub.ack == nil {
		sub.ack = obs
	}
}

// subscriptionOf returns the subscription that a notification belongs to (over HTTP by its stream,
// over stdio by its id), and whether its metadata has the id of that subscription.
func (f *subscriptions) subscriptionOf(s *rules.Session, obs *rules.Observation) (sub *subscription, sameID bool) {
	id := subscriptionID(obs.Message)
	if s.Transport != spec.Stdio {
		on := s.RequestOfExchange(obs.Event)
		for _, sub := range f.all {
			if sub.request == on {
				return sub, sub.request.Message.ID.Same(id)
			}
		}
		return nil, false
	}
	for _, sub := range slices.Backward(f.all) {
		if sub.request.Message.ID.Same(id) {
			return sub, true
		}
	}
	return nil, false
}

// showWrongID makes a deviation show the subscriptionId of a message; The argument within is the
// pointer to the message's params or result, and right is the id of the request.
func showWrongID(d *verdict.Deviation, id, right wire.ID, within string) {
	d.Seen, d.Pointer = "the subscriptionId "+rules.Excerpt(id.Raw())+" for the request with the id "+rules.Excerpt(right.Raw()), within+spec.MetaPointer(spec.MetaSubscriptionID)
}

// isOtherID reports whether an id differs from that of the subscription in more than its type.
func (sub *subscription) isOtherID(id wire.ID) bool {
	own := sub.request.Message.ID
	return id.IsPresent() && sub.request.HasLegalID() && !own.Same(id) && strings.Trim(id.Raw(), `"`) != strings.Trim(own.Raw(), `"`)
}

// subscriptionID returns the subscription id in a notification, absent if it has none.
func subscriptionID(m *wire.Message) wire.ID {
	return m.ParamIDAt(spec.MetaPointer(spec.MetaSubscriptionID))
}

// isActive reports whether the server may still send notifications for the subscription.
func (sub *subscription) isActive() bool {
	return sub.response == nil && (sub.cancelled == nil || sub.sinceCancelled.n < settlingTrips)
}

// deliversAny reports whether the server has agreed to deliver any type of notification.
func (sub *subscription) deliversAny() bool {
	agreed := sub.ack.Message.ParamAt("/notifications")
	for method := range changes {
		if filterIncludes(agreed, spec.FilterMember(method)) {
			return true
		}
	}
	return false
}

// hasRequested reports whether the filter requests a type of notification.
func (sub *subscription) hasRequested(member string) bool { return filterIncludes(sub.filter, member) }

func filterIncludes(filter jsontext.Value, member string) bool {
	v := wire.At(filter, "/"+member)
	return v.Kind() == 't' || v.Kind() == '[' && len(wire.Elements(v)) > 0
}

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
		if slices.ContainsFunc(f.all, func(other *subscription) bool {
			return other != sub && other.cancelled != nil && other.sinceCancelled.n >= settlingTrips && other.hasRequested(member)
		}) {
			out.MarkObserved(cancelledOnStdio) // the cancelled subscription would have got this notification too
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
		d.Permitted = "types that the filter requests: " + rules.Excerpt(sub.filter)
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
		d.Permitted = "updates of the requested URIs, and of what is below them"
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
		out.Report(verdict.Deviation{
			Requirement: serverRespects, Summary: "The server sends a change notification without declaring it.",
			Permitted: "the capability " + capability + " in the result of server/discover, or no such notification", Seen: rules.Excerpt(obs.Message.Raw),
			At: rules.PositionsOf(s.Declaration.Responses[0].Event, obs.Event), Earlier: "/result/capabilities",
		})
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

// tooEarly is the time after the acknowledgement within which the end of a subscription is too
// early.
const tooEarly = time.Second
