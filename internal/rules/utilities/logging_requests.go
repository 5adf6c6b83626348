package utilities

import (
	"fmt"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// In the stateless era, each request states whether it wants log messages, and from which level.
const (
	logSilent    = "logging.per-request.silent-without-level"
	logThreshold = "logging.per-request.threshold"
	logBefore    = "logging.per-request.before-response"
	logOwnStream = "logging.per-request.own-stream-only"
	logNoCarry   = "logging.per-request.no-carry-over"
	logInvalid   = "logging.per-request.invalid-level"
)

func requestLoggingRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.log-per-request",
			Title:        "log messages come for a request that wants them, at its level, before its response",
			Requirements: []string{logSilent, logThreshold, logBefore, logOwnStream, logNoCarry},
			Start: func() rules.Fold {
				l := &requestLogs{quiet: map[string]int{}}
				return rules.Fold{OnMessage: withResponses(rules.Handlers{rules.Notification(spec.MethodMessage): l.judge}, l.noteResponse)}
			},
		},
		{
			ID:           "rule.log-level-of-request",
			Title:        "a request with an unknown log level is refused with -32602",
			Requirements: []string{logInvalid},
			Start:        rules.WithoutState(rules.Fold{OnMessage: rules.OnResponse("", judgeRequestLevel)}),
		},
	}
}

// requestLogs tracks the log messages of a conversation.
type requestLogs struct {
	last int // the position of the last log message; 0 if there was none
	// quiet holds, by callKey, the position of the response to the first request without a log
	// level during which no log message came.
	quiet map[string]int
	// certain is set if a log message came that no request of the conversation can have asked for.
	certain bool
}

// isControlled reports whether a request like req, without a log level either, got its response
// before the request withLevel was sent, and no log message came meanwhile. Without such a request,
// a log message for req does not show that the server keeps the level of withLevel, because the
// server may ignore levels.
func (l *requestLogs) isControlled(req, withLevel *rules.Request) bool {
	at := l.quiet[callKey(req)]
	return at > 0 && at < withLevel.Event.Seq
}

// callKey returns a string that is the same for requests with the same method and name.
func callKey(req *rules.Request) string {
	return req.Message.Method + " " + string(req.Message.ParamAt("/name"))
}

// noteResponse records the response to a request that asks for no log messages.
func (l *requestLogs) noteResponse(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	if s.Era() != spec.Stateless || !obs.Request.IsRegular() || obs.Request.Metadata.LogLevel != nil {
		return
	}
	out.MarkObserved(logSilent)
	if l.last < obs.Request.Event.Seq {
		if key := callKey(obs.Request); l.quiet[key] == 0 {
			l.quiet[key] = obs.Event.Seq
		}
	}
	if l.last > 0 && newestWithLogLevel(s, func(req *rules.Request) bool { return req.RespondedBefore(obs.Request.Event.Seq) }) != nil {
		out.MarkObserved(logNoCarry)
	}
}

// newestWithLogLevel returns the newest request with a log level for which matches returns true, or
// nil.
func newestWithLogLevel(s *rules.Session, matches func(req *rules.Request) bool) *rules.Request {
	all := s.ClientRequests()
	for i := len(all) - 1; i >= 0; i-- {
		if req := all[i]; req.Metadata != nil && req.Metadata.LogLevel != nil && matches(req) {
			return req
		}
	}
	return nil
}

func (l *requestLogs) judge(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	if s.Era() != spec.Stateless || s.MayBeHandshakeMessage(obs.Event) {
		return
	}
	if s.Transport == spec.Stdio {
		l.judgeOverStdio(s, obs, out)
	} else {
		l.judgeOnStream(s, s.RequestOfExchange(obs.Event), obs, out)
	}
	l.last = obs.Event.Seq
}

func logDeviation(requirement, summary, permitted string, obs *rules.Observation, req *rules.Request) verdict.Deviation {
	d := verdict.Deviation{Requirement: requirement, Summary: summary, Permitted: permitted, Seen: rules.Excerpt(obs.Message.Raw), At: rules.PositionsOf(obs.Event)}
	if req != nil {
		d.At = rules.PositionsOf(req.Event, obs.Event)
	}
	return d
}

const (
	wantsNone = "no log messages for a request without " + spec.MetaLogLevel + " in _meta"
	unwanted  = "The server sends a log message that no request asked for."
	// unclear is the title of a finding that is not certain. It differs from the title unwanted,
	// because findings with the same title are merged.
	unclear = "The server sends a log message during a request without a log level."
)

// judgeOnStream judges a message by the request on whose stream it came.
func (l *requestLogs) judgeOnStream(s *rules.Session, req *rules.Request, obs *rules.Observation, out *rules.Reporter) {
	at := obs.Event.Seq
	// Streams have no order among themselves: a request that got its response after req was sent
	// may still have been in progress when the server sent the message.
	other := newestWithLogLevel(s, func(other *rules.Request) bool { return other.Event.Seq < at && !other.RespondedBefore(req.Event.Seq) })
	earlier := newestWithLogLevel(s, func(other *rules.Request) bool { return other.RespondedBefore(req.Event.Seq) })
	switch {
	case req.Message.Method == spec.MethodListen:
		out.Report(logDeviation(logOwnStream, "The server sends a log message on the stream of a subscription.", "log messages on the stream of the request that asked for them", obs, req))
	case req.Metadata.LogLevel == nil && other != nil:
		out.Report(logDeviation(logOwnStream, "The server sends a log message on the stream of another request.", "log messages on the stream of the request that asked for them", obs, req))
	case req.Metadata.LogLevel == nil && earlier != nil && l.isControlled(req, earlier):
		d := logDeviation(logNoCarry, "The server keeps the log level of an earlier request.", wantsNone, obs, req)
		d.At = rules.PositionsOf(earlier.Event, req.Event, obs.Event)
		out.Report(d)
		out.MarkReportedElsewhere(logSilent)
	case req.Metadata.LogLevel == nil:
		out.Report(logDeviation(logSilent, unwanted, wantsNone, obs, req))
	case req.RespondedBefore(at):
		out.Report(logDeviation(logBefore, "The server sends a log message after the response.", "log messages before the response", obs, req))
	default:
		out.MarkObserved(logOwnStream)
		judgeSeverity(rules.LogSeverity(req.Metadata.LogLevel), obs, req, out)
	}
}

// judgeOverStdio judges a message over stdio, where a message can't be attributed to a request.
func (l *requestLogs) judgeOverStdio(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	at := obs.Event.Seq
	if open := newestWithLogLevel(s, func(req *rules.Request) bool { return req.InFlight(at) }); open != nil {
		least := len(severities)
		for _, req := range s.ClientRequests() {
			if req.Metadata.LogLevel != nil && req.InFlight(at) {
				least = min(least, rules.LogSeverity(req.Metadata.LogLevel))
			}
		}
		judgeSeverity(least, obs, open, out)
		return
	}
	newest := newestRequest(s)
	wanted := newestWithLogLevel(s, func(*rules.Request) bool { return true })
	switch {
	case newest == nil: // before any request; see stdio.only-related-notifications
	case wanted == nil:
		l.certain = true
		out.Report(logDeviation(logSilent, unwanted, wantsNone, obs, newest))
	case newest != wanted && newest.InFlight(at):
		d := logDeviation(logNoCarry, "The server keeps the log level of an earlier request.", wantsNone, obs, newest)
		d.At = rules.PositionsOf(wanted.Event, newest.Event, obs.Event)
		isUncontrolled := func(req *rules.Request) bool { return req.InFlight(at) && !l.isControlled(req, wanted) }
		if slices.ContainsFunc(s.ClientRequests(), isUncontrolled) { // the message may be about any request in flight
			if l.certain {
				return // the certain one is reported
			}
			d = logDeviation(logSilent, unclear, wantsNone, obs, newest)
		}
		d.Weight = verdict.AtMostWarning // it may be a late message of the earlier request
		out.Report(d)
	default:
		out.Report(logDeviation(logBefore, "The server sends a log message after the response.", "log messages before the response", obs, wanted))
	}
}

// newestRequest returns the client's last request, or nil.
func newestRequest(s *rules.Session) *rules.Request {
	all := s.ClientRequests()
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}

// judgeSeverity judges whether a log message has at least the level that req requests; least is the
// index of that level in severities. Another rule judges unknown levels.
func judgeSeverity(least int, obs *rules.Observation, req *rules.Request, out *rules.Reporter) {
	got := severity(obs.Message.ParamAt("/level"))
	switch {
	case got < 0 || least < 0:
	case got >= least:
		out.MarkObserved(logThreshold)
		out.MarkObserved(logBefore)
	default:
		d := logDeviation(logThreshold, "The server sends a log message below the level of the request.", "messages of level "+severities[least]+", for which the request asked, and of more severe levels", obs, req)
		d.Seen, d.Pointer = "a message of level "+rules.Excerpt(obs.Message.ParamAt("/level")), "/params/level"
		out.Report(d)
	}
}

// judgeRequestLevel judges the response to a request with an unknown logLevel. A server without
// logging may ignore it.
func judgeRequestLevel(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	req := obs.Request
	if s.Era() != spec.Stateless || !req.Metadata.IsComplete() || req.Metadata.HasKnownLevel() || !s.AppliesTo(req) || len(req.HeaderFlaws) > 0 || !req.WellFormed || !declaresLogging(s) {
		return
	}
	control := rules.Control{What: req.Message.Method + " without a log level", Matches: func(other *rules.Request) bool { return other.Message.Method == req.Message.Method }}
	d := logDeviation(logInvalid, "The server serves a request with an unknown log level.", "error -32602", obs, req)
	d.Earlier = "/params" + spec.MetaPointer(spec.MetaLogLevel)
	d.Seen = fmt.Sprintf("%s is %s, and the response %s", spec.MetaLogLevel, rules.Excerpt(req.Metadata.LogLevel), d.Seen)
	code, _ := obs.Message.ErrorCode()
	switch {
	case !obs.Message.IsError():
	case !out.RequireInterpretable(obs, control, logInvalid):
		return
	case spec.Code(code) == spec.CodeInvalidParams:
		out.MarkObserved(logInvalid)
		return
	default:
		d.Summary = "The server refuses an unknown log level, but not with -32602."
	}
	out.Report(d)
}
