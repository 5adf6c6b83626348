package faults

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

var isDiscover = ofMethods(spec.MethodDiscover)

// metadataFaults returns the faults in handling the metadata that every request must have.
func metadataFaults() []*Fault {
	const version, capabilities, missing = "stateless.meta-protocol-version-required/", "stateless.meta-client-capabilities-required/", "stateless.meta-missing/"
	const malformed, status, anonymous = "stateless.meta-malformed/", "stateless.meta-missing-http-400/", "stateless.client-info-optional/"
	noMeta := lacksMeta(spec.MetaVersion, spec.MetaClientCapabilities)
	noVersion := both(lacksMeta(spec.MetaVersion), not(lacksMeta(spec.MetaClientCapabilities)))
	noCapabilities := both(lacksMeta(spec.MetaClientCapabilities), not(lacksMeta(spec.MetaVersion)))
	all := func(*refserver.Call) Members { return completeMeta() }
	isNamed := not(lacksMeta(spec.MetaClientInfo))
	unnamed := func(when func(c *refserver.Call) bool) *refserver.Seams {
		return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if isStatelessCall(c) && when(c) && !isNamed(c) {
				return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "clientInfo is missing"}
			}
			return next(c)
		})
	}
	return []*Fault{
		newFault(missing+"served", "requests without _meta are served", supplyMeta(both(noMeta, not(isDiscover)), all)).statelessOnly(),
		newFault(missing+"invalid-request", "requests without _meta get -32600", editStatelessErrors(spec.CodeInvalidParams, both(noMeta, not(isDiscover)), setCode(spec.CodeInvalidRequest))).statelessOnly(),
		newFault(version+"served", "requests without a protocol version are served", supplyMeta(noVersion, all)).statelessOnly(),
		newFault(version+"served-beside-older", "requests without a protocol version are served by a server of handshake revisions, too", supplyMeta(noVersion, all)).overTransports(spec.StreamableHTTP),
		newFault(version+"internal-error", "requests without a protocol version get -32603", editStatelessErrors(spec.CodeInvalidParams, noVersion, setCode(spec.CodeInternal))).statelessOnly(),
		newFault(capabilities+"served", "requests without client capabilities are served", supplyMeta(noCapabilities, all)),
		newFault(capabilities+"list-served", "lists without client capabilities are served", supplyMeta(both(noCapabilities, not(isDiscover)), all)),
		newFault(capabilities+"templates-served", "resources/templates/list is served without client capabilities", supplyMeta(both(noCapabilities, ofMethods(spec.MethodResourcesTemplates)), all)),
		newFault(capabilities+"call-served", "tools/call is served without client capabilities", supplyMeta(both(noCapabilities, ofMethods(spec.MethodToolsCall)), all)),
		newFault(capabilities+"listen-served", "subscriptions/listen is served without client capabilities", supplyMeta(both(noCapabilities, ofMethods(spec.MethodListen)), all)),
		newFault(capabilities+"completion-served", "completion/complete is served without client capabilities", supplyMeta(both(noCapabilities, ofMethods(spec.MethodComplete)), all)),
		newFault(capabilities+"missing-capability", "requests without client capabilities get -32021", editStatelessErrors(spec.CodeInvalidParams, noCapabilities, func(e *refserver.Error) {
			setCode(spec.CodeMissingClientCap)(e)
			e.Data = map[string]any{"requiredCapabilities": map[string]any{}}
		})),
		newFault(malformed+"array-served", "capabilities that are an array count as none", supplyMeta(func(c *refserver.Call) bool {
			return metaOf(c)[spec.MetaClientCapabilities].Kind() == '['
		}, all)),
		newFault(malformed+"null-served", "capabilities that are null count as none", supplyMeta(func(c *refserver.Call) bool {
			return metaOf(c)[spec.MetaClientCapabilities].Kind() == 'n'
		}, all)),
		newFault(malformed+"number-served", "a protocol version that is a number is served", supplyMeta(func(c *refserver.Call) bool {
			return metaOf(c)[spec.MetaVersion].Kind() == '0'
		}, all)),
		newFault(status+"200", "errors on missing metadata come with status 200", editStatelessErrors(spec.CodeInvalidParams, not(both(not(lacksMeta(spec.MetaVersion)), not(lacksMeta(spec.MetaClientCapabilities)))), setStatus(200))).overTransports(spec.StreamableHTTP),
		newFault(status+"422", "errors on missing client capabilities come with status 422", editStatelessErrors(spec.CodeInvalidParams, noCapabilities, setStatus(422))).overTransports(spec.StreamableHTTP),
		newFault(anonymous+"lists", "lists without clientInfo are refused", unnamed(ofMethods(spec.MethodToolsList, spec.MethodResourcesList, spec.MethodPromptsList))),
		newFault(anonymous+"calls", "tool calls without clientInfo are refused", unnamed(ofMethods(spec.MethodToolsCall))),
		newFault(anonymous+"reads", "resources are not read without clientInfo", unnamed(ofMethods(spec.MethodResourcesRead))),
		newFault("stateless.client-info-members/refused", "a clientInfo with more than name and version is refused", refuseMetadata(func(meta Members) bool {
			return len(unknownMembers(meta[spec.MetaClientInfo], "name", "version")) > 0
		})),
		newFault("stateless.client-info-members/calls", "tool calls with icons in clientInfo are refused", refuseMetadata(func(meta Members) bool { return wire.At(meta[spec.MetaClientInfo], "/icons") != nil }, spec.MethodToolsCall)),
		newFault("stateless.client-capabilities-open/refused", "requests with unknown client capabilities are refused", refuseMetadata(func(meta Members) bool {
			return len(unknownMembers(meta[spec.MetaClientCapabilities], knownCapabilities...)) > 0
		})),
		newFault("stateless.client-capabilities-open/experimental", "resources are not read for clients with experimental capabilities", refuseMetadata(func(meta Members) bool {
			return wire.At(meta[spec.MetaClientCapabilities], "/experimental") != nil
		}, spec.MethodResourcesRead)),
		newFault("stateless.client-info-no-behaviour/instructions", "one client gets different instructions", editStatelessResult(func(c *refserver.Call) bool {
			return c.Method == spec.MethodDiscover && clientName(c) == "claude-ai"
		}, setValue("instructions", "For this client alone."))),
		newFault("stateless.client-info-no-behaviour/tools", "a client of unknown name gets no tools", editStatelessResult(func(c *refserver.Call) bool {
			return c.Method == spec.MethodToolsList && clientName(c) == "mcp-conform-unknown-client"
		}, setValue("tools", []any{}))),
		newFault("stateless.client-info-no-behaviour/refused", "one client is refused", WrapHandler(spec.MethodToolsList, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if clientName(c) == "cursor-vscode" {
				return nil, &refserver.Error{Code: -1, Message: "Unknown client"}
			}
			return next(c)
		})),
	}
}

// askIfUndeclared requests input from a client that does not declare the capability for it, in tool
// calls whose params have a value at member, which is a JSON pointer.
func askIfUndeclared(capability, member string, input map[string]any) *refserver.Seams {
	return WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if wire.At(c.Params, member) == nil || c.ClientDeclared(capability) {
			return next(c)
		}
		return map[string]any{"resultType": "input_required", "inputRequests": map[string]any{"a": input}}, nil
	})
}

// earlierRequestFaults returns the faults in which earlier requests affect later ones.
func earlierRequestFaults() []*Fault {
	const prior, undeclared = "stateless.no-prior-request-context/", "stateless.no-undeclared-capability/"
	return []*Fault{
		newFaultWithState(undeclared+"concurrent", "a call uses the capabilities of the newest request, which may be a concurrent one", func() *refserver.Seams {
			return useNewestMeta(spec.MetaClientCapabilities)
		}),
		newFaultWithState(prior+"capabilities", "a request without capabilities gets those of an earlier request", func() *refserver.Seams {
			return useLastMeta(spec.MetaClientCapabilities, lacksMeta(spec.MetaClientCapabilities))
		}),
		newFaultWithState(prior+"initialize", "after any initialize, requests without client capabilities are served", sinceInitialize(func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if metaOf(c)[spec.MetaVersion] != nil && metaOf(c)[spec.MetaClientCapabilities] == nil {
				setMeta(c, completeMeta())
			}
			return next(c)
		})).overTransports(spec.StreamableHTTP),
		newFaultWithState(prior+"version", "a request without a version gets that of an earlier request", func() *refserver.Seams {
			return useLastMeta(spec.MetaVersion, lacksMeta(spec.MetaVersion))
		}).statelessOnly(),
		newFaultWithState(prior+"shorter-list", "lists lack their first item before server/discover", func() *refserver.Seams {
			var discovered atomic.Bool
			return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				result, err := next(c)
				if isDiscover(c) {
					discovered.Store(true)
				}
				member := listMembers[c.Method]
				if err != nil || member == "" || discovered.Load() || !isStatelessCall(c) {
					return result, err
				}
				r := decodeObject(result)
				if items := objectsIn(r, member); len(items) > 0 {
					r[member] = items[1:]
				}
				return r, nil
			})
		}).overTransports(spec.Stdio),
		newFaultWithState(prior+"discover-first", "nothing is served before server/discover", func() *refserver.Seams {
			return refuseBeforeDiscover("Send server/discover first")
		}),
		newFaultWithState("stateless.no-initialize-needed/demanded", "requests before server/discover get an error that demands initialize", func() *refserver.Seams {
			return refuseBeforeDiscover("Server not initialized")
		}),
		newFault(undeclared+"second-round", "a second round requires sampling from a client that does not declare it", askIfUndeclared("sampling", "/inputResponses", map[string]any{
			"method": spec.MethodSampling, "params": map[string]any{"messages": []any{map[string]any{"role": "user", "content": map[string]any{"type": "text", "text": "Which?"}}}, "maxTokens": 10},
		})),
		newFault(undeclared+"retry", "a retry requires elicitation from a client that no longer declares it", askIfUndeclared("elicitation", "/requestState", map[string]any{
			"method": spec.MethodElicit, "params": map[string]any{"mode": "form", "message": "Which?", "requestedSchema": map[string]any{"type": "object", "properties": map[string]any{}}},
		})),
		newFaultWithState(undeclared+"remembered", "capabilities of an earlier request count for later ones", func() *refserver.Seams {
			return useLastMeta(spec.MetaClientCapabilities, func(c *refserver.Call) bool { return string(metaOf(c)[spec.MetaClientCapabilities]) == "{}" })
		}),
		newFaultWithState("stateless.multiple-conversations/first-client", "a connection serves only the client whose request came first", func() *refserver.Seams {
			var first atomic.Value
			return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if name := clientName(c); name != "" && !first.CompareAndSwap(nil, name) && first.Load() != name {
					return nil, &refserver.Error{Code: -1, Message: "This connection belongs to another client"}
				}
				return next(c)
			})
		}),
		newFaultWithState("stateless.multiple-conversations/one-set-of-capabilities", "a connection serves only requests with the capabilities of the first, except tools/call", func() *refserver.Seams {
			var first atomic.Value
			return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				own := string(metaOf(c)[spec.MetaClientCapabilities])
				if own != "" && !first.CompareAndSwap(nil, own) && first.Load() != own && c.Method != spec.MethodToolsCall {
					return nil, &refserver.Error{Code: -1, Message: "The capabilities have changed"}
				}
				return next(c)
			})
		}),
		newFaultWithState("stateless.no-same-connection/cursors", "a cursor is accepted only on the connection on which it was sent", refuseForeignCursors).overTransports(spec.StreamableHTTP),
	}
}

// useLastMeta gives each matching request a member of _meta from an earlier request: from the
// last request that did not match, had this member and succeeded.
func useLastMeta(key string, when func(c *refserver.Call) bool) *refserver.Seams {
	var mu sync.Mutex
	var last jsontext.Value
	return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if !isStatelessCall(c) {
			return next(c)
		}
		own, takes := metaOf(c)[key], when(c)
		mu.Lock()
		known := last
		mu.Unlock()
		if takes && known != nil {
			setMeta(c, Members{key: known})
		}
		result, err := next(c)
		if err == nil && own != nil && !takes {
			mu.Lock()
			defer mu.Unlock()
			last = own
		}
		return result, err
	})
}

// refuseBeforeDiscover refuses requests of the stateless era that would succeed, until
// server/discover was served.
func refuseBeforeDiscover(message string) *refserver.Seams {
	var discovered atomic.Bool
	return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if !isStatelessCall(c) || c.Method == spec.MethodDiscover {
			result, err := next(c)
			if err == nil && isDiscover(c) {
				discovered.Store(true)
			}
			return result, err
		}
		if result, err := next(c); err != nil || discovered.Load() {
			return result, err
		}
		return nil, &refserver.Error{Code: spec.CodeInvalidRequest, Message: message}
	})
}

// resultFaults returns the faults in the members that every result must have, and those of a
// server that sends requests or does not know subscriptions/listen.
func resultFaults() []*Fault {
	const kind, known, info, asked = "stateless.result-type/", "stateless.result-type-known/", "stateless.server-info/", "stateless.no-server-requests/"
	unnamed := editMember("_meta", omitMembers(spec.MetaServerInfo))
	calls := ofMethods(spec.MethodToolsCall)
	return []*Fault{
		newFault(kind+"missing", "no result has a resultType", editStatelessResult(always, omitMembers("resultType"))),
		newFault(kind+"calls", "results of tools have no resultType", editStatelessResult(calls, omitMembers("resultType"))),
		newFault(kind+"null", "resultType is null", editStatelessResult(ofMethods(spec.MethodToolsList), setValue("resultType", nil))),
		newFault(known+"completed", "resultType is completed", editStatelessResult(calls, setValue("resultType", "completed"))),
		newFault(known+"capital", "resultType is Complete", editStatelessResult(ofMethods(spec.MethodResourcesRead), setValue("resultType", "Complete"))),
		newFault(info+"lists", "lists do not name the server", editStatelessResult(ofMethods(spec.MethodToolsList, spec.MethodPromptsList, spec.MethodResourcesList), unnamed)),
		newFault(info+"top-level", "results name the server outside of _meta", editStatelessResult(not(isDiscover), func(r map[string]any) {
			unnamed(r)
			r["serverInfo"] = map[string]any{"name": "faulty", "version": "1"}
		})),
		newFault(asked+"ping", "the server sends a ping before each list", prependLines(statelessResults(spec.MethodToolsList, spec.MethodResourcesList, spec.MethodPromptsList),
			`{"jsonrpc":"2.0","id":"s1","method":"ping"}`)),
		newFault("stateless.server-requests-via-mrtr/roots", "the server sends roots/list before the result of a call", prependLines(statelessResults(spec.MethodToolsCall),
			`{"jsonrpc":"2.0","id":"s1","method":"roots/list"}`)),
		newFault("stateless.message-patterns-supported/no-listen", "subscriptions/listen is unknown", refuseCalls(spec.MethodListen, always, spec.CodeMethodNotFound, "Method not found")),
	}
}

// removedMethodFaults returns the faults in methods that 2026-07-28 has removed, and those in
// errors about missing capabilities.
func removedMethodFaults() []*Fault {
	const missing, data, status = "stateless.missing-capability-error/", "stateless.missing-capability-data/", "stateless.missing-capability-http-400/"
	return []*Fault{
		newFault("stateless.removed.logging-setlevel/served", "logging/setLevel is served", serveMethod(spec.MethodSetLevel, nil)),
		newFault("stateless.removed.resources-subscribe/served", "resources/subscribe is served", serveMethod(spec.MethodResourcesSubscribe, nil)),
		newFault("stateless.removed.resources-unsubscribe/served", "resources/unsubscribe is served", serveMethod(spec.MethodResourcesUnsubscribe, nil)),
		newFault("stateless.removed.initialize/served", "initialize with the metadata of the revision is served", WrapHandler(spec.MethodInitialize, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if namedVersion(c) == "" {
				return next(c)
			}
			return map[string]any{
				"resultType": "complete", "protocolVersion": spec.V20260728, "capabilities": map[string]any{}, "serverInfo": map[string]any{"name": "faulty", "version": "1"},
			}, nil
		})).statelessOnly(),

		newFault(missing+"internal-error", "an undeclared capability is refused with -32603", editStatelessErrors(spec.CodeMissingClientCap, always, func(e *refserver.Error) {
			e.Code, e.Data, e.Status = spec.CodeInternal, nil, 200
		})),
		newFault(missing+"own-code", "an undeclared capability is refused with a code of the server's own", editStatelessErrors(spec.CodeMissingClientCap, always, func(e *refserver.Error) {
			e.Code, e.Data, e.Status = 4001, nil, 200
		})),
		newFault(missing+"failed-result", "a tool reports an undeclared capability in a result with isError", failWithout(func(capability string) string { return "The client does not support " + capability + "." })),
		newFault(data+"none", "error -32021 has no data", editStatelessErrors(spec.CodeMissingClientCap, always, func(e *refserver.Error) { e.Data = nil })),
		newFault(data+"names", "error -32021 lists capabilities in an array", editStatelessErrors(spec.CodeMissingClientCap, always, func(e *refserver.Error) {
			e.Data = map[string]any{"requiredCapabilities": []string{"elicitation"}}
		})),
		newFault(data+"all", "error -32021 names every capability, also those that no call needs and that the client declared", editStatelessErrors(spec.CodeMissingClientCap, always, requireEverything)),
		newFault(status+"200", "error -32021 comes with status 200", editStatelessErrors(spec.CodeMissingClientCap, always, setStatus(200))).overTransports(spec.StreamableHTTP),
		newFault(status+"422", "error -32021 comes with status 422", editStatelessErrors(spec.CodeMissingClientCap, always, setStatus(422))).overTransports(spec.StreamableHTTP),
	}
}

// refuseForeignCursors refuses a cursor that was issued on another connection.
func refuseForeignCursors() *refserver.Seams {
	const mark = "Faults-Connection"
	var mu sync.Mutex
	from := map[string]string{} // by cursor
	seams := WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if !isStatelessCall(c) || listMembers[c.Method] == "" {
			return next(c)
		}
		mu.Lock()
		defer mu.Unlock()
		if cursor, ok := wire.Text(wire.At(c.Params, "/cursor")); ok && from[cursor] != "" && from[cursor] != c.Header.Get(mark) {
			return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "Unknown cursor"}
		}
		result, err := next(c)
		if err == nil {
			if cursor, ok := wire.Text(wire.At(wire.JSON(result), "/nextCursor")); ok {
				from[cursor] = c.Header.Get(mark)
			}
		}
		return result, err
	})
	return combineSeams(seams, onExchange(isPost, func(v *exchange) {
		v.r.Header.Set(mark, v.r.RemoteAddr)
		v.serve()
	}))
}

// knownCapabilities are the client capabilities that the revision defines.
var knownCapabilities = []string{"elicitation", "experimental", "extensions", "roots", "sampling"}

// unknownMembers returns the names of an object's members that are not known.
func unknownMembers(object jsontext.Value, known ...string) []string {
	names, _ := wire.Members(object)
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(known, name) })
}

// refuseMetadata refuses requests of the given methods, or of all if there are none, whose metadata
// match.
func refuseMetadata(when func(meta Members) bool, methods ...string) *refserver.Seams {
	return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if isStatelessCall(c) && (len(methods) == 0 || ofMethods(methods...)(c)) && when(metaOf(c)) {
			return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "Unrecognized key", Status: 400}
		}
		return next(c)
	})
}

// requireEverything makes an error -32021 name every capability that lets the server ask the client.
func requireEverything(e *refserver.Error) {
	e.Data = map[string]any{"requiredCapabilities": map[string]any{"elicitation": map[string]any{}, "sampling": map[string]any{}, "roots": map[string]any{}}}
}

// failWithout lets tools return a result with isError instead of error -32021. The function text
// returns its text for the first capability that the error names.
func failWithout(text func(capability string) string) *refserver.Seams {
	return WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if err == nil || err.Code != spec.CodeMissingClientCap {
			return result, err
		}
		names, _ := wire.Members(wire.At(wire.JSON(err.Data), "/requiredCapabilities"))
		return completeResult(failedResult(text(names[0]))), nil
	})
}

// legalStateless returns the legal variations in checking metadata and in the members of
// every result.
func legalStateless() []*Fault {
	return limitRevisions(spec.StatelessRevisions(),
		newVariation("more-in-results", "results have members and metadata that the revision does not know", editStatelessResult(always, func(r map[string]any) {
			r["com.example/more"] = map[string]any{"a": 1}
			editMember("_meta", setValue("com.example/more", true))(r)
		})),
		newVariation("server-info-in-full", "the server names itself with title, website and icons", editStatelessResult(always, editMember("_meta", editMember(spec.MetaServerInfo, func(m map[string]any) {
			m["title"], m["websiteUrl"] = "A Server", "https://example.com/"
		})))),
		newVariation("errors-in-other-words", "errors on metadata have other messages, and data", editStatelessErrors(spec.CodeInvalidParams, not(both(not(lacksMeta(spec.MetaVersion)), not(lacksMeta(spec.MetaClientCapabilities)))), func(e *refserver.Error) {
			e.Message, e.Data = "Ungültige Anfrage", map[string]any{"missing": []string{"_meta"}}
		})),
		newVariation("methods-before-metadata", "ping, an unknown method, is refused before its metadata is read", WrapHandler(spec.MethodPing, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if !isStatelessCall(c) {
				return next(c)
			}
			return nil, &refserver.Error{Code: spec.CodeMethodNotFound, Message: "No such method", Data: map[string]any{"method": c.Method}}
		})),
		newVariation("templates-check-metadata", "resources/templates/list checks its metadata itself, with an error in other words", editStatelessErrors(spec.CodeInvalidParams, both(ofMethods(spec.MethodResourcesTemplates), lacksMeta(spec.MetaClientCapabilities)), func(e *refserver.Error) {
			e.Message, e.Data = "Required", []any{map[string]any{"path": []string{"_meta", spec.MetaClientCapabilities}}}
		})),
		newVariation("names-what-it-ignores", "results name the client capabilities and the members of clientInfo that the server ignores", WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			result, err := next(c)
			ignored := append(unknownMembers(metaOf(c)[spec.MetaClientInfo], "name", "version"), unknownMembers(metaOf(c)[spec.MetaClientCapabilities], knownCapabilities...)...)
			if err != nil || !isStatelessCall(c) || len(ignored) == 0 {
				return result, err
			}
			r := decodeObject(result)
			editMember("_meta", setValue("com.example/ignored", ignored))(r)
			return r, nil
		})),
		newVariation("tools-by-capabilities", "tools/list leaves out the tools for which the client lacks the capabilities", editStatelessResult(func(c *refserver.Call) bool {
			_, offers := wire.Members(metaOf(c)[spec.MetaClientCapabilities])
			return c.Method == spec.MethodToolsList && offers["elicitation"] == nil
		}, func(r map[string]any) {
			r["tools"] = slices.DeleteFunc(objectsIn(r, "tools"), func(tool map[string]any) bool {
				name, _ := tool["name"].(string)
				return strings.HasPrefix(name, "ask-")
			})
		})),
		newVariation("fails-without-capability", "a tool that may not ask the client fails for another reason", failWithout(func(string) string { return "There is no answer to the question." })),
		newVariation("all-that-is-required", "error -32021 names all capabilities that the call needs, also those that the client declared", editStatelessErrors(spec.CodeMissingClientCap, func(c *refserver.Call) bool { return toolName(c) == "ask-together" }, requireEverything)),
		newVariation("more-in-missing-capability", "error -32021 has another message, and more data", editStatelessErrors(spec.CodeMissingClientCap, always, func(e *refserver.Error) {
			data := decodeObject(e.Data)
			data["hint"] = "declare them"
			e.Message, e.Data = "Please declare more", data
		})),
	)
}
