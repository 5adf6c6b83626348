package transcript

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/redact"
)

func split(chunks ...string) []string {
	var s Splitter
	var out []string
	for _, c := range chunks {
		for _, p := range s.Feed([]byte(c)) {
			out = append(out, string(p))
		}
	}
	if rest := s.End(); rest != nil {
		out = append(out, string(rest))
	}
	return out
}

func TestSplitter(t *testing.T) {
	for _, c := range []struct {
		name   string
		chunks []string
		want   []string
	}{
		{"LF", []string{"data: a\n\ndata: b\n\n"}, []string{"data: a\n\n", "data: b\n\n"}},
		{"CR LF", []string{"data: a\r\n\r\ndata: b\r\n\r\n"}, []string{"data: a\r\n\r\n", "data: b\r\n\r\n"}},
		{"CR", []string{"data: a\r\rdata: b\r\r"}, []string{"data: a\r\r", "data: b\r\r"}},
		{"CR LF in parts", []string{"data: a\r", "\n\r", "\ndata: b"}, []string{"data: a\r\n\r\n", "data: b"}},
		{"CR that waits for nothing", []string{"data: a\r", "\r", "data: b"}, []string{"data: a\r\r", "data: b"}},
		{"LF after a CR that did not wait", []string{"a\r\r", "\nb"}, []string{"a\r\r", "\n", "b"}},
		{"a byte order mark", []string{"\xef", "\xbb\xbfdata: a\n\n"}, []string{byteOrderMark, "data: a\n\n"}},
		{"half of one", []string{"\xef", "\xbb"}, []string{"\xef\xbb"}},
		{"blank lines", []string{"\n\n"}, []string{"\n", "\n"}},
		{"an end in the midst", []string{"data: a\n"}, []string{"data: a\n"}},
		{"nothing", []string{"", ""}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, split(c.chunks...)); diff != "" {
				t.Errorf("pieces (-want +got):\n%s", diff)
			}
		})
	}
	var s Splitter
	s.Feed([]byte("data: a\n\ndata"))
	if s.Pending() != 4 {
		t.Errorf("%d bytes are pending", s.Pending())
	}
}

func TestParseStream(t *testing.T) {
	for _, c := range []struct {
		name, piece string
		want        StreamEvent
	}{
		{"data", "data: a\n\n", StreamEvent{Data: []byte("a"), HasData: true, Blank: "\n"}},
		{"all fields", "event:x\r\nid: 7\r\nretry: 10\r\ndata:a\r\ndata:  b\r\n\r\n",
			StreamEvent{Type: "x", ID: "7", HasID: true, Retry: "10", Data: []byte("a\n b"), HasData: true, Blank: "\r\n"}},
		{"fields without a colon", "data\ndata\nid\n\n", StreamEvent{Data: []byte("\n"), HasData: true, HasID: true, Blank: "\n"}},
		{"what is not legal", "id: a\x00b\nretry: 1s\nretry: \nDATA: x\n data: y\n\n", StreamEvent{Blank: "\n"}},
		{"the last one counts", "event: a\nid: 1\nevent: b\nid: 2\n\n", StreamEvent{Type: "b", ID: "2", HasID: true, Blank: "\n"}},
		{"a comment", ": ping\r\r", StreamEvent{Blank: "\r"}},
		{"not ended", "data: a\n", StreamEvent{Data: []byte("a"), HasData: true}},
		{"a byte order mark", byteOrderMark, StreamEvent{ByteOrderMark: true}},
		{"a byte order mark that is none", byteOrderMark + "data: a\n\n", StreamEvent{Blank: "\n"}},
		{"nothing", "", StreamEvent{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := *ParseStream([]byte(c.piece))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
		})
	}
	lines := slices.Collect(StreamLines([]byte(": c\rdata: a\r\nid")))
	want := []StreamLine{{Text: []byte(": c"), End: "\r", Value: []byte("c")}, {Text: []byte("data: a"), End: "\r\n", Field: "data", Value: []byte("a")}, {Text: []byte("id"), Field: "id", Value: nil}}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if !lines[0].IsComment() || lines[1].IsComment() {
		t.Error("a comment is not known")
	}
}

// delivered returns the type and data of the events of a stream, computed by a simple reference
// implementation.
func delivered(stream string) []string {
	stream = strings.TrimPrefix(stream, byteOrderMark)
	stream = strings.ReplaceAll(strings.ReplaceAll(stream, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(stream, "\n")
	lines = lines[:len(lines)-1] // the last line was not ended
	var out []string
	kind, data, has := "", "", false
	for _, line := range lines {
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if has {
				out = append(out, kind+"|"+strings.TrimSuffix(data, "\n"))
			}
			kind, data, has = "", "", false
		case field == "event":
			kind = value
		case field == "data":
			data, has = data+value+"\n", true
		}
	}
	return out
}

// TestStreamLaws checks that, for any split of the bytes, the chunks concatenate to the
// stream and hold the events that the HTML standard defines.
func TestStreamLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{"\n", "\n", "\r", "\r\n", "\n\n", "\r\r", "\r\n\r\n", "data", "data:", "data: {}", "event: x", "id: 1", ":", " ", byteOrderMark, "\xff", "retry: 1"})
		stream := strings.Join(rapid.SliceOfN(part, 0, 30).Draw(t, "parts"), "")
		var chunks []string
		for rest := stream; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "chunk")
			chunks = append(chunks, rest[:n])
			rest = rest[n:]
		}
		pieces := split(chunks...)
		if got := strings.Join(pieces, ""); got != stream {
			t.Fatalf("the pieces are %q", got)
		}
		var got []string
		for i, p := range pieces {
			ev := ParseStream([]byte(p))
			if !ev.IsComplete() && !ev.ByteOrderMark && i < len(pieces)-1 {
				t.Fatalf("piece %q is not complete", p)
			}
			if ev.IsComplete() && ev.HasData {
				got = append(got, ev.Type+"|"+string(ev.Data))
			}
		}
		if diff := cmp.Diff(delivered(stream), got); diff != "" {
			t.Fatalf("events of %q (-want +got):\n%s", stream, diff)
		}
	})
}

func TestRedactHTTP(t *testing.T) {
	r := NewRedactor(redact.New("swordfish-77"))
	for _, c := range []struct {
		name  string
		event Event
		want  string
	}{
		{"a request", Event{Kind: Requested, Raw: []byte("GET /mcp?token=abc&a=b HTTP/1.1\r\nAuthorization: Bearer abc\r\ncookie: a=b; c=d\r\nX-Api-Key: k\r\nMcp-Session-Id: eyJhbGciOi.J9abcdefgh\r\nAccept: */*")},
			"GET /mcp?token=REDACTED&a=b HTTP/1.1\r\nAuthorization: Bearer REDACTED\r\ncookie: REDACTED\r\nX-Api-Key: REDACTED\r\nMcp-Session-Id: eyJhbGciOi.J9abcdefgh\r\nAccept: */*"},
		{"a response", Event{Kind: Responded, Raw: []byte("HTTP/1.1 200 OK\nSet-Cookie:a=b\n c=d\nX: swordfish-77\nProxy-Authorization: abc\nLocation: https://u:pw@h/\nMCP-Session-Id: swordfish-77-a")},
			"HTTP/1.1 200 OK\nSet-Cookie:REDACTED\n REDACTED\nX: REDACTED\nProxy-Authorization: REDACTED\nLocation: https://u:REDACTED@h/\nMCP-Session-Id: REDACTED-a"},
		{"an event", Event{Kind: Streamed, Stream: []byte("id: token=abc\r\n: token=abc\r\ndata:{\"id\":1,\r\ndata: \"token\":\"abc\"}\r\n\r\n")},
			"id: token=abc\r\n: token=REDACTED\r\ndata:{\"id\":1,\r\ndata: \"token\":\"REDACTED\"}\r\n\r\n"},
		{"an endpoint", Event{Kind: Streamed, Stream: []byte("event: endpoint\ndata: /messages?session_id=abc&token=abc\n\n")},
			"event: endpoint\ndata: /messages?session_id=abc&token=REDACTED\n\n"},
		{"a byte order mark", Event{Kind: Streamed, Stream: []byte(byteOrderMark)}, byteOrderMark},
		{"an end", Event{Kind: Over, How: Broken, Detail: "GET http://x?token=abc"}, "GET http://x?token=REDACTED"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.event.Exchange = 1
			c.event.setDerived()
			before := c.event
			got := r.RedactEvents([]*Event{&c.event})[0]
			text := string(got.Raw) + got.Detail
			if got.Stream != nil {
				text = string(got.Stream)
			}
			if diff := cmp.Diff(c.want, text); diff != "" {
				t.Errorf("redacted (-want +got):\n%s", diff)
			}
			if got.Kind != before.Kind || got.Exchange != 1 || got.IsCut() || (got.Head == nil) != (before.Head == nil) {
				t.Errorf("it became %+v", got)
			}
		})
	}
}

// TestRedactKnownSecretsInExchanges checks that redaction removes known secrets from all
// events of an exchange.
func TestRedactKnownSecretsInExchanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[a-z0-9]{6,9}`).Draw(t, "secret")
		part := rapid.SampledFrom([]string{secret, "data: ", "\n", "\r\n", ": ", "id:", "X", "Authorization: ", `{"a":"`, `"}`, " ", "\n "})
		text := []byte(strings.Join(rapid.SliceOfN(part, 0, 12).Draw(t, "parts"), ""))
		if !bytes.Contains(text, []byte(secret)) {
			return
		}
		for _, e := range []Event{{Kind: Requested, Raw: text}, {Kind: Responded, Raw: text}} {
			e.setDerived()
			got := NewRedactor(redact.New(secret)).RedactEvents([]*Event{&e})[0]
			if bytes.Contains(got.Raw, []byte(secret)) {
				t.Fatalf("%q is in %q", secret, got.Raw)
			}
		}
		for _, piece := range split(string(text)) {
			e := Event{Kind: Streamed, Stream: []byte(piece)}
			e.setDerived()
			got := NewRedactor(redact.New(secret)).RedactEvents([]*Event{&e})[0]
			if bytes.Contains(got.Stream, []byte(secret)) {
				t.Fatalf("%q is in %q", secret, got.Stream)
			}
		}
	})
}
