package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"

	"github.com/mcp-conform/mcp-conform/internal/redact"
)

func TestFindOffense(t *testing.T) {
	for _, c := range []struct {
		name, raw, pointer, seen, want string
	}{
		{"a member with its name", `{"id":1, "result" : {"tools":[]}}`, "/result", "", `"result" : {"tools":[]}`},
		{"an element", `{"result":{"tools":[{"name":"a"}, {"name":2}]}}`, "/result/tools/1", "", `{"name":2}`},
		{"a member in an element", `{"result":{"tools":[{"name":"a"}, {"name":2}]}}`, "/result/tools/1/name", "", `"name":2`},
		{"a scalar in an array", `{"a":["b","c",[1]]}`, "/a/1", "", `"c"`},
		{"an empty object", `{"a":{},"b":1}`, "/a", "", `"a":{}`},
		{"what is not there: the object that lacks it", `{"result":{"tools":[{"title":"a"}]}}`, "/result/tools/0/name", "", `{"title":"a"}`},
		{"nothing where the whole message lacks it", `{"id":1}`, "/result", "", ""},
		{"an escaped name", `{"a/b":{"c~d":7}}`, "/a~1b/c~0d", "", `"c~d":7`},
		{"what was seen, once", `{"id":"3","result":{}}`, "", `"3"`, `"3"`},
		{"what was seen, twice", `{"id":"333","result":{"x":"333"}}`, "", `"333"`, ""},
		{"a string in what was seen", `{"id":"3","result":{"serverInfo":{"name":"a server"}}}`, "", `the result {"serverInfo":{"name":"a server"}}`, ""},
		{"all of it is no part", `{"id":2}`, "", `{"id":2}`, ""},
		{"all of it after other words", `{"id":2,"method":"abc"}`, "", `after ping: {"id":2,"method":"abc"}`, ""},
		{"all of it, cut off", `{"result":{"tools":[{"name":"first"},{"name":"second"}]}}`, "", `{"result":{"tools":[{"name":"first"},{"na…`, ""},
		{"the byte that was named", `{"id":1]`, "", "no JSON at byte 7", "]"},
		{"another byte", `{"id":1]`, "", "no JSON at byte 70", ""},
		{"not the first bad byte, which may be innocent", `{"id":1]`, "", "no JSON", ""},
		{"the end of a text that is cut off", `{"id":`, "", "no JSON", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for kind, want := range map[transcript.Kind]string{transcript.Received: c.want, transcript.Sent: c.want} {
				if kind == transcript.Sent && c.pointer == "" {
					want = "" // in what the client sends, only a pointer names a part
				}
				e := transcript.New().Add(transcript.Event{Kind: kind, Raw: []byte(c.raw)})
				got := ""
				if at := findOffense(e, &verdict.Deviation{Pointer: c.pointer, Seen: c.seen}); at != nil {
					got = c.raw[at.From:at.To]
				}
				if got != want {
					t.Errorf("%s: %q is marked; want %q", kind, got, want)
				}
			}
		})
	}
}

func TestOffenseFarIntoFrameIsQuoted(t *testing.T) {
	var tools []string
	for i := range 400 {
		tools = append(tools, fmt.Sprintf(`{"name":"tool-é-%03d"}`, i))
	}
	raw := `{"id":1,"result":{"tools":[` + strings.Join(tools, ",") + `]}}`
	tr := transcript.New()
	tr.Add(transcript.Event{Kind: transcript.Received, Raw: []byte(raw)})
	evidence, _ := Quote(tr.From(0), &verdict.Deviation{At: []int{0}, Pointer: "/result/tools/300/name"}, nil)
	v := evidence[0]
	if v.Mark == nil || v.Text[v.Mark.From:v.Mark.To] != `"name":"tool-é-300"` {
		t.Fatalf("marked is %+v", v.Mark)
	}
	if want := raw[v.Skipped : int(v.Skipped)+len(v.Text)]; v.Text != want || v.Skipped == 0 || len(v.Text) > maxQuoted {
		t.Errorf("%d bytes are quoted after %d", len(v.Text), v.Skipped)
	}
}

func TestContext(t *testing.T) {
	tr := transcript.New()
	add := func(k transcript.Kind, raw string) { tr.Add(transcript.Event{Kind: k, Raw: []byte(raw)}) }
	add(transcript.Sent, `{"jsonrpc":"2.0","id":0,"method":"initialize"}`)
	add(transcript.Received, `{"jsonrpc":"2.0","id":0,"result":{"token":"abcdefgh"}}`)
	add(transcript.Sent, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	tr.Remark("a case")
	for i := 1; i <= 20; i++ {
		add(transcript.Sent, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i))
		add(transcript.Received, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32601,"message":"%s"}}`, i, strings.Repeat("A", 1000)))
	}
	evidence, context := Quote(tr.From(0), &verdict.Deviation{At: []int{18, 19}}, transcript.NewRedactor(redact.New("abcdefgh")))
	var got []string
	for _, v := range evidence {
		got = append(got, fmt.Sprintf("evidence %d %s %s", v.Position, v.Direction, v.Label))
	}
	for _, v := range context {
		got = append(got, fmt.Sprintf("%d %s %s", v.Position, v.Direction, v.Label))
		if len(v.Text) > contextQuoted || strings.Contains(v.Text, "abcdefgh") {
			t.Errorf("the context quotes %q", v.Text)
		}
	}
	want := []string{
		"evidence 18 > ping · id 8", "evidence 19 < error -32601 · id 8",
		"0 > initialize · id 0", "1 < result · id 0", "2 > notifications/initialized",
		"11 < error -32601 · id 4", "12 > ping · id 5", "13 < error -32601 · id 5", "14 > ping · id 6", "15 < error -32601 · id 6", "16 > ping · id 7", "17 < error -32601 · id 7",
		"20 > ping · id 9", "21 < error -32601 · id 9",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestContextOverHTTP checks that the context does not depend on which of several requests was
// answered first.
func TestContextOverHTTP(t *testing.T) {
	quoted := func(answered ...int) []string {
		tr := transcript.New()
		for n := 1; n <= 12; n++ {
			tr.Add(transcript.Event{Kind: transcript.Requested, Exchange: n, Raw: []byte("POST /mcp HTTP/1.1")})
			tr.Add(transcript.Event{Kind: transcript.Sent, Exchange: n, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`, n)})
		}
		for _, n := range answered {
			tr.Add(transcript.Event{Kind: transcript.Received, Exchange: n, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{}}`, n)})
		}
		tr.Add(transcript.Event{Kind: transcript.Requested, Exchange: 13, Raw: []byte("POST /mcp HTTP/1.1")})
		at := tr.Add(transcript.Event{Kind: transcript.Sent, Exchange: 13, Raw: []byte(`{"jsonrpc":"2.0","id":13,"method":"ping"}`)}).Seq
		_, context := Quote(tr.From(0), &verdict.Deviation{At: []int{at}}, nil)
		var out []string
		for _, v := range context {
			out = append(out, v.Label)
		}
		return out
	}
	want := quoted(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
	if !slices.Contains(want, "ping · id 12") || !slices.Contains(want, "result · id 12") {
		t.Errorf("the context is %q", want)
	}
	if diff := cmp.Diff(want, quoted(12, 11, 3, 4, 5, 6, 9, 8, 7, 10, 1, 2)); diff != "" {
		t.Error(diff)
	}
}

// TestEndOfStderr checks that a line that was written in several chunks is quoted whole, that the
// line that says why the server ended is quoted, and if there is none, the last of many lines.
func TestEndOfStderr(t *testing.T) {
	trace := "\n" + strings.Repeat("    at handle (/srv/index.js:7:11)\n", 9)
	for name, test := range map[string]struct {
		chunks []string
		want   string
	}{
		"in several chunks":       {[]string{"Traceback\n  " + strings.Repeat("somewhere ", 20) + "\n", "KeyError", ": 'text'", "\n"}, "KeyError: 'text'"},
		"before the stack":        {[]string{"/srv/index.js:7\n  throw x\n  ^\n\nTypeError: no name" + trace, "\nNode.js v20\n"}, "TypeError: no name"},
		"only lines without them": {[]string{strings.Repeat("it works\n", 20), "good bye\n"}, strings.Repeat("it works\n", 6) + "good bye"},
	} {
		tr := transcript.New()
		events := []transcript.Event{
			{Kind: transcript.Stderr, Raw: []byte("Error: of an earlier request\n")},
			{Kind: transcript.Sent, Raw: []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)},
			{Kind: transcript.Sent, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)},
			{Kind: transcript.OutputClosed},
		}
		for _, chunk := range test.chunks {
			events = append(events, transcript.Event{Kind: transcript.Stderr, Raw: []byte(chunk)})
		}
		for _, e := range events {
			tr.Add(e)
		}
		evidence, _ := Quote(tr.From(0), &verdict.Deviation{At: []int{3}}, nil)
		var got []string
		for _, v := range evidence {
			got = append(got, v.Text)
		}
		want := []string{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "the server's output ended", "stderr: " + test.want}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		evidence, _ = Quote(tr.From(0), &verdict.Deviation{At: []int{2}}, nil) // the message at which it ended
		if last := evidence[len(evidence)-1]; last.Text != "stderr: "+test.want || last.Offending || !evidence[0].Offending {
			t.Errorf("%s: for the message, it quotes %+v", name, evidence)
		}
	}
}

// TestOffendingEventIsQuoted checks which events are quoted of more than fit: the offending one is
// always among them.
func TestOffendingEventIsQuoted(t *testing.T) {
	tr := transcript.New()
	for range 12 {
		tr.Add(transcript.Event{Kind: transcript.Sent, Raw: []byte(`{}`)})
	}
	for _, test := range []struct{ at, quoted []int }{
		{[]int{3, 4, 5, 6, 7, 8, 9, 10}, []int{5, 6, 7, 8, 9, 10}},
		{[]int{5, 6, 7, 8, 9, 10, 1, 2}, []int{1, 2, 5, 6, 7, 8}},
		{[]int{1, 2, 3, 4, 7, 8, 9, 6}, []int{3, 4, 6, 7, 8, 9}},
		{[]int{2, 3, 4, 5, 6, 7, 1}, []int{1, 2, 3, 4, 5, 6}},
	} {
		evidence, _ := Quote(tr.From(0), &verdict.Deviation{At: test.at}, nil)
		var quoted []int
		for _, v := range evidence {
			quoted = append(quoted, v.Position)
			if want := v.Position == test.at[len(test.at)-1]; v.Offending != want {
				t.Errorf("of %v, %d is offending: %v", test.at, v.Position, v.Offending)
			}
		}
		if diff := cmp.Diff(test.quoted, quoted); diff != "" {
			t.Errorf("of %v are quoted (-want +got):\n%s", test.at, diff)
		}
	}
}

// TestQuotationsAreBounded checks that, whatever a server sends, quotations are
// bounded and in order, and marks lie inside them.
func TestQuotationsAreBounded(t *testing.T) {
	kinds := []transcript.Kind{
		transcript.Sent, transcript.Received, transcript.Stderr, transcript.Remark, transcript.Exited, transcript.OutputClosed,
		transcript.GaveUp, transcript.Requested, transcript.Responded, transcript.Over, transcript.Flooded,
	}
	raws := rapid.OneOf(rapid.SliceOf(rapid.Byte()), rapid.SampledFrom([][]byte{
		[]byte(`{"id":1,"result":{"a":[1,2,{"b":"c"}]}}`), []byte(`[{"id":1},{"method":"x"}]`), []byte(`{"id":"` + strings.Repeat("é", 3000) + `","result":{"a":"b"}}`),
	}))
	rapid.Check(t, func(t *rapid.T) {
		tr := transcript.New()
		n := rapid.IntRange(1, 40).Draw(t, "n")
		for range n {
			tr.Add(transcript.Event{Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Raw: raws.Draw(t, "raw")})
		}
		d := &verdict.Deviation{
			At:      rapid.SliceOfN(rapid.IntRange(-1, n), 0, 8).Draw(t, "at"),
			Pointer: rapid.SampledFrom([]string{"", "/result/a/2/b", "/result/a/1", "/result/a", "/x", "x"}).Draw(t, "pointer"),
			Seen:    rapid.SampledFrom([]string{"", `"c"`, `the string "b"`, `"`, `"\`}).Draw(t, "seen"),
		}
		evidence, context := Quote(tr.From(0), d, transcript.NewRedactor(redact.New("result")))
		if len(evidence) > maxEvidence+1 || len(context) > maxContext {
			t.Fatalf("%d and %d events are quoted", len(evidence), len(context))
		}
		last := -1
		for _, v := range context {
			if v.Position <= last || v.Offending || len(v.Text) > contextQuoted+len("stderr: ") {
				t.Fatalf("the context has %+v", v)
			}
			last = v.Position
		}
		for _, v := range evidence {
			if m := v.Mark; m != nil && (m.From < 0 || m.From >= m.To || m.To > len(v.Text)) {
				t.Fatalf("%+v is marked in %d bytes", m, len(v.Text))
			}
		}
	})
}

// TestSpaceAfter checks that white space after a quoted message is marked.
func TestSpaceAfter(t *testing.T) {
	for _, c := range []struct {
		text string
		size int64
		want *verdict.Span
	}{
		{"{} \t", 4, &verdict.Span{From: 2, To: 4}},
		{"{}", 2, nil},
		{"{ ", 9, nil}, // the end is not quoted
		{" ", 1, nil},
	} {
		if diff := cmp.Diff(c.want, trailingSpaceSpan(verdict.Evidence{Text: c.text, Size: c.size})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.text, diff)
		}
	}
}
