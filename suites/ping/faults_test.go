package ping_test

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/suites/ping"
)

func TestFaults(t *testing.T) {
	const (
		partly     = "ping.responds: The server does not answer every ping. (broken)"
		silent     = "ping.responds: The server does not answer a ping. (broken)"
		refused    = "ping.responds: The server answers a ping with an error. (broken)"
		notEmpty   = "ping.empty-result: The server's ping result is not empty. (broken)"
		early      = "ping.before-initialized: The server answers a ping before initialize with an error. (warning)"
		earlyMute  = "ping.before-initialized: The server does not answer a ping before initialize. (warning)"
		late       = "ping.responds: The server answers a ping only after its own request was answered. (warning)"
		afterCalls = "ping.responds: The server answers a ping only after earlier tool calls are done. (warning)"
		strong     = "ping.before-initialized: The server answers a ping with an error. (warning)"
	)
	no := &refserver.Error{Code: spec.CodeInternal, Message: "no"}
	for _, f := range []fault{
		{"all is well: shapes", "ping.shapes", suitetest.Handles(onPing(nil)), nil},
		{"all is well: burst", "ping.burst", suitetest.Handles(onPing(nil)), nil},
		{"all is well: busy", "ping.while-busy", suitetest.Handles(onPing(nil)), nil},
		{"all is well: handshake", "ping.during-handshake", suitetest.Handles(onPing(nil)), nil},
		{"a lone _meta is permitted", "ping.shapes", suitetest.Handles(onPing(func(*refserver.Call) (any, *refserver.Error) {
			return map[string]any{"_meta": map[string]any{"com.example/x": 1}}, nil
		})), nil},
		{"a result with members", "ping.shapes", suitetest.Handles(onPing(func(*refserver.Call) (any, *refserver.Error) {
			return map[string]any{"pong": true}, nil
		})), []string{notEmpty}},
		{"metadata refused", "ping.shapes", suitetest.Handles(onPing(func(c *refserver.Call) (any, *refserver.Error) {
			if len(c.Params) > len("{}") {
				return nil, no
			}
			return map[string]any{}, nil
		})), []string{refused}},
		{"string ids refused", "ping.shapes", suitetest.Handles(onPing(func(c *refserver.Call) (any, *refserver.Error) {
			if c.ID.IsString() {
				return nil, no
			}
			return map[string]any{}, nil
		})), []string{refused}},
		{"never answered", "ping.shapes", suitetest.Handles(onPing(func(*refserver.Call) (any, *refserver.Error) {
			return nil, refserver.NoResponse
		})), []string{silent}},
		{"one of many is lost", "ping.burst", func() refserver.Seams {
			var n atomic.Int32
			return suitetest.Handles(onPing(func(*refserver.Call) (any, *refserver.Error) {
				if n.Add(1) == 7 {
					return nil, refserver.NoResponse
				}
				return map[string]any{}, nil
			}))()
		}, []string{partly}},
		{"unknown while a tool runs", "ping.while-busy", beside(&refserver.Error{Code: spec.CodeMethodNotFound, Message: "no"}), []string{refused}},
		{"no time while a tool runs, in whatever words", "ping.while-busy", beside(&refserver.Error{Code: -32000, Message: "Serveur occupé"}), nil},
		{"one after the other", "ping.behind-calls", busy(1), []string{afterCalls}},
		{"eight at a time", "ping.behind-calls", busy(8), nil},
		{"a ping takes longer than the tool", "ping.behind-calls", suitetest.Handles(onPing(func(*refserver.Call) (any, *refserver.Error) {
			time.Sleep(600 * time.Millisecond)
			return map[string]any{}, nil
		})), nil},
		{"all is well: asked", "ping.while-asked", suitetest.Handles(onPing(nil)), nil},
		{"half a second while the client is asked", "ping.while-asked", whileCalled(func(c *refserver.Call, _ <-chan struct{}) bool {
			select {
			case <-time.After(time.Second / 2):
			case <-c.Context().Done():
			}
			return true
		}), nil},
		{"unanswered while the client is asked", "ping.while-asked", whileCalled(func(*refserver.Call, <-chan struct{}) bool { return false }), []string{partly}},
		{"answered when the call is over in which the client is asked", "ping.while-asked", whileCalled(func(c *refserver.Call, over <-chan struct{}) bool {
			select {
			case <-over:
			case <-c.Context().Done():
			}
			return true
		}), []string{late}},
		{"unanswered while the user is asked", "ping.while-asked", whileOpen(false, askingConversation(spec.MethodElicit)), []string{partly}},
		{"unanswered while the model is asked", "ping.while-asked", whileOpen(false, askingConversation(spec.MethodSampling)), []string{partly}},
		{"answered when the user has answered", "ping.while-asked", whileOpen(true, askingConversation(spec.MethodElicit)), []string{late}},
		{"answered when the client has answered, whatever it is asked", "ping.while-asked", whileOpen(true, several(1)), []string{late}},
		{"unanswered while two things are asked at once", "ping.while-asked", whileOpen(false, several(2)), []string{partly}},
		{"two things are asked at once", "ping.while-asked", whileOpen(false, several(3)), nil},
		{"no time for any ping, in whatever words", "ping.shapes", suitetest.Handles(onPing(func(*refserver.Call) (any, *refserver.Error) {
			return nil, &refserver.Error{Code: -32000, Message: "Serveur occupé"}
		})), []string{refused}},
		{"refused before initialize", "ping.during-handshake", suitetest.Handles(onPing(func(c *refserver.Call) (any, *refserver.Error) {
			if c.Revision == "" {
				return nil, no
			}
			return map[string]any{}, nil
		})), []string{early}},
		{"unanswered before initialize", "ping.during-handshake", suitetest.Handles(onPing(func(c *refserver.Call) (any, *refserver.Error) {
			if c.Revision == "" {
				return nil, refserver.NoResponse
			}
			return map[string]any{}, nil
		})), []string{earlyMute}},
		{"the end before initialize hides nothing", "ping.during-handshake", suitetest.Handles(onPing(func(c *refserver.Call) (any, *refserver.Error) {
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
	suitetest.TryRuled(t, ping.Cases(), f.name, f.judge, rev, f.seams, f.want)
}

// beside refuses pings while a tool runs.
func beside(err *refserver.Error) func() refserver.Seams {
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

// askingConversation returns a condition: a request with the method is open.
func askingConversation(method string) func(open map[string]string) bool {
	return func(open map[string]string) bool { return slices.Contains(slices.Collect(maps.Values(open)), method) }
}

func several(n int) func(open map[string]string) bool {
	return func(open map[string]string) bool { return len(open) >= n }
}

// whileOpen delays pings while deaf is true for the open server requests, which are methods by
// id. If answers is set, it answers them once no request is open. The tool that samples requests
// the roots at the same time.
func whileOpen(answers bool, deaf func(open map[string]string) bool) func() refserver.Seams {
	return func() refserver.Seams {
		var mu sync.Mutex
		open, none := map[string]string{}, make(chan struct{})
		return refserver.Seams{
			RequestTimeout: func(string) time.Duration { return time.Minute },
			Outgoing: func(o *refserver.Out) {
				mu.Lock()
				defer mu.Unlock()
				if o.Kind == refserver.OutRequest && o.Related.Present() {
					open[o.ID.Key()] = o.Method
				}
			},
			Incoming: func(_ *refserver.Session, raw []byte) refserver.FrameAction {
				mu.Lock()
				defer mu.Unlock()
				for _, m := range wire.Parse(raw).Messages {
					if was := len(open); m.Kind == wire.Response {
						if delete(open, m.ID.Key()); was > 0 && len(open) == 0 {
							close(none)
							none = make(chan struct{})
						}
					}
				}
				return refserver.Pass(raw)
			},
			Handle: func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
				tool, _ := wire.Text(wire.At(c.Params, "/name"))
				mu.Lock()
				is, over := c.Method == spec.MethodPing && deaf(open), none
				mu.Unlock()
				switch {
				case is && !answers:
					return nil, refserver.NoResponse
				case is:
					select {
					case <-over:
					case <-c.Context().Done():
					}
				case c.Method == spec.MethodToolsCall && tool == "ask-sampling":
					var other sync.WaitGroup
					other.Go(func() { _, _ = c.SendRequest(spec.MethodRootsList, nil) })
					defer other.Wait()
				}
				return next(c)
			},
		}
	}
}
