package faults

import (
	"context"
	"io"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// shortDelay is how long a request takes in legal variations, so that a cancellation can
// arrive while it runs. Without a delay the server responds at once.
const shortDelay = 3 * time.Millisecond

// longDelay is how long a request takes in faults. It exceeds shortDelay because faults must show
// even on a busy machine.
const longDelay = 40 * time.Millisecond

// cancelRaceFaults returns the faults that show when a cancellation and other messages
// cross.
func cancelRaceFaults() []*Fault {
	const race, unknown, idType = "cancellation.race-handled/", "cancellation.unknown-ignored/", "cancellation.id-type-matters/"
	return []*Fault{
		// Faults in which requests other than the cancelled one get no response.
		newFaultWithState(race+"swallows-neighbour", "when a request is cancelled, another one in flight gets no response either", func() *refserver.Seams {
			return dropOtherResponse(newCallTracker())
		}).inRevisions(spec.V20241105),
		newFaultWithState(race+"swallows-calls", "when a tools/call is cancelled, another one in flight gets no response either", func() *refserver.Seams {
			t := newCallTracker()
			return combineSeams(t.seams(), onCancellation(func(n *refserver.Notification, next func(*refserver.Notification)) {
				if t.cancel(n) {
					t.cancelAnother(n.Session)
				}
				next(n)
			}), dropMessages(func(o *refserver.Out) bool { return Responses(spec.MethodToolsCall)(o) && t.cancelled(o.Session, o.ID) }))
		}).inRevisions(revisionsWithReadOnlyHint()...),
		newFault(race+"drops-the-rest", "the server drops what arrives after a cancellation in the same read", &refserver.Seams{Input: func(r io.Reader) io.Reader { return &truncatingReader{r: r} }}).overTransports(spec.Stdio),
		newFaultWithState(unknown+"remembered", "a cancellation that precedes its request cancels the later request", rememberEarlyCancellations).overTransports(spec.Stdio),
		newFault(idType+"number-for-text", `a cancellation with the number 1 also cancels the request with the string "1"`, mapCancelledIDs(func(id wire.ID) []wire.ID {
			if id.IsInteger() {
				return []wire.ID{id, wire.StringID(id.Raw())}
			}
			return []wire.ID{id}
		})).inRevisions(revisionsWithReadOnlyHint()...),
		newFaultWithState(idType+"both", `the cancellation of 1 or "1" cancels both requests`, func() *refserver.Seams {
			t := newCallTracker()
			return combineSeams(delayRequests(longDelay), t.seams(), mapCancelledIDs(func(id wire.ID) []wire.ID {
				if id.IsInteger() {
					return []wire.ID{id, wire.StringID(id.Raw())}
				}
				if bare, _ := wire.Text(jsontext.Value(id.Raw())); wire.RawID(bare).IsInteger() {
					return []wire.ID{id, wire.RawID(bare)}
				}
				return []wire.ID{id}
			}))
		}).inRevisions(spec.V20241105),
		newFault(idType+"long-calls", `a cancellation with the string "1" cancels the request with the number 1, and the only slow tool, with the name t7, takes 2 s`, combineSeams(
			slowerTool("t7"), mapCancelledIDs(func(id wire.ID) []wire.ID {
				if bare, _ := wire.Text(jsontext.Value(id.Raw())); wire.RawID(bare).IsInteger() {
					return []wire.ID{wire.RawID(bare)}
				}
				return []wire.ID{id}
			}))).inRevisions(spec.StatelessRevisions()...).overTransports(spec.Stdio),

		// Faults that end the process or make the server hang.
		newFaultWithState(race+"dies-of-the-second", "the second cancellation of a request ends the process", func() *refserver.Seams {
			var mu sync.Mutex
			seen := map[callKey]bool{}
			return onCancellation(func(n *refserver.Notification, next func(*refserver.Notification)) {
				mu.Lock()
				defer mu.Unlock()
				key := callKey{n.Session, cancelledRequestID(n).Key()}
				if seen[key] && cancelledRequestID(n).IsInteger() {
					exitNow(n.Session)
					return
				}
				seen[key] = true
				next(n)
			})
		}).overTransports(spec.Stdio),
		newFaultWithState(race+"dies-of-crossing", "two concurrent cancellations end the process", func() *refserver.Seams {
			var at atomic.Int32
			return onCancellation(func(n *refserver.Notification, next func(*refserver.Notification)) {
				next(n)
				if at.Add(1) > 1 {
					exitNow(n.Session)
					return
				}
				n.Session.Go(func(ctx context.Context) {
					sleep(ctx, longDelay)
					at.Add(-1)
				})
			})
		}).overTransports(spec.Stdio),
		newFaultWithState(race+"keeps-lock", "calls run one at a time, and none starts after one was cancelled", neverReleaseLock).inRevisions(revisionsWithReadOnlyHint()...),
		newFaultWithState(race+"waits-for-ever", "after the cancellation of a call that waits for the client, no call gets a response", hangAfterCancelledWait).inRevisions(revisionsWithReadOnlyHint()...),
		newFaultWithState(race+"dies-of-initialize", "the cancellation of initialize ends the process", func() *refserver.Seams {
			return exitOnCancelledInitialize(func(*refserver.Session) bool { return true })
		}).overTransports(spec.Stdio),
		newFaultWithState(race+"dies-of-late-initialize", "the cancellation of initialize during the session ends the process", func() *refserver.Seams {
			var began atomic.Bool
			seams := exitOnCancelledInitialize(func(*refserver.Session) bool { return began.Load() })
			return combineSeams(seams, afterNotification(hasMethod(spec.MethodInitialized), func(*refserver.Notification) { began.Store(true) }))
		}).overTransports(spec.Stdio),
		newFaultWithState("cancellation.stop-processing/lost-when-early", "a cancellation right after its request is lost", loseEarlyCancellation).inRevisions(revisionsWithReadOnlyHint()...).overTransports(spec.Stdio), // over HTTP a check cannot tell which message arrived first
	}
}

// cancelledRequestID returns the id of the request that a cancellation names.
func cancelledRequestID(n *refserver.Notification) wire.ID {
	return wire.IDAt(n.Params, "/requestId")
}

// exitNow ends the process and blocks, so that the server reads no further messages.
func exitNow(s *refserver.Session) {
	s.Exit(1)
	<-s.Context().Done()
}

// delayRequests delays all requests except initialize and tools/call. A cancellation ends the
// delay.
func delayRequests(d time.Duration) *refserver.Seams {
	return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if c.Method != spec.MethodInitialize && c.Method != spec.MethodToolsCall {
			sleep(c.Context(), d)
		}
		return next(c)
	})
}

// dropOtherResponse delays requests by longDelay. When a request is cancelled, it drops the
// response to that request, and the response to another running request of the session.
func dropOtherResponse(t *callTracker) *refserver.Seams {
	return combineSeams(delayRequests(longDelay), t.seams(), onCancellation(func(n *refserver.Notification, next func(*refserver.Notification)) {
		if t.cancel(n) {
			t.cancelAnother(n.Session)
		}
		next(n)
	}), dropMessages(func(o *refserver.Out) bool { return Responses()(o) && t.cancelled(o.Session, o.ID) }))
}

// slowerTool gives the tool slow another name, and a default duration of 2 s.
func slowerTool(name string) *refserver.Seams {
	return combineSeams(WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if _, given := wire.Members(wire.At(c.Params, "/arguments")); toolName(c) == "slow" && given["durationMs"] == nil {
			_, p := wire.Members(c.Params)
			arguments := map[string]jsontext.Value{"durationMs": jsontext.Value("2000")}
			maps.Copy(arguments, given)
			p["arguments"] = wire.JSON(arguments)
			c.Params = wire.JSON(p)
		}
		return next(c)
	}), renameListedTool("slow", name))
}

// mapCancelledIDs applies each cancellation to all ids that f returns for its id.
func mapCancelledIDs(f func(id wire.ID) []wire.ID) *refserver.Seams {
	return onCancellation(func(n *refserver.Notification, next func(*refserver.Notification)) {
		if !cancelledRequestID(n).IsPresent() {
			next(n)
			return
		}
		for _, id := range f(cancelledRequestID(n)) {
			n.Params = wire.JSON(map[string]any{"requestId": jsontext.Value(id.Raw())})
			next(n)
		}
	})
}

// rememberEarlyCancellations records the ids of cancellations that match no request,
// and sends no responses to later requests with these ids.
func rememberEarlyCancellations() *refserver.Seams {
	var mu sync.Mutex
	known, early := map[callKey]bool{}, map[callKey]bool{}
	seams := onCancellation(func(n *refserver.Notification, next func(*refserver.Notification)) {
		mu.Lock()
		if key := (callKey{n.Session, cancelledRequestID(n).Key()}); !known[key] {
			early[key] = true
		}
		mu.Unlock()
		next(n)
	})
	return combineSeams(seams, WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		mu.Lock()
		key := callKey{c.Session, c.ID.Key()}
		known[key] = true
		ended := early[key]
		mu.Unlock()
		if ended {
			return nil, refserver.NoResponse
		}
		return next(c)
	}), &refserver.Seams{Incoming: func(s *refserver.Session, raw []byte) refserver.FrameAction {
		// Record requests when they are read, because their handlers start a little later.
		for _, m := range wire.Parse(raw).Messages {
			if m.Kind == wire.Request {
				mu.Lock()
				known[callKey{s, m.ID.Key()}] = true
				mu.Unlock()
			}
		}
		return refserver.Pass(raw)
	}})
}

// hangAfterCancelledWait sends no response to any tools/call after the cancellation of
// a call that waits for the client.
func hangAfterCancelledWait() *refserver.Seams {
	t := newCallTracker()
	var hangs atomic.Bool
	return combineSeams(t.seams(), WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if hangs.Load() {
			return nil, refserver.NoResponse
		}
		return next(c)
	}), onCancellation(func(n *refserver.Notification, next func(*refserver.Notification)) {
		if t.cancel(n) && t.waitsForClient(n) {
			hangs.Store(true)
		}
		next(n)
	}))
}

// exitOnCancelledInitialize ends the process when initialize is cancelled, if the session
// satisfies the condition.
func exitOnCancelledInitialize(when func(*refserver.Session) bool) *refserver.Seams {
	var mu sync.Mutex
	ids := map[callKey]bool{}
	return &refserver.Seams{Incoming: func(s *refserver.Session, raw []byte) refserver.FrameAction {
		mu.Lock()
		defer mu.Unlock()
		for _, m := range wire.Parse(raw).Messages {
			switch {
			case m.Kind == wire.Request && m.Method == spec.MethodInitialize:
				ids[callKey{s, m.ID.Key()}] = true
			case m.Kind == wire.Notification && m.Method == spec.MethodCancelled && ids[callKey{s, cancelledID(&m).Key()}] && when(s):
				return refserver.ExitWith(1)
			}
		}
		return refserver.Pass(raw)
	}}
}

// A truncatingReader drops everything that follows a cancellation in the same read.
type truncatingReader struct{ r io.Reader }

func (c *truncatingReader) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	text := string(b[:n])
	if at := strings.Index(text, spec.MethodCancelled); at >= 0 {
		if end := strings.IndexByte(text[at:], '\n'); end >= 0 {
			n = at + end + 1
		}
	}
	return n, err
}

// loseEarlyCancellation ignores the cancellation of a tools/call that has not sent
// progress yet, as if the server had not registered the call.
func loseEarlyCancellation() *refserver.Seams {
	var mu sync.Mutex
	early := map[callKey]bool{}
	return combineSeams(&refserver.Seams{BeforeHandle: func(c *refserver.Call) {
		mu.Lock()
		defer mu.Unlock()
		early[callKey{c.Session, c.ID.Key()}] = c.Method == spec.MethodToolsCall
	}}, EditOutgoing(notifications(spec.MethodProgress), func(o *refserver.Out) {
		mu.Lock()
		defer mu.Unlock()
		delete(early, callKey{o.Session, o.Related.Key()})
	}), onCancellation(func(n *refserver.Notification, next func(*refserver.Notification)) {
		mu.Lock()
		lost := early[callKey{n.Session, cancelledRequestID(n).Key()}]
		mu.Unlock()
		if !lost {
			next(n)
		}
	}))
}
