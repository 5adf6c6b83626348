package stateless

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// judgeAcknowledgements judges whether subscriptions are acknowledged or refused as required. It
// judges at the end, because an acknowledgement may come late.
func judgeAcknowledgements(s *rules.Session, out *rules.Reporter) {
	if s.Era() != spec.Stateless {
		return
	}
	for _, sub := range sharedSubscriptions.Of(s).all {
		req := sub.request
		if sub.ack != nil && sub.isOtherID(subscriptionID(sub.ack.Message)) { // over HTTP, where the stream names the request
			sub.reportMisnamed(sub.ack, out)
		}
		switch {
		case len(s.RequestsWithID(req.Message.ID)) > 1 || !req.HasLegalID() || len(req.HeaderFlaws) > 0 || !req.WellFormed && !req.Metadata.NoObject:
		case !req.Metadata.IsComplete() || !s.AppliesTo(req):
			sub.judgeRefused(s, out)
		case sub.filter == nil:
			sub.judgeWithoutFilter(out)
		case req.IsRegular():
			sub.judgeAcknowledged(s, out)
		}
	}
}

// deviation returns a deviation with the request and an event as evidence.
func (sub *subscription) deviation(requirement string, e *transcript.Event, seen string) verdict.Deviation {
	return verdict.Deviation{Requirement: requirement, Seen: seen, At: rules.PositionsOf(sub.request.Event, e)}
}

// judgeRefused judges a request that must be refused for its metadata or version. An
// acknowledgement breaks the requirement to refuse such requests; other rules judge the error code.
func (sub *subscription) judgeRefused(s *rules.Session, out *rules.Reporter) {
	requirement, what := sub.refusalRequirement()
	switch {
	case sub.ack != nil && !(sub.request.Metadata.IsComplete() && sub.isSupported(s)):
		d := sub.deviation(requirement, sub.ack.Event, rules.Excerpt(sub.ack.Message.Raw))
		d.Summary, d.Permitted = "The server accepts a subscription request "+what+".", "an error, and no acknowledgement"
		d.Earlier = pointerToMalformed(sub.request)
		if text := describeMalformed(sub.request); text != "" {
			d.Seen = "an acknowledgement, although " + text
			if requirement == refusedByError {
				d.Fix = "Check _meta of subscriptions/listen first, and refuse a malformed one with an error."
			}
		}
		if requirement == unsupportedVersion {
			d.Earlier = versionOfRequest
			d.Seen = "an acknowledgement, although the request names the version " + rules.Excerpt(sub.request.Metadata.Version)
		}
		out.Report(d)
	case sub.response != nil && sub.response.Message.IsError():
		out.MarkObserved(requirement)
		out.MarkObserved(refusedByError)
	}
}

// isSupported reports whether the server supports the version that the request names.
func (sub *subscription) isSupported(s *rules.Session) bool {
	version := sub.request.Metadata.Version
	return spec.Revision(version) == s.Revision() || slices.Contains(s.SupportedVersions(), version)
}

// refusalRequirement returns the requirement to refuse the request, and a description of what is
// wrong with the request.
func (sub *subscription) refusalRequirement() (requirement, what string) {
	missing, what := requirementForIncomplete(sub.request)
	version := sub.request.Metadata.Version
	switch complete := sub.request.Metadata.IsComplete(); {
	case missing == capabilitiesRequired:
		return missing, what
	case missing != "":
		return refusedByError, what
	case complete && !spec.Revision(version).IsPublished() && !mayBeRevisionName(version):
		return unsupportedVersion, "of an unknown version"
	default:
		return refusedByError, "that it has to refuse"
	}
}

// judgeWithoutFilter judges a request without a filter.
func (sub *subscription) judgeWithoutFilter(out *rules.Reporter) {
	d := sub.deviation(filterRequired, nil, "")
	d.Summary, d.Permitted = "The server accepts subscriptions/listen without a filter object.", "error -32602"
	flaw := ", though the request has no params.notifications"
	if v := sub.request.Message.ParamAt("/notifications"); v != nil {
		flaw = ", though params.notifications is " + rules.Excerpt(v)
	}
	switch {
	case sub.ack != nil:
		d.Seen, d.At = "acknowledged"+flaw, rules.PositionsOf(sub.request.Event, sub.ack.Event)
		out.Report(d)
	case sub.response == nil:
	case sub.response.Message.IsError():
		out.MarkObserved(filterRequired)
	default:
		d.Seen, d.At = "a result"+flaw, rules.PositionsOf(sub.request.Event, sub.response.Event)
		out.Report(d)
	}
}

func (sub *subscription) judgeAcknowledged(s *rules.Session, out *rules.Reporter) {
	if sub.ack != nil {
		out.MarkObserved(patternsSupported)
		sub.judgeFilter(s, out)
		return
	}
	if sub.isEndedByClient() && !s.Waits.GaveUpOn(sub.request.Event) {
		return
	}
	if sub.response != nil && sub.response.Message.IsError() {
		d := sub.deviation(acknowledged, sub.response.Event, rules.Excerpt(sub.response.Message.Raw))
		d.Permitted = "notifications/subscriptions/acknowledged, which leaves out what the server does not support"
		if codeOf(sub.response) == spec.CodeMethodNotFound {
			d.Requirement, d.Summary = patternsSupported, "The server does not know subscriptions/listen."
		} else {
			d.Summary, d.Weight = "The server refuses a subscription.", verdict.AtMostWarning
			if slices.ContainsFunc(sharedSubscriptions.Of(s).all, func(other *subscription) bool { return other.ack != nil }) {
				d.Weight = verdict.OnlyNote // the server accepts other subscriptions, and may limit their number
			}
		}
		out.Report(d)
		return
	}
	last := sub.ackDeadline(s)
	if last == nil {
		return
	}
	if sub.misnamed != nil {
		sub.reportMisnamed(sub.misnamed, out)
		return
	}
	d := sub.deviation(acknowledged, last, "no acknowledgement")
	d.Summary, d.Permitted = "The server does not acknowledge a subscription.", "notifications/subscriptions/acknowledged as the first message of the subscription"
	switch {
	case sub.response != nil:
		d.Seen = rules.Excerpt(sub.response.Message.Raw)
	case last == sub.cancelled:
		d.Seen += " before the client cancelled the subscription"
	}
	out.Report(d)
}

// reportMisnamed reports an acknowledgement that has another id than the subscription.
func (sub *subscription) reportMisnamed(ack *rules.Observation, out *rules.Reporter) {
	d := sub.deviation(acknowledged, ack.Event, "")
	d.Summary, d.Permitted = "The server acknowledges a subscription with another id.", "an acknowledgement with the id of the request: "+rules.Excerpt(sub.request.Message.ID.Raw())
	showWrongID(&d, subscriptionID(ack.Message), sub.request.Message.ID, "/params")
	out.Report(d)
}

// isEndedByClient reports whether a response came, possibly because the client cancelled the
// subscription or began to end the server. The server may not have started the subscription by
// then.
func (sub *subscription) isEndedByClient() bool {
	return sub.response != nil && (sub.atShutdown || sub.cancelled != nil)
}

// ackDeadline returns the event by which an acknowledgement should have come; nil if it may still
// come, or if the subscription ended too early to tell.
func (sub *subscription) ackDeadline(s *rules.Session) *transcript.Event {
	x := sub.request.Exchange
	switch {
	case sub.response != nil:
		return sub.response.Event
	case s.Waits.GaveUpOn(sub.request.Event):
		return sub.request.Event
	case sub.misnamed != nil && sub.overdue:
		return sub.misnamed.Event
	case x != nil && x.End != nil && x.Succeeded() && (x.End.How == transcript.Complete || x.End.How == transcript.Dropped && x.End.At-sub.request.Event.At >= verdict.NoticeTime):
		return x.End
	case sub.cancelled != nil && sub.cancelled.At-sub.request.Event.At >= verdict.NoticeTime && sub.sinceSent.n >= settlingTrips:
		return sub.cancelled
	}
	return nil
}

// judgeFilter compares the acknowledged filter with the requested one and with the declared
// capabilities.
func (sub *subscription) judgeFilter(s *rules.Session, out *rules.Reporter) {
	agreed := sub.ack.Message.ParamAt("/notifications")
	if agreed.Kind() != '{' {
		d := sub.deviation(acknowledged, sub.ack.Event, rules.Excerpt(sub.ack.Message.Raw))
		d.Summary, d.Permitted = "The server's acknowledgement does not say what it agrees to.", "params.notifications with the types that the server sends"
		out.Report(d)
		return
	}
	out.MarkObserved(acknowledged)
	for _, method := range slices.Sorted(maps.Keys(changes)) {
		member, capability := spec.FilterMember(method), changes[method]
		d := sub.deviation(ackSubset, sub.ack.Event, "")
		d.Permitted = "what the request names and the server declares, nothing else"
		d.Seen, d.Pointer = member+" in the acknowledgement", "/params/notifications/"+member
		has := wire.At(agreed, "/"+member) != nil
		switch granted, requested := filterIncludes(agreed, member), sub.hasRequested(member); {
		case granted && !requested:
			d.Summary = "The server acknowledges a type of notification that was not requested."
			d.Seen += "; the request names only " + rules.Excerpt(sub.filter)
			d.Earlier = "/params/notifications"
			out.Report(d)
		case granted && s.Began() && !s.ServerDeclared(capability):
			d.Summary = "The server acknowledges a type of notification that it does not declare."
			d.Seen += "; the capability " + capability + " is not declared"
			s.ShowDeclared(&d)
			out.Report(d)
		case has && !granted && wire.At(agreed, "/"+member).Kind() != '[':
			d.Summary, d.Weight = "The server names a type of notification that it does not send.", verdict.OnlyNote
			d.Seen = member + " is " + rules.Excerpt(wire.At(agreed, "/"+member)) + " in the acknowledgement"
			out.Report(d)
		case granted:
			sub.judgeURIs(member, agreed, d, out)
			out.MarkObserved(ackSupported)
		case requested && s.Began() && s.ServerDeclared(capability):
			d.Requirement, d.Summary = ackSupported, "The server does not agree to a type of notification that it declares."
			d.Permitted = member + ", which the request names, because the capability " + capability + " is declared"
			d.Seen, d.Pointer = "the filter "+rules.Excerpt(agreed), "/params/notifications"
			s.ShowDeclared(&d)
			if wire.At(sub.filter, "/"+member).Kind() == '[' {
				d.Weight = verdict.OnlyNote // the server may not know the resources
			}
			out.Report(d)
		default:
			out.MarkObserved(ackSubset)
		}
	}
}

// judgeURIs judges whether the acknowledged URIs were requested.
func (sub *subscription) judgeURIs(member string, agreed jsontext.Value, d verdict.Deviation, out *rules.Reporter) {
	wanted, _ := stringsOf(wire.At(sub.filter, "/"+member))
	granted, _ := stringsOf(wire.At(agreed, "/"+member))
	if i := slices.IndexFunc(granted, func(uri string) bool { return !slices.Contains(wanted, uri) }); i >= 0 {
		d.Summary = "The server acknowledges a resource that was not requested."
		d.Seen = rules.Excerpt(wire.Quote(granted[i])) + " in the acknowledgement; the request names only " + rules.Excerpt(wire.At(sub.filter, "/"+member))
		d.Pointer, d.Earlier = d.Pointer+"/"+strconv.Itoa(i), "/params/notifications"
		out.Report(d)
		return
	}
	out.MarkObserved(ackSubset)
}

// judgeEnds judges how subscriptions end.
func judgeEnds(s *rules.Session, out *rules.Reporter) {
	if s.Era() != spec.Stateless {
		return
	}
	for _, sub := range sharedSubscriptions.Of(s).all {
		if !sub.request.IsRegular() || sub.filter == nil {
			continue
		}
		sub.judgeMedia(out)
		if sub.response != nil && !sub.response.Message.IsError() {
			sub.judgeFinalResult(out)
		}
		if sub.ack == nil {
			continue
		}
		sub.judgeDuration(s, out)
		sub.judgeStreamEnd(out)
	}
	if s.Transport == spec.Stdio {
		sharedSubscriptions.Of(s).judgeAnswered(s, out)
	}
}

// judgeAnswered judges responses to subscriptions that the client has cancelled. A single one may
// be a coincidence: the server may have ended the subscription before it read the cancellation. So
// it takes two, and the older subscription must have stayed open beyond the end of the newer one.
// Then neither the age of the subscriptions nor the time explains both ends. If any subscription
// ends uncancelled, nothing is judged.
func (f *subscriptions) judgeAnswered(s *rules.Session, out *rules.Reporter) {
	var answered []*subscription // oldest first
	for _, sub := range f.all {
		switch {
		case sub.spared && sub.response == nil:
			out.MarkObserved(cancelledOnStdio)
		case sub.ack == nil || sub.response == nil || sub.atShutdown || !sub.request.IsRegular():
		case len(s.RequestsWithID(sub.request.Message.ID)) > 1:
		case sub.cancelled == nil || sub.response.Event.Seq < sub.cancelled.Seq:
			return
		default:
			answered = append(answered, sub)
		}
	}
	for i, newer := range answered {
		for _, older := range answered[:i] {
			if newer.response.Event.Seq > older.cancelled.Seq {
				continue
			}
			d := newer.deviation(cancelledOnStdio, newer.response.Event, rules.Excerpt(newer.response.Message.Raw)+"; another subscription stayed open, and got its response when it was cancelled")
			d.Summary, d.Permitted = "The server answers subscriptions that the client has cancelled.", "nothing more for a cancelled subscription"
			// The page on cancellation says only that the server should not respond.
			d.Weight = verdict.AtMostWarning
			d.At = rules.PositionsOf(newer.request.Event, newer.cancelled, newer.response.Event, older.request.Event, older.cancelled, older.response.Event)
			out.Report(d)
			return
		}
	}
}

// judgeMedia judges the media type of a subscription over HTTP.
func (sub *subscription) judgeMedia(out *rules.Reporter) {
	x := sub.request.Exchange
	if x == nil || !x.Succeeded() || sub.response != nil && sub.response.Message.IsError() {
		return
	}
	if x.IsStream() {
		out.MarkObserved(answeredByStream)
		return
	}
	d := sub.deviation(answeredByStream, x.Response, x.ResponseHead().Line+", "+rules.Excerpt(x.ResponseHead().MediaType()))
	d.Summary, d.Permitted = "The server answers subscriptions/listen without an event stream.", "text/event-stream, or an error"
	out.Report(d)
}

// judgeFinalResult judges the result that ends a subscription. The shape rules judge whether it has
// a subscriptionId.
func (sub *subscription) judgeFinalResult(out *rules.Reporter) {
	result := sub.response.Message.Result()
	d := sub.deviation(gracefulID, sub.response.Event, rules.Excerpt(sub.response.Message.Raw))
	d.Weight = verdict.AtMostWarning
	id := wire.RawID(string(sub.response.Message.ResultAt(spec.MetaPointer(spec.MetaSubscriptionID))))
	names, _ := wire.Members(result)
	kind, _ := wire.Text(sub.response.Message.ResultAt("/resultType"))
	isExtra := func(name string) bool { return name != "resultType" && name != "_meta" }
	switch {
	case !id.IsPresent(): // the shape rules report a missing id
		return
	case !id.Same(sub.request.Message.ID):
		d.Summary = "The server's last result of a subscription names another one."
		d.Permitted = "the id of the request, " + rules.Excerpt(sub.request.Message.ID.Raw())
		showWrongID(&d, id, sub.request.Message.ID, "/result")
	case kind != spec.ResultComplete || slices.ContainsFunc(names, isExtra):
		d.Summary, d.Weight = "The server's last result of a subscription has more than its id.", verdict.OnlyNote
		d.Permitted = "resultType complete, and " + spec.MetaSubscriptionID + " in _meta"
		d.Pointer = "/result/resultType"
		if i := slices.IndexFunc(names, isExtra); i >= 0 {
			d.Pointer = string(jsontext.Pointer("/result").AppendToken(names[i]))
		}
	default:
		out.MarkObserved(gracefulID)
		return
	}
	out.Report(d)
}

// tooEarly is the time after the acknowledgement within which the end of a subscription is too
// early.
const tooEarly = time.Second

// judgeDuration judges an end soon after the acknowledgement, without a reason from the client.
// A server that has agreed to deliver nothing has a reason.
func (sub *subscription) judgeDuration(s *rules.Session, out *rules.Reporter) {
	var end *transcript.Event
	x := sub.request.Exchange
	switch {
	case sub.response != nil:
		end = sub.response.Event
	case x != nil && x.End != nil && x.End.How == transcript.Complete:
		end = x.End
	}
	atShutdown := sub.atShutdown || sub.response == nil && (s.InputClosed || s.Signalled)
	switch {
	case sub.sinceSent.n >= settlingTrips && (end == nil || atShutdown):
		out.MarkObserved(staysOpen)
	case end == nil || atShutdown || sub.cancelled != nil || !sub.deliversAny():
	case end.At-sub.ack.Event.At < tooEarly && !slices.ContainsFunc(s.ClientRequests(), func(req *rules.Request) bool {
		return req.Event.Seq > sub.request.Event.Seq && req.Event.Seq < end.Seq
	}):
		d := sub.deviation(staysOpen, end, "its end less than a second after the acknowledgement")
		d.Summary, d.Permitted = "The server ends a subscription soon after acknowledging it.", "a subscription that stays open until the client or a shutdown ends it"
		out.Report(d)
	}
}

// judgeStreamEnd judges a stream that the server ended. A broken connection shows nothing.
func (sub *subscription) judgeStreamEnd(out *rules.Reporter) {
	x := sub.request.Exchange
	switch {
	case sub.response != nil && !sub.response.Message.IsError():
		out.MarkObserved(gracefulResponse)
	case x != nil && x.End != nil && x.End.How == transcript.Complete && sub.response == nil:
		d := sub.deviation(gracefulResponse, x.End, "the end of the stream without a response")
		d.Summary, d.Permitted = "The server ends the stream of a subscription without a result.", "the result of subscriptions/listen before the end of the stream"
		out.Report(d)
	}
}
