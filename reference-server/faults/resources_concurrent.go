package faults

import (
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// legalConcurrentReads returns the legal variations in handling concurrent requests.
func legalConcurrentReads() []*Fault {
	return []*Fault{
		newVariationWithState("reads-differ", "a resource counts its reads", countReads),
		newVariationWithState("one-by-one", "lists and resources are served one at a time, each in a few milliseconds", func() *refserver.Seams {
			turn := make(chan struct{}, 1)
			return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if isList(c) || c.Method == spec.MethodResourcesRead {
					turn <- struct{}{}
					defer func() { <-turn }()
					sleep(c.Context(), 2*time.Millisecond)
				}
				return next(c)
			})
		}),
		newVariationWithState("crowds-refused", "more than thirty resources/read in a second are refused", func() *refserver.Seams {
			many := exceedsRate(30)
			return refuseCalls(spec.MethodResourcesRead, func(*refserver.Call) bool { return many() }, -32000, "Too many requests")
		}),
	}
}

// exceedsRate returns a function that reports whether it has been called more than limit times
// within the last second.
func exceedsRate(limit int) func() bool {
	var mu sync.Mutex
	var times []time.Time
	return func() bool {
		mu.Lock()
		defer mu.Unlock()
		now := time.Now()
		times = append(times, now)
		if len(times) <= limit {
			return false
		}
		oldest := times[0]
		times = times[1:]
		return now.Sub(oldest) < time.Second
	}
}

// countReads appends the number of reads so far to the contents of text resources.
func countReads() *refserver.Seams {
	var mu sync.Mutex
	reads := 0
	return EditResult(spec.MethodResourcesRead, func(r map[string]any) {
		for _, contents := range objectsIn(r, "contents") {
			if text, isText := contents["text"].(string); isText {
				mu.Lock()
				reads++
				contents["text"] = text + " Reads so far: " + string(wire.JSON(reads))
				mu.Unlock()
			}
		}
	})
}

// keepLastSubscription ends a session's subscription when the session subscribes to another
// resource.
func keepLastSubscription() *refserver.Seams {
	var mu sync.Mutex
	last := map[*refserver.Session]string{}
	return combineSeams(WrapHandler(spec.MethodResourcesSubscribe, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		mu.Lock()
		last[c.Session], _ = wire.Text(wire.At(c.Params, "/uri"))
		mu.Unlock()
		return next(c)
	}), EditOutgoing(notifications(spec.MethodResourcesUpdated), func(o *refserver.Out) {
		mu.Lock()
		defer mu.Unlock()
		about, _ := wire.Text(wire.At(wire.Parse(o.Frames[0]).Messages[0].Params(), "/uri"))
		if about != last[o.Session] {
			o.Frames = nil
		}
	}))
}
