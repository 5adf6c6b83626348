package faults

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// legalRefusals returns the legal variations that refuse requests over HTTP, most with
// an error status and an error without an id.
func legalRefusals() []*Fault {
	refuse := respond(http.StatusBadRequest, jsonType, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request"}}`)
	return []*Fault{
		newVariation("http-deficient-initialize-400", "an invalid initialize gets 400 and an error without an id", onExchange(isInvalidInitialize, refuse)),
		newVariation("http-unknown-notification-400", "an unknown notification gets 400, also within a batch", onExchange(hasUnknownNotification, refuse)),
		newVariation("http-unknown-notification-404", "an unknown notification gets 404 and error -32601 without an id", onExchange(hasUnknownNotification,
			respond(http.StatusNotFound, jsonType, `{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"}}`))).inRevisions(spec.V20260728),
		newVariation("http-damaged-batch-400", "a batch with an invalid member gets 400", onExchange(isDamagedBatch, refuse)).inRevisions(spec.V20250326),
		newVariation("http-large-closes", "the server closes the connection on a body of more than 300 kB", onExchange(isLargeBody, closeWithoutResponse)),
		newVariationWithState("http-rate-limited", "every third POST gets 429, after the first few", refuseEveryThird),
	}
}

// isLargeBody matches requests with a body of more than 300 kB.
func isLargeBody(v *exchange) bool { return v.frame != nil && v.r.ContentLength > 300_000 }

// freeRequests is the number of requests that are served before the first refusal is possible.
const freeRequests = 10

// everyThirdCall returns a function that returns true on every third call after the first
// freeRequests calls.
func everyThirdCall() func() bool {
	var asked atomic.Int64
	return func() bool { n := asked.Add(1); return n > freeRequests && n%3 == 0 }
}

func refuseEveryThird() *refserver.Seams {
	soon := everyThirdCall()
	refuse := respond(http.StatusTooManyRequests, "text/plain", "Too many requests.\n")
	return onExchange(func(v *exchange) bool { return isPost(v) && soon() }, func(v *exchange) {
		v.w.Header().Set("Retry-After", "1")
		refuse(v)
	})
}

// limitRate returns a server-defined error for every third request after the first
// freeRequests.
func limitRate() *refserver.Seams {
	soon := everyThirdCall()
	return &refserver.Seams{Handle: func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
		if soon() {
			return nil, &refserver.Error{Code: -32000, Message: "Rate limit exceeded, try again later"}
		}
		return next(c)
	}}
}

func isInvalidInitialize(v *exchange) bool {
	if !isInitialize(v) {
		return false
	}
	params := v.frame.Messages[0].Params()
	return wire.At(params, "/capabilities") == nil || wire.At(params, "/clientInfo") == nil || wire.At(params, "/protocolVersion") == nil
}

func hasUnknownNotification(v *exchange) bool {
	return v.frame != nil && slices.ContainsFunc(v.frame.Messages, func(m wire.Message) bool {
		return m.Kind == wire.Notification && strings.HasPrefix(m.Method, "notifications/com.example")
	})
}

func isDamagedBatch(v *exchange) bool { return v.frame != nil && v.frame.Batch && v.has(wire.Invalid) }
