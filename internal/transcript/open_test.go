package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const (
	initializeRequest = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`
	initializeResult  = `{"jsonrpc":"2.0","id":0,"result":{}}`
	pingRequest       = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	standard          = "> " + initializeRequest + "\n< " + initializeResult + "\n"
)

// lines formats the messages and other events of a recording.
func lines(r *Recording) string {
	var b strings.Builder
	for _, e := range r.Events[1:] {
		switch e.Kind {
		case Sent:
			b.WriteString("> ")
		case Received:
			b.WriteString("< ")
		default:
			fmt.Fprintf(&b, "%s ", e.Kind)
		}
		fmt.Fprintf(&b, "%s", e.Raw)
		if e.IsCut() {
			b.WriteString("…")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func quoted(s string) string { return strings.ReplaceAll(s, `"`, `\"`) }

func TestReadRecordings(t *testing.T) {
	for _, c := range []struct {
		name, file string
		want       []string // the conversations
		notice     string
		values     bool
	}{
		{name: "ours", file: `{"mcp-conform-transcript":1,"transport":"stdio","revision":"2025-06-18","tool":"t"}
{"seq":0,"at":1,"kind":"opened"}
{"seq":1,"at":2,"kind":"sent","raw":"` + quoted(initializeRequest) + `"}
`, want: []string{"> " + initializeRequest + "\n"}},
		{name: "ours, cut short", file: `{"mcp-conform-transcript":1}
{"seq":0,"at":1,"kind":"opened"}
{"seq":1,"at":2,"kind":"sent","raw":"{}"}
{"seq":2,"at":3,"kind":"rece`, want: []string{"> {}\n"}, notice: "f:4: the last line is incomplete"},
		{name: "ours, without a head", file: `{"seq":0,"at":1,"kind":"opened"}` + "\n" + `{"seq":1,"at":1,"kind":"received","raw":"x"}`, want: []string{"< x\n"}},
		{name: "a script", file: "revision: 2025-06-18\n" + standard, want: []string{standard}},
		{name: "directions and messages", file: `{"direction":"client-to-server","message":` + initializeRequest + "}\r\n" + `{"direction":"server_to_client","message":` + initializeResult + "}\r\n",
			want: []string{standard}, values: true},
		{name: "trace events", file: `{"seq":0,"direction":"client-to-server","transport":"stdio","kind":"lifecycle","event":"transport-open"}
{"seq":1,"direction":"client-to-server","transport":"stdio","kind":"message","payload":` + initializeRequest + `}
{"seq":2,"direction":"server-to-client","transport":"stdio","kind":"message","payload":` + initializeResult + `}`,
			want: []string{standard}, values: true, notice: "f: lines without a message skipped: 1"},
		{name: "frames of a cassette", file: `{"type":"header","cassetteVersion":2,"transport":"stdio"}
{"type":"frame","t":12,"dir":"c2s","frame":` + initializeRequest + `}
{"type":"frame","t":38,"dir":"s2c","frame":` + initializeResult + `}`, want: []string{standard}, values: true, notice: "skipped: 1"},
		{name: "bodies", file: `{"format":"mcp-trace/1","run_id":"1"}
{"dir":"c2s","elapsed_ms":3,"body":"` + quoted(initializeRequest) + `"}
{"dir":"s2c","elapsed_ms":9,"body":"` + quoted(initializeResult) + `\n"}`, want: []string{standard}, notice: "skipped: 1"},
		{name: "raw bytes that are not messages", file: `{"dir":">","raw":"` + quoted(initializeRequest) + `"}` + "\n" + `{"dir":"<","raw":"banner"}` + "\n" + `{"dir":"stderr","raw":"oh"}`,
			want: []string{"> " + initializeRequest + "\n< banner\nstderr oh\n"}},
		{name: "seen from the client", file: `{"dir":"out","message":` + initializeRequest + `}` + "\n" + `{"dir":"in","message":` + initializeResult + `}`, want: []string{standard}, values: true},
		{name: "seen from the server", file: `{"dir":"in","message":` + initializeRequest + `}` + "\n" + `{"dir":"out","message":` + initializeResult + `}`, want: []string{standard}, values: true},
		{name: "an array", file: "[\n  {\"direction\": \"send\", \"message\": {\n    \"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\" }}\n]", want: []string{"> " + pingRequest + "\n"}, values: true},
		{name: "the direction in the message", file: `{"jsonrpc":"2.0","method":"x","direction":"c2s"}`, want: []string{`> {"jsonrpc":"2.0","method":"x","direction":"c2s"}` + "\n"}, values: true},
		{name: "several sessions at once", file: `{"session":"a","dir":"c2s","msg":` + initializeRequest + `}
{"session":"b","dir":"c2s","msg":` + initializeRequest + `}
{"session":"a","dir":"s2c","msg":` + initializeResult + `}
{"session":"b","dir":"s2c","msg":` + initializeResult + `}`, want: []string{standard, standard}, values: true},
		{name: "one session after the other", file: strings.Repeat(`{"dir":"c2s","msg":`+initializeRequest+`}
{"dir":"s2c","msg":`+initializeResult+`}
`, 2), want: []string{standard, standard}, values: true},
		{name: "logs between the messages", file: `{"level":"info","message":"started"}
{"dir":"c2s","msg":` + initializeRequest + `}
{"level":"info","data":null}
`, want: []string{"> " + initializeRequest + "\n"}, values: true, notice: "skipped: 2"},
		{name: "a log that ends in a line", file: `{"dir":"c2s","msg":` + initializeRequest + `}` + "\n" + `{"dir":"s2c","msg":{"jsonr`, want: []string{"> " + initializeRequest + "\n"}, values: true, notice: "f:2: the last line is incomplete"},
		{name: "the log of a desktop client", file: `2026-06-03T20:49:56.931Z [demo] [info] Initializing server...
2026-06-03T20:49:56.962Z [demo] [info] Message from client: ` + initializeRequest + ` { metadata: undefined }
Traceback (most recent call last):
2026-06-03T20:49:57.000Z [other one] [info] Message from client: ` + pingRequest + `
2026-06-03T20:49:57.962Z [demo] [info] Message from server: ` + initializeResult + ` { metadata: undefined }
2026-06-03T20:49:58.000Z [demo] [info] Message from server: {"jsonrpc":"2.0","id":5,"result":{"tools":[...
2026-06-03T20:50:56.931Z [demo] [info] Server transport closed
2026-06-03T20:51:56.931Z [demo] [info] Initializing server...
2026-06-03T20:51:56.962Z [demo] [info] Message from client: ` + initializeRequest + `
`, want: []string{standard + `< {"jsonrpc":"2.0","id":5,"result":{"tools":[...…` + "\n", "> " + pingRequest + "\n", "> " + initializeRequest + "\n"}, values: true, notice: "f: messages of which the log has only the beginning: 1"},
		{name: "the log of a desktop client, without times", file: "[demo] [info] Message from client: " + initializeRequest + "\n[demo] [info] Message from server: " + initializeResult + "\n", want: []string{standard}, values: true},
		{name: "the log of the Go SDK, on the server's side", file: "read: " + initializeRequest + "\nwrite: " + initializeResult + "\nread error: EOF\n", want: []string{standard}, values: true, notice: "skipped: 1"},
		{name: "the log of the Go SDK, on the client's side", file: "write: " + initializeRequest + "\nread: " + initializeResult + "\n", want: []string{standard}, values: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			found, err := ReadRecordings("f", strings.NewReader(c.file))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			notices := ""
			for _, r := range found {
				got = append(got, lines(r))
				notices += strings.Join(r.Notices, "\n")
				if r.Values != c.values || r.Events[0].Kind != Opened {
					t.Errorf("values: %v; the first event: %s", r.Values, r.Events[0].Kind)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("conversations (-want +got):\n%s", diff)
			}
			if !strings.Contains(notices, c.notice) || c.notice == "" && notices != "" {
				t.Errorf("notices are %q, not %q", notices, c.notice)
			}
		})
	}
}

func TestReadRecordingsHeader(t *testing.T) {
	found, err := ReadRecordings("f", strings.NewReader(`{"mcp-conform-transcript":1,"transport":"sse","revision":"2025-06-18","tool":"t 1","case":"c"}`+"\n"+`{"seq":0,"at":1,"kind":"opened"}`))
	if err != nil {
		t.Fatal(err)
	}
	if r := found[0]; r.Transport != "sse" || r.Revision != "2025-06-18" || r.Tool != "t 1" || r.Case != "c" || r.Untimed {
		t.Errorf("read: %+v", r)
	}
	found, err = ReadRecordings("f", strings.NewReader(`{"timestamp":"2026-01-01T00:00:00Z","transport":"streamable-http","dir":"c2s","msg":`+initializeRequest+`}
{"timestamp":"2026-01-01T00:00:02.5Z","dir":"s2c","msg":`+initializeResult+`}`))
	if err != nil {
		t.Fatal(err)
	}
	if r := found[0]; r.Transport != "streamable-http" || r.Untimed || r.Events[2].At != 2500*time.Millisecond {
		t.Errorf("read: %+v, the answer at %v", r, r.Events[2].At)
	}
}

func TestReadRecordingsErrors(t *testing.T) {
	for _, c := range []struct{ name, file, want string }{
		{"empty", " \n\n", "f: file is empty; expected a transcript of mcp-conform"},
		{"binary", "> {}\n\x7fELF\x00\x01", "f:2: not UTF-8 text"},
		{"not UTF-8", "> {}\n\n< \xff", "f:3: not UTF-8 text"},
		{"another version", `{"mcp-conform-transcript":2}`, "f:1: the transcript has format version 2, but this version of mcp-conform reads version 1"},
		{"nothing after the head", `{"mcp-conform-transcript":1}`, "f: the transcript has no events"},
		{"a bad event", `{"mcp-conform-transcript":1}` + "\n" + `{"seq":0,"at":1,"kind":"opened"}` + "\n\n" + `{"seq":2,"at":1,"kind":"sent","raw":""}`, "f:4: seq is 2, want 1"},
		{"a bad event in the midst", `{"mcp-conform-transcript":1}` + "\n" + `{"seq":0,"at":1,"kind":"opened"}` + "\nx\n", "f:3: not an event"},
		{"prose", "Dear all,\nit works.", `f:1: "Dear all," is not a recorded message; expected`},
		{"a script without messages", "revision: 2025-06-18\n# nothing\n", "f: the script has no messages"},
		{"a bad script", standard + "~", `f:3: "~" is not a line of a script`},
		{"no direction", `{"message":` + initializeRequest + `}`, `f:1: the message has no direction; add a member such as "direction":"client-to-server"`},
		{"bare messages", initializeRequest + "\n" + initializeResult, "f:1: the message has no direction"},
		{"an unknown direction", "\n" + `{"direction":"sideways","message":` + initializeRequest + `}`, `f:2: unknown direction "sideways"; known directions are client-to-server`},
		{"no messages", `{"a":1}` + "\n" + `{"b":2}` + "\n", "f: no recorded message found"},
		{"a line that is not JSON", `{"dir":"c2s","msg":` + initializeRequest + `}` + "\nx\n", `f:2: "x" is not a JSON object`},
		{"an array that breaks off", `[{"dir":"c2s","msg":` + initializeRequest + "}\n,{", "f:2: invalid JSON in the array of messages"},
		{"an array of something else", `[1,2]`, `f:1: "1" is not a JSON object`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := ReadRecordings("f", strings.NewReader(c.file)); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("the error is %v, not %q", err, c.want)
			}
		})
	}
	broken := errors.New("broken")
	if _, err := ReadRecordings("f", iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("the error is %v", err)
	}
}

// TestReadRecordingsAnyInput checks that any input yields recordings, or an error that
// names the file.
func TestReadRecordingsAnyInput(t *testing.T) {
	pieces := rapid.SampledFrom([]string{
		`{"mcp-conform-transcript":1}`, `{"seq":0,"at":1,"kind":"opened"}`, `{"dir":"c2s","msg":`, initializeRequest, "}", "[", "]", ",", "\n", "> ", "< ", "! exit 1", "! at 1s",
		"read: ", "write: {", `[x] [info] Message from client: `, "revision: 2025-06-18", "expect: ", `"`, "{", " ", "\xff", "\x00", "! gave-up 0", "#", "<q ",
	})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(pieces, 0, 12).Draw(t, "pieces"), "")
		found, err := ReadRecordings("f", strings.NewReader(text))
		if err != nil && !strings.HasPrefix(err.Error(), "f:") || err == nil && len(found) == 0 {
			t.Fatalf("%d recordings of %q, and the error %v", len(found), text, err)
		}
		for _, r := range found {
			for i, e := range r.Events {
				if e.Seq != i || e.Size < int64(len(e.Raw)) {
					t.Fatalf("event %d of %q: %+v", i, text, e)
				}
			}
		}
	})
}

func TestRecordingRoundTrip(t *testing.T) {
	var b bytes.Buffer
	r := &Recording{Transport: "stdio", Revision: "2025-06-18", Tool: "mcp-conform 1", Case: "shared"}
	r.add(Event{Kind: Opened})
	r.add(Event{Kind: Sent, Raw: []byte(initializeRequest)})
	if err := WriteRecording(&b, r); err != nil {
		t.Fatal(err)
	}
	if head, _, _ := strings.Cut(b.String(), "\n"); head != `{"mcp-conform-transcript":1,"transport":"stdio","revision":"2025-06-18","tool":"mcp-conform 1","case":"shared"}` {
		t.Errorf("the head is %s", head)
	}
	found, err := ReadRecordings("f", &b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]*Recording{r}, found, sameEvents); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	full := errors.New("disk full")
	if err := WriteRecording(writerFunc(func([]byte) (int, error) { return 0, full }), r); !errors.Is(err, full) {
		t.Errorf("the error is %v", err)
	}
}
