package fuzz_test

import (
	"bytes"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/cputime"
	"github.com/mcp-conform/mcp-conform/internal/fuzz"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// BenchmarkSearch measures the requests per second that are sent and judged by all rules and
// laws, and the CPU time of each. An operation is one sequence. No tool is called, because some
// take their time. The server is in this process, except in the case "process", where each
// sequence starts one, as it does for the servers of users.
func BenchmarkSearch(b *testing.B) {
	for _, c := range []struct {
		name     string
		revision spec.Revision
		dialer   func() (transport.Dialer, func())
	}{
		{"stdio", spec.V20251125, func() (transport.Dialer, func()) { return suitetest.ReferenceOver(spec.Stdio, refserver.Options{}) }},
		{"stdio stateless", spec.V20260728, func() (transport.Dialer, func()) { return suitetest.ReferenceOver(spec.Stdio, refserver.Options{}) }},
		{"process", spec.V20251125, func() (transport.Dialer, func()) { return leakingDialer(b, "nothing"), func() {} }},
		{"streamable-http", spec.V20251125, func() (transport.Dialer, func()) {
			return suitetest.ReferenceOver(spec.StreamableHTTP, refserver.Options{})
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			d, stop := c.dialer()
			defer stop()
			b.ResetTimer()
			before := cputime.Used()
			report, err := fuzz.Run(b.Context(), fuzz.Options{
				Dialer: d, Laws: laws(), Policy: inventory.Config{Policy: inventory.CallNone}, Revisions: []spec.Revision{c.revision}, Cases: b.N, Seed: 1,
			})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(report.Requests)/report.Took.Seconds(), "requests/s")
			reportCPUTime(b, cputime.Used()-before, int(report.Requests))
		})
	}
}

// reportCPUTime reports the CPU time of a request, including the server's. It is more reliable than
// elapsed time while other programs run.
func reportCPUTime(b *testing.B, used time.Duration, requests int) {
	b.ReportMetric(float64(used.Microseconds())/float64(requests), "cpu-µs/request")
}

// BenchmarkPump measures the upper bound for a client that judges nothing: it sends requests to
// the same server as fast as it answers, and counts the lines.
func BenchmarkPump(b *testing.B) {
	const together, most = 64, 10_000 // a transcript is bounded: after that many events a new conversation begins
	d, stop := suitetest.ReferenceOver(spec.Stdio, refserver.Options{})
	defer stop()
	open := func() *client.Conversation {
		c, err := client.Open(b.Context(), d, client.Options{Revision: spec.V20251125})
		if err != nil {
			b.Fatal(err)
		}
		if err := c.Handshake(b.Context()); err != nil {
			b.Fatal(err)
		}
		return c
	}
	c := open()
	defer func() { c.Close() }()
	began, before, requests := time.Now(), cputime.Used(), 0
	var lines atomic.Int64
	for b.Loop() {
		if c.Record.Len() > most {
			c.Close()
			c = open()
		}
		var frames [][]byte
		for range together {
			requests++
			frames = append(frames, wire.NewRequest(wire.IntID(int64(1000+requests)), spec.MethodResourcesTemplates, nil))
		}
		last := wire.IntID(int64(1000 + requests)).Raw()
		from := c.Record.Len()
		if err := c.Send(b.Context(), frames...); err != nil {
			b.Fatal(err)
		}
		if _, err := c.Await(b.Context(), from, func(e *transcript.Event) bool {
			if e.Kind == transcript.Received {
				lines.Add(1)
			}
			return e.Kind == transcript.Received && bytes.Contains(e.Raw, []byte(`"id":`+last))
		}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(requests)/time.Since(began).Seconds(), "requests/s")
	reportCPUTime(b, cputime.Used()-before, requests)
}
