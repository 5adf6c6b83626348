package cli

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

func process(name string) func(*testing.T, *hostileRun) string {
	return func(_ *testing.T, r *hostileRun) string {
		r.command = []string{"--", "odd", name}
		return ""
	}
}

func seamed(s refserver.Seams) func(*testing.T, *hostileRun) string {
	return func(t *testing.T, run *hostileRun) string {
		h := refserver.NewHTTPHandler(t.Context(), refserver.Options{Seams: s})
		return handled(h.ServeHTTP)(t, run)
	}
}

func seamedSSE(s refserver.Seams) func(*testing.T, *hostileRun) string {
	return over("sse", func(t *testing.T, run *hostileRun) string {
		var h http.Handler = refserver.NewSSEHandler(context.Background(), refserver.Options{Seams: s})
		return handled(h.ServeHTTP)(t, run)
	})
}

func flooding() []hostileServer {
	var out []hostileServer
	for _, name := range slices.Sorted(maps.Keys(floodingProcesses)) {
		out = append(out, hostileServer{name, process(name), 4, nil, 35 * time.Second})
	}
	return out
}

func misshaping() []hostileServer {
	var out []hostileServer
	for _, name := range slices.Sorted(maps.Keys(misshapen)) {
		out = append(out, hostileServer{name, process(name), 4, nil, 35 * time.Second})
		out = append(out, hostileServer{name + ", http", seamed(misshapen[name]()), 4, nil, 35 * time.Second})
	}
	return out
}
