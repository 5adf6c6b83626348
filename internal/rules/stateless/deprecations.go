package stateless

import (
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

const (
	deprecatedLogging  = "deprecated.logging"
	deprecatedSampling = "deprecated.sampling"
	deprecatedRoots    = "deprecated.roots"
)

func deprecationRules() []rules.Rule {
	return []rules.Rule{{
		ID:           "rule.deprecated-features",
		Title:        "the server does not use logging, sampling and roots, which are deprecated",
		Requirements: []string{deprecatedLogging, deprecatedSampling, deprecatedRoots},
		Start: rules.WithoutState(rules.Fold{OnMessage: rules.Handlers{
			rules.ResultOf(spec.MethodDiscover): judgeDeprecatedLogging,
			rules.ServerRequest(""):             judgeDeprecatedInput,
		}}),
	}}
}

// The specification asks only new implementations not to adopt deprecated features. The age of a
// server is not visible, so these rules only note their use.

// judgeDeprecatedLogging judges a server that supports no revision before the deprecation.
func judgeDeprecatedLogging(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	if !isJudged(s, obs) || !s.ListsNoHandshake() {
		return
	}
	if !s.ServerDeclared("logging") {
		out.MarkObserved(deprecatedLogging)
		return
	}
	d := deviationOf(deprecatedLogging, obs)
	d.Summary, d.Permitted, d.Weight = "The server declares logging, which is deprecated.", "stderr over stdio, or OpenTelemetry; an existing implementation may keep logging", verdict.OnlyNote
	d.Seen, d.Pointer = "the capability logging", "/result/capabilities/logging"
	out.Report(d)
}

func judgeDeprecatedInput(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	if obs.InputKey == nil || s.Era() != spec.Stateless {
		return
	}
	d := verdict.Deviation{Seen: rules.Excerpt(obs.Message.Raw), At: rules.PositionsOf(obs.Request.Event, obs.Event), Weight: verdict.OnlyNote}
	switch obs.Message.Method {
	case spec.MethodSampling:
		d.Requirement, d.Summary, d.Permitted = deprecatedSampling, "The server uses sampling, which is deprecated.", "the API of a model's provider; an existing implementation may keep sampling"
		out.MarkObserved(deprecatedRoots)
	case spec.MethodRootsList:
		d.Requirement, d.Summary, d.Permitted = deprecatedRoots, "The server asks for roots, which are deprecated.", "parameters of tools, URIs or configuration; an existing implementation may keep roots"
		out.MarkObserved(deprecatedSampling)
	case spec.MethodElicit:
		out.MarkObserved(deprecatedSampling)
		out.MarkObserved(deprecatedRoots)
		return
	default:
		return
	}
	out.Report(d)
}
