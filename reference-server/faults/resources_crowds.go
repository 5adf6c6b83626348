package faults

import (
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// legalCrowds are the legal variations in what is asked for at once.
func legalCrowds() []Fault {
	return []Fault{
		legalAfresh("reads-differ", "what a resource holds is counted on with each read", readsDiffer),
		legalAfresh("one-by-one", "lists and resources are served one after the other, each in some milliseconds", func() refserver.Seams {
			turn := make(chan struct{}, 1)
			return Handle("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if isList(c) || c.Method == spec.MethodResourcesRead {
					turn <- struct{}{}
					defer func() { <-turn }()
					pause(c.Context(), 2*time.Millisecond)
				}
				return next(c)
			})
		}),
		legalAfresh("crowds-refused", "of the reads of a second those beyond the thirtieth are refused as too many", func() refserver.Seams {
			many := flood(30)
			return refuse(spec.MethodResourcesRead, func(*refserver.Call) bool { return many() }, -32000, "Too many requests")
		}),
	}
}

// flood returns a function that reports whether it was called more than most
// times within a second.
func flood(most int) func() bool {
	var mu sync.Mutex
	var times []time.Time
	return func() bool {
		mu.Lock()
		defer mu.Unlock()
		now := time.Now()
		times = append(times, now)
		if len(times) <= most {
			return false
		}
		oldest := times[0]
		times = times[1:]
		return now.Sub(oldest) < time.Second
	}
}

// readsDiffer counts the reads in what a text resource holds.
func readsDiffer() refserver.Seams {
	var mu sync.Mutex
	reads := 0
	return EditResult(spec.MethodResourcesRead, func(r map[string]any) {
		for _, contents := range items(r, "contents") {
			if text, isText := contents["text"].(string); isText {
				mu.Lock()
				reads++
				contents["text"] = text + " Reads so far: " + string(wire.JSON(reads))
				mu.Unlock()
			}
		}
	})
}

// lastSubscription forgets what was subscribed to before.
func lastSubscription() refserver.Seams {
	var mu sync.Mutex
	last := map[*refserver.Session]string{}
	return together(Handle(spec.MethodResourcesSubscribe, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		mu.Lock()
		last[c.Session], _ = wire.Text(wire.At(c.Params, "/uri"))
		mu.Unlock()
		return next(c)
	}), Outgoing(notifications(spec.MethodResourcesUpdated), func(o *refserver.Out) {
		mu.Lock()
		defer mu.Unlock()
		about, _ := wire.Text(wire.At(wire.Parse(o.Frames[0]).Messages[0].Params(), "/uri"))
		if about != last[o.Session] {
			o.Frames = nil
		}
	}))
}
