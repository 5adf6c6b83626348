package faults

import (
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// raceFaults are those that show only where messages cross, as they did in
// servers that people use.
func raceFaults() []Fault {
	return []Fault{
		breaksAfresh("base.response-once/raced", "requests that are handled side by side are answered twice", doubledInRaces).in(
			spec.V20250326, spec.V20250618, spec.V20251125).over(spec.Stdio, spec.StreamableHTTP), // in the oldest revision few are
		breaksAfresh("base.response-once/cancelled", "a cancelled request gets an error at once, and its result later", func() refserver.Seams {
			t := newCalls()
			return together(t.seams(), cancelling(func(n *refserver.Note, _ func(*refserver.Note)) {
				if id := cancelledIn(n); t.cancel(n) {
					n.Session.SendRaw(wire.NewError(id, -32800, "Request cancelled", nil))
				}
			}))
		}).in(callable()...),
		breaksAfresh("cancellation.stop-processing/lost-when-early", "a cancellation that comes right behind its request is lost", lostBeforeProgress).in(callable()...).over(spec.Stdio), // over HTTP it is not seen which came first
		breaks("base.parse-error/dies-of-bytes", "a line that is no UTF-8 ends the process", incoming(func(_ *refserver.Session, f *wire.Frame) bool {
			return f.Has(wire.InvalidUTF8)
		}, diesOf(1))),
	}
}

// doubledInRaces answers twice what was handled while something else was.
func doubledInRaces() refserver.Seams {
	var mu sync.Mutex
	running := map[callKey]bool{}
	raced := map[callKey]bool{}
	return together(refserver.Seams{Begins: func(c *refserver.Call) {
		mu.Lock()
		defer mu.Unlock()
		running[callKey{c.Session, c.ID.Key()}] = true
		for other := range running {
			if len(running) > 1 {
				raced[other] = true
			}
		}
	}}, Handle("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		defer func() {
			mu.Lock()
			defer mu.Unlock()
			delete(running, callKey{c.Session, c.ID.Key()})
		}()
		return next(c)
	}), Outgoing(Answers(), func(o *refserver.Out) {
		mu.Lock()
		defer mu.Unlock()
		if key := (callKey{o.Session, o.ID.Key()}); raced[key] {
			delete(raced, key)
			o.Frames = append(o.Frames, o.Frames[0])
		}
	}))
}

// lostBeforeProgress passes over the cancellation of a call of which nothing was
// reported so far: it is not registered yet.
func lostBeforeProgress() refserver.Seams {
	var mu sync.Mutex
	early := map[callKey]bool{}
	return together(refserver.Seams{Begins: func(c *refserver.Call) {
		mu.Lock()
		defer mu.Unlock()
		early[callKey{c.Session, c.ID.Key()}] = c.Method == spec.MethodToolsCall
	}}, Outgoing(notifications(spec.MethodProgress), func(o *refserver.Out) {
		mu.Lock()
		defer mu.Unlock()
		delete(early, callKey{o.Session, o.Related.Key()})
	}), cancelling(func(n *refserver.Note, next func(*refserver.Note)) {
		mu.Lock()
		lost := early[callKey{n.Session, cancelledIn(n).Key()}]
		mu.Unlock()
		if !lost {
			next(n)
		}
	}))
}
