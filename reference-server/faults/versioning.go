package faults

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

func versioningFaults() []*Fault {
	const same, other, latest, known = "versioning.initialize-same-version/", "versioning.initialize-other-version/",
		"versioning.initialize-latest-version/", "versioning.initialize-known-version/"
	fails := func(e *refserver.Error) *refserver.Seams {
		return WrapHandler(spec.MethodInitialize, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if isSupportedVersion(requestedVersion(c)) {
				return next(c)
			}
			return nil, e
		})
	}
	return []*Fault{
		newFault(same+"depends-on-capabilities", "a client with experimental capabilities gets another version than it requests",
			editOfferedVersion(hasUnknownCapability, func(version string) string {
				if version == string(spec.V20241105) {
					return string(spec.V20250326)
				}
				return string(spec.V20241105)
			})),

		newFaultWithState(same+"first-session-only", "only the first session of a process gets the older version it requests",
			offerNewestAfterFirst).inRevisions(spec.V20251125).overTransports(spec.StreamableHTTP),

		newFault(other+"echoed", "the server accepts an unknown version", editOfferedVersion(requestsUnsupported, func(version string) string { return version })),
		newFault(other+"later-echoed", "the server accepts a future version", editOfferedVersion(func(c *refserver.Call) bool {
			return requestsUnsupported(c) && requestedVersion(c) > string(spec.V20260728) && requestedVersion(c) < "3"
		}, func(version string) string { return version })),
		newFault(other+"not-accepted", "an unknown version gets a counter-offer that the server refuses, too", editOfferedVersion(requestsUnsupported, func(version string) string {
			if version == "2024-10-07" {
				return string(spec.V20251125)
			}
			return "2024-10-07"
		})),
		newFault(other+"internal-error", "an unknown version gets -32603", fails(&refserver.Error{Code: spec.CodeInternal, Message: "Internal error"})),
		newFault(other+"bare-error", "an unknown version gets -32602 without the supported versions",
			fails(&refserver.Error{Code: spec.CodeInvalidParams, Message: "Unsupported protocol version"})),
		newFault(other+"silent", "an unknown version gets no response", fails(refserver.NoResponse)),
		newFault(other+"no-date", "a version that is not a date gets -32602, others a counter-offer", WrapHandler(spec.MethodInitialize, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if _, err := time.Parse(time.DateOnly, requestedVersion(c)); err != nil {
				return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "protocolVersion: not a date"}
			}
			return next(c)
		})),

		newFault(latest+"oldest", "the counter-offer for an unknown version is the oldest supported one",
			editOfferedVersion(requestsUnsupported, func(string) string { return string(spec.V20241105) })).inRevisions(revisionsWithReadOnlyHint()...), // a run in 2024-11-05 alone can't know that the server supports a later revision
		newFault(latest+"last-but-one", "the counter-offer for an unknown version is the second newest one",
			editOfferedVersion(requestsUnsupported, func(string) string { return string(spec.V20250618) })).inRevisions(spec.V20251125),
		newFault(latest+"without-handshake", "the counter-offer for an unknown version has no handshake",
			editOfferedVersion(requestsUnsupported, func(string) string { return string(spec.V20260728) })),

		newFault(known+"number", `the counter-offer for an unknown version is "1.0"`, editOfferedVersion(requestsUnsupported, func(string) string { return "1.0" })),
		newFault(known+"word", `the counter-offer for an unknown version is "latest"`, editOfferedVersion(requestsUnsupported, func(string) string { return "latest" })),
		newFault(known+"wrong-date", "the counter-offer for an unknown version is a date without a revision", editOfferedVersion(requestsUnsupported, func(string) string { return "2025-07-01" })),
	}
}

func requestedVersion(c *refserver.Call) string {
	version, _ := wire.Text(wire.At(c.Params, "/protocolVersion"))
	return version
}

func isSupportedVersion(version string) bool {
	return slices.Contains(spec.HandshakeRevisions(), spec.Revision(version))
}

// requestsUnsupported reports whether an initialize requests a version that the server
// does not support.
func requestsUnsupported(c *refserver.Call) bool {
	return requestedVersion(c) != "" && !isSupportedVersion(requestedVersion(c))
}

// editOfferedVersion replaces the version in the results of the matching initialize
// requests.
func editOfferedVersion(when func(c *refserver.Call) bool, offer func(version string) string) *refserver.Seams {
	return WrapHandler(spec.MethodInitialize, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if err != nil || !when(c) {
			return result, err
		}
		return withMember(decodeObject(result), "protocolVersion", offer(requestedVersion(c))), nil
	})
}

// offerNewestAfterFirst treats an initialize that requests a supported version as a request for
// the newest handshake revision, except the first initialize of the process.
func offerNewestAfterFirst() *refserver.Seams {
	var later atomic.Bool
	return WrapHandler(spec.MethodInitialize, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if later.Swap(true) && isSupportedVersion(requestedVersion(c)) {
			_, members := wire.Members(c.Params)
			members["protocolVersion"] = wire.Quote(string(spec.V20251125))
			c.Params = wire.JSON(members)
		}
		return next(c)
	})
}

// serverRequestFaults returns the faults in which the server's own requests violate the
// negotiated revision.
func serverRequestFaults() []*Fault {
	form := map[string]any{"message": "Who are you?", "requestedSchema": map[string]any{
		"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}},
	}}
	page := map[string]any{"mode": "url", "message": "Please look.", "elicitationId": "e1", "url": "https://example.com/"}
	const older, newer = "versioning.negotiated-version-respected-2024-11-05/", "versioning.negotiated-version-respected-2025-06-18/"
	return []*Fault{
		newFault(older+"elicitation", "the server sends elicitation/create, which a later revision introduced", requestOnInitialized(spec.MethodElicit, form)),
		newFault(older+"tasks", "the server sends tasks/list to the client, which a later revision introduced", requestOnInitialized(spec.MethodTasksList, nil)),
		newFault(newer+"url-elicitation", "the server uses url mode elicitation, which a later revision introduced", requestOnInitialized(spec.MethodElicit, page)).inRevisions(spec.V20250618),
		newFault(newer+"tasks", "the server sends tasks/list to the client, which a later revision introduced", requestOnInitialized(spec.MethodTasksList, nil)).inRevisions(spec.V20250618),
		newFault(newer+"task-result", "tools return tasks, which a later revision introduced", replaceResult(spec.MethodToolsCall,
			`{"task":{"taskId":"1","status":"working","ttl":null,"createdAt":"2025-11-25T00:00:00Z","lastUpdatedAt":"2025-11-25T00:00:00Z"}}`)).inRevisions(spec.V20250618),
		newFault(newer+"input-required", "tools return input_required, which a later revision introduced",
			replaceResult(spec.MethodToolsCall, `{"resultType":"input_required","inputRequests":{}}`)),
	}
}
