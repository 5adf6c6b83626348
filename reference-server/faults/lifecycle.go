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

// earlyLists refuses the lists before initialized, which it tells of, and later
// where still picks them.
func earlyLists(refuses func(c *refserver.Call), still func(c *refserver.Call) bool) refserver.Seams {
	var begun sync.Map
	return refserver.Seams{
		HandleNotification: func(n *refserver.Notification, next func(*refserver.Notification)) {
			if n.Method == spec.MethodInitialized {
				begun.Store(n.Session, true)
			}
			next(n)
		},
		Handle: func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
			_, begins := begun.Load(c.Session)
			if !isList(c) || c.Revision == "" || begins && !still(c) {
				return next(c)
			}
			if !begins {
				refuses(c)
			}
			return nil, &refserver.Error{Code: spec.CodeInvalidRequest, Message: "Server not initialized"}
		},
	}
}

func lifecycleFaults() []Fault {
	initialized := func(edit func(r map[string]any)) refserver.Seams { return EditResult(spec.MethodInitialize, edit) }
	lacking := func(member string) refserver.Seams {
		return initialized(func(r map[string]any) { delete(r, member) })
	}
	setting := func(member string, value any) refserver.Seams {
		return initialized(func(r map[string]any) { r[member] = value })
	}
	capability := func(name string, value any) refserver.Seams {
		return initialized(func(r map[string]any) { r["capabilities"].(map[string]any)[name] = value })
	}
	return []Fault{
		breaks("lifecycle.initialize-first/early-request", "roots/list is asked before initialize", early(`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`)),
		breaks("lifecycle.initialize-first/early-notification", "tools/list_changed comes before initialize",
			early(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)),
		breaks("lifecycle.initialize-first/early-log", "a log message comes before initialize",
			early(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"starting"}}`)),

		breaks("lifecycle.initialize-response/no-capabilities", "initialize gets no capabilities", lacking("capabilities")),
		breaks("lifecycle.initialize-response/no-server-info", "initialize gets no serverInfo", lacking("serverInfo")),
		breaks("lifecycle.initialize-response/no-version", "initialize gets no protocolVersion", lacking("protocolVersion")),
		breaks("lifecycle.initialize-response/no-server-version", "serverInfo has no version",
			initialized(func(r map[string]any) { delete(r["serverInfo"].(map[string]any), "version") })),
		breaks("lifecycle.initialize-response/empty", "initialize gets an empty result", replaceResult(spec.MethodInitialize, "{}")),
		breaks("lifecycle.initialize-response/error", "every initialize is refused", refuse(spec.MethodInitialize, always, spec.CodeInternal, "Internal error")),
		breaks("lifecycle.initialize-response/silent", "initialize is never answered", unanswered(spec.MethodInitialize, always)).unreachable(),

		breaks("lifecycle.initialize-result-schema/tools-true", "the capability tools is true", capability("tools", true)),
		breaks("lifecycle.initialize-result-schema/tools-array", "the capability tools is an array", capability("tools", []any{})),
		breaks("lifecycle.initialize-result-schema/logging-null", "the capability logging is null", capability("logging", nil)),
		breaks("lifecycle.initialize-result-schema/flag-text", "the flag listChanged is a string", capability("tools", map[string]any{"listChanged": "true"})),
		breaks("lifecycle.initialize-result-schema/flag-number", "the flag subscribe is a number", capability("resources", map[string]any{"subscribe": 1})),
		breaks("lifecycle.initialize-result-schema/instructions-array", "instructions are an array", setting("instructions", []any{"Be kind."})),
		breaks("lifecycle.initialize-result-schema/instructions-null", "instructions are null", setting("instructions", nil)),
		breaks("lifecycle.initialize-result-schema/name-number", "the server's name is a number", setting("serverInfo", map[string]any{"name": 1, "version": "1"})),
		breaks("lifecycle.initialize-result-schema/version-number", "the server's version is a number", setting("serverInfo", map[string]any{"name": "n", "version": 1.5})),

		breaks("lifecycle.serves-after-initialized/lists-refused", "the lists are refused as if the session had not begun", Handle("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if isList(c) && c.Revision != "" {
				return nil, &refserver.Error{Code: spec.CodeInvalidRequest, Message: "Server not initialized"}
			}
			return next(c)
		})),
		breaksAfresh("lifecycle.serves-after-initialized/refused-for-good", "what was requested before initialized, and refused, is refused ever after", func() refserver.Seams {
			var refused sync.Map
			return earlyLists(func(c *refserver.Call) { refused.Store(c.Session, true) }, func(c *refserver.Call) bool { _, is := refused.Load(c.Session); return is })
		}),
		breaks("lifecycle.serves-after-initialized/lists-silent", "the lists are never answered", unanswered("", func(c *refserver.Call) bool { return isList(c) && c.Revision != "" })),

		breaks("lifecycle.no-requests-before-initialized/roots", "roots/list is asked right after initialize",
			asksEarly(func(s *refserver.Session) (string, any) { return spec.MethodRootsList, nil })),
		breaks("lifecycle.no-requests-before-initialized/sampling", "sampling is asked for right after initialize",
			asksEarly(func(*refserver.Session) (string, any) { return spec.MethodSampling, samplingParams })),

		breaks("lifecycle.unknown-client-capabilities/refused", "unknown client capabilities have initialize refused",
			refuse(spec.MethodInitialize, hasUnknownCapability, spec.CodeInvalidParams, "Unknown capability")),
		breaks("lifecycle.unknown-client-capabilities/silent", "unknown client capabilities leave initialize unanswered", unanswered(spec.MethodInitialize, hasUnknownCapability)),
		breaks("lifecycle.unknown-client-capabilities/dies", "unknown client capabilities end the process", dies(spec.MethodInitialize, hasUnknownCapability)),

		breaks("lifecycle.undeclared-capability-error/prompts", "prompts are not declared, and their list is empty", undeclaredAndEmpty("prompts", spec.MethodPromptsList, "prompts")),
		breaks("lifecycle.undeclared-capability-error/resources", "resources are not declared, and their lists are empty", together(
			undeclaredAndEmpty("resources", spec.MethodResourcesList, "resources"),
			replaceResult(spec.MethodResourcesTemplates, `{"resourceTemplates":[]}`),
		)),
		breaks("lifecycle.undeclared-capability-error/tools", "tools are not declared, and their list is empty", undeclaredAndEmpty("tools", spec.MethodToolsList, "tools")),

		breaks("lifecycle.error-cases-prepared/dies-of-version", "an unknown version ends the process",
			dies(spec.MethodInitialize, func(c *refserver.Call) bool { return !speaks(asked(c)) })),
		breaks("lifecycle.error-cases-prepared/silent-without-capabilities", "initialize without capabilities is not answered",
			unanswered(spec.MethodInitialize, func(c *refserver.Call) bool { return wire.At(c.Params, "/capabilities") == nil })),
		breaks("lifecycle.error-cases-prepared/dies-without-client-info", "initialize without clientInfo ends the process",
			dies(spec.MethodInitialize, func(c *refserver.Call) bool { return wire.At(c.Params, "/clientInfo") == nil })),

		breaks("lifecycle.request-timeouts/waits-for-ever", "a request of its own that is not answered is waited for, for ever", refserver.Seams{RequestTimeout: patient}),
		breaks("lifecycle.timeout-cancels/not-told", "a request of its own is given up without a cancellation",
			mute(func(o *refserver.Out) bool { return o.Method == spec.MethodCancelled })),

		breaks("lifecycle.no-shutdown-message/shutdown-served", "the request shutdown gets a result", servesUnknown("shutdown")),
		breaks("lifecycle.no-shutdown-message/exit-served", "the request exit gets a result", servesUnknown("exit")),
		breaks("lifecycle.no-shutdown-message/announced", "the end is announced by a notification", ends(func(p *refserver.Process, why refserver.EndReason) (int, bool) {
			p.Session.SendRaw([]byte(`{"jsonrpc":"2.0","method":"notifications/shutdown"}`))
			return 0, true
		})),
		breaks("lifecycle.batch-initialize/accepted", "initialize is accepted in a batch", incoming(func(s *refserver.Session, f *wire.Frame) bool {
			return f.Batch && len(f.Messages) > 0 && s.Revision() == ""
		}, func(s *refserver.Session, raw []byte) refserver.FrameAction {
			for _, e := range split(raw) {
				s.Deliver(e)
			}
			return refserver.Drop()
		})).over(spec.Stdio), // over HTTP nothing but initialize alone opens a session
	}
}

var samplingParams = map[string]any{
	"messages":  []any{map[string]any{"role": "user", "content": map[string]any{"type": "text", "text": "Say a word."}}},
	"maxTokens": 10,
}

func patient(string) time.Duration { return 0 }

// early writes a line before anything is read.
func early(line string) refserver.Seams {
	return refserver.Seams{Start: func(p *refserver.Process) { fmt.Fprintln(p.Out, line) }}
}

// ends decides what follows an ending.
func ends(f func(p *refserver.Process, why refserver.EndReason) (code int, exit bool)) refserver.Seams {
	return refserver.Seams{End: f}
}

func isList(c *refserver.Call) bool {
	for _, m := range listMethods {
		if c.Method == m {
			return true
		}
	}
	return false
}

// asksEarly sends a request right behind the answer to initialize, if the
// client has declared that it takes such requests.
func asksEarly(what func(s *refserver.Session) (method string, params any)) refserver.Seams {
	return Outgoing(Results(spec.MethodInitialize), func(o *refserver.Out) {
		method, params := what(o.Session)
		declared := map[string]string{spec.MethodRootsList: "roots", spec.MethodSampling: "sampling"}
		if o.Session.Declared(declared[method]) {
			o.Frames = append(o.Frames, wire.NewRequest(wire.StringID("early"), method, params))
		}
	})
}

// hasUnknownCapability reports whether a client declares what no revision has.
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

// undeclaredAndEmpty withholds a capability and serves its list all the same.
func undeclaredAndEmpty(capability, list, member string) refserver.Seams {
	return together(undeclared(capability), Handle(list, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if c.Revision == "" {
			return next(c)
		}
		return jsontext.Value(`{"` + member + `":[]}`), nil
	}))
}

// undeclared withholds capabilities.
func undeclared(capabilities ...string) refserver.Seams {
	return EditResult(spec.MethodInitialize, func(r map[string]any) {
		for _, name := range capabilities {
			delete(r["capabilities"].(map[string]any), name)
		}
	})
}
