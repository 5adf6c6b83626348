package streamablehttp_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// TestLongResponses checks that a request whose long response was not read to its end does not
// count as unanswered.
func TestLongResponses(t *testing.T) {
	const beginning = `{"jsonrpc":"2.0","id":1,"result":{"tools":[`
	long := beginning + strings.Repeat(`{"name":"a tool"},`, 20_000)
	gaveUp := func(record *transcript.Transcript, asked *transcript.Event) {
		record.Add(transcript.Event{Kind: transcript.GaveUp, Of: asked.Seq})
	}
	for _, c := range []struct {
		name     string
		media    string
		rest     func(record *transcript.Transcript, asked *transcript.Event, n int)
		answered bool
	}{
		{"nothing comes", "text/event-stream", func(record *transcript.Transcript, asked *transcript.Event, n int) {
			gaveUp(record, asked)
			record.Add(transcript.Event{Kind: transcript.Over, Exchange: n, How: transcript.Dropped})
		}, false},
		{"a stream exceeds the limits", "text/event-stream", func(record *transcript.Transcript, asked *transcript.Event, n int) {
			record.Add(transcript.Event{Kind: transcript.Flooded, Exchange: n, Raw: []byte("data: " + beginning), Size: 17 << 20})
			record.Add(transcript.Event{Kind: transcript.Over, Exchange: n, How: transcript.Dropped})
			gaveUp(record, asked)
		}, true},
		{"a long event is on its way", "text/event-stream", func(record *transcript.Transcript, asked *transcript.Event, n int) {
			gaveUp(record, asked)
			record.Add(transcript.Event{Kind: transcript.Received, Exchange: n, Stream: []byte("data: " + long)})
			record.Add(transcript.Event{Kind: transcript.Over, Exchange: n, How: transcript.Dropped})
		}, true},
		{"an event stops after a few bytes", "text/event-stream", func(record *transcript.Transcript, asked *transcript.Event, n int) {
			gaveUp(record, asked)
			record.Add(transcript.Event{Kind: transcript.Received, Exchange: n, Stream: []byte("data: " + beginning)})
			record.Add(transcript.Event{Kind: transcript.Over, Exchange: n, How: transcript.Dropped})
		}, false},
		{"a long body is on its way", "application/json", func(record *transcript.Transcript, asked *transcript.Event, n int) {
			gaveUp(record, asked)
			record.Add(transcript.Event{Kind: transcript.Received, Exchange: n, Raw: []byte(beginning), Size: int64(len(long)), Unterminated: true})
			record.Add(transcript.Event{Kind: transcript.Over, Exchange: n, How: transcript.Dropped})
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			script, err := transcript.ParseScript(opened + "1>> " + `{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n")
			if err != nil {
				t.Fatal(err)
			}
			record := transcript.New()
			var asked *transcript.Event
			for _, e := range script.Events {
				asked = record.Add(*e)
			}
			n := asked.Exchange
			record.Add(transcript.Event{Kind: transcript.Responded, Exchange: n, Raw: []byte("HTTP/1.1 200 OK\nContent-Type: " + c.media)})
			c.rest(record, asked, n)
			results := rules.Judge(all(), record.From(0), spec.V20251125, spec.StreamableHTTP)
			broken := slices.ContainsFunc(results, func(r rules.Result) bool {
				return r.Requirement == "base.request-answered" && len(r.Deviations) > 0
			})
			if broken == c.answered {
				t.Errorf("base.request-answered is broken: %t", broken)
			}
		})
	}
}
