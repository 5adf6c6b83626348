package faults

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// legalCancellation returns the legal variations in handling cancelled requests.
func legalCancellation() []*Fault {
	return []*Fault{
		newVariation("cancellations-ignored", "the server ignores cancellations and responds to every request", ignoreCancellations()),
		newVariation("cancelled-unanswered", "every request takes a moment, and gets no response when cancelled meanwhile", delayRequests(shortDelay)),
		newVariationWithState("cancelled-refused", "every request takes a moment, and gets an error when cancelled meanwhile", refuseCancelled),
		newVariationWithState("reads-one-by-one", "the server reads one message at a time, so that cancellations are read late", readOneByOne).overTransports(spec.Stdio),
		newVariation("long-calls", "the only slow tool, with the name t7, takes 2 s", slowerTool("t7")).inRevisions(spec.StatelessRevisions()...).overTransports(spec.Stdio),
		newVariationWithState("initialize-cancelled", "initialize takes a moment, and gets no response when cancelled meanwhile", cancelInitialize).overTransports(spec.Stdio),
	}
}

// refuseCancelled delays each request by shortDelay, and sends an error as the response if
// the request is cancelled meanwhile. It leaves initialize and tools/call to the server, which
// stops a cancelled call and sends no response.
func refuseCancelled() *refserver.Seams {
	var mu sync.Mutex
	running := map[callKey]chan struct{}{}
	return combineSeams(WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if c.Method == spec.MethodInitialize || c.Method == spec.MethodToolsCall {
			return next(c)
		}
		key, cancelled := callKey{c.Session, c.ID.Key()}, make(chan struct{})
		mu.Lock()
		running[key] = cancelled
		mu.Unlock()
		defer func() {
			mu.Lock()
			delete(running, key)
			mu.Unlock()
		}()
		select {
		case <-cancelled:
			return nil, &refserver.Error{Code: -32800, Message: "Request cancelled"}
		case <-time.After(shortDelay):
			return next(c)
		}
	}), onCancellation(func(n *refserver.Notification, next func(*refserver.Notification)) {
		mu.Lock()
		key := callKey{n.Session, cancelledRequestID(n).Key()}
		cancelled := running[key]
		if cancelled != nil {
			close(cancelled)
			delete(running, key)
		}
		mu.Unlock()
		if cancelled == nil {
			next(n)
		}
	}))
}

// maxHoldUp is the longest time that a pending request delays the next message.
const maxHoldUp = 200 * time.Millisecond

// readOneByOne delays each message until the previous request has its response, but for at most
// maxHoldUp. It waits only for requests for which needsNoFurtherMessage returns true, because other
// requests may need a later message from the client.
func readOneByOne() *refserver.Seams {
	var mu sync.Mutex
	pending := map[callKey]chan struct{}{}
	return combineSeams(EditOutgoing(func(o *refserver.Out) bool { return o.Kind == refserver.OutResult || o.Kind == refserver.OutError }, func(o *refserver.Out) {
		mu.Lock()
		defer mu.Unlock()
		key := callKey{o.Session, o.ID.Key()}
		if answered := pending[key]; answered != nil {
			close(answered)
			delete(pending, key)
		}
	}), &refserver.Seams{Incoming: func(s *refserver.Session, raw []byte) refserver.FrameAction {
		f := wire.Parse(raw)
		mu.Lock()
		var before chan struct{}
		var of callKey
		for key, answered := range pending {
			if key.session == s {
				before, of = answered, key
			}
		}
		mu.Unlock()
		if before != nil {
			select {
			case <-before:
			case <-time.After(maxHoldUp): // pings require a prompt response
				mu.Lock()
				delete(pending, of)
				mu.Unlock()
			case <-s.Context().Done():
			}
		}
		if singleMessage(needsNoFurtherMessage)(s, f) {
			mu.Lock()
			pending[callKey{s, f.Messages[0].ID.Key()}] = make(chan struct{})
			mu.Unlock()
		}
		return refserver.Pass(raw)
	}})
}

// needsNoFurtherMessage reports whether m is a valid request that completes without further
// messages from the client.
func needsNoFurtherMessage(m *wire.Message) bool {
	version, _ := wire.Text(m.Member("jsonrpc"))
	tool, _ := wire.Text(wire.At(m.Params(), "/name"))
	return m.Kind == wire.Request && version == "2.0" && m.Method != "" && (m.ID.IsString() || m.ID.IsInteger()) &&
		!m.Has("result") && !m.Has("error") && m.Method != spec.MethodTasksResult && !strings.HasPrefix(tool, "ask-")
}

// cancelInitialize delays initialize briefly, and sends no response if the client cancels
// it during the delay.
func cancelInitialize() *refserver.Seams {
	var mu sync.Mutex
	var waits []byte // the delayed initialize
	var passes []byte
	return &refserver.Seams{Incoming: func(s *refserver.Session, raw []byte) refserver.FrameAction {
		f := wire.Parse(raw)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case len(f.Messages) != 1 || f.Batch:
		case f.Messages[0].Method == spec.MethodInitialize && passes == nil && s.Revision() == "":
			waits = raw
			s.Go(func(ctx context.Context) {
				sleep(ctx, shortDelay)
				mu.Lock()
				again := waits
				waits, passes = nil, again
				mu.Unlock()
				if again != nil {
					s.Deliver(again)
				}
			})
			return refserver.Drop()
		case f.Messages[0].Method == spec.MethodCancelled && waits != nil && cancelledID(&f.Messages[0]).Same(wire.Parse(waits).Messages[0].ID):
			waits = nil
		}
		passes = nil
		return refserver.Pass(raw)
	}}
}
