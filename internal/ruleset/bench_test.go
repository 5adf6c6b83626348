package ruleset_test

import (
	"bytes"
	"path"
	"testing"

	"github.com/mcp-conform/mcp-conform/fixtures"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/ruleset"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// BenchmarkJudge judges whole recorded sessions by all rules, including the schemas. It counts
// the messages of both sides. The case "and read" also parses the bytes, which a run has done
// before.
func BenchmarkJudge(b *testing.B) {
	for _, file := range []string{"everything-2025-11-25-shared.jsonl", "go-sdk-2025-11-25-shared.jsonl"} {
		data, err := fixtures.Transcripts.ReadFile(path.Join("transcripts/recorded", file))
		if err != nil {
			b.Fatal(err)
		}
		sessions, err := transcript.ReadRecordings(file, bytes.NewReader(data))
		if err != nil {
			b.Fatal(err)
		}
		events, messages := sessions[0].Events, 0
		for _, e := range events {
			messages += len(e.Messages())
		}
		for _, c := range []struct {
			name string
			read bool
		}{{"judged", false}, {"and read", true}} {
			b.Run(file+"/"+c.name, func(b *testing.B) {
				b.ReportAllocs()
				all := ruleset.All()
				for b.Loop() {
					if c.read {
						for _, e := range events {
							if e.Frame != nil {
								e.Frame = wire.Parse(e.Raw)
							}
						}
					}
					if len(rules.Judge(all, events, spec.V20251125, spec.Stdio)) == 0 {
						b.Fatal("nothing was judged")
					}
				}
				b.ReportMetric(float64(b.N*messages)/b.Elapsed().Seconds(), "messages/s")
			})
		}
	}
}
