package lifecycle_test

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/suites/lifecycle"
)

type (
	call  = refserver.Call
	fail  = refserver.Error
	chain = func(*call) (any, *fail)
)

func TestFaults(t *testing.T) {
	no := &fail{Code: spec.CodeInvalidRequest, Message: "no"}
	unknown := &fail{Code: spec.CodeMethodNotFound, Message: "no such method"}
	for _, f := range []fault{
		{"undeclared and unknown", "lifecycle.undeclared-capabilities", undeclaring(unknown), nil},
		{"undeclared and refused otherwise", "lifecycle.undeclared-capabilities", undeclaring(no),
			[]string{"lifecycle.undeclared-capability-error: The server refuses an undeclared method, but not with -32601. (note)"}},
		{"deaf while it waits", "lifecycle.unknown-capabilities", deafWhileWaiting,
			[]string{"lifecycle.error-cases-prepared: The server stops answering after its own request got no response. (warning)"}},

		{"deficient accepted", "lifecycle.deficient-initialize", onDeficient(func(c *call, next chain) (any, *fail) {
			c.Params = wire.JSON(with(c.Params, "capabilities", map[string]any{}, "clientInfo", map[string]any{"name": "x", "version": "1"}))
			return next(c)
		}), nil},
		{"deaf after two refusals", "lifecycle.deficient-initialize", deafAfterRefusals(2),
			[]string{"lifecycle.error-cases-prepared: The server does not answer a valid initialize after an invalid one. (warning)"}},

		{"ended by an early request", "lifecycle.unregulated", suitetest.HandleSeams(func(c *call, next chain) (any, *fail) {
			if c.Method == spec.MethodToolsList && c.Revision == "" {
				c.Session.Exit(1)
				return nil, refserver.NoResponse
			}
			return next(c)
		}), []string{"lifecycle.request-before-initialize: The server exits at a request before initialized. (note)"}},
		{"an early request served", "lifecycle.unregulated", suitetest.HandleSeams(func(c *call, next chain) (any, *fail) {
			if c.Method == spec.MethodToolsList && c.Revision == "" {
				return map[string]any{"tools": []any{}}, nil
			}
			return next(c)
		}), nil},
		{"an early request met with silence", "lifecycle.unregulated", suitetest.HandleSeams(func(c *call, next chain) (any, *fail) {
			if c.Method == spec.MethodToolsList && c.Revision == "" {
				return nil, refserver.NoResponse
			}
			return next(c)
		}), nil},
		{"exit ends the server", "lifecycle.unregulated", suitetest.HandleSeams(func(c *call, next chain) (any, *fail) {
			if c.Method == "exit" {
				c.Session.Exit(0)
				return nil, refserver.NoResponse
			}
			return next(c)
		}), []string{"lifecycle.no-shutdown-message: The server exits at a request named shutdown or exit. (warning)"}},
		{"ended by a second initialize", "lifecycle.unregulated", onSecond(func(c *call) (any, *fail) {
			c.Session.Exit(1)
			return nil, refserver.NoResponse
		}), []string{"lifecycle.reinitialize-undefined: The server exits at a second initialize. (note)"}},
		{"another version the second time", "lifecycle.unregulated", onSecond(func(*call) (any, *fail) {
			return map[string]any{"protocolVersion": "2024-11-05", "capabilities": map[string]any{}, "serverInfo": map[string]any{"name": "x", "version": "1"}}, nil
		}), []string{"lifecycle.reinitialize-undefined: The server answers a second initialize with another version. (note)"}},
		{"the version requested the second time", "lifecycle.unregulated", onSecond(func(c *call) (any, *fail) {
			return map[string]any{"protocolVersion": wire.At(c.Params, "/protocolVersion"), "capabilities": map[string]any{}, "serverInfo": map[string]any{"name": "x", "version": "1"}}, nil
		}), []string{"lifecycle.reinitialize-undefined: The server answers a second initialize with another version. (note)"}},
		{"an older version the second time if requested", "lifecycle.unregulated", onSecond(func(c *call) (any, *fail) {
			version := string(spec.V20251125)
			if requested, _ := wire.Text(wire.At(c.Params, "/protocolVersion")); requested == string(spec.V20241105) {
				version = requested
			}
			return map[string]any{"protocolVersion": version, "capabilities": map[string]any{}, "serverInfo": map[string]any{"name": "x", "version": "1"}}, nil
		}), []string{"lifecycle.reinitialize-undefined: The server answers a second initialize with another version. (note)"}},
		{"the second initialize met with silence", "lifecycle.unregulated", onSecond(func(*call) (any, *fail) {
			return nil, refserver.NoResponse
		}), nil},

		{"batch dropped", "lifecycle.batched-initialize", onBatch(func([]byte) refserver.FrameAction { return refserver.Drop() }), nil},
		{"batch ends the server", "lifecycle.batched-initialize", onBatch(func([]byte) refserver.FrameAction { return refserver.ExitWith(1) }),
			[]string{"lifecycle.batch-initialize: The server exits at a batch with initialize. (warning)"}},
	} {
		f.run(t, spec.V20250326)
	}
}

// with returns the object v with members set, given as names and values.
func with(v any, pairs ...any) map[string]any {
	out := map[string]any{}
	_, members := wire.Members(wire.JSON(v))
	for name, value := range members {
		out[name] = value
	}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i].(string)] = pairs[i+1]
	}
	return out
}

// undeclaring declares no capabilities, and answers lists with err unless it is nil.
func undeclaring(err *fail) func() refserver.Seams {
	return suitetest.HandleSeams(func(c *call, next chain) (any, *fail) {
		switch c.Method {
		case spec.MethodInitialize:
			result, failed := next(c)
			return with(result, "capabilities", map[string]any{}), failed
		case spec.MethodToolsList, spec.MethodPromptsList, spec.MethodResourcesList, spec.MethodResourcesTemplates:
			if err != nil {
				return nil, err
			}
		}
		return next(c)
	})
}

func onDeficient(f func(*call, chain) (any, *fail)) func() refserver.Seams {
	return suitetest.HandleSeams(func(c *call, next chain) (any, *fail) {
		if c.Method == spec.MethodInitialize && (wire.At(c.Params, "/capabilities") == nil || wire.At(c.Params, "/clientInfo") == nil) {
			return f(c, next)
		}
		return next(c)
	})
}

func onSecond(f func(*call) (any, *fail)) func() refserver.Seams {
	return suitetest.HandleSeams(func(c *call, next chain) (any, *fail) {
		if c.Method == spec.MethodInitialize && c.Revision != "" {
			return f(c)
		}
		return next(c)
	})
}

func onBatch(f func(raw []byte) refserver.FrameAction) func() refserver.Seams {
	return func() refserver.Seams {
		return refserver.Seams{Incoming: func(_ *refserver.Session, raw []byte) refserver.FrameAction {
			if bytes.HasPrefix(raw, []byte("[")) {
				return f(raw)
			}
			return refserver.Pass(raw)
		}}
	}
}

// deafWhileWaiting answers one ping, to show that it supports pings, and then nothing while a
// request of its own is unanswered.
func deafWhileWaiting() refserver.Seams {
	var mu sync.Mutex
	waiting, pinged := map[*refserver.Session]bool{}, map[*refserver.Session]bool{}
	return refserver.Seams{
		Outgoing: func(o *refserver.Out) {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case o.Kind == refserver.OutRequest:
				waiting[o.Session] = true
			case waiting[o.Session] && pinged[o.Session]:
				o.Frames = nil
			case o.Method == spec.MethodPing:
				pinged[o.Session] = true
			}
		},
		Incoming: func(s *refserver.Session, raw []byte) refserver.FrameAction {
			if !bytes.Contains(raw, []byte(`"method"`)) {
				mu.Lock()
				defer mu.Unlock()
				delete(waiting, s)
			}
			return refserver.Pass(raw)
		},
	}
}

// deafAfterRefusals stops responding after n refusals of initialize.
func deafAfterRefusals(n int) func() refserver.Seams {
	return func() refserver.Seams {
		var mu sync.Mutex
		refused := map[*refserver.Session]int{}
		return refserver.Seams{Handle: func(c *call, next chain) (any, *fail) {
			mu.Lock()
			defer mu.Unlock()
			if refused[c.Session] >= n {
				return nil, refserver.NoResponse
			}
			result, err := next(c)
			if err != nil && c.Method == spec.MethodInitialize {
				refused[c.Session]++
			}
			return result, err
		}}
	}
}

// fault is a misbehavior with its exact findings; none if it is permitted.
type fault struct {
	name, judge string
	seams       func() refserver.Seams
	want        []string // requirement: summary (outcome)
}

func (f fault) run(t *testing.T, rev spec.Revision) {
	suitetest.TryWithRules(t, lifecycle.Cases(), f.name, f.judge, rev, f.seams, f.want)
}

// TestShutdownRefusedByStatus checks that over HTTP a status alone counts as a refusal of a request.
func TestShutdownRefusedByStatus(t *testing.T) {
	const noShutdown = "lifecycle.no-shutdown-message"
	answer := func(status int, body string) func() refserver.Seams {
		return func() refserver.Seams {
			return refserver.Seams{HTTP: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				body := []byte(body)
				posted, _ := io.ReadAll(r.Body)
				id := wire.Parse(posted)
				if len(id.Messages) == 0 || id.Messages[0].Method != "shutdown" && id.Messages[0].Method != "exit" {
					r.Body = io.NopCloser(bytes.NewReader(posted))
					next.ServeHTTP(w, r)
					return
				}
				w.Header().Set("Content-Type", "text/plain")
				if status == http.StatusOK {
					w.Header().Set("Content-Type", "application/json")
					body = wire.NewResult(id.Messages[0].ID, map[string]any{})
				}
				w.WriteHeader(status)
				_, _ = w.Write(body)
			}}
		}
	}
	for _, m := range []suitetest.Misbehaviour{
		{Name: "refused", Seams: answer(http.StatusBadRequest, "no such method\n"), Kept: []string{noShutdown}},
	} {
		m.Case, m.Transport = "lifecycle.unregulated", spec.StreamableHTTP
		m.Try(t, lifecycle.Cases())
	}
}
