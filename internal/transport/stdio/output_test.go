package stdio

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// TestLinesDoNotDependOnReads checks that the recorded lines are the same
// however the bytes are split into reads, and are those of a plain split.
func TestLinesDoNotDependOnReads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOf(rapid.SampledFrom([]byte("ab\r\n\n\x00\xff"))).Draw(t, "text")
		limit := rapid.IntRange(1, 8).Draw(t, "limit")
		var reads [][]byte
		for rest := text; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "read")
			reads, rest = append(reads, rest[:n]), rest[n:]
		}
		got := recorded(limit, reads...)
		if diff := cmp.Diff(recorded(limit, text), got); diff != "" {
			t.Fatalf("depends on reads (-whole +in pieces):\n%s", diff)
		}
		if diff := cmp.Diff(expected(text, limit), got); diff != "" {
			t.Fatalf("lines (-want +got):\n%s", diff)
		}
	})
}

type line struct {
	Raw          string
	Size         int64
	Unterminated bool
}

// recorded returns the lines that are recorded for the reads.
func recorded(limit int, reads ...[]byte) []line {
	l := &link{rec: transcript.NewWithin(nil, transcript.Limits{Frame: limit}), ended: make(chan struct{})}
	o := output{link: l}
	for _, r := range reads {
		o.take(r)
	}
	o.finish()
	var out []line
	for _, e := range l.rec.From(0) {
		if e.Kind == transcript.Received {
			out = append(out, line{string(e.Raw), e.Size, e.Unterminated})
		}
	}
	return out
}

// expected computes the same lines in the simplest way: a line over the limit
// is the last, and only its head is kept.
func expected(text []byte, limit int) []line {
	var out []line
	pieces := bytes.Split(text, newline)
	for i, p := range pieces {
		last := i == len(pieces)-1
		if last && len(p) == 0 {
			break
		}
		out = append(out, line{string(p[:min(len(p), limit)]), int64(len(p)), last})
		if len(p) > limit {
			break
		}
	}
	return out
}
