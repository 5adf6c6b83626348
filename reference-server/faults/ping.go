package faults

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

func pingFaults() []*Fault {
	waiting := func(c *refserver.Call) bool { return c.Revision == "" }
	// Over Streamable HTTP no session exists before initialize, and a stream that ends without its
	// response also breaks a requirement of the transport.
	legacy := []spec.Transport{spec.Stdio, spec.SSE}
	return []*Fault{
		newFault("ping.removed/served", "ping is served in 2026-07-28", serveMethod(spec.MethodPing, nil)),
		newFault("ping.responds/silent", "ping gets no response", suppressResponse(spec.MethodPing, always)).overTransports(legacy...),
		newFault("ping.responds/unknown", "ping gets -32601", refuseCalls(spec.MethodPing, always, spec.CodeMethodNotFound, "Method not found")),
		newFault("ping.responds/negative-ids", "over HTTP, a ping with the id -1 is refused with 400 and its id", onExchange(func(v *exchange) bool {
			return hasRequestOf(spec.MethodPing)(v) && v.frame.Messages[0].ID.Raw() == "-1"
		}, respond(http.StatusBadRequest, jsonType, `{"jsonrpc":"2.0","id":-1,"error":{"code":-32600,"message":"Invalid Request"}}`))).inRevisions(spec.HandshakeRevisions()...).overTransports(spec.StreamableHTTP),
		newFault("ping.responds/slow", "ping gets its response after 15 s", WrapHandler(spec.MethodPing, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			sleep(c.Context(), 15*time.Second)
			return next(c)
		})),
		newFaultWithState("ping.responds/behind-calls", "the server runs ping and the slow tool one at a time", func() *refserver.Seams {
			turn := make(chan struct{}, 1)
			inTurn := func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if !acquire(c.Context(), turn) {
					return nil, refserver.NoResponse
				}
				defer func() { <-turn }()
				return next(c)
			}
			return combineSeams(wrapSlow(inTurn), WrapHandler(spec.MethodPing, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				sleep(c.Context(), 50*time.Millisecond) // by then the earlier calls wait for the slot
				return inTurn(c, next)
			}))
		}),
		newFaultWithState("ping.responds/first-only", "only the first ping gets a response", func() *refserver.Seams {
			var pings atomic.Int32
			return suppressResponse(spec.MethodPing, func(*refserver.Call) bool { return pings.Add(1) > 1 })
		}).overTransports(spec.Stdio, spec.StreamableHTTP).withOwnServer(),
		newFaultWithState("ping.responds/not-in-bursts", "while one ping is handled, others are dropped", func() *refserver.Seams {
			var busy atomic.Bool
			return WrapHandler(spec.MethodPing, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if !busy.CompareAndSwap(false, true) {
					return nil, refserver.NoResponse
				}
				defer busy.Store(false)
				sleep(c.Context(), 20*time.Millisecond)
				return next(c)
			})
		}),
		newFault("ping.responds/params-refused", "ping with params gets an error",
			refuseCalls(spec.MethodPing, func(c *refserver.Call) bool { return c.Params != nil }, spec.CodeInvalidParams, "ping takes no params")),
		newFaultWithState("ping.responds/not-beside-a-tool", "while a tool runs, ping gets no response", func() *refserver.Seams {
			var tools atomic.Int32
			return combineSeams(
				&refserver.Seams{Incoming: func(_ *refserver.Session, raw []byte) refserver.FrameAction {
					if f := wire.Parse(raw); len(f.Messages) == 1 && f.Messages[0].Method == spec.MethodToolsCall {
						tools.Add(1)
					}
					return refserver.Pass(raw)
				}},
				WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
					defer tools.Add(-1)
					return next(c)
				}),
				suppressResponse(spec.MethodPing, func(*refserver.Call) bool { return tools.Load() > 0 }),
			)
		}).inRevisions(revisionsWithReadOnlyHint()...),
		newFaultWithState("ping.responds/taken-for-the-answer", "while a tool waits for the client, a ping is treated as the client's response", whilePending(func(*refserver.Call, Handler, *pendingRequest) (any, *refserver.Error) {
			return nil, refserver.NoResponse
		})).inRevisions(revisionsWithReadOnlyHint()...),
		newFaultWithState("ping.responds/after-the-answer", "while a tool waits for the client, ping waits for it to end", whilePending(func(c *refserver.Call, next Handler, q *pendingRequest) (any, *refserver.Error) {
			q.waitForEnd(c)
			return next(c)
		})).inRevisions(revisionsWithReadOnlyHint()...),
		newFaultWithState("ping.responds/id-of-a-question", "while a tool waits for the client, a ping with the same id is treated as the response", whilePending(
			func(c *refserver.Call, next Handler, q *pendingRequest) (any, *refserver.Error) {
				if c.ID.Same(q.id) {
					return nil, refserver.NoResponse
				}
				return next(c)
			})).inRevisions(revisionsWithReadOnlyHint()...),
		newFaultWithState("ping.responds/user-asked", "while a tool waits for elicitation, ping gets no response", whilePending(ignorePingDuring(spec.MethodElicit))).inRevisions(sinceRevision(spec.V20250618)...),
		newFaultWithState("ping.responds/model-asked", "while a tool waits for sampling, ping gets no response", whilePending(ignorePingDuring(spec.MethodSampling))).inRevisions(revisionsWithReadOnlyHint()...),
		newFaultWithState("ping.responds/behind-the-user", "while a tool waits for elicitation, ping waits for it to end", whilePending(func(c *refserver.Call, next Handler, q *pendingRequest) (any, *refserver.Error) {
			if q.method == spec.MethodElicit {
				q.waitForEnd(c)
			}
			return next(c)
		})).inRevisions(sinceRevision(spec.V20250618)...),
		newFaultWithState("ping.responds/several-asked", "while a tool has two requests pending at the client, ping gets no response", func() *refserver.Seams {
			var open atomic.Int32
			return combineSeams(
				&refserver.Seams{RequestTimeout: noTimeout},
				wrapTool("ask-sampling", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
					if !c.ClientDeclared("roots") {
						return next(c)
					}
					var other sync.WaitGroup
					defer other.Wait()
					open.Add(2)
					other.Go(func() {
						defer open.Add(-1)
						_, _ = c.SendRequest(spec.MethodRootsList, nil)
					})
					defer open.Add(-1)
					return next(c)
				}),
				suppressResponse(spec.MethodPing, func(*refserver.Call) bool { return open.Load() > 1 }),
			)
		}).inRevisions(revisionsWithReadOnlyHint()...),

		newFault("ping.empty-result/pong", "the result of ping contains pong", replaceResult(spec.MethodPing, `{"pong":true}`)),
		newFault("ping.empty-result/time", "the result of ping contains the time", replaceResult(spec.MethodPing, `{"timestamp":"2025-11-25T00:00:00Z"}`)),
		newFault("ping.empty-result/params-echoed", "the result of ping repeats the params", WrapHandler(spec.MethodPing,
			func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if c.Params.Kind() != '{' {
					return next(c)
				}
				return map[string]any{"params": c.Params}, nil
			})),

		newFault("ping.before-initialized/refused", "ping is refused before initialize",
			refuseCalls(spec.MethodPing, waiting, spec.CodeInvalidRequest, "Server not initialized")).overTransports(legacy...),
		newFaultWithState("ping.before-initialized/refused-until-initialized", "ping is refused before notifications/initialized", func() *refserver.Seams {
			ready, onReady := trackInitialized()
			return combineSeams(onReady, refuseCalls(spec.MethodPing, func(*refserver.Call) bool { return !ready.Load() }, spec.CodeInvalidRequest, "Server not initialized"))
		}),
		newFaultWithState("ping.before-initialized/silent-until-initialized", "ping gets no response before notifications/initialized", func() *refserver.Seams {
			ready, onReady := trackInitialized()
			return combineSeams(onReady, suppressResponse(spec.MethodPing, func(*refserver.Call) bool { return !ready.Load() }))
		}).overTransports(legacy...).withOwnServer(),

		newFault("ping.not-excessive/flood", "the server pings the client every 10 ms", pingEvery(10*time.Millisecond)),
		newFault("ping.not-excessive/burst", "the server sends fifty pings at once", onInitialized(func(s *refserver.Session) {
			for range 50 {
				s.Go(func(ctx context.Context) { _, _ = s.SendRequest(ctx, wire.ID{}, spec.MethodPing, nil) })
			}
		})),
		newFaultWithState("ping.responds/deaf-after-initialized", "after notifications/initialized the server responds to nothing", func() *refserver.Seams {
			return silentAfter(singleMessage(func(m *wire.Message) bool { return m.Method == spec.MethodInitialized }))
		}),
		newFaultWithState("ping.responds/deaf-while-waiting", "while its request is pending the server responds to nothing", func() *refserver.Seams {
			return &refserver.Seams{
				RequestTimeout: noTimeout,
				HandleNotification: func(n *refserver.Notification, next func(*refserver.Notification)) {
					if n.Method == spec.MethodInitialized && n.Session.ClientDeclared("roots") {
						// This blocks the only reader, which would have to read the
						// response.
						_, _ = n.Session.SendRequest(n.Session.Context(), wire.ID{}, spec.MethodRootsList, nil)
						return
					}
					next(n)
				},
			}
		}).overTransports(spec.Stdio), // over HTTP each POST has its own reader
		newFault("ping.responds/http-malformed", "every ping gets a parse error", onExchange(hasRequestOf(spec.MethodPing), refuseAsUnparsable)).overTransports(spec.StreamableHTTP),
		newFault("ping.responds/http-all-malformed", "after initialize every request gets a parse error", onExchange(hasRequestOf(), refuseAsUnparsable)).overTransports(spec.StreamableHTTP),
	}
}

// trackInitialized returns a flag and the seams that set it after
// notifications/initialized.
func trackInitialized() (*atomic.Bool, *refserver.Seams) {
	var ready atomic.Bool
	return &ready, onInitialized(func(*refserver.Session) { ready.Store(true) })
}

// pingEvery pings the client periodically after notifications/initialized, until a ping fails.
func pingEvery(every time.Duration) *refserver.Seams {
	return onInitialized(func(s *refserver.Session) {
		s.Go(func(ctx context.Context) {
			for sleep(ctx, every) {
				if _, err := s.SendRequest(ctx, wire.ID{}, spec.MethodPing, nil); err != nil {
					return
				}
			}
		})
	})
}

// A pendingRequest is a request to the client that a running call has sent.
type pendingRequest struct {
	id     wire.ID
	method string
	over   chan struct{} // closed when a tools/call of the session ends
}

// waitForEnd waits until q.over is closed or c is cancelled.
func (q *pendingRequest) waitForEnd(c *refserver.Call) {
	select {
	case <-q.over:
	case <-c.Context().Done():
	}
}

// ignorePingDuring sends no response to pings while the server waits for the client's response to a
// request of the method.
func ignorePingDuring(method string) func(c *refserver.Call, next Handler, q *pendingRequest) (any, *refserver.Error) {
	return func(c *refserver.Call, next Handler, q *pendingRequest) (any, *refserver.Error) {
		if q.method == method {
			return nil, refserver.NoResponse
		}
		return next(c)
	}
}

// whilePending replaces the handler of ping from the moment a call sends a request other than
// ping to the client, until a tools/call of the session ends. The server waits for the
// client's responses without a timeout.
func whilePending(ping func(c *refserver.Call, next Handler, q *pendingRequest) (any, *refserver.Error)) func() *refserver.Seams {
	return func() *refserver.Seams {
		var mu sync.Mutex
		open := map[*refserver.Session]*pendingRequest{}
		return combineSeams(
			&refserver.Seams{RequestTimeout: noTimeout},
			EditOutgoing(IsServerRequest, func(o *refserver.Out) {
				mu.Lock()
				defer mu.Unlock()
				if o.Method != spec.MethodPing && o.Related.IsPresent() && open[o.Session] == nil {
					open[o.Session] = &pendingRequest{o.ID, o.Method, make(chan struct{})}
				}
			}),
			WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				defer func() {
					mu.Lock()
					defer mu.Unlock()
					if q := open[c.Session]; q != nil {
						close(q.over)
						delete(open, c.Session)
					}
				}()
				return next(c)
			}),
			WrapHandler(spec.MethodPing, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				mu.Lock()
				q := open[c.Session]
				mu.Unlock()
				if q == nil {
					return next(c)
				}
				return ping(c, next, q)
			}),
		)
	}
}
