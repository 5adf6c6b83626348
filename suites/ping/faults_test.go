package ping_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/suites/ping"
)

func TestFaults(t *testing.T) {
	const (
		refused   = "ping.responds: The server answers a ping with an error. (broken)"
		earlyMute = "ping.before-initialized: The server does not answer a ping before initialize. (warning)"
		strong    = "ping.before-initialized: The server answers a ping before the initialized notification with an error. (warning)"
	)
	no := &refserver.Error{Code: spec.CodeInternal, Message: "no"}
	for _, f := range []fault{
		{"a lone _meta is permitted", "ping.shapes", suitetest.HandleSeams(onPing(func(*refserver.Call) (any, *refserver.Error) {
			return map[string]any{"_meta": map[string]any{"com.example/x": 1}}, nil
		})), nil},
		{"no time while a tool runs, in whatever words", "ping.while-busy", refusePingsDuringCalls(&refserver.Error{Code: -32000, Message: "Serveur occupé"}), nil},
		{"eight at a time", "ping.behind-calls", busy(8), nil},
		{"a ping takes longer than the tool", "ping.behind-calls", suitetest.HandleSeams(onPing(func(*refserver.Call) (any, *refserver.Error) {
			time.Sleep(600 * time.Millisecond)
			return map[string]any{}, nil
		})), nil},
		{"half a second while the client is asked", "ping.while-asked", whileCalled(func(c *refserver.Call, _ <-chan struct{}) bool {
			select {
			case <-time.After(time.Second / 2):
			case <-c.Context().Done():
			}
			return true
		}), nil},
		{"unanswered before initialize", "ping.during-handshake", suitetest.HandleSeams(onPing(func(c *refserver.Call) (any, *refserver.Error) {
			if c.Revision == "" {
				return nil, refserver.NoResponse
			}
			return map[string]any{}, nil
		})), []string{earlyMute}},
		{"a request without metadata before initialize, to a server of both eras", "ping.during-handshake", suitetest.HandleSeams(onPing(func(c *refserver.Call) (any, *refserver.Error) {
			if c.Revision == "" {
				return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "_meta is required"}
			}
			return map[string]any{}, nil
		})), nil},
		{"the end before initialize hides nothing", "ping.during-handshake", suitetest.HandleSeams(onPing(func(c *refserver.Call) (any, *refserver.Error) {
			if c.Revision == "" {
				c.Session.Exit(1)
				return nil, refserver.NoResponse
			}
			return nil, no
		})), []string{earlyMute, strong, refused}},
	} {
		f.run(t, spec.V20250618)
	}
}

func onPing(answer func(*refserver.Call) (any, *refserver.Error)) func(*refserver.Call, func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
	return func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
		if c.Method == spec.MethodPing && answer != nil {
			return answer(c)
		}
		return next(c)
	}
}

// fault is a misbehavior with its exact findings; none if it is permitted.
type fault struct {
	name, judge string
	seams       func() refserver.Seams
	want        []string // requirement: summary (outcome)
}

func (f fault) run(t *testing.T, rev spec.Revision) {
	suitetest.TryWithRules(t, ping.Cases(), f.name, f.judge, rev, f.seams, f.want)
}

// refusePingsDuringCalls refuses pings while a tool runs.
func refusePingsDuringCalls(err *refserver.Error) func() refserver.Seams {
	return func() refserver.Seams {
		var busy atomic.Bool
		return refserver.Seams{Handle: func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
			if c.Method == spec.MethodToolsCall {
				busy.Store(true)
				defer busy.Store(false)
			} else if c.Method == spec.MethodPing && busy.Load() {
				return nil, err
			}
			return next(c)
		}}
	}
}

// busy runs at most width tool calls at a time, and answers pings only when no call waits.
func busy(width int) func() refserver.Seams {
	return func() refserver.Seams {
		var calls atomic.Int32
		places := make(chan struct{}, width)
		return refserver.Seams{Handle: func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
			switch c.Method {
			case spec.MethodToolsCall:
				calls.Add(1)
				defer calls.Add(-1)
				places <- struct{}{}
				defer func() { <-places }()
			case spec.MethodPing:
				time.Sleep(50 * time.Millisecond) // the earlier calls have arrived
				for calls.Load() > 0 {
					time.Sleep(20 * time.Millisecond)
				}
				time.Sleep(20 * time.Millisecond) // their results have been sent
			}
			return next(c)
		}}
	}
}

// whileCalled delays pings that come while a tool runs until wait returns, and answers them if it
// returns true. The server does not time out its own requests.
func whileCalled(wait func(c *refserver.Call, over <-chan struct{}) (answer bool)) func() refserver.Seams {
	return func() refserver.Seams {
		var mu sync.Mutex
		var running chan struct{}
		return refserver.Seams{
			RequestTimeout: func(string) time.Duration { return time.Minute },
			Handle: func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
				mu.Lock()
				over := running
				if c.Method == spec.MethodToolsCall && over == nil {
					over = make(chan struct{})
					running = over
					defer func() {
						mu.Lock()
						defer mu.Unlock()
						running = nil
						close(over)
					}()
				}
				mu.Unlock()
				if c.Method == spec.MethodPing && over != nil && !wait(c, over) {
					return nil, refserver.NoResponse
				}
				return next(c)
			},
		}
	}
}
