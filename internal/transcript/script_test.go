package transcript

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const stdioScript = `revision: 2025-06-18
transport: stdio
case: ping.during-handshake
expect: base.response-once broken "A request was answered \"twice\"."

> {"jsonrpc":"2.0","id":"1","method":"ping"}
< {"jsonrpc":"2.0","id":"1","result":{}}
<
! stderr half a line
! at 1.5s
>| {"jsonrpc"
! gave-up "1"
<q "d\xe9j\xe0 "
<|q "\x00"
! size 4096
! flooded aaa
! detail more than 9 bytes without a newline
! remark "\"quoted\""
! close-input
! signal TERM
! exit -1
! detail "signal: killed"
`

func TestParseScript(t *testing.T) {
	got, err := ParseScript("# a comment\n\n" + strings.ReplaceAll(stdioScript, "\n", "\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	at := 1500 * time.Millisecond
	want := &Recording{
		Revision: "2025-06-18", Transport: "stdio", Case: "ping.during-handshake",
		Expect: []Expectation{{"base.response-once", "broken", `A request was answered "twice".`}},
		Events: []*Event{
			{Kind: Opened},
			{Kind: Sent, Raw: []byte(`{"jsonrpc":"2.0","id":"1","method":"ping"}`)},
			{Kind: Received, Raw: []byte(`{"jsonrpc":"2.0","id":"1","result":{}}`)},
			{Kind: Received},
			{Kind: Stderr, Raw: []byte("half a line")},
			{At: at, Kind: Sent, Raw: []byte(`{"jsonrpc"`), Unterminated: true},
			{At: at, Kind: GaveUp, Of: 1},
			{At: at, Kind: Received, Raw: []byte("d\xe9j\xe0 ")},
			{At: at, Kind: Received, Raw: []byte("\x00"), Unterminated: true, Size: 4096},
			{At: at, Kind: Flooded, Raw: []byte("aaa"), Detail: "more than 9 bytes without a newline"},
			{At: at, Kind: Remark, Detail: `"quoted"`},
			{At: at, Kind: InputClosed},
			{At: at, Kind: Signalled, Detail: "TERM"},
			{At: at, Kind: OutputClosed},
			{At: at, Kind: Exited, ExitCode: -1, Detail: "signal: killed"},
		},
	}
	for i, e := range want.Events {
		e.Seq, e.Size = i, max(e.Size, int64(len(e.Raw)))
		e.parse()
	}
	if diff := cmp.Diff(want, got, sameEvents); diff != "" {
		t.Fatalf("read (-want +got):\n%s", diff)
	}
	var b bytes.Buffer
	if err := WriteScript(&b, got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stdioScript, b.String()); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
}

// TestScriptPreservesExit checks that a script keeps an OutputClosed event just before an exit if the
// event has properties of its own. Without them, the exit implies it.
func TestScriptPreservesExit(t *testing.T) {
	want := &Recording{}
	want.add(Event{Kind: Opened})
	want.add(Event{Kind: OutputClosed, Exchange: 3})
	want.add(Event{Kind: Exited})
	var b bytes.Buffer
	if err := WriteScript(&b, want); err != nil {
		t.Fatal(err)
	}
	got, err := ParseScript(b.String())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Events, got.Events, sameEvents); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

func TestScriptErrorsNameTheLine(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"no mark", "> {}\nhello", `2: "hello" is not a line of a script: a line begins with`},
		{"an unknown head", "version: 1", `1: "version:" is not a known field`},
		{"a head too late", "> {}\nrevision: 2025-06-18", "2: revision: must come before the first event"},
		{"no space", ">{}", "1: a space must follow the mark"},
		{"an unknown event", "! explode", `1: "! explode" is not a known event; use exit CODE`},
		{"no exit code", "! exit loudly", "1: exit needs an exit code"},
		{"no time", "! at noon", "1: at needs the time since the beginning"},
		{"back in time", "! at 2s\n! at 1s", "2: at needs"},
		{"nobody asked", "! gave-up 7", "1: gave-up: no earlier request has the id 7"},
		{"not quoted well", `<q "abc`, `1: "abc is not a quoted string`},
		{"nothing to say more of", "! size 7", "1: size belongs to the event before it"},
		{"too small", "> abc\n! size 2", "2: size needs the number of bytes of the whole frame, at least 3"},
		{"half an expectation", "expect: base.response-once", "1: expect: needs a requirement"},
		{"opened late", "> {}\n! opened", "2: opened must be the first event"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := ParseScript(c.script); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("the error is %v, not %q", err, c.want)
			}
		})
	}
}

// TestScriptsRoundTrip checks that scripts of any events survive a round trip.
func TestScriptsRoundTrip(t *testing.T) {
	frames := rapid.OneOf(
		rapid.SliceOf(rapid.Byte()),
		rapid.Map(rapid.String(), func(s string) []byte { return []byte(s) }),
		rapid.SampledFrom([][]byte{[]byte(`{"jsonrpc":"2.0","id":"a b","method":"x"}`), []byte(`{"jsonrpc":"2.0","id":7,"method":"ping"}`), []byte(" {} ")}),
	)
	rapid.Check(t, func(t *rapid.T) {
		r := &Recording{
			Revision: rapid.SampledFrom([]string{"", "2025-06-18"}).Draw(t, "revision"),
			Events:   []*Event{{Kind: Opened, Detail: rapid.String().Draw(t, "detail")}},
		}
		var now time.Duration
		for range rapid.IntRange(1, 12).Draw(t, "events") {
			now += time.Duration(rapid.SampledFrom([]int{0, 0, 1, 1e9}).Draw(t, "later"))
			e := Event{At: now, Kind: rapid.SampledFrom(kinds[1:]).Draw(t, "kind")}
			if e.Kind != InputClosed {
				e.Detail = rapid.String().Draw(t, "detail")
			}
			switch e.Kind {
			case Sent, Received:
				e.Raw, e.Unterminated = frames.Draw(t, "raw"), rapid.Bool().Draw(t, "unterminated")
				e.Size = int64(len(e.Raw)) + rapid.Int64Range(0, 1).Draw(t, "more")
				e.Detail = ""
			case Stderr, Flooded:
				e.Raw = frames.Draw(t, "raw")
			case GaveUp:
				e.Of = rapid.IntRange(0, len(r.Events)-1).Draw(t, "of")
			case Exited:
				e.ExitCode = rapid.IntRange(-1, 300).Draw(t, "exit code")
			case Requested, Responded, Streamed, Over:
				drawHTTP(t, &e)
				e.Size = 0
				e.setDerived()
			}
			if e.Exchange == 0 && rapid.Bool().Draw(t, "over HTTP") {
				e.Exchange = rapid.IntRange(1, 20).Draw(t, "exchange")
			}
			r.add(e)
		}
		var b bytes.Buffer
		if err := WriteScript(&b, r); err != nil {
			t.Fatal(err)
		}
		got, err := ParseScript(b.String())
		if err != nil {
			t.Fatalf("%v, of\n%s", err, b.String())
		}
		if diff := cmp.Diff(r, got, sameEvents, cmpopts.IgnoreFields(Recording{}, "Untimed"), cmp.AllowUnexported(wire.ID{})); diff != "" {
			t.Fatalf("read back (-want +got):\n%s\nof\n%s", diff, b.String())
		}
	})
}
