package faults

import (
	"fmt"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// refuseEarlyLists refuses list requests between initialize and notifications/initialized, and
// calls the function refuses for each of them. After notifications/initialized it refuses only
// the list requests for which refusesLater returns true, and no longer calls refuses.
func refuseEarlyLists(refuses func(c *refserver.Call), refusesLater func(c *refserver.Call) bool) *refserver.Seams {
	var begun sync.Map
	return &refserver.Seams{
		HandleNotification: func(n *refserver.Notification, next func(*refserver.Notification)) {
			if n.Method == spec.MethodInitialized {
				begun.Store(n.Session, true)
			}
			next(n)
		},
		Handle: func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
			_, begins := begun.Load(c.Session)
			if !isList(c) || c.Revision == "" || begins && !refusesLater(c) {
				return next(c)
			}
			if !begins {
				refuses(c)
			}
			return nil, &refserver.Error{Code: spec.CodeInvalidRequest, Message: "Server not initialized"}
		},
	}
}

func lifecycleFaults() []*Fault {
	initialized := func(edit func(r map[string]any)) *refserver.Seams { return EditResult(spec.MethodInitialize, edit) }
	lacking := func(member string) *refserver.Seams {
		return initialized(func(r map[string]any) { delete(r, member) })
	}
	setting := func(member string, value any) *refserver.Seams {
		return initialized(func(r map[string]any) { r[member] = value })
	}
	capability := func(name string, value any) *refserver.Seams {
		return initialized(func(r map[string]any) { r["capabilities"].(map[string]any)[name] = value })
	}
	return []*Fault{
		newFault("lifecycle.initialize-first/early-request", "the server sends roots/list before initialize", writeAtStart(`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`)),
		newFault("lifecycle.initialize-first/early-notification", "the server sends tools/list_changed before initialize",
			writeAtStart(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)),
		newFault("lifecycle.initialize-first/early-log", "the server sends a log message before initialize",
			writeAtStart(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"starting"}}`)),

		newFault("lifecycle.initialize-response/no-capabilities", "the result of initialize has no capabilities", lacking("capabilities")),
		newFault("lifecycle.initialize-response/no-server-info", "the result of initialize has no serverInfo", lacking("serverInfo")),
		newFault("lifecycle.initialize-response/no-version", "the result of initialize has no protocolVersion", lacking("protocolVersion")),
		newFault("lifecycle.initialize-response/no-server-version", "serverInfo has no version",
			initialized(func(r map[string]any) { delete(r["serverInfo"].(map[string]any), "version") })),
		newFault("lifecycle.initialize-response/empty", "the result of initialize is empty", replaceResult(spec.MethodInitialize, "{}")),
		newFault("lifecycle.initialize-response/error", "the server refuses every initialize", refuseCalls(spec.MethodInitialize, always, spec.CodeInternal, "Internal error")),
		newFault("lifecycle.initialize-response/silent", "initialize gets no response", suppressResponse(spec.MethodInitialize, always)).unreachable(),

		newFault("lifecycle.initialize-result-schema/tools-true", "the capability tools is true", capability("tools", true)),
		newFault("lifecycle.initialize-result-schema/tools-array", "the capability tools is an array", capability("tools", []any{})),
		newFault("lifecycle.initialize-result-schema/logging-null", "the capability logging is null", capability("logging", nil)),
		newFault("lifecycle.initialize-result-schema/flag-text", "the flag listChanged is a string", capability("tools", map[string]any{"listChanged": "true"})),
		newFault("lifecycle.initialize-result-schema/flag-number", "the flag subscribe is a number", capability("resources", map[string]any{"subscribe": 1})),
		newFault("lifecycle.initialize-result-schema/instructions-array", "instructions are an array", setting("instructions", []any{"Be kind."})),
		newFault("lifecycle.initialize-result-schema/instructions-null", "instructions are null", setting("instructions", nil)),
		newFault("lifecycle.initialize-result-schema/name-number", "the server's name is a number", setting("serverInfo", map[string]any{"name": 1, "version": "1"})),
		newFault("lifecycle.initialize-result-schema/version-number", "the server's version is a number", setting("serverInfo", map[string]any{"name": "n", "version": 1.5})),

		newFault("lifecycle.serves-after-initialized/lists-refused", "the server refuses list requests as if it were not initialized", WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if isList(c) && c.Revision != "" {
				return nil, &refserver.Error{Code: spec.CodeInvalidRequest, Message: "Server not initialized"}
			}
			return next(c)
		})),
		newFaultWithState("lifecycle.serves-after-initialized/refused-for-good", "after refusing a list before notifications/initialized, the server refuses all lists for ever", func() *refserver.Seams {
			var refused sync.Map
			return refuseEarlyLists(func(c *refserver.Call) { refused.Store(c.Session, true) }, func(c *refserver.Call) bool { _, is := refused.Load(c.Session); return is })
		}),
		newFault("lifecycle.serves-after-initialized/lists-silent", "the lists get no response", suppressResponse("", func(c *refserver.Call) bool { return isList(c) && c.Revision != "" })),

		newFault("lifecycle.no-requests-before-initialized/roots", "the server sends roots/list before notifications/initialized",
			requestBeforeInitialized(func(s *refserver.Session) (string, any) { return spec.MethodRootsList, nil })),
		newFault("lifecycle.no-requests-before-initialized/sampling", "the server sends sampling/createMessage before notifications/initialized",
			requestBeforeInitialized(func(*refserver.Session) (string, any) { return spec.MethodSampling, samplingParams })),

		newFault("lifecycle.unknown-client-capabilities/refused", "the server refuses initialize with unknown client capabilities",
			refuseCalls(spec.MethodInitialize, hasUnknownCapability, spec.CodeInvalidParams, "Unknown capability")),
		newFault("lifecycle.unknown-client-capabilities/silent", "initialize with unknown client capabilities gets no response", suppressResponse(spec.MethodInitialize, hasUnknownCapability)),
		newFault("lifecycle.unknown-client-capabilities/dies", "unknown client capabilities end the process", exitOnRequest(spec.MethodInitialize, hasUnknownCapability)),

		newFault("lifecycle.undeclared-capability-error/prompts", "prompts are not declared, and prompts/list returns an empty list", withholdAndServeEmpty("prompts", spec.MethodPromptsList, "prompts")),
		newFault("lifecycle.undeclared-capability-error/resources", "resources are not declared, and their lists are empty", combineSeams(
			withholdAndServeEmpty("resources", spec.MethodResourcesList, "resources"),
			replaceResult(spec.MethodResourcesTemplates, `{"resourceTemplates":[]}`),
		)),
		newFault("lifecycle.undeclared-capability-error/tools", "tools are not declared, and tools/list returns an empty list", withholdAndServeEmpty("tools", spec.MethodToolsList, "tools")),

		newFault("lifecycle.error-cases-prepared/dies-of-version", "an unknown version ends the process",
			exitOnRequest(spec.MethodInitialize, func(c *refserver.Call) bool { return !isSupportedVersion(requestedVersion(c)) })),
		newFault("lifecycle.error-cases-prepared/silent-without-capabilities", "initialize without capabilities gets no response",
			suppressResponse(spec.MethodInitialize, func(c *refserver.Call) bool { return wire.At(c.Params, "/capabilities") == nil })),
		newFault("lifecycle.error-cases-prepared/dies-without-client-info", "initialize without clientInfo ends the process",
			exitOnRequest(spec.MethodInitialize, func(c *refserver.Call) bool { return wire.At(c.Params, "/clientInfo") == nil })),

		newFault("lifecycle.request-timeouts/waits-for-ever", "the server waits for ever for a response to its request", &refserver.Seams{RequestTimeout: noTimeout}),
		newFault("lifecycle.timeout-cancels/not-told", "the server gives up on its request without sending notifications/cancelled",
			dropMessages(func(o *refserver.Out) bool { return o.Method == spec.MethodCancelled })),

		newFault("lifecycle.no-shutdown-message/shutdown-served", "the request shutdown gets a result", acceptUnknownMethods("shutdown")),
		newFault("lifecycle.no-shutdown-message/exit-served", "the request exit gets a result", acceptUnknownMethods("exit")),
		newFault("lifecycle.no-shutdown-message/announced", "the server announces its exit with a notification", onEnd(func(p *refserver.Process, why refserver.EndReason) (int, bool) {
			p.Session.SendRaw([]byte(`{"jsonrpc":"2.0","method":"notifications/shutdown"}`))
			return 0, true
		})),
		newFault("lifecycle.batch-initialize/accepted", "the server accepts initialize in a batch", onIncoming(func(s *refserver.Session, f *wire.Frame) bool {
			return f.Batch && len(f.Messages) > 0 && s.Revision() == ""
		}, func(s *refserver.Session, raw []byte) refserver.FrameAction {
			for _, e := range splitArray(raw) {
				s.Deliver(e)
			}
			return refserver.Drop()
		})).overTransports(spec.Stdio), // over HTTP only an initialize outside a batch opens a session
	}
}

var samplingParams = map[string]any{
	"messages":  []any{map[string]any{"role": "user", "content": map[string]any{"type": "text", "text": "Say a word."}}},
	"maxTokens": 10,
}

func noTimeout(string) time.Duration { return 0 }

// writeAtStart writes a line before the server reads anything.
func writeAtStart(line string) *refserver.Seams {
	return &refserver.Seams{Start: func(p *refserver.Process) { fmt.Fprintln(p.Out, line) }}
}

// onEnd lets f decide whether the process exits, and with which code, when stdin
// closes or a signal arrives.
func onEnd(f func(p *refserver.Process, why refserver.EndReason) (code int, exit bool)) *refserver.Seams {
	return &refserver.Seams{End: f}
}

func isList(c *refserver.Call) bool {
	for _, m := range listMethods {
		if c.Method == m {
			return true
		}
	}
	return false
}

// requestBeforeInitialized sends the request with the method and the params that requestFor
// returns, right after the response to initialize, if the client declared the capability for the
// request.
func requestBeforeInitialized(requestFor func(s *refserver.Session) (method string, params any)) *refserver.Seams {
	return EditOutgoing(Results(spec.MethodInitialize), func(o *refserver.Out) {
		method, params := requestFor(o.Session)
		declared := map[string]string{spec.MethodRootsList: "roots", spec.MethodSampling: "sampling"}
		if o.Session.ClientDeclared(declared[method]) {
			o.Frames = append(o.Frames, wire.NewRequest(wire.StringID("early"), method, params))
		}
	})
}

// hasUnknownCapability reports whether the client declares a capability other than roots,
// sampling, elicitation and tasks.
func hasUnknownCapability(c *refserver.Call) bool {
	_, caps := wire.Members(wire.At(c.Params, "/capabilities"))
	for name := range caps {
		switch name {
		case "roots", "sampling", "elicitation", "tasks":
		default:
			return true
		}
	}
	return false
}

// withholdAndServeEmpty removes a capability from the results of initialize and server/discover,
// but the list method of the capability still returns an empty list.
func withholdAndServeEmpty(capability, list, member string) *refserver.Seams {
	return combineSeams(withholdCapabilities(capability), WrapHandler(list, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if c.Revision == "" {
			return next(c)
		}
		return jsontext.Value(`{"` + member + `":[]}`), nil
	}))
}

// withholdCapabilities removes capabilities from the results of initialize and
// server/discover.
func withholdCapabilities(capabilities ...string) *refserver.Seams {
	withhold := editMember("capabilities", omitMembers(capabilities...))
	return combineSeams(EditResult(spec.MethodInitialize, withhold), EditResult(spec.MethodDiscover, withhold))
}
