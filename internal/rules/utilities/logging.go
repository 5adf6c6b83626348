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
				l := &levels{which: map[int]bool{}}
				return rules.Fold{Hear: rules.Hears{
					rules.ResultOf(spec.MethodSetLevel): l.set,
					rules.ErrorTo(spec.MethodSetLevel):  l.refused,
				}, End: l.end}
			},
		},
		{
			ID:           "rule.log-threshold",
			Title:        "after logging/setLevel no less severe messages come",
			Requirements: []string{levelThreshold},
			Start:        logThreshold,
		},
	}
}

// logDeclared judges at the end: messages may come before the answer to
// initialize, which says what is declared.
func logDeclared() rules.Fold {
	var first *transcript.Event
	var text string
	return rules.Fold{
		Hear: rules.Hears{rules.Notification(spec.MethodMessage): func(_ *rules.Session, h *rules.Heard, _ *rules.Out) {
			if first == nil {
				first, text = h.Event, rules.Excerpt(h.Message.Raw)
			}
		}},
		End: func(s *rules.Session, out *rules.Out) {
			switch {
			case first == nil || !s.Began() || s.Era() != spec.Handshake:
			case declaresLogging(s):
				out.Subject(loggingDeclared)
			default:
				out.Found(verdict.Deviation{
					Requirement: loggingDeclared,
					Summary:     "The server sends a log message without declaring logging.",
					Permitted:   "log messages if the capability logging is declared",
					Seen:        text,
					At:          rules.At(s.Initialize.Responses[0].Event, first),
				})
			}
		},
	}
}

// declaresLogging takes a capability of whatever shape for declared: that its
// shape is wrong is said elsewhere.
func declaresLogging(s *rules.Session) bool { return wire.At(s.ServerCapabilities, "/logging") != nil }

// levels follows which levels could be set.
type levels struct {
	served bool
	failed []verdict.Deviation // internal errors
	which  map[int]bool        // severities of the levels that got them
}

// end judges internal errors: an error in its configuration may keep a server
// from setting one level or another, not all of them.
func (l *levels) end(_ *rules.Session, out *rules.Out) {
	for _, d := range l.failed {
		if l.served || len(l.which) < len(severities) {
			d.Weight = verdict.OnlyNote
		} else {
			d.Summary = "The server declares logging, but refuses every level."
		}
		out.Found(d)
	}
}

// set judges a result of logging/setLevel.
func (l *levels) set(s *rules.Session, h *rules.Heard, out *rules.Out) {
	level := wire.At(h.Asked.Message.Params(), "/level")
	if !judged(s, h) {
		return
	}
	d := verdict.Deviation{Seen: rules.Excerpt(h.Message.Raw), At: rules.At(h.Asked.Event, h.Event)}
	switch {
	case !declaresLogging(s):
		d.Requirement, d.Summary = levelUndeclared, "The server sets a log level without declaring logging."
		d.Permitted = "an error, preferably -32601 (method not found)"
		out.Found(d)
		return
	case level == nil:
		return // what is to be said of missing params is not said here
	case severity(level) < 0:
		d.Requirement, d.Summary = levelInvalid, "The server accepts an unknown log level."
		d.Permitted = "error -32602"
		d.Seen = fmt.Sprintf("level %s: %s", rules.Excerpt(level), d.Seen)
		out.Found(d)
		return
	}
	l.served = true
	out.Subject(levelAccepted)
}

// knownLevel is the setting of a level that there is.
var knownLevel = rules.Ordinary{What: "a level that exists", Is: func(a *rules.Asked) bool {
	return a.Message.Method == spec.MethodSetLevel && severity(wire.At(a.Message.Params(), "/level")) >= 0
}}

// refused judges an error to logging/setLevel.
func (l *levels) refused(s *rules.Session, h *rules.Heard, out *rules.Out) {
	level := wire.At(h.Asked.Message.Params(), "/level")
	if !judged(s, h) || h.Asked.Withdrawn() {
		return
	}
	n, hasCode := h.Message.ErrorCode()
	code := spec.Code(n)
	d := verdict.Deviation{Seen: rules.Excerpt(h.Message.Raw), At: rules.At(h.Asked.Event, h.Event)}
	switch {
	case !hasCode:
		return // no error to speak of, which is said elsewhere
	case !declaresLogging(s):
		if !out.Telling(h, rules.AnyPing(), levelUndeclared) {
			return
		}
		if code == spec.CodeMethodNotFound {
			out.Subject(levelUndeclared)
			return
		}
		d.Requirement, d.Weight = levelUndeclared, verdict.OnlyNote
		d.Summary = "The server refuses undeclared logging, but not with -32601."
		d.Permitted = "any error, preferably -32601 (method not found)"
	case level == nil:
		return
	case severity(level) < 0:
		if !out.Telling(h, knownLevel, levelInvalid) {
			return
		}
		if code == spec.CodeInvalidParams {
			out.Subject(levelInvalid)
			return
		}
		d.Requirement, d.Summary = levelInvalid, "The server refuses an unknown log level, but not with -32602."
		d.Permitted = "error -32602"
		d.Seen = fmt.Sprintf("level %s: %s", rules.Excerpt(level), d.Seen)
	default:
		d.Requirement, d.Summary, d.Permitted = levelAccepted, "The server declares logging, but refuses a level.", "a result"
		if code == spec.CodeInternal {
			l.failed = append(l.failed, d)
			l.which[severity(level)] = true
			return
		}
	}
	out.Found(d)
}

// judged reports whether the answer tells of nothing but the level.
func judged(s *rules.Session, h *rules.Heard) bool {
	return s.Began() && s.Era() == spec.Handshake && h.Asked.Regular() && len(h.Asked.Responses) == 1
}

// logThreshold judges messages that come when it is certain which level is in force.
func logThreshold() rules.Fold {
	t := &threshold{lowest: -1}
	var set, refused *transcript.Event // refused is the last of what was refused since
	return rules.Fold{Hear: onAnswers(rules.Hears{
		rules.ClientRequest(""): func(s *rules.Session, h *rules.Heard, _ *rules.Out) {
			switch {
			case h.Asked.Message.Method == spec.MethodSetLevel:
				t.asked(h.Asked)
			case ordered(s): // elsewhere its stream tells what a message belongs to
				t.begins(h.Asked)
			}
		},
		rules.Notification(spec.MethodMessage): func(s *rules.Session, h *rules.Heard, out *rules.Out) {
			least, got := t.level(), severity(wire.At(h.Message.Params(), "/level"))
			switch {
			case !s.Began() || least < 0 || got < 0 || !declaresLogging(s) || !ordered(s) && !t.before(s, h):
			case got >= least:
				out.Subject(levelThreshold)
			default:
				var weight verdict.Weight
				if !ordered(s) {
					weight = verdict.AtMostWarning // what came before may have waited for a stream
				}
				out.Found(verdict.Deviation{
					Weight:      weight,
					Requirement: levelThreshold,
					Summary:     "The server sends a log message below the level that was set.",
					Permitted:   "messages of level " + severities[least] + " and above",
					Seen:        rules.Excerpt(h.Message.Raw),
					At:          rules.At(set, refused, h.Event),
				})
			}
		},
	}, func(_ *rules.Session, h *rules.Heard, _ *rules.Out) {
		if h.Asked.Message.Method == spec.MethodSetLevel {
			t.answered(h)
			if refused = h.Event; !h.Message.IsError() {
				set, refused = h.Event, nil
			}
		} else if t.since != nil {
			t.since.heard(h)
		}
	})}
}
