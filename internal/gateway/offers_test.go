package gateway

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
	"github.com/mcp-conform/mcp-conform/internal/transport/streamablehttp"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// declaringOnly returns a proxy that declares only these capabilities, and has no other methods.
func declaringOnly(capabilities ...string) proxy {
	methods := map[string]string{"completion": "completions", "logging": "logging", "prompts": "prompts", "resources": "resources", "tasks": "tasks", "tools": "tools"}
	p := newEditingProxy(func(m map[string]any) {
		method, _ := m["method"].(string)
		area, _, _ := strings.Cut(method, "/")
		if capability := methods[area]; capability != "" && !slices.Contains(capabilities, capability) {
			m["method"] = "no-such-method"
		}
	}, func(m map[string]any) {
		declared := member(m, "result", "capabilities")
		for name := range declared {
			if !slices.Contains(capabilities, name) {
				delete(declared, name)
			}
		}
	})
	return p()
}

// TestCompareOffers compares gateways that offer less, or the same under other names. A missing offer
// causes one warning and no other finding.
func TestCompareOffers(t *testing.T) {
	t.Parallel()
	hidden := []string{"content", "slow", "ask-roots", "log"}
	checkAll(t, map[string]comparison{
		"serves tools only": {func() proxy { return declaringOnly("tools") }, []string{"warning capabilities"}},
		"hides tools": {newEditingProxy(nil, func(m map[string]any) {
			if tools, ok := member(m, "result")["tools"].([]any); ok {
				member(m, "result")["tools"] = slices.DeleteFunc(tools, func(tool any) bool {
					name, _ := tool.(map[string]any)["name"].(string)
					return slices.Contains(hidden, name)
				})
			}
		}), []string{"note tool-names", "warning tools"}},
		"puts a prefix before names of prompts": {newEditingProxy(func(m map[string]any) {
			params := member(m, "params")
			for _, named := range []map[string]any{params, member(params, "ref")} {
				if name, ok := named["name"].(string); ok {
					named["name"] = strings.TrimPrefix(name, "demo_")
				}
			}
		}, func(m map[string]any) {
			prompts, _ := member(m, "result")["prompts"].([]any)
			for _, prompt := range prompts {
				entry, _ := prompt.(map[string]any)
				name, _ := entry["name"].(string)
				entry["name"] = "demo_" + name
			}
		}), []string{"note tool-names"}},
	})
}

// TestCompareBetweenClients compares gateways that mix up their clients.
func TestCompareBetweenClients(t *testing.T) {
	t.Parallel()
	checkAll(t, map[string]comparison{
		"leaks progress": {func() func() proxy {
			var mu sync.Mutex
			clients := map[*int]func([]byte){}
			return func() proxy {
				self := new(int)
				return proxy{
					toServer: func(line []byte, back func([]byte)) [][]byte {
						mu.Lock()
						defer mu.Unlock()
						clients[self] = back
						return [][]byte{line}
					},
					toClient: func(line []byte) [][]byte {
						mu.Lock()
						defer mu.Unlock()
						for client, send := range clients {
							if isProgress(line) && client != self {
								send(line)
							}
						}
						return [][]byte{line}
					},
				}
			}
		}(), []string{"warning clients"}},
		"adds a word to the results of held calls": {newEditingProxy(nil, func(m map[string]any) {
			content, _ := member(m, "result")["content"].([]any)
			for _, block := range content {
				b, _ := block.(map[string]any)
				if s, _ := b["text"].(string); strings.HasSuffix(s, "-both") {
					b["text"] = "result: " + s + "."
				}
			}
		}), nil},
		"returns the result of another client": {newEditingProxy(nil, func(m map[string]any) {
			content, _ := member(m, "result")["content"].([]any)
			for _, block := range content {
				b, _ := block.(map[string]any)
				if s, _ := b["text"].(string); strings.HasSuffix(s, "-both") {
					b["text"] = "mark-of-another-both"
				}
			}
		}), []string{"warning clients"}},
	})
}

// TestCompareNotifications compares gateways that change one kind of notification.
func TestCompareNotifications(t *testing.T) {
	t.Parallel()
	dropping := func(method string) func() proxy {
		return func() proxy {
			return proxy{toClient: func(line []byte) [][]byte {
				if decodedMessage(line)["method"] == method {
					return nil
				}
				return [][]byte{line}
			}}
		}
	}
	checkAll(t, map[string]comparison{
		"drops changes of prompts":   {dropping(spec.MethodPromptsChanged), []string{"warning list-changed"}},
		"drops changes of resources": {dropping(spec.MethodResourcesChanged), []string{"warning list-changed"}},
		"names another resource": {newEditingProxy(nil, func(m map[string]any) {
			if m["method"] == spec.MethodResourcesUpdated {
				member(m, "params")["uri"] = "demo://another"
			}
		}), []string{"warning subscriptions"}},
		"caches resources": {func() proxy {
			var mu sync.Mutex
			var id, cached any // of the first read of the note
			return proxy{
				toServer: func(line []byte, back func([]byte)) [][]byte {
					m := decodedMessage(line)
					mu.Lock()
					defer mu.Unlock()
					switch {
					case m["method"] != spec.MethodResourcesRead || member(m, "params")["uri"] != "demo://note":
					case cached != nil:
						back(wire.JSON(map[string]any{"jsonrpc": "2.0", "id": m["id"], "result": cached}))
						return nil
					default:
						id = m["id"]
					}
					return [][]byte{line}
				},
				toClient: func(line []byte) [][]byte {
					m := decodedMessage(line)
					mu.Lock()
					defer mu.Unlock()
					if m["method"] == nil && id != nil && m["id"] == id {
						cached = m["result"]
					}
					return [][]byte{line}
				},
			}
		}, []string{"warning subscriptions"}},
		"passes no level on": {newEditingProxy(func(m map[string]any) {
			if m["method"] == spec.MethodSetLevel {
				member(m, "params")["level"] = "debug"
			}
		}, nil), []string{"warning logging"}},
	})
}

// TestCompareStateless checks that a gateway over stdio loses nothing in a revision in which a
// request over HTTP is cancelled by closing its stream.
func TestCompareStateless(t *testing.T) {
	t.Parallel()
	o := optionsFor(t, func() proxy { return proxy{} })
	o.Revision = spec.V20260728
	g := Compare(t.Context(), o)
	if got := changesOf(g); len(got) > 0 {
		t.Errorf("changes: %v\n%+v", got, g.Changes)
	}
	for _, name := range []string{"capabilities", "prompts", "cancellation", "clients"} {
		if !slices.Contains(g.Unchanged, name) {
			t.Errorf("%s is not compared: %+v", name, g.NotCompared)
		}
	}
}

// TestCompareInterrupted checks that the end of the run is not counted as a loss.
func TestCompareInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	g := Compare(ctx, optionsFor(t, func() proxy {
		return proxy{toServer: func(line []byte, _ func([]byte)) [][]byte {
			if decodedMessage(line)["method"] == spec.MethodSetLevel {
				cancel()
				return nil
			}
			return [][]byte{line}
		}}
	}))
	if got := changesOf(g); len(got) > 0 {
		t.Errorf("changes: %v\n%+v", got, g.Changes)
	}
	isLogging := func(n verdict.NotCompared) bool { return n.Name == "logging" }
	if i := slices.IndexFunc(g.NotCompared, isLogging); i < 0 || cmp.Diff(endedBefore, g.NotCompared[i].Reason) != "" {
		t.Errorf("not compared: %+v", g.NotCompared)
	}
}

// TestCompareSharedState checks that state which an earlier session left at the upstream is not counted
// as a change by the gateway: over HTTP all requests of 2026-07-28 share state.
func TestCompareSharedState(t *testing.T) {
	t.Parallel()
	o := optionsFor(t, nil)
	o.Revision = spec.V20260728
	o.Through.Dialer = streamablehttp.NewDialer(o.Through.Upstream.URL, exchange.Reach{})
	v, err := o.open(t.Context(), o.Through)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	for _, list := range []string{"tools", "prompts", "resources"} {
		if _, err := v.callTool(t.Context(), "trigger-list-changed", map[string]any{"list": list}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := v.callTool(t.Context(), "update-resource", map[string]any{"text": "changed before"}, nil); err != nil {
		t.Fatal(err)
	}
	g := Compare(t.Context(), o)
	if got := changesOf(g); len(got) > 0 {
		t.Errorf("changes: %v\n%+v", got, g.Changes)
	}
}
