package faults

import (
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
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
