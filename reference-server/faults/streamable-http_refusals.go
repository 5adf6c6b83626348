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

// legalRefusals are refusals by the status of HTTP. What a server can't accept
// it answers with an error status, and a body that names no request.
func legalRefusals() []Fault {
	refuse := answers(http.StatusBadRequest, jsonType, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request"}}`)
	return []Fault{
		legal("http-deficient-initialize-400", "initialize that lacks what it must have gets 400, and an error without an id", visits(deficient, refuse)),
		legal("http-unknown-notification-400", "a notification that nobody knows gets 400, and so does a batch with it", visits(unknownNotification, refuse)),
		legal("http-damaged-batch-400", "a batch gets 400 as a whole where a member is no message", visits(damagedBatch, refuse)).in(spec.V20250326),
		legal("http-large-closes", "the connection is closed on a body of more than 300 kB, which is not read", visits(large, closes)),
		legalAfresh("http-rate-limited", "every third POST gets 429 once a few were served", tooMany),
	}
}

// large picks the requests with a body of more than 300 kB.
func large(v *visit) bool { return v.frame != nil && v.r.ContentLength > 300_000 }

// aFew is how many requests are served ahead of the first that comes too soon.
const aFew = 10

// third returns what tells of every third time that it is asked, after a few.
func third() func() bool {
	var asked atomic.Int64
	return func() bool { n := asked.Add(1); return n > aFew && n%3 == 0 }
}

func tooMany() refserver.Seams {
	soon := third()
	refuse := answers(http.StatusTooManyRequests, "text/plain", "Too many requests.\n")
	return visits(func(v *visit) bool { return posts(v) && soon() }, func(v *visit) {
		v.w.Header().Set("Retry-After", "1")
		refuse(v)
	})
}

// limited answers every third request with an error of the server's own.
func limited() refserver.Seams {
	soon := third()
	return refserver.Seams{Handle: func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
		if soon() {
			return nil, &refserver.Error{Code: -32000, Message: "Rate limit exceeded, try again later"}
		}
		return next(c)
	}}
}

func deficient(v *visit) bool {
	if !initializes(v) {
		return false
	}
	params := v.frame.Messages[0].Params()
	return wire.At(params, "/capabilities") == nil || wire.At(params, "/clientInfo") == nil || wire.At(params, "/protocolVersion") == nil
}

func unknownNotification(v *visit) bool {
	return v.frame != nil && slices.ContainsFunc(v.frame.Messages, func(m wire.Message) bool {
		return m.Kind == wire.Notification && strings.HasPrefix(m.Method, "notifications/com.example")
	})
}

func damagedBatch(v *visit) bool { return v.frame != nil && v.frame.Batch && v.has(wire.Invalid) }
