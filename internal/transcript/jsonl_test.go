package transcript

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

var sameEvents = cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(Event{}, wire.Message{}), cmp.AllowUnexported(wire.ID{})}

func TestWrite(t *testing.T) {
	var b bytes.Buffer
	err := Write(&b, []*Event{
		{Seq: 0, At: 5, Kind: Opened, Detail: "./server"},
		{Seq: 1, At: 10, Kind: Sent, Raw: []byte(`{"id":1}<&>`), Size: 11},
		{Seq: 2, At: 20, Kind: Received, Raw: []byte("\xff"), Size: 100},
		{Seq: 3, At: 30, Kind: Received, Unterminated: true},
		{Seq: 4, At: 40, Kind: GaveUp, Of: 1},
		{Seq: 5, At: 50, Kind: Exited, Detail: "signal: killed", ExitCode: -1},
		{Seq: 6, At: 60, Kind: Exited},
		{Seq: 7, At: 70, Kind: GaveUp, Of: 1, Short: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"seq":0,"at":5,"kind":"opened","detail":"./server"}
{"seq":1,"at":10,"kind":"sent","raw":"{\"id\":1}<&>"}
{"seq":2,"at":20,"kind":"received","rawBase64":"/w==","size":100}
{"seq":3,"at":30,"kind":"received","raw":"","unterminated":true}
{"seq":4,"at":40,"kind":"gave-up","of":1}
{"seq":5,"at":50,"kind":"exited","detail":"signal: killed","exitCode":-1}
{"seq":6,"at":60,"kind":"exited","exitCode":0}
{"seq":7,"at":70,"kind":"remark","detail":"no response to 1 came in less than the timeout"}
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestWriteErrors(t *testing.T) {
	full := errors.New("disk full")
	w := writerFunc(func([]byte) (int, error) { return 0, full })
	if err := Write(w, []*Event{{Kind: Opened}}); !errors.Is(err, full) {
		t.Errorf("the error is %v", err)
	}
	if err := Write(w, []*Event{{Kind: Remark, Detail: strings.Repeat("x", 1<<20)}}); !errors.Is(err, full) {
		t.Errorf("the error is %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestWriteReadRoundTrip(t *testing.T) {
	raws := rapid.OneOf(
		rapid.SliceOf(rapid.Byte()),
		rapid.Map(rapid.String(), func(s string) []byte { return []byte(s) }),
		rapid.Just([]byte(`{"jsonrpc":"2.0","id":1,"result":{"x":"\ud800"}}`)),
	)
	rapid.Check(t, func(t *rapid.T) {
		var events []*Event
		for seq := range rapid.IntRange(1, 8).Draw(t, "events") {
			e := &Event{Seq: seq, At: time.Duration(rapid.Int64Min(0).Draw(t, "at")), Kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
			e.Detail = rapid.String().Draw(t, "detail")
			switch e.Kind {
			case Sent, Received:
				e.Raw, e.Unterminated = raws.Draw(t, "raw"), rapid.Bool().Draw(t, "unterminated")
			case Stderr, Flooded:
				e.Raw = raws.Draw(t, "raw")
			case GaveUp:
				if seq == 0 {
					e.Kind = Remark
				} else {
					e.Of = rapid.IntRange(0, seq-1).Draw(t, "of")
				}
			case Exited:
				e.ExitCode = rapid.Int().Draw(t, "exit code")
			case Requested, Responded, Streamed, Over:
				drawHTTP(t, e)
			}
			e.parse()
			e.Size = int64(len(e.Raw)) + rapid.Int64Range(0, 3).Draw(t, "more")
			events = append(events, e)
		}
		var b bytes.Buffer
		if err := Write(&b, events); err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(b.Bytes(), []byte("\n")); n != len(events) {
			t.Fatalf("%d events stand on %d lines", len(events), n)
		}
		got, err := readEvents(&b)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(events, got, sameEvents); diff != "" {
			t.Fatalf("read back (-want +got):\n%s", diff)
		}
	})
}

// readEvents reads the events of a transcript.
func readEvents(r io.Reader) ([]*Event, error) {
	recordings, err := ReadRecordings("t", r)
	if err != nil {
		return nil, err
	}
	return recordings[0].Events, nil
}

func TestReadNamesTheLine(t *testing.T) {
	const first = `{"seq":0,"at":1,"kind":"opened"}` + "\n"
	for _, c := range []struct{ name, second, want string }{
		{"no JSON", "x", "t:2: not an event: invalid character 'x'"},
		{"no object", "[]", "t:2: not an event: json: cannot unmarshal array"},
		{"a line is missing", `{"seq":2,"at":1,"kind":"opened"}`, "t:2: seq is 2, want 1"},
		{"unknown kind", `{"seq":1,"at":1,"kind":"open"}`, `t:2: unknown kind "open"`},
		{"negative time", `{"seq":1,"at":-1,"kind":"opened"}`, "t:2: at is -1"},
		{"bytes twice", `{"seq":1,"at":1,"kind":"sent","raw":"","rawBase64":""}`, "both raw and rawBase64"},
		{"no bytes", `{"seq":1,"at":1,"kind":"sent"}`, "kind sent needs raw"},
		{"no base64", `{"seq":1,"at":1,"kind":"sent","rawBase64":"?"}`, "rawBase64: illegal base64"},
		{"too small", `{"seq":1,"at":1,"kind":"sent","raw":"abc","size":2}`, "size is 2, but raw has 3 bytes"},
		{"of nothing", `{"seq":1,"at":1,"kind":"gave-up"}`, "of must be the seq of an earlier line"},
		{"of itself", `{"seq":1,"at":1,"kind":"gave-up","of":1}`, "of must be the seq of an earlier line"},
		{"no exit code", `{"seq":1,"at":1,"kind":"exited"}`, "exitCode is missing"},
		{"no exchange", `{"seq":1,"at":1,"kind":"over","how":"complete"}`, "kind over needs the number of its exchange"},
		{"an unknown end", `{"seq":1,"at":1,"kind":"over","exchange":1,"how":"sadly"}`, `how is "sadly"; it must be one of [complete`},
		{"no head", `{"seq":1,"at":1,"kind":"request","exchange":1}`, "kind request needs raw"},
		{"no piece", `{"seq":1,"at":1,"kind":"streamed","exchange":1}`, "kind streamed needs stream"},
		{"a piece and bytes", `{"seq":1,"at":1,"kind":"received","exchange":1,"raw":"","stream":""}`, "stream is allowed only on kinds streamed and received"},
		{"a piece sent", `{"seq":1,"at":1,"kind":"sent","exchange":1,"stream":""}`, "stream is allowed only on kinds streamed"},
		{"a piece twice", `{"seq":1,"at":1,"kind":"streamed","exchange":1,"stream":"","streamBase64":""}`, "both stream and streamBase64"},
		{"no base64 of a piece", `{"seq":1,"at":1,"kind":"streamed","exchange":1,"streamBase64":"?"}`, "streamBase64: illegal base64"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := readEvents(strings.NewReader(first + c.second + "\n" + first)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want %q", err, c.want)
			}
		})
	}
}

func TestReadIgnoresUnknownMembers(t *testing.T) {
	events, err := readEvents(strings.NewReader(`{"seq":0,"at":1,"kind":"remark","detail":"x","later":{}}`))
	if err != nil || len(events) != 1 || events[0].Detail != "x" {
		t.Errorf("%v, %v", events, err)
	}
}
