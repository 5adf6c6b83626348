package faults

import (
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// perRequestFaults returns the faults in handling the version of each request in the stateless
// era.
func perRequestFaults() []*Fault {
	const turns, unsupported, list = "versioning.per-request/", "versioning.unsupported-version-error/", "versioning.unsupported-version-supported-list/"
	const status, older = "versioning.unsupported-version-http-400/", "versioning.known-legacy-version-in-meta/"
	refuseVersion := func(e func(e *refserver.Error)) *refserver.Seams {
		return editStatelessErrors(spec.CodeUnsupported, isUnpublished, e)
	}
	return []*Fault{
		newFaultWithState(turns+"first-only", "only the version of the first request is checked", func() *refserver.Seams {
			var served atomic.Bool
			return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if isStatelessCall(c) && isUnpublished(c) && served.Load() {
					setCurrentVersion(c)
				}
				result, err := next(c)
				if err == nil && isStatelessCall(c) {
					served.Store(true)
				}
				return result, err
			})
		}),
		newFaultWithState(turns+"sticky", "after a request of an unknown version, the next request of a known version fails", func() *refserver.Seams {
			var spoiled atomic.Bool
			return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				switch {
				case !isStatelessCall(c):
				case isUnpublished(c):
					spoiled.Store(true)
				case spoiled.Swap(false):
					return nil, &refserver.Error{Code: spec.CodeInvalidRequest, Message: "Another version is in use"}
				}
				return next(c)
			})
		}),
		newFault(unsupported+"served", "requests of an unknown version are served", serveVersions(isUnpublished)),
		newFault(unsupported+"same-year", "every version of the year 2026 is served", serveVersions(both(isUnpublished, func(c *refserver.Call) bool { return strings.HasPrefix(namedVersion(c), "2026-") }))),
		newFault(unsupported+"later", "every date later than the revision is served", serveVersions(both(isUnpublished, func(c *refserver.Call) bool {
			_, err := time.Parse(time.DateOnly, namedVersion(c))
			return err == nil && namedVersion(c) > string(spec.V20260728)
		}))),
		newFault(unsupported+"discover-served", "server/discover is served in an unknown version", serveVersions(both(isUnpublished, isDiscover))),
		newFault(unsupported+"listen-served", "subscriptions/listen is served in an unknown version", serveVersions(both(isUnpublished, ofMethods(spec.MethodListen)))),
		newFault(unsupported+"call-served", "tools/call is served in an unknown version", serveVersions(both(isUnpublished, ofMethods(spec.MethodToolsCall)))),
		newFault(unsupported+"read-served", "resources/read is served in an unknown version", serveVersions(both(isUnpublished, ofMethods(spec.MethodResourcesRead)))),
		newFault(unsupported+"prompt-served", "prompts/get is served in an unknown version", serveVersions(both(isUnpublished, ofMethods(spec.MethodPromptsGet)))),
		newFault(unsupported+"completion-served", "completion/complete is served in an unknown version", serveVersions(both(isUnpublished, ofMethods(spec.MethodComplete)))),
		newFault(unsupported+"invalid-params", "an unknown version gets -32602", refuseVersion(setCode(spec.CodeInvalidParams))),
		newFault(unsupported+"older-code", "an unknown version gets -32004, as in a draft", refuseVersion(setCode(-32004))),
		newFault(list+"no-data", "error -32022 has no data", refuseVersion(func(e *refserver.Error) { e.Data = nil })),
		newFault(list+"text", "error -32022 has the versions in a string", refuseVersion(editErrorData(setValue("supported", "2026-07-28")))),
		newFault(list+"empty", "error -32022 lists no version", refuseVersion(editErrorData(setValue("supported", []string{})))),
		newFault(list+"not-repeated", "error -32022 does not repeat the requested version", refuseVersion(editErrorData(omitMembers("requested")))),
		newFault(list+"another-requested", "error -32022 repeats another version than the requested one", refuseVersion(editErrorData(setValue("requested", "2026-07-28")))),
		newFault("versioning.supported-list-consistent/shorter", "error -32022 lists fewer versions than server/discover", refuseVersion(editErrorData(setValue("supported", []string{"2026-07-28"})))),
		newFault(status+"200", "error -32022 comes with status 200", refuseVersion(setStatus(200))).overTransports(spec.StreamableHTTP),
		newFault(status+"422", "error -32022 comes with status 422", refuseVersion(setStatus(422))).overTransports(spec.StreamableHTTP),
		newFault(older+"invalid-params", "a handshake revision in _meta gets -32602", editStatelessErrors(spec.CodeUnsupported, namesOlderVersion, setCode(spec.CodeInvalidParams))),
		newFault(older+"stateless-only", "a handshake revision in _meta gets -32602 from a server that has none", editStatelessErrors(spec.CodeUnsupported, namesOlderVersion, setCode(spec.CodeInvalidParams))).statelessOnly(),
	}
}

// eraFaults returns the faults in handling requests of both eras, and extensions.
func eraFaults() []*Fault {
	const names, refused, dual = "versioning.modern-only-initialize-error/", "versioning.modern-only-initialize-refused/", "versioning.dual-era-initialize/"
	plain := both(ofMethods(spec.MethodInitialize), lacksMeta(spec.MetaVersion))
	inSession := func(c *refserver.Call) bool { return !isStatelessCall(c) && c.Revision != "" }
	return []*Fault{
		newFault(names+"unnamed", "the error to initialize does not name the supported versions", WrapHandler(spec.MethodInitialize, func(_ *refserver.Call, _ Handler) (any, *refserver.Error) {
			return nil, &refserver.Error{Code: spec.CodeMethodNotFound, Message: "Method not found", Status: 400}
		})).statelessOnly(),
		newFault(refused+"served", "initialize gets a result that names 2026-07-28", WrapHandler(spec.MethodInitialize, func(*refserver.Call, Handler) (any, *refserver.Error) {
			return map[string]any{
				"protocolVersion": spec.V20260728, "capabilities": map[string]any{}, "serverInfo": map[string]any{"name": "faulty", "version": "1"},
			}, nil
		})).statelessOnly(),
		newFault(refused+"404", "initialize without headers gets status 404", WrapHandler(spec.MethodInitialize, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			result, err := next(c)
			if err != nil && plain(c) {
				changed := *err
				changed.Status = 404
				return nil, &changed
			}
			return result, err
		})).statelessOnly().overTransports(spec.StreamableHTTP),
		newFault(dual+"no-ping", "a session that initialize opened has no ping", refuseCalls(spec.MethodPing, inSession, spec.CodeMethodNotFound, "Method not found")),
		newFault(dual+"metadata-demanded", "a session that initialize opened refuses requests without metadata", WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if inSession(c) && c.Method != spec.MethodInitialize {
				return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "Invalid params: _meta is missing"}
			}
			return next(c)
		})).inRevisions(spec.V20260728),
		newFault(dual+"stateless-version", "initialize that requests 2026-07-28 negotiates it", editOfferedVersion(requestsStateless, func(requested string) string { return requested })).inRevisions(spec.V20260728),
		newFaultWithState("versioning.dual-era-modern-request/after-initialize", "after any initialize, lists have neither resultType nor caching hints", sinceInitialize(func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			result, err := next(c)
			if err != nil || !strings.HasSuffix(c.Method, "/list") {
				return result, err
			}
			older := decodeObject(result)
			omitMembers("resultType", "ttlMs", "cacheScope")(older)
			return older, nil
		})).overTransports(spec.StreamableHTTP),
		newFault("versioning.dual-era-modern-request/older-results", "lists have neither resultType nor caching hints", editStatelessResult(ofMethods(spec.MethodToolsList, spec.MethodPromptsList, spec.MethodResourcesList), omitMembers("resultType", "ttlMs", "cacheScope"))),
		newFault("versioning.extension-id-format/no-prefix", "an extension has an identifier without a prefix", EditResult(spec.MethodDiscover, editMember("capabilities", setValue("extensions", map[string]any{"tasks": map[string]any{}})))),
		newFault("versioning.extension-id-format/bad-label", "an extension has an identifier that begins with a digit", EditResult(spec.MethodDiscover, editMember("capabilities", setValue("extensions", map[string]any{"1example.com/tasks": map[string]any{}})))),
		newFault("versioning.extension-fallback/task", "tools return a resultType of an extension that the client did not declare", combineSeams(
			EditResult(spec.MethodDiscover, editMember("capabilities", setValue("extensions", map[string]any{"io.modelcontextprotocol/tasks": map[string]any{}}))),
			editStatelessResult(ofMethods(spec.MethodToolsCall), func(r map[string]any) { r["resultType"] = "task" }))),
	}
}

// sinceInitialize handles the requests of the stateless era with then once any client has sent
// initialize.
func sinceInitialize(then func(c *refserver.Call, next Handler) (any, *refserver.Error)) func() *refserver.Seams {
	return func() *refserver.Seams {
		var initialized atomic.Bool
		return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if c.Method == spec.MethodInitialize {
				initialized.Store(true)
			}
			if isStatelessCall(c) && initialized.Load() {
				return then(c, next)
			}
			return next(c)
		})
	}
}

// requestsStateless reports whether an initialize requests 2026-07-28, which has no initialize.
func requestsStateless(c *refserver.Call) bool { return requestedVersion(c) == string(spec.V20260728) }

// isUnpublished reports whether a request names a version that was never published.
func isUnpublished(c *refserver.Call) bool {
	version := namedVersion(c)
	return version != "" && !spec.Revision(version).IsPublished()
}

// namesOlderVersion reports whether a request names a handshake revision.
func namesOlderVersion(c *refserver.Call) bool { return isSupportedVersion(namedVersion(c)) }

// setCurrentVersion changes the version of a request to the current revision, in body and header.
func setCurrentVersion(c *refserver.Call) {
	setMeta(c, Members{spec.MetaVersion: wire.Quote(string(spec.V20260728))})
	if c.Header != nil {
		c.Header.Set(versionHeader, string(spec.V20260728))
	}
}

// serveVersions serves the matching requests as if they named the current revision.
func serveVersions(when func(c *refserver.Call) bool) *refserver.Seams {
	return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if isStatelessCall(c) && when(c) {
			setCurrentVersion(c)
		}
		return next(c)
	})
}

// laterVersion is a version that is not published.
const laterVersion = "2026-12-01"

// addLaterVersion adds laterVersion to a list of versions.
func addLaterVersion(list string) edit {
	return func(o map[string]any) {
		all, _ := o[list].([]any)
		o[list] = append(all, laterVersion)
	}
}

// editErrorData edits the data of an error.
func editErrorData(e edit) func(err *refserver.Error) {
	return func(err *refserver.Error) {
		data := decodeObject(err.Data)
		e(data)
		err.Data = data
	}
}

// legalVersions returns the legal variations in handling versions.
func legalVersions() []*Fault {
	return limitRevisions(spec.StatelessRevisions(),
		newVariation("version-error-in-other-words", "error -32022 has another message, and more data", editStatelessErrors(spec.CodeUnsupported, always, func(e *refserver.Error) {
			editErrorData(setValue("hint", "update"))(e)
			e.Message = "Version?"
		})),
		newVariation("supported-in-another-order", "error -32022 lists the versions in another order than server/discover", editStatelessErrors(spec.CodeUnsupported, always, editErrorData(func(data map[string]any) {
			all, _ := data["supported"].([]any)
			slices.Reverse(all)
		}))),
		newVariation("later-version-listed", "a later version is listed and served", combineSeams(
			serveVersions(func(c *refserver.Call) bool { return namedVersion(c) == laterVersion }),
			EditResult(spec.MethodDiscover, addLaterVersion("supportedVersions")),
			editStatelessErrors(spec.CodeUnsupported, always, editErrorData(addLaterVersion("supported"))))),
		newVariation("older-versions-in-meta", "a handshake revision in _meta is served as 2026-07-28", serveVersions(namesOlderVersion)),
		newVariation("initialize-for-stateless-refused", "initialize that requests 2026-07-28 is refused", refuseCalls(spec.MethodInitialize, requestsStateless, spec.CodeInvalidParams, "2026-07-28 has no initialize")),
		newVariationWithState("volatile-since-initialize", "after any initialize, lists may not be cached, and errors on missing metadata have other words", sinceInitialize(func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			result, err := next(c)
			switch {
			case err != nil && err.Code == spec.CodeInvalidParams:
				changed := *err
				changed.Message = "Not as in a session: " + err.Message
				return nil, &changed
			case err != nil || !strings.HasSuffix(c.Method, "/list"):
				return result, err
			}
			changed := decodeObject(result)
			changed["ttlMs"], changed["cacheScope"] = 0, "private"
			return changed, nil
		})).overTransports(spec.StreamableHTTP),
		newVariation("initialize-refused-otherwise", "initialize is refused with -32600 and the names of the versions", WrapHandler(spec.MethodInitialize, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			return nil, &refserver.Error{Code: spec.CodeInvalidRequest, Message: "Only 2026-07-28 is supported", Status: 400}
		})).statelessOnly(),
	)
}
