package stateless

import (
	"slices"
	"strings"

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
			Requirements: []string{staysOpen, gracefulResponse, gracefulID, answeredByStream, cancelledOnStdio},
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
	// misnamed is an acknowledgement that came over stdio while this subscription waited for its
	// own, but that has the id of another subscription, which was already acknowledged or
	// cancelled.
	misnamed *rules.Observation
	response *rules.Observation
	// atShutdown is set if the response came after the client had begun to end the server.
	atShutdown bool
	cancelled  *transcript.Event
	// sinceCancelled counts the round trips after the cancellation, sinceSent those after the
	// request.
	sinceCancelled, sinceSent roundTrips
	// spared is set if another subscription got a notification that this one would have got, too, had
	// the client not cancelled it.
	spared bool
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

// showWrongID makes a deviation show the subscriptionId of a message. The argument within is the
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

// deliversAny reports whether the server has agreed to deliver at least one type of notification.
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
