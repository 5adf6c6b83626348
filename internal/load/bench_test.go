package load_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/cputime"
	"github.com/mcp-conform/mcp-conform/internal/load"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// BenchmarkRequests measures the total cost of a request: client, server,
// transport and judges. It reports CPU time, because other measures depend on
// the load of the machine.
func BenchmarkRequests(b *testing.B) {
	for over, revision := range transports {
		b.Run(string(over), func(b *testing.B) {
			dialer, stop := suitetest.ReferenceOver(over, refserver.Options{RequestTimeout: time.Minute})
			defer stop()
			plan := load.Plan{Dialer: dialer, Revision: revision, Sessions: 32, Requests: 42}
			load.Run(b.Context(), plan) // a warm-up, for what is read only once
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			worked, requests := cputime.Used(), int64(0)
			for b.Loop() {
				report := load.Run(b.Context(), plan)
				requests += report.Requests
				for _, complaint := range report.Complaints() {
					b.Error(complaint)
				}
			}
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64((cputime.Used()-worked).Microseconds())/float64(requests), "cpu-µs/request")
			b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(requests), "B/request")
			b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(requests), "allocs/request")
			b.ReportMetric(0, "ns/op")
		})
	}
}
