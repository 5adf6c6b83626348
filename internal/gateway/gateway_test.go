package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	"github.com/mcp-conform/mcp-conform/internal/transport/streamablehttp"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A proxy passes lines on between a client and the upstream. A nil function passes all lines on
// unchanged.
type proxy struct {
	// toServer and toClient return the lines to pass on in place of a line. back sends a line to
	// the client at once.
	toServer func(line []byte, back func([]byte)) [][]byte
	toClient func(line []byte) [][]byte
}

// dialer returns a dialer for gateways; newProxy is called for each.
func dialer(upstream string, newProxy func() proxy) transport.Dialer {
	return stdio.InProcess("gateway", func(ctx context.Context, in io.Reader, out, _ io.Writer, _ <-chan string) int {
		p := newProxy()
		server, err := (&net.Dialer{}).DialContext(ctx, "tcp", upstream)
		if err != nil {
			return 1
		}
		defer server.Close()
		lines := linesTo(out)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			copyLines(server, func(line []byte) [][]byte {
				if p.toClient != nil {
					return p.toClient(line)
				}
				return [][]byte{line}
			}, lines)
		}()
		copyLines(in, func(line []byte) [][]byte {
			if p.toServer != nil {
				return p.toServer(line, lines)
			}
			return [][]byte{line}
		}, linesTo(server))
		_ = server.(*net.TCPConn).CloseWrite()
		<-ended
		return 0
	})
}

// linesTo returns a function that writes whole lines.
func linesTo(w io.Writer) func([]byte) {
	var mu sync.Mutex
	return func(line []byte) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = w.Write(append(line, '\n'))
	}
}

// copyLines passes the lines of from on to the function to, after change has replaced each.
func copyLines(from io.Reader, change func([]byte) [][]byte, to func([]byte)) {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		for _, line := range change(slices.Clone(lines.Bytes())) {
			to(line)
		}
	}
}

func listen(t *testing.T) *Upstream {
	t.Helper()
	u, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(u.Close)
	return u
}

// compare returns the changes of a gateway as "outcome name".
func compare(t *testing.T, newProxy func() proxy) (changes []string, g *verdict.Gateway) {
	t.Helper()
	return compareWithin(t, 5*time.Second, newProxy)
}

// compareWithin is compare with another time-out of requests.
func compareWithin(t *testing.T, timeout time.Duration, newProxy func() proxy) (changes []string, g *verdict.Gateway) {
	t.Helper()
	o := optionsFor(t, newProxy)
	o.Timeout = timeout
	g = Compare(t.Context(), o)
	return changesOf(g), g
}

// optionsFor returns options that compare a gateway.
func optionsFor(t *testing.T, newProxy func() proxy) Options {
	t.Helper()
	u, alone := listen(t), listen(t)
	return Options{
		Direct:   Route{Upstream: alone, Dialer: streamablehttp.NewDialer(alone.URL, exchange.Reach{})},
		Through:  Route{Upstream: u, Dialer: dialer(u.Addr, newProxy)},
		Revision: spec.V20251125, Timeout: 5 * time.Second, StartTimeout: 5 * time.Second,
		Say: func(string) {},
	}
}

// changesOf returns the changes as "outcome name".
func changesOf(g *verdict.Gateway) (changes []string) {
	for _, c := range g.Changes {
		changes = append(changes, c.Outcome.String()+" "+c.Name)
	}
	slices.Sort(changes)
	return changes
}

// decodedMessage returns a message as Go values.
func decodedMessage(line []byte) map[string]any {
	var m map[string]any
	_ = json.Unmarshal(line, &m)
	return m
}

// edited returns the line with its message changed.
func edited(line []byte, change func(map[string]any)) []byte {
	m := decodedMessage(line)
	change(m)
	return wire.JSON(m)
}

func isProgress(line []byte) bool { return decodedMessage(line)["method"] == spec.MethodProgress }

// renumberingProxy returns a proxy that gives requests ids of its own, and replaces them in cancellations
// too if cancels is true.
func renumberingProxy(cancels bool) proxy {
	var mu sync.Mutex
	own, given := map[string]any{}, map[string]any{} // by the id of the other side
	return proxy{
		toServer: func(line []byte, _ func([]byte)) [][]byte {
			mu.Lock()
			defer mu.Unlock()
			return [][]byte{edited(line, func(m map[string]any) {
				params, _ := m["params"].(map[string]any)
				switch {
				case m["method"] == spec.MethodCancelled && cancels:
					params["requestId"] = own[string(wire.JSON(params["requestId"]))]
				case m["method"] != nil && m["id"] != nil:
					id := "own-" + string(wire.JSON(m["id"]))
					given[id], own[string(wire.JSON(m["id"]))] = m["id"], id
					m["id"] = id
				}
			})}
		},
		toClient: func(line []byte) [][]byte {
			mu.Lock()
			defer mu.Unlock()
			return [][]byte{edited(line, func(m map[string]any) {
				if id, ok := m["id"].(string); ok && m["method"] == nil && given[id] != nil {
					m["id"] = given[id]
				}
			})}
		},
	}
}

// A comparison is a gateway, and the changes that are expected of it.
type comparison struct {
	newProxy func() proxy
	want     []string
}

// checkAll compares each gateway in a test of its own.
func checkAll(t *testing.T, all map[string]comparison) {
	t.Helper()
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, g := compare(t, c.newProxy)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("changes (-want +got):\n%s\n%+v\n%+v", diff, g.Changes, g.NotCompared)
			}
		})
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	checkAll(t, map[string]comparison{
		"faultless": {func() proxy { return proxy{} }, nil},
		"drops progress": {func() proxy {
			return proxy{toClient: func(line []byte) [][]byte {
				if isProgress(line) {
					return nil
				}
				return [][]byte{line}
			}}
		}, []string{"warning progress", "warning streaming"}},
		"reorders progress": {func() proxy {
			var kept [][]byte
			return proxy{toClient: func(line []byte) [][]byte {
				if isProgress(line) {
					kept = append([][]byte{line}, kept...)
					if len(kept) < 2 {
						return nil
					}
				}
				out := append(slices.Clone(kept), line)
				if isProgress(line) {
					out = kept
				}
				kept = nil
				return out
			}}
		}, []string{"warning progress"}},
		"buffers until the response": {func() proxy {
			var kept [][]byte
			return proxy{toClient: func(line []byte) [][]byte {
				if isProgress(line) {
					kept = append(kept, line)
					return nil
				}
				if decodedMessage(line)["method"] != nil || !strings.Contains(string(line), `"content"`) {
					return [][]byte{line}
				}
				out := append(slices.Clone(kept), line)
				kept = nil
				return out
			}}
		}, []string{"warning streaming"}},
		"loses _meta of requests": {func() proxy {
			return proxy{toServer: func(line []byte, _ func([]byte)) [][]byte {
				return [][]byte{edited(line, func(m map[string]any) {
					if params, ok := m["params"].(map[string]any); ok && m["method"] == spec.MethodToolsCall {
						delete(params, "_meta")
					}
				})}
			}}
		}, []string{"warning progress", "warning request-meta", "warning streaming"}},
		"caches lists": {func() proxy {
			var mu sync.Mutex
			cached, asked := map[string]any{}, map[string]string{} // results by params, and the params by request id
			return proxy{
				toServer: func(line []byte, back func([]byte)) [][]byte {
					m := decodedMessage(line)
					mu.Lock()
					defer mu.Unlock()
					key := string(wire.JSON(m["params"]))
					switch {
					case m["method"] != spec.MethodToolsList:
					case cached[key] != nil:
						back(wire.JSON(map[string]any{"jsonrpc": "2.0", "id": m["id"], "result": cached[key]}))
						return nil
					default:
						asked[string(wire.JSON(m["id"]))] = key
					}
					return [][]byte{line}
				},
				toClient: func(line []byte) [][]byte {
					m := decodedMessage(line)
					mu.Lock()
					defer mu.Unlock()
					if key, ok := asked[string(wire.JSON(m["id"]))]; ok && m["method"] == nil {
						cached[key] = m["result"]
					}
					return [][]byte{line}
				},
			}
		}, []string{"warning list-changed"}},
		"gives requests other ids":              {func() proxy { return renumberingProxy(true) }, []string{"note ids"}},
		"gives requests other ids, and no more": {func() proxy { return renumberingProxy(false) }, []string{"note ids", "warning cancellation"}},
		"drops cancellations": {func() proxy {
			return proxy{toServer: func(line []byte, _ func([]byte)) [][]byte {
				if decodedMessage(line)["method"] == spec.MethodCancelled {
					return nil
				}
				return [][]byte{line}
			}}
		}, []string{"warning cancellation"}},
	})
}

// TestCompareWithLostCalls checks that there is a warning for each probe whose call never reaches the
// upstream.
func TestCompareWithLostCalls(t *testing.T) {
	t.Parallel()
	got, g := compareWithin(t, time.Second, func() proxy {
		return proxy{toServer: func(line []byte, _ func([]byte)) [][]byte {
			if strings.Contains(string(line), holdPrefix) {
				return nil
			}
			return [][]byte{line}
		}}
	})
	if diff := cmp.Diff([]string{"warning cancellation", "warning clients", "warning streaming"}, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s\n%+v", diff, g.Changes)
	}
}
