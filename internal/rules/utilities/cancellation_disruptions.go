package utilities

import (
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	raceHandled      = "cancellation.race-handled"
	unknownIgnored   = "cancellation.unknown-ignored"
	malformedIgnored = "cancellation.malformed-ignored"
	lateIgnored      = "cancellation.late-response-ignored"
	strayTolerated   = "progress.unsolicited-from-client-tolerated"
)

func disruptionRule() rules.Rule {
	return rules.Rule{
		ID:           "rule.cancellations-borne",
		Title:        "unknown cancellations, unknown progress and late responses do no harm",
		Requirements: []string{raceHandled, unknownIgnored, malformedIgnored, lateIgnored, strayTolerated},
		Start: func() rules.Fold {
			o := &disruptions{tokens: map[string]bool{}}
			return rules.Fold{OnMessage: rules.Handlers{rules.ServerRequest(""): o.noteServerRequest}, OnEvent: o.onEvent, AtEnd: o.end}
		},
	}
}

// disruptions tracks whether the server survives messages that it may not understand.
type disruptions struct {
	tokens     map[string]bool // the progress tokens of the server's requests
	current    *rules.Disruption
	decided    bool
	unanswered []unansweredPing
}

// unansweredPing is a ping that was sent after a disruption, and that timed out.
type unansweredPing struct {
	ping      *rules.Request
	deviation verdict.Deviation
}

func (o *disruptions) noteServerRequest(_ *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
	if token := tokenOf(obs.Message); token.IsPresent() {
		o.tokens[token.Key()] = true
	}
}

func (o *disruptions) onEvent(s *rules.Session, e *transcript.Event, out *rules.Reporter) {
	if o.current != s.Disruptions.Current {
		if o.current != nil && !o.decided && e.Kind == transcript.Received {
			out.MarkObserved(o.requirement(o.current))
		}
		o.current, o.decided = s.Disruptions.Current, false
	}
	if o.current == nil || o.decided {
		return
	}
	id := o.onlyRequirement()
	if id == "" || !s.Began() || s.Sent.HasIllegal() {
		o.decided = true
		return
	}
	o.judge(s, e, id, out)
}

// judge judges whether e shows that the server did not survive the current disruption. id is the
// requirement on that disruption.
func (o *disruptions) judge(s *rules.Session, e *transcript.Event, id string, out *rules.Reporter) {
	summaries := disruptionSummaries(id)
	d := verdict.Deviation{Requirement: id, Permitted: "no response, and later requests are served", At: rules.PositionsOf(o.current.Event, e)}
	switch {
	case s.InputClosed || s.Signalled:
		o.decided = true
	case e.Kind == transcript.OutputClosed:
		d.Summary, d.Seen = summaries.ends, "the server ended the connection after "+rules.DescribeSent(o.current.Event)
		out.Report(d)
		o.decided = true
	case e.Kind == transcript.GaveUp && e.Of > o.current.Event.Seq:
		d.Summary, d.Seen = summaries.stopsAnswering, "a ping that followed was not answered"
		if ping := requestAt(s.ClientRequests(), e.Of); ping != nil {
			o.unanswered = append(o.unanswered, unansweredPing{ping, d})
		}
		o.decided = true
	case e.Kind == transcript.Received && hasResponseWithoutID(e):
		out.MarkReportedElsewhere(id) // another rule reports the response
		o.decided = true
	}
}

// end reports the pings that got no response. It does so at the end, because a late response still
// counts as a response.
func (o *disruptions) end(_ *rules.Session, out *rules.Reporter) {
	for _, q := range o.unanswered {
		if len(q.ping.Responses) == 0 {
			out.Report(q.deviation)
		}
	}
}

// onlyRequirement returns the requirement that covers all current disruptions; "" if they have
// several requirements or none, or if another notification may be the reason for what happens.
func (o *disruptions) onlyRequirement() string {
	id := o.requirement(o.current)
	for q := o.current; q != nil; q = q.Before {
		if q.Mixed || o.requirement(q) != id {
			return ""
		}
	}
	return id
}

// requirement returns the requirement on a disruption, "" if there is none.
func (o *disruptions) requirement(q *rules.Disruption) string {
	m := q.Message
	switch {
	case q.Posed != nil:
		return lateIgnored
	case m.Method == spec.MethodProgress:
		if o.tokens[namedToken(m).Key()] {
			return ""
		}
		return strayTolerated
	}
	id := m.ParamIDAt("/requestId")
	switch {
	case !id.IsString() && !id.IsInteger():
		return malformedIgnored
	case q.Cancelled == nil:
		return unknownIgnored
	case q.Cancelled.Message.Method == spec.MethodInitialize: // no client may cancel initialize
		return ""
	default:
		return raceHandled
	}
}

// disruptionSummary has the summaries for a server that does not survive a disruption.
type disruptionSummary struct{ ends, stopsAnswering string }

func disruptionSummaries(requirement string) disruptionSummary {
	switch requirement {
	case raceHandled:
		return disruptionSummary{"The server exits when a request is cancelled.", "The server stops answering when a request is cancelled."}
	case unknownIgnored:
		return disruptionSummary{"The server exits when an unknown request is cancelled.", "The server stops answering when an unknown request is cancelled."}
	case malformedIgnored:
		return disruptionSummary{"The server exits at a malformed cancellation.", "The server stops answering at a malformed cancellation."}
	case lateIgnored:
		return disruptionSummary{"The server exits at a response to a request that it cancelled.", "The server stops answering at a response to a cancelled request."}
	default:
		return disruptionSummary{"The server exits at progress that it did not request.", "The server stops answering at progress that it did not request."}
	}
}

// requestAt returns the request that was sent in the event with this position.
func requestAt(all []*rules.Request, seq int) *rules.Request {
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Event.Seq == seq {
			return all[i]
		}
	}
	return nil
}

// hasResponseWithoutID reports whether an event has a response without an id.
func hasResponseWithoutID(e *transcript.Event) bool {
	for i := range e.Messages() {
		if m := &e.Messages()[i]; m.Kind == wire.Response && (!m.ID.IsPresent() || m.ID.IsNull()) {
			return true
		}
	}
	return false
}
