package faults

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

func pingFaults() []Fault {
	waiting := func(c *refserver.Call) bool { return c.Revision == "" }
	// Over Streamable HTTP no session exists before initialize, and a stream that
	// ends without its answer is a fault of the transport.
	legacy := []spec.Transport{spec.Stdio, spec.SSE}
	return []Fault{
		breaks("ping.responds/silent", "ping is not answered", unanswered(spec.MethodPing, always)).over(legacy...),
		breaks("ping.responds/unknown", "ping is an unknown method", refuse(spec.MethodPing, always, spec.CodeMethodNotFound, "Method not found")),
		breaks("ping.responds/slow", "ping is answered after 15 s", Handle(spec.MethodPing, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			pause(c.Context(), 15*time.Second)
			return next(c)
		})),
		breaksAfresh("ping.responds/behind-calls", "the slow tool and pings are served one after the other", func() refserver.Seams {
			turn := make(chan struct{}, 1)
			inTurn := func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if !takes(c.Context(), turn) {
					return nil, refserver.NoResponse
				}
				defer func() { <-turn }()
				return next(c)
			}
			return together(slowOnly(inTurn), Handle(spec.MethodPing, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				pause(c.Context(), 50*time.Millisecond) // the calls before it wait already
				return inTurn(c, next)
			}))
		}),
		breaksAfresh("ping.responds/first-only", "only the first ping is answered", func() refserver.Seams {
			var pings atomic.Int32
			return unanswered(spec.MethodPing, func(*refserver.Call) bool { return pings.Add(1) > 1 })
		}).over(spec.Stdio, spec.StreamableHTTP).alone(),
		breaksAfresh("ping.responds/not-in-bursts", "while one ping is being answered others are dropped", func() refserver.Seams {
			var busy atomic.Bool
			return Handle(spec.MethodPing, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if !busy.CompareAndSwap(false, true) {
					return nil, refserver.NoResponse
				}
				defer busy.Store(false)
				pause(c.Context(), 20*time.Millisecond)
				return next(c)
			})
		}),
		breaks("ping.responds/params-refused", "ping with params gets an error",
			refuse(spec.MethodPing, func(c *refserver.Call) bool { return c.Params != nil }, spec.CodeInvalidParams, "ping takes no params")),
		breaksAfresh("ping.responds/not-beside-a-tool", "while a tool runs ping is not answered", func() refserver.Seams {
			var tools atomic.Int32
			return together(
				refserver.Seams{Incoming: func(_ *refserver.Session, raw []byte) refserver.FrameAction {
					if f := wire.Parse(raw); len(f.Messages) == 1 && f.Messages[0].Method == spec.MethodToolsCall {
						tools.Add(1)
					}
					return refserver.Pass(raw)
				}},
				Handle(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
					defer tools.Add(-1)
					return next(c)
				}),
				unanswered(spec.MethodPing, func(*refserver.Call) bool { return tools.Load() > 0 }),
			)
		}).in(callable()...),
		breaksAfresh("ping.responds/taken-for-the-answer", "while the client is asked in a call ping is taken for its answer", whileAsked(func(*refserver.Call, Handler, *question) (any, *refserver.Error) {
			return nil, refserver.NoResponse
		})).in(callable()...),
		breaksAfresh("ping.responds/after-the-answer", "while the client is asked in a call ping has to wait for its end", whileAsked(func(c *refserver.Call, next Handler, q *question) (any, *refserver.Error) {
			q.ended(c)
			return next(c)
		})).in(callable()...),
		breaksAfresh("ping.responds/id-of-a-question", "while the client is asked in a call ping with the id of what it is asked is taken for its answer", whileAsked(
			func(c *refserver.Call, next Handler, q *question) (any, *refserver.Error) {
				if c.ID.Same(q.id) {
					return nil, refserver.NoResponse
				}
				return next(c)
			})).in(callable()...),
		breaksAfresh("ping.responds/user-asked", "while the user is asked in a call ping is not answered", whileAsked(deafFor(spec.MethodElicit))).in(from(spec.V20250618)...),
		breaksAfresh("ping.responds/model-asked", "while the client's model is asked in a call ping is not answered", whileAsked(deafFor(spec.MethodSampling))).in(callable()...),
		breaksAfresh("ping.responds/behind-the-user", "while the user is asked in a call ping has to wait for its end", whileAsked(func(c *refserver.Call, next Handler, q *question) (any, *refserver.Error) {
			if q.method == spec.MethodElicit {
				q.ended(c)
			}
			return next(c)
		})).in(from(spec.V20250618)...),
		breaksAfresh("ping.responds/several-asked", "while a call asks the client two things at once ping is not answered", func() refserver.Seams {
			var open atomic.Int32
			return together(
				refserver.Seams{RequestTimeout: patient},
				calling("ask-sampling", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
					if !c.Session.Declared("roots") {
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
				unanswered(spec.MethodPing, func(*refserver.Call) bool { return open.Load() > 1 }),
			)
		}).in(callable()...),

		breaks("ping.empty-result/pong", "the answer to ping says pong", replaceResult(spec.MethodPing, `{"pong":true}`)),
		breaks("ping.empty-result/time", "the answer to ping tells the time", replaceResult(spec.MethodPing, `{"timestamp":"2025-11-25T00:00:00Z"}`)),
		breaks("ping.empty-result/params-echoed", "the answer to ping repeats its params", Handle(spec.MethodPing,
			func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if c.Params.Kind() != '{' {
					return next(c)
				}
				return map[string]any{"params": c.Params}, nil
			})),

		breaks("ping.before-initialized/refused", "ping is refused before initialize",
			refuse(spec.MethodPing, waiting, spec.CodeInvalidRequest, "Server not initialized")).over(legacy...),
		breaksAfresh("ping.before-initialized/refused-until-initialized", "ping is refused until the client has said initialized", func() refserver.Seams {
			ready, onReady := readiness()
			return together(onReady, refuse(spec.MethodPing, func(*refserver.Call) bool { return !ready.Load() }, spec.CodeInvalidRequest, "Server not initialized"))
		}),
		breaksAfresh("ping.before-initialized/silent-until-initialized", "ping is not answered until the client has said initialized", func() refserver.Seams {
			ready, onReady := readiness()
			return together(onReady, unanswered(spec.MethodPing, func(*refserver.Call) bool { return !ready.Load() }))
		}).over(legacy...).alone(),

		breaks("ping.not-excessive/flood", "the client is pinged every 10 ms", pinging(10*time.Millisecond)),
		breaks("ping.not-excessive/burst", "the client is pinged fifty times at once", onceReady(func(s *refserver.Session) {
			for range 50 {
				s.Go(func(ctx context.Context) { _, _ = s.SendRequest(ctx, wire.ID{}, spec.MethodPing, nil) })
			}
		})),
		breaksAfresh("ping.responds/deaf-after-initialized", "after initialized nothing is answered any more", func() refserver.Seams {
			return deafAfter(single(func(m *wire.Message) bool { return m.Method == spec.MethodInitialized }))
		}),
		breaksAfresh("ping.responds/deaf-while-waiting", "while a request of its own is unanswered nothing is answered", func() refserver.Seams {
			return refserver.Seams{
				RequestTimeout: patient,
				HandleNotification: func(n *refserver.Notification, next func(*refserver.Notification)) {
					if n.Method == spec.MethodInitialized && n.Session.Declared("roots") {
						// The reader itself waits here, for an answer that it alone could read.
						_, _ = n.Session.SendRequest(n.Session.Context(), wire.ID{}, spec.MethodRootsList, nil)
						return
					}
					next(n)
				},
			}
		}).over(spec.Stdio), // over HTTP each POST has a reader of its own
		breaks("ping.responds/http-malformed", "every ping is refused as if it were no JSON", visits(asking(spec.MethodPing), unparsed)).over(spec.StreamableHTTP),
		breaks("ping.responds/http-all-malformed", "after initialize every request is refused as if it were no JSON", visits(asking(), unparsed)).over(spec.StreamableHTTP),
	}
}

// readiness reports whether the client has said initialized.
func readiness() (*atomic.Bool, refserver.Seams) {
	var ready atomic.Bool
	return &ready, onceReady(func(*refserver.Session) { ready.Store(true) })
}

// pinging pings the client again and again, from initialized on.
func pinging(every time.Duration) refserver.Seams {
	return onceReady(func(s *refserver.Session) {
		s.Go(func(ctx context.Context) {
			for pause(ctx, every) {
				if _, err := s.SendRequest(ctx, wire.ID{}, spec.MethodPing, nil); err != nil {
					return
				}
			}
		})
	})
}

// question is what the client is asked in a call.
type question struct {
	id     wire.ID
	method string
	over   chan struct{} // closed at the end of the call
}

// ended waits for the end of the call in which was asked.
func (q *question) ended(c *refserver.Call) {
	select {
	case <-q.over:
	case <-c.Context().Done():
	}
}

// deafFor leaves pings unanswered while the client is asked for the method.
func deafFor(method string) func(c *refserver.Call, next Handler, q *question) (any, *refserver.Error) {
	return func(c *refserver.Call, next Handler, q *question) (any, *refserver.Error) {
		if q.method == method {
			return nil, refserver.NoResponse
		}
		return next(c)
	}
}

// whileAsked has pings answered otherwise from the moment at which the client is
// asked in a call up to the end of that.
func whileAsked(ping func(c *refserver.Call, next Handler, q *question) (any, *refserver.Error)) func() refserver.Seams {
	return func() refserver.Seams {
		var mu sync.Mutex
		open := map[*refserver.Session]*question{}
		return together(
			refserver.Seams{RequestTimeout: patient},
			Outgoing(Requests, func(o *refserver.Out) {
				mu.Lock()
				defer mu.Unlock()
				if o.Method != spec.MethodPing && o.Related.Present() && open[o.Session] == nil {
					open[o.Session] = &question{o.ID, o.Method, make(chan struct{})}
				}
			}),
			Handle(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
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
			Handle(spec.MethodPing, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
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
