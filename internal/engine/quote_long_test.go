package engine

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// TestSearchForSecretsIsLimited checks that a report searches a limited number of
// bytes for secrets: the first long events are quoted, the others are only
// listed.
func TestSearchForSecretsIsLimited(t *testing.T) {
	t.Parallel()
	rec := transcript.New()
	rec.Add(transcript.Event{Kind: transcript.Received, Raw: []byte(`{"jsonrpc":"2.0","id":1,"result":{"a":"` + strings.Repeat("x", 3<<20) + `"}}`)})
	r := &quoter{redactor: transcript.NewRedactor(nil)}
	quoted, named := 0, 0
	for range 6 {
		evidence, _ := r.quoteCandidate(&candidate{record: rec, Deviation: verdict.Deviation{At: []int{0}, Seen: "x"}})
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

// TestMarksTheProvokingParam checks that the value that a deviation names is marked in the messages
// before the offending one, whichever side sent them.
func TestMarksTheProvokingParam(t *testing.T) {
	tr := transcript.New()
	for _, e := range []transcript.Event{
		{Kind: transcript.Sent, Raw: []byte(`{"id":1,"method":"x","params":{"_meta":{"a/b":"1900"}}}`)},
		{Kind: transcript.Received, Raw: []byte(`{"id":"s","method":"y","params":{"_meta":{"a/b":1}}}`)},
		{Kind: transcript.Sent, Raw: []byte(`{"id":2,"method":"x","params":{}}`)},
		{Kind: transcript.Sent, Raw: []byte(`[{"id":3,"method":"x","params":{"_meta":{"a/b":2}}}]`)},
		{Kind: transcript.Received, Raw: []byte(`{"id":1,"result":{},"params":{"_meta":{"a/b":3}}}`)},
	} {
		tr.Add(e)
	}
	evidence, _ := Quote(tr.From(0), &verdict.Deviation{At: []int{0, 1, 2, 3, 4}, Earlier: "/params/_meta/a~1b"}, nil)
	var got []string
	for _, v := range evidence {
		part := ""
		if v.Mark != nil {
			part = v.Text[v.Mark.From:v.Mark.To]
		}
		got = append(got, part)
	}
	if diff := cmp.Diff([]string{`"a/b":"1900"`, `"a/b":1`, "", "", ""}, got); diff != "" {
		t.Errorf("marked parts (-want +got):\n%s", diff)
	}
}

// TestMarksTheHeader checks that the header that a deviation is about is marked
// in the request.
func TestMarksTheHeader(t *testing.T) {
	const head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: a/b\r\naccept: c/d\r\nX: y"
	for name, want := range map[string]string{"Accept": "Accept: a/b\r\naccept: c/d", "x": "X: y", "Y": "", "": ""} {
		events := []*transcript.Event{{Kind: transcript.Requested, Raw: []byte(head), Head: transcript.ParseHead([]byte(head))}}
		evidence, _ := Quote(events, &verdict.Deviation{At: []int{0}, Header: name}, nil)
		got := ""
		if m := evidence[0].Mark; m != nil {
			got = evidence[0].Text[m.From:m.To]
		}
		if got != want {
			t.Errorf("%q: marked is %q, want %q", name, got, want)
		}
	}
}
