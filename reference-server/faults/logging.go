package faults

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// logLevels returns the levels of log messages, least severe first.
func logLevels() []string {
	return []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
}

func loggingFaults() []*Fault {
	const declared, accepted, invalid = "logging.capability.declared/", "logging.set-level.accepted/", "logging.set-level.invalid-level/"
	const threshold, above, unsupported = "logging.set-level.threshold/", "logging.set-level.sends-everything-above/", "logging.set-level.unsupported/"
	refuseLevel := func(level string, code spec.Code) *refserver.Seams {
		return refuseCalls(spec.MethodSetLevel, func(c *refserver.Call) bool { return level == "" || levelOf(c) == level }, code, "This can't be done")
	}
	return []*Fault{
		newFault(declared+"when-ready", "the server sends a log message although logging is not declared", combineSeams(
			withholdCapabilities("logging"), notifyOnInitialized(spec.MethodMessage, `{"level":"info","data":"ready"}`))),
		newFault(declared+"tool", "a tool sends log messages although logging is not declared", withholdCapabilities("logging")).inRevisions(revisionsWithReadOnlyHint()...),
		newFault(declared+"at-once", "a log message precedes the response to initialize, which does not declare logging", combineSeams(
			withholdCapabilities("logging"), prependLines(Results(spec.MethodInitialize), `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hello"}}`))),
		newFault(declared+"false-friend", "logging is declared only under experimental", combineSeams(
			withholdCapabilities("logging"), notifyOnInitialized(spec.MethodMessage, `{"level":"info","data":"ready"}`), setCapability("experimental", map[string]any{"logging": map[string]any{}}))),

		newFault(accepted+"unknown-method", "logging/setLevel gets -32601 although logging is declared", refuseLevel("", spec.CodeMethodNotFound)),
		newFault(accepted+"internal-error", "every logging/setLevel gets an internal error", refuseLevel("", spec.CodeInternal)),
		newFault(accepted+"no-alert", "the level alert is refused", refuseLevel("alert", spec.CodeInvalidParams)),
		newFault(accepted+"no-notice", "the level notice is refused", refuseLevel("notice", spec.CodeInvalidParams)),

		newFault(invalid+"anything", "logging/setLevel accepts any level", replaceLevel(func(string) string { return "debug" })),
		newFault(invalid+"any-case", "logging/setLevel accepts levels in upper case", replaceLevel(strings.ToLower)),
		newFault(invalid+"internal-error", "an unknown level gets an internal error", setErrorCode(isLevelError, "-32603")),
		newFault(invalid+"invalid-request", "an unknown level gets -32600", setErrorCode(isLevelError, "-32600")),
		newFault(invalid+"numbers", "logging/setLevel accepts numbers", WrapHandler(spec.MethodSetLevel, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if wire.At(c.Params, "/level").Kind() == '0' {
				return map[string]any{}, nil
			}
			return next(c)
		})),
		newFault(invalid+"null", "logging/setLevel accepts null", WrapHandler(spec.MethodSetLevel, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if wire.At(c.Params, "/level").Kind() == 'n' {
				return map[string]any{}, nil
			}
			return next(c)
		})),

		newFault(threshold+"ignored", "logging/setLevel has no effect", replaceLevel(ifKnownLevel(func(string) string { return "debug" }))).inRevisions(revisionsWithReadOnlyHint()...).overTransports(spec.Stdio), // over HTTP a message may have been on its way before the level was set
		newFault(threshold+"ignored-on-get", "logging/setLevel has no effect on log messages, which go to the stream of a GET", combineSeams(
			replaceLevel(ifKnownLevel(func(string) string { return "debug" })), moveToListeningStream(isLog))).inRevisions(revisionsWithReadOnlyHint()...).overTransports(spec.StreamableHTTP),
		newFault(threshold+"one-below", "messages one level below the minimum are sent, too", replaceLevel(ifKnownLevel(func(level string) string {
			return logLevels()[max(0, severity(level)-1)]
		}))).inRevisions(revisionsWithReadOnlyHint()...).overTransports(spec.Stdio),
		newFault(threshold+"notice-as-info", "the server treats the level notice as info", replaceLevel(func(level string) string { return replaceIfEqual(level, "notice", "info") })).inRevisions(revisionsWithReadOnlyHint()...).overTransports(spec.Stdio),
		newFault(above+"alert-as-emergency", "the server treats the level alert as emergency", replaceLevel(func(level string) string { return replaceIfEqual(level, "alert", "emergency") })).inRevisions(revisionsWithReadOnlyHint()...).overTransports(spec.Stdio),
		newFaultWithState(threshold+"never-raised", "after the level debug was set once, all messages are sent for ever", func() *refserver.Seams {
			var all atomic.Bool
			return replaceLevel(ifKnownLevel(func(level string) string {
				if level == "debug" {
					all.Store(true)
				}
				if all.Load() {
					return "debug"
				}
				return level
			}))
		}).inRevisions(revisionsWithReadOnlyHint()...).overTransports(spec.Stdio),

		newFault(threshold+"refused", "a refused logging/setLevel sets the level to debug", WrapHandler(spec.MethodSetLevel, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			result, err := next(c)
			if err != nil {
				params := c.Params
				c.Params = wire.JSON(map[string]any{"level": "debug"})
				_, _ = next(c)
				c.Params = params
			}
			return result, err
		})).inRevisions(revisionsWithReadOnlyHint()...).overTransports(spec.Stdio),

		newFaultWithState(above+"nothing", "after logging/setLevel no log messages are sent", dropLogMessages(func(string, string) bool { return true })).inRevisions(revisionsWithReadOnlyHint()...),
		newFaultWithState(above+"same-only", "only messages of exactly the set level are sent", dropLogMessages(func(set, level string) bool { return set != level })).inRevisions(revisionsWithReadOnlyHint()...),
		newFaultWithState(above+"not-itself", "messages of exactly the set level are not sent", dropLogMessages(func(set, level string) bool { return set == level })).inRevisions(revisionsWithReadOnlyHint()...),
		newFaultWithState(above+"no-emergency", "messages of the level emergency are not sent", dropLogMessages(func(_, level string) bool { return level == "emergency" })).inRevisions(revisionsWithReadOnlyHint()...),

		newFault(unsupported+"served", "logging/setLevel succeeds although logging is not declared", combineSeams(withholdCapabilities("logging"), dropMessages(isLog))),
	}
}

func isLog(o *refserver.Out) bool {
	return o.Kind == refserver.OutNotification && o.Method == spec.MethodMessage
}

func isLevelError(o *refserver.Out) bool { return o.Method == spec.MethodSetLevel && Errors()(o) }

// levelOf returns the level of logging/setLevel, or "" if it is not a string.
func levelOf(c *refserver.Call) string {
	level, _ := wire.Text(wire.At(c.Params, "/level"))
	return level
}

// severity returns the index of a level in logLevels, or -1 if the level does not
// exist.
func severity(level string) int { return slices.Index(logLevels(), level) }

// ifKnownLevel returns a function that applies f to levels that exist, and returns others
// unchanged.
func ifKnownLevel(f func(level string) string) func(level string) string {
	return func(level string) string {
		if severity(level) < 0 {
			return level
		}
		return f(level)
	}
}

// replaceLevel replaces the level of logging/setLevel with the result of f. A level that is not a
// string is passed to f as "".
func replaceLevel(f func(level string) string) *refserver.Seams {
	return WrapHandler(spec.MethodSetLevel, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if level := f(levelOf(c)); level != levelOf(c) {
			c.Params = wire.JSON(map[string]any{"level": level})
		}
		return next(c)
	})
}

// dropLogMessages drops the log messages that satisfy the condition. The condition receives two
// levels: set is the level of the last successful logging/setLevel, level is the level of the
// message. Before the first successful logging/setLevel no message is dropped.
func dropLogMessages(when func(set, level string) bool) func() *refserver.Seams {
	return func() *refserver.Seams {
		var set atomic.Value
		set.Store("")
		return combineSeams(
			WrapHandler(spec.MethodSetLevel, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				result, err := next(c)
				if err == nil {
					set.Store(levelOf(c))
				}
				return result, err
			}),
			dropMessages(func(o *refserver.Out) bool {
				if !isLog(o) || set.Load() == "" {
					return false
				}
				level, _ := wire.Text(wire.At(wire.Parse(o.Frames[0]).Messages[0].Params(), "/level"))
				return when(set.Load().(string), level)
			}),
		)
	}
}
