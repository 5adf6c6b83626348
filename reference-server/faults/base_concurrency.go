package faults

import (
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// concurrencyFaults returns the faults that show only with concurrent requests, or with many
// in a row.
func concurrencyFaults() []*Fault {
	return []*Fault{
		newFaultWithState("base.response-id-echo/reads-crossed", "two concurrent resources/read get each other's results", func() *refserver.Seams {
			return swapResults(spec.MethodResourcesRead)
		}),
		newFaultWithState("base.response-id-echo/lists-crossed", "two concurrent lists get each other's results", func() *refserver.Seams {
			return combineSeams(swapResults(spec.MethodToolsList, spec.MethodPromptsList, spec.MethodResourcesTemplates))
		}),
		newFaultWithState("base.response-id-echo/calls-crossed", "two concurrent tools/call get each other's results", func() *refserver.Seams {
			return combineSeams(editTool("slow", func(t map[string]any) { t["name"] = "sluggish" }), swapResults(spec.MethodToolsCall))
		}).inRevisions(revisionsWithReadOnlyHint()...),
		newFaultWithState("base.request-answered/lookalike-calls", `of two concurrent tools/call with the ids 1 and "1" the first gets no response`, func() *refserver.Seams {
			return dropOvertaken(spec.MethodToolsCall, func(id wire.ID) string { return strings.Trim(id.Raw(), `"`) })
		}).inRevisions(revisionsWithReadOnlyHint()...),
		newFaultWithState("base.request-answered/wide-ids", "of two concurrent tools/call with ids beyond 2^53 the first gets no response", func() *refserver.Seams {
			return dropOvertaken(spec.MethodToolsCall, func(id wire.ID) string {
				n, err := strconv.ParseFloat(id.Raw(), 32)
				if err != nil || math.Abs(n) < 1<<53 {
					return id.Raw()
				}
				return strconv.FormatFloat(n, 'g', -1, 32)
			})
		}).inRevisions(revisionsWithReadOnlyHint()...),
		newFaultWithState("base.request-answered/crowds", "of many resources/read in a row, those after the ninetieth get no response", func() *refserver.Seams {
			return editAfterConsecutive(90, spec.MethodResourcesRead, func(o *refserver.Out) { o.Frames = nil })
		}).overTransports(spec.Stdio), // over HTTP the checks send fewer requests in a row
		newFaultWithState("base.response-once/crowds", "of many resources/read in a row, those after the fiftieth get two responses", func() *refserver.Seams {
			return editAfterConsecutive(50, spec.MethodResourcesRead, func(o *refserver.Out) { o.Frames = append(o.Frames, o.Frames[0]) })
		}).overTransports(spec.Stdio),
	}
}

// editAfterConsecutive applies f to the responses to a method, except the first ones of each series
// of consecutive responses to that method. The argument limit is the number of these exceptions. A
// response to another method ends the series.
func editAfterConsecutive(limit int, method string, f func(*refserver.Out)) *refserver.Seams {
	var mu sync.Mutex
	consecutive := 0
	return EditOutgoing(Responses(), func(o *refserver.Out) {
		mu.Lock()
		defer mu.Unlock()
		if o.Method != method {
			consecutive = 0
			return
		}
		if consecutive++; consecutive > limit {
			f(o)
		}
	})
}

// dropOvertaken sends no response to a request of the method if, while the request runs, another
// one arrives for whose id keyOf returns the same string.
func dropOvertaken(method string, keyOf func(wire.ID) string) *refserver.Seams {
	var mu sync.Mutex
	running := map[callKey]wire.ID{}
	lost := map[callKey]bool{}
	return combineSeams(WrapHandler(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		key := callKey{c.Session, keyOf(c.ID)}
		mu.Lock()
		running[key] = c.ID
		mu.Unlock()
		defer func() {
			mu.Lock()
			defer mu.Unlock()
			if running[key] != c.ID {
				lost[callKey{c.Session, c.ID.Key()}] = true
				return
			}
			delete(running, key)
		}()
		return next(c)
	}), EditOutgoing(Responses(method), func(o *refserver.Out) {
		mu.Lock()
		defer mu.Unlock()
		if lost[callKey{o.Session, o.ID.Key()}] {
			o.Frames = nil
		}
	}))
}

// swapTime is how long a result waits for a concurrent result to swap with.
const swapTime = 10 * time.Millisecond

// swapResults swaps the results of pairs of requests that a session handles
// concurrently.
func swapResults(methods ...string) *refserver.Seams {
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
		theirs := <-own // a concurrent request has just claimed this result
		own <- result
		return theirs, nil
	}
	var all []*refserver.Seams
	for _, method := range methods {
		all = append(all, WrapHandler(method, change))
	}
	return combineSeams(all...)
}
