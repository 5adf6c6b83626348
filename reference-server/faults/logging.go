package faults

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// logLevels are the severities of log messages, mildest first.
func logLevels() []string {
	return []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
}

func loggingFaults() []Fault {
	const declared, accepted, invalid = "logging.capability.declared/", "logging.set-level.accepted/", "logging.set-level.invalid-level/"
	const threshold, above, unsupported = "logging.set-level.threshold/", "logging.set-level.sends-everything-above/", "logging.set-level.unsupported/"
	refuseLevel := func(level string, code spec.Code) refserver.Seams {
		return refuse(spec.MethodSetLevel, func(c *refserver.Call) bool { return level == "" || levelOf(c) == level }, code, "This can't be done")
	}
	return []Fault{
		breaks(declared+"when-ready", "a log message comes though logging is not declared", together(
			undeclared("logging"), tells(spec.MethodMessage, `{"level":"info","data":"ready"}`))),
		breaks(declared+"tool", "a tool logs though logging is not declared", undeclared("logging")).in(callable()...),
		breaks(declared+"at-once", "a log message comes ahead of the answer to initialize, which declares no logging", together(
			undeclared("logging"), before(Results(spec.MethodInitialize), `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hello"}}`))),
		breaks(declared+"false-friend", "logging is declared as experimental", together(
			undeclared("logging"), tells(spec.MethodMessage, `{"level":"info","data":"ready"}`), declaring("experimental", map[string]any{"logging": map[string]any{}}))),

		breaks(accepted+"unknown-method", "logging/setLevel is an unknown method though logging is declared", refuseLevel("", spec.CodeMethodNotFound)),
		breaks(accepted+"internal-error", "every level gets an internal error", refuseLevel("", spec.CodeInternal)),
		breaks(accepted+"no-alert", "the level alert is refused", refuseLevel("alert", spec.CodeInvalidParams)),
		breaks(accepted+"no-notice", "the level notice is refused", refuseLevel("notice", spec.CodeInvalidParams)),

		breaks(invalid+"anything", "any level is accepted", setting(func(string) string { return "debug" })),
		breaks(invalid+"any-case", "levels in upper case are accepted", setting(strings.ToLower)),
		breaks(invalid+"internal-error", "an unknown level is an internal error", recode(levelErrors, "-32603")),
		breaks(invalid+"invalid-request", "an unknown level is an invalid request", recode(levelErrors, "-32600")),
		breaks(invalid+"numbers", "numbers are accepted as levels", Handle(spec.MethodSetLevel, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if wire.At(c.Params, "/level").Kind() == '0' {
				return map[string]any{}, nil
			}
			return next(c)
		})),
		breaks(invalid+"null", "null is accepted as a level", Handle(spec.MethodSetLevel, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if wire.At(c.Params, "/level").Kind() == 'n' {
				return map[string]any{}, nil
			}
			return next(c)
		})),

		breaks(threshold+"ignored", "levels are accepted and have no effect", setting(known(func(string) string { return "debug" }))).in(callable()...).over(spec.Stdio), // over HTTP a message may have been on its way before the level was set
		breaks(threshold+"one-below", "the level below the one that was set comes, too", setting(known(func(level string) string {
			return logLevels()[max(0, severity(level)-1)]
		}))).in(callable()...).over(spec.Stdio),
		breaks(threshold+"notice-as-info", "the level notice is taken for info", setting(func(level string) string { return replaced(level, "notice", "info") })).in(callable()...).over(spec.Stdio),
		breaks(above+"alert-as-emergency", "the level alert is taken for emergency", setting(func(level string) string { return replaced(level, "alert", "emergency") })).in(callable()...).over(spec.Stdio),
		breaksAfresh(threshold+"never-raised", "once everything was sent everything is", func() refserver.Seams {
			var all atomic.Bool
			return setting(known(func(level string) string {
				if level == "debug" {
					all.Store(true)
				}
				if all.Load() {
					return "debug"
				}
				return level
			}))
		}).in(callable()...).over(spec.Stdio),

		breaks(threshold+"refused", "a level that is refused takes the one that was set with it", Handle(spec.MethodSetLevel, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			result, err := next(c)
			if err != nil {
				params := c.Params
				c.Params = wire.JSON(map[string]any{"level": "debug"})
				_, _ = next(c)
				c.Params = params
			}
			return result, err
		})).in(callable()...).over(spec.Stdio),

		breaksAfresh(above+"nothing", "once a level was set nothing is logged", silencing(func(string, string) bool { return true })).in(callable()...),
		breaksAfresh(above+"same-only", "messages of just the level that was set are sent", silencing(func(set, level string) bool { return set != level })).in(callable()...),
		breaksAfresh(above+"not-itself", "messages of the level that was set are kept back", silencing(func(set, level string) bool { return set == level })).in(callable()...),
		breaksAfresh(above+"no-emergency", "messages of level emergency are kept back", silencing(func(_, level string) bool { return level == "emergency" })).in(callable()...),

		breaks(unsupported+"served", "levels can be set though logging is not declared", together(undeclared("logging"), mute(isLog))),
	}
}

func isLog(o *refserver.Out) bool {
	return o.Kind == refserver.OutNotification && o.Method == spec.MethodMessage
}

func levelErrors(o *refserver.Out) bool { return o.Method == spec.MethodSetLevel && Errors()(o) }

// declaring adds a capability.
func declaring(capability string, value any) refserver.Seams {
	return EditResult(spec.MethodInitialize, func(r map[string]any) { r["capabilities"].(map[string]any)[capability] = value })
}

// levelOf returns the level that a call wants to set, "" where it is no text.
func levelOf(c *refserver.Call) string {
	level, _ := wire.Text(wire.At(c.Params, "/level"))
	return level
}

// severity is the place of a level, -1 for what is none.
func severity(level string) int { return slices.Index(logLevels(), level) }

// known changes levels that exist, and leaves the others as they are.
func known(f func(level string) string) func(level string) string {
	return func(level string) string {
		if severity(level) < 0 {
			return level
		}
		return f(level)
	}
}

// setting sets another level than the client wants; what is no text is "".
func setting(f func(level string) string) refserver.Seams {
	return Handle(spec.MethodSetLevel, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if level := f(levelOf(c)); level != levelOf(c) {
			c.Params = wire.JSON(map[string]any{"level": level})
		}
		return next(c)
	})
}

// silencing keeps back messages by the level that was set last and their own.
func silencing(when func(set, level string) bool) func() refserver.Seams {
	return func() refserver.Seams {
		var set atomic.Value
		set.Store("")
		return together(
			Handle(spec.MethodSetLevel, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				result, err := next(c)
				if err == nil {
					set.Store(levelOf(c))
				}
				return result, err
			}),
			mute(func(o *refserver.Out) bool {
				if !isLog(o) || set.Load() == "" {
					return false
				}
				level, _ := wire.Text(wire.At(wire.Parse(o.Frames[0]).Messages[0].Params(), "/level"))
				return when(set.Load().(string), level)
			}),
		)
	}
}
