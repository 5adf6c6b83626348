package transcript

import (
	"bytes"
	"testing"

	"github.com/mcp-conform/mcp-conform/fixtures"
)

// FuzzSplitter checks that the chunks of a stream concatenate to the stream, however it is split
// for Feed, and that each can be parsed.
func FuzzSplitter(f *testing.F) {
	for _, seed := range []string{
		"", "data: {}\n\n", "id: 1\r\ndata: a\r\ndata: b\r\n\r\n", "event: endpoint\rdata: /m\r\r", "\xef\xbb\xbfdata: a\n\n", ":comment\n\nretry: 3000\n\n",
		"data\n\n", "data: a\n", "\r\n\r\n\n\r\r", "id: \x00\ndata: \xff\n\n",
	} {
		f.Add([]byte(seed), uint16(3))
	}
	f.Fuzz(func(t *testing.T, stream []byte, cut uint16) {
		whole := pieces(stream)
		at := int(cut) % (len(stream) + 1)
		if parts := pieces(stream[:at], stream[at:]); !bytes.Equal(bytes.Join(parts, nil), stream) {
			t.Fatalf("%q in two parts became %q", stream, parts)
		}
		if !bytes.Equal(bytes.Join(whole, nil), stream) {
			t.Fatalf("%q became %q", stream, whole)
		}
		for _, p := range whole {
			if ev := ParseStream(p); len(ev.Data) > len(p) {
				t.Fatalf("%q has data of %d bytes", p, len(ev.Data))
			}
			New().Add(Event{Kind: Received, Exchange: 1, Stream: p})
		}
	})
}

func pieces(chunks ...[]byte) [][]byte {
	var s Splitter
	var out [][]byte
	for _, c := range chunks {
		for _, p := range s.Feed(c) {
			out = append(out, bytes.Clone(p))
		}
	}
	if rest := s.End(); rest != nil {
		out = append(out, bytes.Clone(rest))
	}
	return out
}

// FuzzReadRecordings checks that any file is either read or rejected, and that the
// recordings are usable.
func FuzzReadRecordings(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "\n", `{"jsonrpc":"2.0","id":1,"method":"initialize"}` + "\n" + `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n",
		`{"direction":"in","message":{"jsonrpc":"2.0","id":1,"method":"ping"}}`, `[{"jsonrpc":"2.0","method":"ping","id":1}]`,
		"2026-01-01T00:00:00Z [info] > {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n", "-> {}\n<- {}\n",
	} {
		f.Add([]byte(seed))
	}
	if data, err := fixtures.Transcripts.ReadFile("transcripts/recorded/go-sdk-2025-11-25-shared.jsonl"); err == nil {
		f.Add(data[:min(len(data), 4096)])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		recordings, err := ReadRecordings("log.jsonl", bytes.NewReader(data))
		if err != nil {
			return
		}
		for _, r := range recordings {
			for i, e := range r.Events {
				if i > 0 && e.At < r.Events[i-1].At {
					t.Fatalf("event %d is earlier than the one before", i)
				}
				e.Messages()
			}
		}
	})
}

// FuzzRead checks that the events of a transcript survive a round trip.
func FuzzRead(f *testing.F) {
	f.Add([]byte(""))
	f.Add([]byte(`{"seq":0,"at":0,"kind":"opened"}` + "\n"))
	var b bytes.Buffer
	rec := New()
	rec.Add(Event{Kind: Opened, Detail: "a server"})
	rec.Add(Event{Kind: Sent, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)})
	rec.Add(Event{Kind: Received, Raw: []byte("\xff")})
	if err := Write(&b, rec.From(0)); err == nil {
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		events, err := readEvents(bytes.NewReader(data))
		if err != nil || !bytes.HasPrefix(data, []byte(`{"seq":0,`)) {
			return
		}
		var out bytes.Buffer
		if err := Write(&out, events); err != nil {
			t.Fatalf("what was read can't be written: %v", err)
		}
		again, err := readEvents(&out)
		if err != nil || len(again) != len(events) {
			t.Fatalf("%d events came back as %d (%v)", len(events), len(again), err)
		}
	})
}
