package faults

import (
	"bytes"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// concurrencyFaults are those that show only where many things are asked for
// at once.
func concurrencyFaults() []Fault {
	return []Fault{
		breaksAfresh("base.response-id-echo/reads-crossed", "two reads that are handled side by side get each other's results", func() refserver.Seams {
			return swapping(spec.MethodResourcesRead)
		}),
		breaksAfresh("base.response-id-echo/lists-crossed", "two lists that are asked for at once get each other's results", func() refserver.Seams {
			return together(swapping(spec.MethodToolsList, spec.MethodPromptsList, spec.MethodResourcesTemplates))
		}),
		breaksAfresh("base.response-id-echo/calls-crossed", "two calls that run at once get each other's results", func() refserver.Seams {
			return together(editTool("slow", func(t map[string]any) { t["name"] = "sluggish" }), swapping(spec.MethodToolsCall))
		}).in(callable()...),
		breaksAfresh("base.request-answered/crowds", "of reads with nothing between them those beyond the ninetieth are lost", func() refserver.Seams {
			return beyond(90, spec.MethodResourcesRead, func(o *refserver.Out) { o.Frames = nil })
		}).over(spec.Stdio), // over HTTP fewer are made
		breaksAfresh("base.response-once/crowds", "of reads with nothing between them those beyond the fiftieth are answered twice", func() refserver.Seams {
			return beyond(50, spec.MethodResourcesRead, func(o *refserver.Out) { o.Frames = append(o.Frames, o.Frames[0]) })
		}).over(spec.Stdio),
		breaksAfresh("progress.token-echo/newest", "progress has the token of the call that came last", newestToken).in(callable()...),
		breaksAfresh("stdio.stdout-only-messages/torn", "long answers are written in two pieces, between which others come", torn),
		breaksAfresh("resources.subscribe.update-sent/one-at-a-time", "each subscription ends the one before", func() refserver.Seams {
			return together(harmless("update-resource"), lastSubscription())
		}),
	}
}

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

// beyond applies f to the answers to a method that come when as many as most
// came before with no other answer between them.
func beyond(most int, method string, f func(*refserver.Out)) refserver.Seams {
	var mu sync.Mutex
	inRow := 0
	return Outgoing(Answers(), func(o *refserver.Out) {
		mu.Lock()
		defer mu.Unlock()
		if o.Method != method {
			inRow = 0
			return
		}
		if inRow++; inRow > most {
			f(o)
		}
	})
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

// swapTime is how long a result waits for another one to change places with.
const swapTime = 10 * time.Millisecond

// swapping has the results of requests that are handled side by side change
// places.
func swapping(methods ...string) refserver.Seams {
	var mu sync.Mutex
	waiting := map[*refserver.Session]chan any{}
	change := func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if err != nil || c.Revision == "" {
			return result, err
		}
		mu.Lock()
		other := waiting[c.Session]
		delete(waiting, c.Session)
		if other != nil {
			mu.Unlock()
			other <- result
			return <-other, nil
		}
		own := make(chan any)
		waiting[c.Session] = own
		mu.Unlock()
		select {
		case theirs := <-own:
			own <- result
			return theirs, nil
		case <-time.After(swapTime):
		}
		mu.Lock()
		defer mu.Unlock()
		if waiting[c.Session] == own {
			delete(waiting, c.Session)
			return result, nil
		}
		theirs := <-own // another one has just come
		own <- result
		return theirs, nil
	}
	var all []refserver.Seams
	for _, method := range methods {
		all = append(all, Handle(method, change))
	}
	return together(all...)
}

// newestToken has all progress bear the token of the call that came last.
func newestToken() refserver.Seams {
	var mu sync.Mutex
	newest := map[*refserver.Session]any{}
	return together(Handle(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if token := tokenOf(c); token != nil {
			mu.Lock()
			newest[c.Session] = token
			mu.Unlock()
		}
		return next(c)
	}), progressing(func(o *refserver.Out, p map[string]any) {
		mu.Lock()
		defer mu.Unlock()
		p["progressToken"] = newest[o.Session]
	}))
}

// longAnswer is what no longer goes out in one piece, and tearTime what passes
// between two pieces.
const (
	longAnswer = 1000
	tearTime   = 3 * time.Millisecond
)

// torn writes long answers in two pieces.
func torn() refserver.Seams {
	var out *refserver.Process
	return together(refserver.Seams{Start: func(p *refserver.Process) { out = p }}, Outgoing(Results(), func(o *refserver.Out) {
		frame := o.Frames[0]
		if out == nil || len(frame) < longAnswer || len(o.Frames) > 1 {
			return
		}
		o.Frames = nil
		half := len(frame) / 2
		_, _ = out.Out.Write(frame[:half])
		pause(o.Session.Context(), tearTime)
		_, _ = out.Out.Write(append(bytes.Clone(frame[half:]), '\n'))
	}))
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
