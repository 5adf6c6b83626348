package utilities

import (
	"fmt"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	loggingDeclared = "logging.capability.declared"
	levelAccepted   = "logging.set-level.accepted"
	levelInvalid    = "logging.set-level.invalid-level"
	levelUndeclared = "logging.set-level.unsupported"
	levelThreshold  = "logging.set-level.threshold"
)

func loggingRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.log-declared",
			Title:        "a server that sends log messages declares logging",
			Requirements: []string{loggingDeclared},
			Start:        logDeclared,
		},
		{
			ID:           "rule.set-level-answers",
			Title:        "logging/setLevel is served or refused as the level and the capabilities require",
			Requirements: []string{levelAccepted, levelInvalid, levelUndeclared},
			Start: func() rules.Fold {
				l := &levelRequests{failing: map[int]bool{}}
				return rules.Fold{OnMessage: rules.Handlers{
					rules.ResultOf(spec.MethodSetLevel): l.judgeResult,
					rules.ErrorTo(spec.MethodSetLevel):  l.judgeError,
				}, AtEnd: l.end}
			},
		},
		{
			ID:           "rule.log-threshold",
			Title:        "after logging/setLevel, the server sends no messages below that level",
			Requirements: []string{levelThreshold},
			Start:        messagesBelowLevel,
		},
	}
}

// logDeclared judges whether a server that sends log messages declares logging. It judges at the
// end, because log messages may come before the response to initialize or server/discover, which
// has the declaration.
func logDeclared() rules.Fold {
	var first *transcript.Event
	var text string
	return rules.Fold{
		OnMessage: rules.Handlers{rules.Notification(spec.MethodMessage): func(s *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
			if first == nil && s.IsGovernedByRevision(obs) {
				first, text = obs.Event, rules.Excerpt(obs.Message.Raw)
			}
		}},
		AtEnd: func(s *rules.Session, out *rules.Reporter) {
			switch {
			case first == nil || !s.Began():
			case declaresLogging(s):
				out.MarkObserved(loggingDeclared)
			default:
				fix := ""
				if s.Era() == spec.Stateless { // which has no logging/setLevel
					fix = "Send no log messages, or declare logging and log only for requests with a logLevel in _meta."
				}
				out.Report(verdict.Deviation{
					Requirement: loggingDeclared,
					Summary:     "The server sends a log message without declaring logging.",
					Permitted:   "log messages if the capability logging is declared",
					Seen:        text,
					Fix:         fix,
					At:          rules.PositionsOf(s.Declaration.Responses[0].Event, first),
					Earlier:     "/result/capabilities",
				})
			}
		},
	}
}

// declaresLogging reports whether the server has a logging capability, of any shape: other rules
// judge its shape.
func declaresLogging(s *rules.Session) bool { return wire.At(s.ServerCapabilities, "/logging") != nil }

// levelRequests tracks which requests to set a log level succeeded or failed.
type levelRequests struct {
	served  bool
	failed  []verdict.Deviation // internal errors
	failing map[int]bool        // the severities of the levels that got internal errors
}

// end judges internal errors in response to logging/setLevel. A server may be unable to set some
// levels, because of its configuration, but not all of them.
func (l *levelRequests) end(_ *rules.Session, out *rules.Reporter) {
	for _, d := range l.failed {
		if l.served || len(l.failing) < len(severities) {
			d.Weight = verdict.OnlyNote
		} else {
			d.Summary = "The server declares logging, but refuses every level."
		}
		out.Report(d)
	}
}

// judgeResult judges a result of logging/setLevel.
func (l *levelRequests) judgeResult(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	level := obs.Request.Message.ParamAt("/level")
	if !isJudged(s, obs) {
		return
	}
	d := verdict.Deviation{Seen: rules.Excerpt(obs.Message.Raw), At: rules.PositionsOf(obs.Request.Event, obs.Event)}
	switch {
	case !declaresLogging(s):
		d.Requirement, d.Summary = levelUndeclared, "The server sets a log level without declaring logging."
		s.ShowDeclared(&d)
		d.Permitted = "an error, preferably -32601 (method not found)"
		out.Report(d)
		return
	case level == nil:
		return // a missing level is not judged here
	case severity(level) < 0:
		d.Requirement, d.Summary = levelInvalid, "The server accepts an unknown log level."
		d.Permitted = "error -32602"
		d.Seen = fmt.Sprintf("level %s: %s", rules.Excerpt(level), d.Seen)
		out.Report(d)
		return
	}
	l.served = true
	out.MarkObserved(levelAccepted)
}

// knownLevel is the control for a request with an unknown log level: a request that sets an
// existing log level.
var knownLevel = rules.Control{What: "a level that exists", Matches: func(req *rules.Request) bool {
	return req.Message.Method == spec.MethodSetLevel && severity(req.Message.ParamAt("/level")) >= 0
}}

// judgeError judges an error in response to logging/setLevel.
func (l *levelRequests) judgeError(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	level := obs.Request.Message.ParamAt("/level")
	if !isJudged(s, obs) || obs.Request.MayBeCancelled() {
		return
	}
	n, hasCode := obs.Message.ErrorCode()
	code := spec.Code(n)
	d := verdict.Deviation{Seen: rules.Excerpt(obs.Message.Raw), At: rules.PositionsOf(obs.Request.Event, obs.Event)}
	switch {
	case !hasCode:
		return // not a well-formed error, which another rule reports
	case !declaresLogging(s):
		if !out.RequireInterpretable(obs, rules.PingControl(), levelUndeclared) {
			return
		}
		if code == spec.CodeMethodNotFound {
			out.MarkObserved(levelUndeclared)
			return
		}
		d.Requirement, d.Weight = levelUndeclared, verdict.OnlyNote
		d.Summary = "The server refuses undeclared logging, but not with -32601."
		s.ShowDeclared(&d)
		d.Permitted = "any error, preferably -32601 (method not found)"
	case level == nil:
		return
	case severity(level) < 0:
		if !out.RequireInterpretable(obs, knownLevel, levelInvalid) {
			return
		}
		if code == spec.CodeInvalidParams {
			out.MarkObserved(levelInvalid)
			return
		}
		d.Requirement, d.Summary = levelInvalid, "The server refuses an unknown log level, but not with -32602."
		d.Permitted = "error -32602"
		d.Seen = fmt.Sprintf("level %s: %s", rules.Excerpt(level), d.Seen)
	default:
		d.Requirement, d.Summary, d.Permitted = levelAccepted, "The server declares logging, but refuses a level.", "a result"
		s.ShowDeclared(&d)
		if code == spec.CodeInternal {
			l.failed = append(l.failed, d)
			l.failing[severity(level)] = true
			return
		}
	}
	out.Report(d)
}

// isJudged reports whether a response to logging/setLevel shows what the server does with the
// requested log level: it is the only response to a regular request of a handshake session.
func isJudged(s *rules.Session, obs *rules.Observation) bool {
	return s.Began() && s.Era() == spec.Handshake && obs.Request.IsRegular() && len(obs.Request.Responses) == 1
}

// messagesBelowLevel judges log messages that come while it is certain which level is in force.
func messagesBelowLevel() rules.Fold {
	t := &threshold{lowest: -1}
	var set, refused *transcript.Event // the last response that set a level, and the last refusal since
	return rules.Fold{OnMessage: withResponses(rules.Handlers{
		rules.ClientRequest(""): func(s *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
			switch {
			case obs.Request.Message.Method == spec.MethodSetLevel:
				t.noteSetLevel(obs.Request)
			case hasOrderedTransport(s): // otherwise the stream shows to which request a message belongs
				t.noteRequest(obs.Request)
			}
		},
		rules.Notification(spec.MethodMessage): func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
			least, got := t.lowestPermitted(), severity(obs.Message.ParamAt("/level"))
			switch {
			case !s.Began() || least < 0 || got < 0 || !declaresLogging(s) || !hasOrderedTransport(s) && !t.isAfterLevel(s, obs):
			case got >= least:
				out.MarkObserved(levelThreshold)
			default:
				var weight verdict.Weight
				if !hasOrderedTransport(s) {
					weight = verdict.AtMostWarning // an earlier message may have waited for a stream
				}
				out.Report(verdict.Deviation{
					Weight:      weight,
					Requirement: levelThreshold,
					Summary:     "The server sends a log message below the level that was set.",
					Permitted:   "messages of level " + severities[least] + ", and of more severe levels",
					Seen:        "a message of level " + rules.Excerpt(obs.Message.ParamAt("/level")),
					At:          rules.PositionsOf(set, refused, obs.Event),
					Pointer:     "/params/level",
				})
			}
		},
	}, func(_ *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
		if obs.Request.Message.Method == spec.MethodSetLevel {
			t.noteSetLevelResponse(obs)
			if refused = obs.Event; !obs.Message.IsError() {
				set, refused = obs.Event, nil
			}
		} else if t.since != nil {
			t.since.note(obs)
		}
	})}
}
