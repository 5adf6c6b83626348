package gateway

import (
	"strings"
	"sync"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// newEditingProxy returns a function that makes a proxy with edits of the messages in each direction.
func newEditingProxy(toServer, toClient func(m map[string]any)) func() proxy {
	return func() proxy {
		var p proxy
		if toServer != nil {
			p.toServer = func(line []byte, _ func([]byte)) [][]byte { return [][]byte{edited(line, toServer)} }
		}
		if toClient != nil {
			p.toClient = func(line []byte) [][]byte { return [][]byte{edited(line, toClient)} }
		}
		return p
	}
}

// member returns the object at the path of a message, nil if it is not there.
func member(m map[string]any, path ...string) map[string]any {
	for _, name := range path {
		m, _ = m[name].(map[string]any)
	}
	return m
}

// tokenReplacingProxy returns a proxy that replaces progress tokens, and puts them back.
func tokenReplacingProxy() proxy {
	var mu sync.Mutex
	given := map[string]any{}
	return newEditingProxy(func(m map[string]any) {
		mu.Lock()
		defer mu.Unlock()
		meta := member(m, "params", "_meta")
		if token := meta["progressToken"]; token != nil && m["method"] != spec.MethodProgress {
			own := "own-" + string(wire.JSON(token))
			given[own], meta["progressToken"] = token, own
		}
	}, func(m map[string]any) {
		mu.Lock()
		defer mu.Unlock()
		params := member(m, "params")
		if own, _ := params["progressToken"].(string); m["method"] == spec.MethodProgress && given[own] != nil {
			params["progressToken"] = given[own]
		}
	})()
}

// TestCompareLegal checks that changes which a gateway may make are notes, not warnings.
func TestCompareLegal(t *testing.T) {
	t.Parallel()
	checkAll(t, map[string]comparison{
		"puts a prefix before names of tools": {newEditingProxy(func(m map[string]any) {
			if params := member(m, "params"); m["method"] == spec.MethodToolsCall {
				name, _ := params["name"].(string)
				params["name"] = strings.TrimPrefix(name, "demo_")
			}
		}, func(m map[string]any) {
			tools, _ := member(m, "result")["tools"].([]any)
			for _, tool := range tools {
				entry, _ := tool.(map[string]any)
				name, _ := entry["name"].(string)
				entry["name"] = "demo_" + name
			}
		}), []string{"note tool-names"}},
		"merges the tools of another server": {newEditingProxy(nil, func(m map[string]any) {
			result := member(m, "result")
			if tools, ok := result["tools"].([]any); ok && result["nextCursor"] == nil {
				result["tools"] = append(tools, map[string]any{"name": "weather_today", "inputSchema": map[string]any{"type": "object"}})
			}
		}), []string{"note tool-names", "note tools"}},
		"has a name and capabilities of its own": {newEditingProxy(nil, func(m map[string]any) {
			if result := member(m, "result"); result["serverInfo"] != nil {
				result["serverInfo"] = map[string]any{"name": "gateway", "version": "1"}
				member(result, "capabilities")["experimental"] = map[string]any{"example.com/gateway": map[string]any{}}
			}
		}), []string{"note capabilities", "note server-info"}},
		"adds _meta to results": {newEditingProxy(nil, func(m map[string]any) {
			result := member(m, "result")
			if result["content"] == nil {
				return
			}
			if result["_meta"] == nil {
				result["_meta"] = map[string]any{}
			}
			member(result, "_meta")["example.com/gateway"] = "seen"
		}), []string{"note requests-of-the-server", "note results"}},
		"replaces progress tokens": {tokenReplacingProxy, nil},
	})
}

// TestCompareLosses compares gateways that lose or change one thing.
func TestCompareLosses(t *testing.T) {
	t.Parallel()
	checkAll(t, map[string]comparison{
		"sends progress twice": {func() proxy {
			return proxy{toClient: func(line []byte) [][]byte {
				if isProgress(line) {
					return [][]byte{line, line}
				}
				return [][]byte{line}
			}}
		}, []string{"warning progress"}},
		"loses structured content": {newEditingProxy(nil, func(m map[string]any) {
			delete(member(m, "result"), "structuredContent")
		}), []string{"warning results"}},
		"gives errors one code": {newEditingProxy(nil, func(m map[string]any) {
			if failed := member(m, "error"); failed != nil {
				failed["code"] = -32603
			}
		}), []string{"warning errors"}},
		"drops annotations of tools": {newEditingProxy(nil, func(m map[string]any) {
			tools, _ := member(m, "result")["tools"].([]any)
			for _, tool := range tools {
				delete(tool.(map[string]any), "annotations")
			}
		}), []string{"warning tools"}},
		"drops updates of resources": {func() proxy {
			return proxy{toClient: func(line []byte) [][]byte {
				if decodedMessage(line)["method"] == spec.MethodResourcesUpdated {
					return nil
				}
				return [][]byte{line}
			}}
		}, []string{"warning subscriptions"}},
		"cuts long strings": {newEditingProxy(nil, func(m map[string]any) {
			content, _ := member(m, "result")["content"].([]any)
			for _, block := range content {
				b, _ := block.(map[string]any)
				if s, _ := b["text"].(string); len(s) > 1<<16 {
					b["text"] = s[:1<<16]
				}
			}
		}), []string{"warning size"}},
	})
}
