package faults

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

func versioningFaults() []Fault {
	const same, other, latest, known = "versioning.initialize-same-version/", "versioning.initialize-other-version/",
		"versioning.initialize-latest-version/", "versioning.initialize-known-version/"
	fails := func(e *refserver.Error) refserver.Seams {
		return Handle(spec.MethodInitialize, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if speaks(asked(c)) {
				return next(c)
			}
			return nil, e
		})
	}
	return []Fault{
		breaks(other+"no-date", "a version that is no date is refused with -32602, others are countered", Handle(spec.MethodInitialize, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if _, err := time.Parse(time.DateOnly, asked(c)); err != nil {
				return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "protocolVersion: not a date"}
			}
			return next(c)
		})),
		breaks(same+"depends-on-capabilities", "a client with experimental capabilities is offered another version than it asks for",
			offering(hasUnknownCapability, func(version string) string {
				if version == string(spec.V20241105) {
					return string(spec.V20250326)
				}
				return string(spec.V20241105)
			})),

		breaksAfresh(same+"first-session-only", "only the first session of a process gets the older version that it asks for",
			newestAfterTheFirst).in(spec.V20251125).over(spec.StreamableHTTP),

		breaks(other+"echoed", "a version that does not exist is accepted", offering(unspoken, func(version string) string { return version })),
		breaks(other+"later-echoed", "a version of the future is accepted", offering(func(c *refserver.Call) bool {
			return unspoken(c) && asked(c) > string(spec.V20260728) && asked(c) < "3"
		}, func(version string) string { return version })),
		breaks(other+"not-accepted", "an unknown version is answered with one that is not accepted either", offering(unspoken, func(version string) string {
			if version == "2024-10-07" {
				return string(spec.V20251125)
			}
			return "2024-10-07"
		})),
		breaks(other+"internal-error", "an unknown version gets -32603", fails(&refserver.Error{Code: spec.CodeInternal, Message: "Internal error"})),
		breaks(other+"bare-error", "an unknown version gets -32602 that does not say which are supported",
			fails(&refserver.Error{Code: spec.CodeInvalidParams, Message: "Unsupported protocol version"})),
		breaks(other+"silent", "an unknown version is not answered", fails(refserver.NoResponse)),

		breaks(latest+"oldest", "an unknown version is answered with the oldest that is supported",
			offering(unspoken, func(string) string { return string(spec.V20241105) })).in(callable()...), // a run in that alone knows of no later one
		breaks(latest+"last-but-one", "an unknown version is answered with the last but one that is supported",
			offering(unspoken, func(string) string { return string(spec.V20250618) })).in(spec.V20251125),
		breaks(latest+"without-handshake", "an unknown version is answered with a revision that has no handshake",
			offering(unspoken, func(string) string { return string(spec.V20260728) })),

		breaks(known+"number", `an unknown version is answered with "1.0"`, offering(unspoken, func(string) string { return "1.0" })),
		breaks(known+"word", `an unknown version is answered with "latest"`, offering(unspoken, func(string) string { return "latest" })),
		breaks(known+"wrong-date", "an unknown version is answered with a date on which nothing was published", offering(unspoken, func(string) string { return "2025-07-01" })),
	}
}

func asked(c *refserver.Call) string {
	version, _ := wire.Text(wire.At(c.Params, "/protocolVersion"))
	return version
}

func speaks(version string) bool {
	return slices.Contains(spec.HandshakeRevisions(), spec.Revision(version))
}

// unspoken reports whether an initialize names a version that the server does not speak.
func unspoken(c *refserver.Call) bool { return asked(c) != "" && !speaks(asked(c)) }

// offering changes the version in the answers to some initializes.
func offering(when func(c *refserver.Call) bool, offer func(version string) string) refserver.Seams {
	return Handle(spec.MethodInitialize, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if err != nil || !when(c) {
			return result, err
		}
		return with(plain(result), "protocolVersion", offer(asked(c))), nil
	})
}

// newestAfterTheFirst takes every initialize but the first of the process for one
// that asks for the newest version.
func newestAfterTheFirst() refserver.Seams {
	var later atomic.Bool
	return Handle(spec.MethodInitialize, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if later.Swap(true) && speaks(asked(c)) {
			_, members := wire.Members(c.Params)
			members["protocolVersion"] = wire.Quote(string(spec.V20251125))
			c.Params = wire.JSON(members)
		}
		return next(c)
	})
}

// askingFaults holds what the requests of the server's own can show of the
// negotiated revision.
func askingFaults() []Fault {
	form := map[string]any{"message": "Who are you?", "requestedSchema": map[string]any{
		"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}},
	}}
	page := map[string]any{"mode": "url", "message": "Please look.", "elicitationId": "e1", "url": "https://example.com/"}
	const older, newer = "versioning.negotiated-version-respected-2024-11-05/", "versioning.negotiated-version-respected-2025-06-18/"
	return []Fault{
		breaks(older+"elicitation", "elicitation is asked for, which is newer", asksWhenReady(spec.MethodElicit, form)),
		breaks(older+"tasks", "the client is asked for its tasks, which are newer", asksWhenReady(spec.MethodTasksList, nil)),
		breaks(newer+"url-elicitation", "elicitation by URL is asked for, which is newer", asksWhenReady(spec.MethodElicit, page)).in(spec.V20250618),
		breaks(newer+"tasks", "the client is asked for its tasks, which are newer", asksWhenReady(spec.MethodTasksList, nil)).in(spec.V20250618),
		breaks(newer+"task-result", "tools answer with tasks, which are newer", replaceResult(spec.MethodToolsCall,
			`{"task":{"taskId":"1","status":"working","ttl":null,"createdAt":"2025-11-25T00:00:00Z","lastUpdatedAt":"2025-11-25T00:00:00Z"}}`)).in(spec.V20250618),
		breaks(newer+"input-required", "tools answer that input is required, which is newer",
			replaceResult(spec.MethodToolsCall, `{"resultType":"input_required","inputRequests":{}}`)),
	}
}
