package faults

import (
	"maps"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// isStatelessCall reports whether a request is handled by the rules of the stateless era.
func isStatelessCall(c *refserver.Call) bool { return c.Revision.Era() == spec.Stateless }

// metaOf returns the members of a request's _meta.
func metaOf(c *refserver.Call) Members {
	_, meta := wire.Members(wire.At(c.Params, "/_meta"))
	return meta
}

// namedVersion returns the protocol version in a request's _meta.
func namedVersion(c *refserver.Call) string {
	version, _ := wire.Text(metaOf(c)[spec.MetaVersion])
	return version
}

// clientName returns the name in a request's clientInfo.
func clientName(c *refserver.Call) string {
	name, _ := wire.Text(wire.At(metaOf(c)[spec.MetaClientInfo], "/name"))
	return name
}

// setMeta sets members of a request's _meta, as if the client had sent them.
func setMeta(c *refserver.Call, values Members) {
	editMeta(c, func(meta Members) { maps.Copy(meta, values) })
}

// editMeta edits the members of a request's _meta, as if the client had sent them so.
func editMeta(c *refserver.Call, edit func(meta Members)) {
	_, params := wire.Members(c.Params)
	if params == nil {
		params = Members{}
	}
	meta := metaOf(c)
	if meta == nil {
		meta = Members{}
	}
	edit(meta)
	params["_meta"] = wire.JSON(meta)
	c.Params = wire.JSON(params)
}

// completeMeta returns the metadata that every request must have.
func completeMeta() Members {
	return Members{spec.MetaVersion: wire.Quote(string(spec.V20260728)), spec.MetaClientCapabilities: jsontext.Value("{}")}
}

// supplyMeta adds the members that the function fill returns to the _meta of the matching requests,
// so that the server serves them although they lack metadata.
func supplyMeta(when func(c *refserver.Call) bool, fill func(c *refserver.Call) Members) *refserver.Seams {
	return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if isStatelessCall(c) && when(c) {
			setMeta(c, fill(c))
		}
		return next(c)
	})
}

// newestTime is how long a call waits before it reads the metadata, so that a concurrent request may
// arrive.
const newestTime = 10 * time.Millisecond

// useNewestMeta gives each tools/call a member of the _meta of the newest request, which may be a
// concurrent one. If that request has no such member, the call has none either.
func useNewestMeta(key string) *refserver.Seams {
	var mu sync.Mutex
	var newest jsontext.Value
	seams := WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if !isStatelessCall(c) || wire.At(c.Params, "/_meta").Kind() != '{' {
			return next(c)
		}
		sleep(c.Context(), newestTime)
		mu.Lock()
		value := newest
		mu.Unlock()
		editMeta(c, func(meta Members) {
			if meta[key] = value; value == nil {
				delete(meta, key)
			}
		})
		return next(c)
	})
	return combineSeams(seams, &refserver.Seams{BeforeHandle: func(c *refserver.Call) {
		mu.Lock()
		defer mu.Unlock()
		newest = metaOf(c)[key]
	}})
}

// lacksMeta returns a condition for requests whose _meta has none of the given keys.
func lacksMeta(keys ...string) func(c *refserver.Call) bool {
	return func(c *refserver.Call) bool {
		meta := metaOf(c)
		for _, key := range keys {
			if meta[key] != nil {
				return false
			}
		}
		return true
	}
}

// editStatelessErrors edits the errors with the given code that matching requests of the
// stateless era get.
func editStatelessErrors(code spec.Code, when func(c *refserver.Call) bool, edit func(e *refserver.Error)) *refserver.Seams {
	return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if err == nil || err.Code != code || !isStatelessCall(c) || !when(c) {
			return result, err
		}
		changed := *err
		edit(&changed)
		return nil, &changed
	})
}

// setStatus returns a function that sets the HTTP status of an error.
func setStatus(status int) func(e *refserver.Error) {
	return func(e *refserver.Error) { e.Status = status }
}

// setCode returns a function that sets the code of an error, with the HTTP status 400.
func setCode(code spec.Code) func(e *refserver.Error) {
	return func(e *refserver.Error) { e.Code, e.Status = code, 400 }
}

// serveMethod responds with the given result to requests of a method that the stateless era does
// not have.
func serveMethod(method string, result map[string]any) *refserver.Seams {
	return WrapHandler(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if !isStatelessCall(c) {
			return next(c)
		}
		return completeResult(result), nil
	})
}

// completeResult returns a result with the given members and those that every result of
// the stateless era has.
func completeResult(members map[string]any) map[string]any {
	r := map[string]any{"resultType": "complete", "_meta": map[string]any{spec.MetaServerInfo: map[string]any{"name": "faulty", "version": "1"}}}
	maps.Copy(r, members)
	return r
}

// editStatelessResult edits the results of the matching requests of the stateless era.
func editStatelessResult(when func(c *refserver.Call) bool, e edit) *refserver.Seams {
	return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if err != nil || !isStatelessCall(c) || !when(c) {
			return result, err
		}
		r := decodeObject(result)
		e(r)
		return r, nil
	})
}

// ofMethods returns a condition for requests of some methods.
func ofMethods(methods ...string) func(c *refserver.Call) bool {
	return func(c *refserver.Call) bool {
		for _, m := range methods {
			if c.Method == m {
				return true
			}
		}
		return false
	}
}

func not(when func(c *refserver.Call) bool) func(c *refserver.Call) bool {
	return func(c *refserver.Call) bool { return !when(c) }
}

func both(a, b func(c *refserver.Call) bool) func(c *refserver.Call) bool {
	return func(c *refserver.Call) bool { return a(c) && b(c) }
}
