package faults

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// requestLoggingFaults returns the faults in log levels of requests.
func requestLoggingFaults() []*Fault {
	const silent, threshold, before = "logging.per-request.silent-without-level/", "logging.per-request.threshold/", "logging.per-request.before-response/"
	const own, carry, invalid = "logging.per-request.own-stream-only/", "logging.per-request.no-carry-over/", "logging.per-request.invalid-level/"
	return []*Fault{
		newFault("logging.capability.declared/requests", "a tool sends log messages on request although logging is not declared", withholdCapabilities("logging")).inRevisions(spec.StatelessRevisions()...),
		newFault("logging.capability.declared/unknown-tools", "tools whose names no client knows send log messages on request although logging is not declared", combineSeams(
			withholdCapabilities("logging"), renameListedTool("log", "note"), renameListedTool("test_tool_with_logging", "note_twice"), renameListedTool("test_logging_tool", "note_once"),
		)).inRevisions(spec.StatelessRevisions()...),

		newFault(silent+"tool", "a tool logs although the call has no log level", replaceRequestLevel(func(level string) string { return replaceIfEqual(level, "", "debug") })),
		newFault(silent+"errors", "a tool logs errors although the call has no log level", replaceRequestLevel(func(level string) string { return replaceIfEqual(level, "", "error") })),
		newFault(silent+"discover", "server/discover gets a log message without a log level", WrapHandler(spec.MethodDiscover, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if requestLevelOf(c) == "" {
				c.Notify(spec.MethodMessage, logParams())
			}
			return next(c)
		})),
		newFaultWithState(silent+"session-level", "a call without a log level uses the level that a client set in its session", func() *refserver.Seams {
			var set atomic.Value
			return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				level, known := set.Load().(string)
				switch {
				case c.Method == spec.MethodSetLevel && !isStatelessCall(c):
					level, _ := wire.Text(wire.At(c.Params, "/level"))
					set.Store(level)
				case known && isStatelessCall(c) && requestLevelOf(c) == "" && len(metaOf(c)) > 0:
					setMeta(c, Members{spec.MetaLogLevel: wire.Quote(level)})
				}
				return next(c)
			})
		}).overTransports(spec.StreamableHTTP),

		newFault(threshold+"ignored", "a call with any log level gets all messages", replaceRequestLevel(ifKnownLevel(func(string) string { return "debug" }))),
		newFault(threshold+"one-below", "a call gets messages one level below the one it names", replaceRequestLevel(ifKnownLevel(func(level string) string {
			return logLevels()[max(0, severity(level)-1)]
		}))),
		newFault(threshold+"reversed", "a call gets the messages up to the level it names", replaceRequestLevel(ifKnownLevel(func(level string) string {
			if level == "debug" {
				return "emergency"
			}
			return "debug"
		}))),

		newFaultWithState(before+"same-write", "a log message follows right after the response", func() *refserver.Seams {
			wants := levelTracker{}
			return combineSeams(wants.seams(), appendLines(wants.isResponse, string(wire.NewNotification(spec.MethodMessage, logParams()))))
		}),

		newFaultWithState(own+"subscription", "log messages come on the stream of a subscription, too", func() *refserver.Seams {
			return logOnOtherCall(func(c *refserver.Call) bool { return c.Method == spec.MethodListen })
		}).overTransports(spec.StreamableHTTP),
		newFaultWithState(own+"call", "log messages come on the stream of another call, too", func() *refserver.Seams {
			return logOnOtherCall(func(c *refserver.Call) bool { return c.Method == spec.MethodToolsCall && requestLevelOf(c) == "" })
		}).overTransports(spec.StreamableHTTP),

		newFaultWithState(silent+"concurrent", "a call uses the log level of the newest request, which may be a concurrent one", func() *refserver.Seams {
			return useNewestMeta(spec.MetaLogLevel)
		}).overTransports(spec.Stdio),
		newFaultWithState(own+"concurrent", "a call uses the log level of the newest request, which may be a concurrent one", func() *refserver.Seams {
			return useNewestMeta(spec.MetaLogLevel)
		}).overTransports(spec.StreamableHTTP),

		newFaultWithState(carry+"last", "a call without a log level uses that of the last call", func() *refserver.Seams {
			return useLastLevel(func(level string) string { return level })
		}).overTransports(spec.Stdio, spec.StreamableHTTP),
		newFaultWithState(carry+"info", "a call without a log level uses that of the last call, unless that was emergency", func() *refserver.Seams {
			return useLastLevel(func(level string) string { return replaceIfEqual(level, "emergency", "") })
		}).overTransports(spec.Stdio, spec.StreamableHTTP),

		newFault(invalid+"ignored", "an unknown log level is ignored", replaceRequestLevel(func(level string) string {
			if severity(level) < 0 {
				return ""
			}
			return level
		})),
		newFault(invalid+"any-case", "log levels may be in upper case", replaceRequestLevel(strings.ToLower)),
		newFault(invalid+"internal-error", "an unknown log level gets an internal error", refuseUnknownLevels(spec.CodeInternal)),
		newFault(invalid+"invalid-request", "an unknown log level gets -32600", refuseUnknownLevels(spec.CodeInvalidRequest)),
	}
}

// legalRequestLogging returns the legal variations in log levels of requests.
func legalRequestLogging() []*Fault {
	return limitRevisions(spec.StatelessRevisions(),
		newVariation("logs-withheld", "no request gets log messages", dropMessages(isLog)),
		newVariation("logs-some-above", "calls get only log messages of the level emergency", replaceRequestLevel(ifKnownLevel(func(string) string { return "emergency" }))),
		newVariationWithState("logs-for-everything", "every request with a log level gets a log message in the same write as its response", func() *refserver.Seams {
			wants := levelTracker{}
			return combineSeams(wants.seams(), prependLines(wants.isResponse, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"emergency","data":null}}`))
		}).overTransports(spec.Stdio),
		newVariationWithState("logs-of-waiting", "the calls of a logging tool run one after the other, and one that waits logs that, too", func() *refserver.Seams {
			running := make(chan struct{}, 1) // not a mutex, because time stands still in a synctest bubble while a goroutine waits for one
			return wrapTool("log", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				select {
				case running <- struct{}{}:
				default:
					if requestLevelOf(c) == "debug" {
						c.Notify(spec.MethodMessage, map[string]any{"level": "debug", "data": "Another call is running."})
					}
					running <- struct{}{}
				}
				defer func() { <-running }()
				sleep(c.Context(), newestTime)
				return next(c)
			})
		}),
		newVariationWithState("logs-fewer-since-initialize", "after any initialize, calls of 2026-07-28 get only log messages of the level emergency", sinceInitialize(func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if requestLevelOf(c) != "" && severity(requestLevelOf(c)) >= 0 {
				setMeta(c, Members{spec.MetaLogLevel: wire.Quote("emergency")})
			}
			return next(c)
		})).overTransports(spec.StreamableHTTP),
		newVariation("levels-passed-over", "logging is not declared, and log levels are ignored", combineSeams(withholdCapabilities("logging"), replaceRequestLevel(func(string) string { return "" }))),
	)
}

// requestLevelOf returns the log level of a request, or "" if the level is absent or not a string.
func requestLevelOf(c *refserver.Call) string {
	level, _ := wire.Text(wire.At(c.Params, "/_meta/io.modelcontextprotocol~1logLevel"))
	return level
}

func logParams() map[string]any { return map[string]any{"level": "emergency", "data": "late"} }

// replaceRequestLevel replaces the log level of each request with the result of f. The argument of
// f is "" if the request has no level, or one that is not a string. If f returns "", the level is
// removed.
func replaceRequestLevel(f func(level string) string) *refserver.Seams {
	return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		level := f(requestLevelOf(c))
		if level == requestLevelOf(c) || wire.At(c.Params, "/_meta").Kind() != '{' {
			return next(c)
		}
		params := decodeObject(c.Params)
		meta := params["_meta"].(map[string]any)
		if delete(meta, spec.MetaLogLevel); level != "" {
			meta[spec.MetaLogLevel] = level
		}
		c.Params = wire.JSON(params)
		return next(c)
	})
}

func refuseUnknownLevels(code spec.Code) *refserver.Seams {
	return refuseCalls("", func(c *refserver.Call) bool {
		return wire.At(c.Params, "/_meta/io.modelcontextprotocol~1logLevel") != nil && severity(requestLevelOf(c)) < 0
	}, code, "There is no such level")
}

// A levelTracker records the requests with a log level.
type levelTracker struct {
	withLevel sync.Map // of callKey
}

func (t *levelTracker) seams() *refserver.Seams {
	return &refserver.Seams{BeforeHandle: func(c *refserver.Call) {
		if requestLevelOf(c) != "" {
			t.withLevel.Store(callKey{c.Session, c.ID.Key()}, true)
		}
	}}
}

// isResponse matches the results of the recorded requests.
func (t *levelTracker) isResponse(o *refserver.Out) bool {
	_, wants := t.withLevel.Load(callKey{o.Session, o.ID.Key()})
	return wants && Results()(o)
}

// logOnOtherCall sends a log message for every earlier call that matches, whenever the tool named
// log is called with a log level.
func logOnOtherCall(when func(c *refserver.Call) bool) *refserver.Seams {
	var mu sync.Mutex
	var others []*refserver.Call
	return combineSeams(&refserver.Seams{BeforeHandle: func(c *refserver.Call) {
		if when(c) {
			mu.Lock()
			defer mu.Unlock()
			others = append(others, c)
		}
	}}, wrapTool("log", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if requestLevelOf(c) != "" {
			mu.Lock()
			defer mu.Unlock()
			for _, other := range others {
				other.Notify(spec.MethodMessage, logParams())
			}
			sleep(c.Context(), 100*time.Millisecond) // so that these messages arrive before the response, which is on another stream
		}
		return next(c)
	}))
}

// useLastLevel gives each request without a log level the level that the function keep returned for
// the last request that had a level.
func useLastLevel(keep func(level string) string) *refserver.Seams {
	var kept atomic.Value
	kept.Store("")
	return replaceRequestLevel(func(level string) string {
		if level == "" {
			return kept.Load().(string)
		}
		kept.Store(keep(level))
		return level
	})
}
