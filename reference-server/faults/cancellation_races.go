package faults

import (
	"context"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// moment is how long a request takes in servers that can be met at work by the
// cancellation of what is answered at once elsewhere.
const moment = 3 * time.Millisecond

// while is the same in faults, which have to show on a busy machine, too.
const while = 40 * time.Millisecond

// cancelRaceFaults are those that show where a cancellation and other messages
// cross.
func cancelRaceFaults() []Fault {
	const race, unknown, idType = "cancellation.race-handled/", "cancellation.unknown-ignored/", "cancellation.id-type-matters/"
	return []Fault{
		// Two answers, and answers to the notification.

		// Other requests.
		breaksAfresh(race+"swallows-neighbour", "when a request is cancelled, another that is at work is not answered either", func() refserver.Seams {
			return swallowing(newCalls())
		}).in(spec.V20241105),
		breaksAfresh(race+"swallows-calls", "when a call is cancelled, another that runs is not answered either", func() refserver.Seams {
			t := newCalls()
			return together(t.seams(), cancelling(func(n *refserver.Notification, next func(*refserver.Notification)) {
				if t.cancel(n) {
					t.cancelAnother(n.Session)
				}
				next(n)
			}), mute(func(o *refserver.Out) bool { return Answers(spec.MethodToolsCall)(o) && t.cancelled(o.Session, o.ID) }))
		}).in(callable()...),
		breaks(race+"drops-the-rest", "what arrives together with a cancellation, and behind it, is not read", refserver.Seams{Input: func(r io.Reader) io.Reader { return &cutting{r: r} }}).over(spec.Stdio),
		breaksAfresh(unknown+"remembered", "a cancellation that comes ahead of its request ends that when it comes", remembered).over(spec.Stdio),
		breaks(idType+"number-for-text", "a cancellation that names an integer is heeded for the string", retyping(func(id wire.ID) []wire.ID {
			if id.IsInteger() {
				return []wire.ID{id, wire.StringID(id.Raw())}
			}
			return []wire.ID{id}
		})).in(callable()...),
		breaksAfresh(idType+"both", "where an integer and the same as a string are at work, the cancellation of one ends both", func() refserver.Seams {
			t := newCalls()
			return together(lingering(while), t.seams(), retyping(func(id wire.ID) []wire.ID {
				if id.IsInteger() {
					return []wire.ID{id, wire.StringID(id.Raw())}
				}
				if bare, _ := wire.Text(jsontext.Value(id.Raw())); wire.RawID(bare).IsInteger() {
					return []wire.ID{id, wire.RawID(bare)}
				}
				return []wire.ID{id}
			}))
		}).in(spec.V20241105),

		// The end of the server, or of what it does.
		breaksAfresh(race+"dies-of-the-second", "the second cancellation of a request ends the process", func() refserver.Seams {
			var mu sync.Mutex
			seen := map[callKey]bool{}
			return cancelling(func(n *refserver.Notification, next func(*refserver.Notification)) {
				mu.Lock()
				defer mu.Unlock()
				key := callKey{n.Session, cancelledIn(n).Key()}
				if seen[key] && cancelledIn(n).IsInteger() {
					die(n.Session)
					return
				}
				seen[key] = true
				next(n)
			})
		}).over(spec.Stdio),
		breaksAfresh(race+"dies-of-crossing", "two cancellations that are dealt with at the same time end the process", func() refserver.Seams {
			var at atomic.Int32
			return cancelling(func(n *refserver.Notification, next func(*refserver.Notification)) {
				next(n)
				if at.Add(1) > 1 {
					die(n.Session)
					return
				}
				n.Session.Go(func(ctx context.Context) {
					pause(ctx, while)
					at.Add(-1)
				})
			})
		}).over(spec.Stdio),
		breaksAfresh(race+"keeps-lock", "calls of a tool run one after the other, and none begins any more when one was cancelled", keepsLock).in(callable()...),
		breaksAfresh(race+"waits-for-ever", "once a call was cancelled that waits for the client, no call is answered any more", waitsForEver).in(callable()...),
		breaksAfresh(race+"dies-of-initialize", "the cancellation of initialize ends the process", func() refserver.Seams {
			return initializeCancelled(func(*refserver.Session) bool { return true })
		}).over(spec.Stdio),
		breaksAfresh(race+"dies-of-late-initialize", "the cancellation of initialize ends the process when the session has begun", func() refserver.Seams {
			var began atomic.Bool
			seams := initializeCancelled(func(*refserver.Session) bool { return began.Load() })
			return together(seams, notified(method(spec.MethodInitialized), func(*refserver.Notification) { began.Store(true) }))
		}).over(spec.Stdio),
		breaksAfresh("cancellation.stop-processing/lost-when-early", "a cancellation that comes right behind its request is lost", lostBeforeProgress).in(callable()...).over(spec.Stdio), // over HTTP it is not seen which came first
	}
}

// cancelledIn returns the id that a cancellation names.
func cancelledIn(n *refserver.Notification) wire.ID {
	return wire.IDAt(n.Params, "/requestId")
}

// die ends the process at once: what follows is not read any more.
func die(s *refserver.Session) {
	s.Exit(1)
	<-s.Context().Done()
}

// lingering has what is answered at once elsewhere take a moment, unless it is
// cancelled before.
func lingering(d time.Duration) refserver.Seams {
	return Handle("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if c.Method != spec.MethodInitialize && c.Method != spec.MethodToolsCall {
			pause(c.Context(), d)
		}
		return next(c)
	})
}

// swallowing leaves a request unanswered that is at work while another is
// cancelled.
func swallowing(t *calls) refserver.Seams {
	return together(lingering(while), t.seams(), cancelling(func(n *refserver.Notification, next func(*refserver.Notification)) {
		if t.cancel(n) {
			t.cancelAnother(n.Session)
		}
		next(n)
	}), mute(func(o *refserver.Out) bool { return Answers()(o) && t.cancelled(o.Session, o.ID) }))
}

// retyping heeds a cancellation for all the ids that f makes of the one that it
// names.
func retyping(f func(id wire.ID) []wire.ID) refserver.Seams {
	return cancelling(func(n *refserver.Notification, next func(*refserver.Notification)) {
		if !cancelledIn(n).Present() {
			next(n)
			return
		}
		for _, id := range f(cancelledIn(n)) {
			n.Params = wire.JSON(map[string]any{"requestId": jsontext.Value(id.Raw())})
			next(n)
		}
	})
}

// remembered keeps the ids of cancellations that name nothing, for requests
// that come later.
func remembered() refserver.Seams {
	var mu sync.Mutex
	known, early := map[callKey]bool{}, map[callKey]bool{}
	seams := cancelling(func(n *refserver.Notification, next func(*refserver.Notification)) {
		mu.Lock()
		if key := (callKey{n.Session, cancelledIn(n).Key()}); !known[key] {
			early[key] = true
		}
		mu.Unlock()
		next(n)
	})
	return together(seams, Handle("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		mu.Lock()
		key := callKey{c.Session, c.ID.Key()}
		known[key] = true
		ended := early[key]
		mu.Unlock()
		if ended {
			return nil, refserver.NoResponse
		}
		return next(c)
	}), refserver.Seams{Incoming: func(s *refserver.Session, raw []byte) refserver.FrameAction {
		// Known is what was read, for it is handled a little later.
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

// waitsForEver answers no call any more when one was cancelled that waits for
// the client.
func waitsForEver() refserver.Seams {
	t := newCalls()
	var hangs atomic.Bool
	return together(t.seams(), Handle(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if hangs.Load() {
			return nil, refserver.NoResponse
		}
		return next(c)
	}), cancelling(func(n *refserver.Notification, next func(*refserver.Notification)) {
		if t.cancel(n) && t.waits(n) {
			hangs.Store(true)
		}
		next(n)
	}))
}

// initializeCancelled ends the process when initialize is cancelled, and when
// holds.
func initializeCancelled(when func(*refserver.Session) bool) refserver.Seams {
	var mu sync.Mutex
	ids := map[callKey]bool{}
	return refserver.Seams{Incoming: func(s *refserver.Session, raw []byte) refserver.FrameAction {
		mu.Lock()
		defer mu.Unlock()
		for _, m := range wire.Parse(raw).Messages {
			switch {
			case m.Kind == wire.Request && m.Method == spec.MethodInitialize:
				ids[callKey{s, m.ID.Key()}] = true
			case m.Kind == wire.Notification && m.Method == spec.MethodCancelled && ids[callKey{s, cancels(&m).Key()}] && when(s):
				return refserver.ExitWith(1)
			}
		}
		return refserver.Pass(raw)
	}}
}

// cutting drops what stands behind a cancellation in one read.
type cutting struct{ r io.Reader }

func (c *cutting) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	text := string(b[:n])
	if at := strings.Index(text, spec.MethodCancelled); at >= 0 {
		if end := strings.IndexByte(text[at:], '\n'); end >= 0 {
			n = at + end + 1
		}
	}
	return n, err
}

// lostBeforeProgress passes over the cancellation of a call of which nothing was
// reported so far: it is not registered yet.
func lostBeforeProgress() refserver.Seams {
	var mu sync.Mutex
	early := map[callKey]bool{}
	return together(refserver.Seams{BeforeHandle: func(c *refserver.Call) {
		mu.Lock()
		defer mu.Unlock()
		early[callKey{c.Session, c.ID.Key()}] = c.Method == spec.MethodToolsCall
	}}, Outgoing(notifications(spec.MethodProgress), func(o *refserver.Out) {
		mu.Lock()
		defer mu.Unlock()
		delete(early, callKey{o.Session, o.Related.Key()})
	}), cancelling(func(n *refserver.Notification, next func(*refserver.Notification)) {
		mu.Lock()
		lost := early[callKey{n.Session, cancelledIn(n).Key()}]
		mu.Unlock()
		if !lost {
			next(n)
		}
	}))
}
