package stateless

import (
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

const (
	noServerRequests = "stateless.no-server-requests"
	requestsByRounds = "stateless.server-requests-via-mrtr"
)

func requestRules() []rules.Rule {
	return []rules.Rule{{
		ID:           "rule.no-server-requests",
		Title:        "the server sends no requests; what it needs from the client is in its results",
		Requirements: []string{noServerRequests, requestsByRounds},
		Start: func() rules.Fold {
			r := &serverRequests{}
			return rules.Fold{OnMessage: rules.MergeHandlers(
				rules.Handlers{rules.ServerRequest(""): r.judge},
				rules.Handlers{rules.Notification(spec.MethodSampling): r.judge, rules.Notification(spec.MethodElicit): r.judge, rules.Notification(spec.MethodRootsList): r.judge},
				rules.OnResponse("", func(s *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
					r.served = r.served || isRegular(s, obs)
				}),
			), AtEnd: r.end}
		},
	}}
}

// serverRequests tracks the requests that the server sends to its client.
type serverRequests struct{ served, sent bool }

func (r *serverRequests) judge(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	if s.Era() != spec.Stateless {
		return
	}
	if obs.InputKey != nil {
		if capabilityOf(obs.Message.Method) != "" {
			out.MarkObserved(requestsByRounds)
		}
		return
	}
	if s.MayBeHandshakeMessage(obs.Event) {
		return
	}
	r.sent = true
	d := verdict.Deviation{
		Requirement: noServerRequests, Summary: "The server sends a request.",
		Permitted: "only responses and notifications", Seen: rules.Excerpt(obs.Message.Raw), At: rules.PositionsOf(obs.Event),
	}
	if capabilityOf(obs.Message.Method) != "" {
		d.Requirement, d.Summary = requestsByRounds, "The server sends a request to its client as a message of its own."
		d.Permitted = obs.Message.Method + " in the inputRequests of a result of the type input_required"
	}
	out.Report(d)
}

func (r *serverRequests) end(_ *rules.Session, out *rules.Reporter) {
	switch {
	case r.sent:
		out.MarkReportedElsewhere(noServerRequests)
	case r.served:
		out.MarkObserved(noServerRequests)
	}
}

// judgeCompletion judges the notification that a URL elicitation is complete.
func judgeCompletion(obs *rules.Observation, out *rules.Reporter) {
	out.Report(verdict.Deviation{
		Requirement: completionRemoved, Summary: "The server sends a notification that this revision has removed.",
		Permitted: "no such notification: the client learns the outcome when it retries its request",
		Seen:      rules.Excerpt(obs.Message.Raw), At: rules.PositionsOf(obs.Event),
	})
}
