package engine

import (
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// A report searches only so many megabytes for secrets: the first long events
// are quoted, the others are named.
func TestReportReadsOnlySoMuch(t *testing.T) {
	t.Parallel()
	rec := transcript.New()
	rec.Add(transcript.Event{Kind: transcript.Received, Raw: []byte(`{"jsonrpc":"2.0","id":1,"result":{"a":"` + strings.Repeat("x", 3<<20) + `"}}`)})
	r := &quoter{redactor: transcript.NewRedactor(nil)}
	quoted, named := 0, 0
	for range 6 {
		evidence, _ := r.quotation(&candidate{record: rec, Deviation: verdict.Deviation{At: []int{0}, Seen: "x"}})
		switch {
		case len(evidence) != 1 || !evidence[0].Offending || evidence[0].Size < 3<<20:
			t.Fatalf("the evidence is %+v", evidence)
		case evidence[0].Text == "":
			named++
		default:
			quoted++
		}
	}
	if quoted != 3 || named != 3 {
		t.Errorf("%d were quoted and %d named, want 3 of each", quoted, named)
	}
}
