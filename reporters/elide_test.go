package reporters

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

func TestElide(t *testing.T) {
	const (
		call       = `{"id":1,"method":"tools/call","params":{"arguments":{"text":"a long text with a } and a \" in it"},"name":"echo","task":{"ttl":1}}}`
		initialize = `{"id":1,"method":"initialize","params":{"capabilities":{"roots":{},"sampling":{}},"clientInfo":{"name":"client"},"protocolVersion":"1900-01-01"}}`
	)
	discover := `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"…/clientCapabilities":{…},"…/clientInfo":{…},"…/protocolVersion":"1900-01-01"}}}`
	withMeta := `{"id":1,"method":"tools/call","params":{"arguments":{},"_meta":{"a":"` + strings.Repeat("x", 60) + `"}}}`
	at := func(text, part string) *verdict.Span {
		from := strings.Index(text, part)
		return &verdict.Span{From: from, To: from + len(part)}
	}
	for _, c := range []struct {
		name    string
		e       verdict.Evidence
		columns int
		want    string
	}{
		{"it fits", verdict.Evidence{Direction: ">", Text: call}, 200, call},
		{"the arguments before the name", verdict.Evidence{Direction: ">", Text: call}, 115, `{"id":1,"method":"tools/call","params":{"arguments":{"text":"a long text with…},"name":"echo","task":{"ttl":1}}}`},
		{"the version of JSON-RPC", verdict.Evidence{Direction: ">", Text: `{"jsonrpc":"2.0",` + initialize[1:]}, 160, `{…` + initialize[1:]},
		{"a marked version of JSON-RPC", verdict.Evidence{Direction: ">", Text: `{"jsonrpc":"2.0",` + call[1:], Mark: at(`{"jsonrpc":"2.0",`, `"2.0"`)}, 80, `{"jsonrpc":"2.0",` + call[1:]},
		{"no room for the name", verdict.Evidence{Direction: ">", Text: call}, 50, call},
		{"the capabilities before the version", verdict.Evidence{Direction: ">", Text: initialize}, 146, `{"id":1,"method":"initialize","params":{"capabilities":{"roots":{},"s…},"clientInfo":{"name":"client"},"protocolVersion":"1900-01-01"}}`},
		{"no room for the capabilities", verdict.Evidence{Direction: ">", Text: initialize}, 90, `{"id":1,"method":"initialize","params":{…"protocolVersion":"1900-01-01"}}`},
		{"a text that is cut", verdict.Evidence{Direction: ">", Text: `{"params":{"arguments":{"a":"` + strings.Repeat("x", 200), Size: 900}, 60, `{"params":{"arguments":{"a":"` + strings.Repeat("x", 200)},
		{"no JSON", verdict.Evidence{Direction: ">", Text: strings.Repeat(`"{`, 60)}, 60, strings.Repeat(`"{`, 60)},
		{"metadata first", verdict.Evidence{Direction: ">", Text: withMeta}, 100, `{"id":1,"method":"tools/call","params":{"arguments":{},"_meta":{"a":"xxxxxxxxxxxxxxx…}}}`},
		{"metadata, then params", verdict.Evidence{Direction: ">", Text: strings.Replace(withMeta, "{}", `{"text":"a long text of many words"}`, 1)}, 90, `{"id":1,"method":"tools/call","params":{"arguments":{"text":"a…},"_meta":{…}}}`},
		{"metadata, and the version of JSON-RPC", verdict.Evidence{Direction: ">", Text: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"a":"` + strings.Repeat("x", 60) + `"},"name":"echo","arguments":{}}}`}, 105, `{…"id":1,"method":"tools/call","params":{"_meta":{"a":"xxxxx…},"name":"echo","arguments":{}}}`},
		{"what every request has", verdict.Evidence{Direction: ">", Text: discover}, 112, `{…"id":1,"method":"server/discover","params":{"_meta":{…"…/protocolVersion":"1900-01-01"}}}`},
		{"a missing client", verdict.Evidence{Direction: ">", Text: strings.Replace(discover, `"…/clientInfo":{…},`, "", 1)}, 112, `{…"id":1,"method":"server/discover","params":{"_meta":{"…/clientCapabilities":{…},"…/protocolVer…}}}`},
		{"a marked client", verdict.Evidence{Direction: ">", Text: discover, Mark: at(discover, `"…/clientInfo":{…}`)}, 112, `{…"id":1,"method":"server/discover","params":{"_meta":{…"…/clientInfo":{…},…}}}`},
		{"a marked version", verdict.Evidence{Direction: ">", Text: discover, Mark: at(discover, `"…/protocolVersion":"1900-01-01"`)}, 112, `{…"id":1,"method":"server/discover","params":{"_meta":{…"…/protocolVersion":"1900-01-01"}}}`},
		{"a marked value stays", verdict.Evidence{Direction: ">", Text: call, Mark: at(call, `{"text"`)}, 115, call},
		{"a mark after a shortened value moves", verdict.Evidence{Direction: ">", Text: call, Mark: at(call, `"echo"`)}, 115, `{"id":1,"method":"tools/call","params":{"arguments":{"text":"a long text with…},"name":"echo","task":{"ttl":1}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := elide(&c.e, c.columns)
			if got.Text != c.want {
				t.Errorf("got  %s\nwant %s", got.Text, c.want)
			}
			if m := got.Mark; m != nil && got.Text[m.From:m.To] != c.e.Text[c.e.Mark.From:c.e.Mark.To] {
				t.Errorf("marked is %s", got.Text[m.From:m.To])
			}
		})
	}
}

// TestElideHead checks that the head of an HTTP request is shortened by what every request has.
func TestElideHead(t *testing.T) {
	const text = "POST /mcp HTTP/1.1\nHost: 127.0.0.1:8080\nContent-Type: application/json\nAccept: application/json, text/event-stream\nMcp-Method: tools/list\nOrigin: http://evil.example\nContent-Length: 238\n"
	at := func(part string) *verdict.Span {
		from := strings.Index(text, part)
		return &verdict.Span{From: from, To: from + len(part)}
	}
	for _, c := range []struct {
		name    string
		e       verdict.Evidence
		columns int
		want    string
	}{
		{"it fits", verdict.Evidence{Direction: ">", Text: text}, 300, text},
		{"one line is enough", verdict.Evidence{Direction: ">", Text: text}, 200, strings.Replace(text, "Host: 127.0.0.1:8080\n", "…", 1)},
		{"nothing ordinary is left", verdict.Evidence{Direction: ">", Text: text}, 90, "POST /mcp HTTP/1.1\n…Mcp-Method: tools/list\nOrigin: http://evil.example\n…"},
		{"a marked line", verdict.Evidence{Direction: ">", Text: text, Mark: at("Accept: application/json, text/event-stream")}, 90, "POST /mcp HTTP/1.1\n…Accept: application/json, text/event-stream\n…"},
		{"a marked line and little room", verdict.Evidence{Direction: ">", Text: text, Mark: at("Origin: http://evil.example")}, 70, "POST /mcp HTTP/1.1\n…Origin: http://evil.example\n…"},
		{"another type", verdict.Evidence{Direction: ">", Text: strings.Replace(text, "application/json\n", "text/plain\n", 1)}, 90, "POST /mcp HTTP/1.1\n…Content-Type: text/plain\n…Mcp-Method: tools/list\nOrigin: http://evil.example\n…"},
		{"no head", verdict.Evidence{Direction: ">", Text: "host: a\nhost: b"}, 5, "host: a\nhost: b"},
		{"a response", verdict.Evidence{Direction: "<", Text: text}, 90, text},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := elideHead(&c.e, c.columns)
			if diff := cmp.Diff(c.want, got.Text); diff != "" {
				t.Error(diff)
			}
			if m := got.Mark; m != nil && got.Text[m.From:m.To] != c.e.Text[c.e.Mark.From:c.e.Mark.To] {
				t.Errorf("marked is %s", got.Text[m.From:m.To])
			}
		})
	}
}

// TestElideStaysInBounds checks that texts that are no JSON, or that are cut anywhere, do no harm.
func TestElideStaysInBounds(t *testing.T) {
	pieces := rapid.SampledFrom([]string{`{"params":`, `{"name":`, `"result":{`, `"arguments":`, `"`, `{`, `}`, `[`, `]`, `,`, `:`, `\`, "é", "世", "\x00", " ", `"protocolVersion":"1"`, `{"a":"bcdefgh"}`})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(pieces, 0, 40).Draw(t, "text"), "")
		if rapid.Bool().Draw(t, "whole") { // a request with metadata, and often only a little too long
			long := func(what string) string { return strings.Repeat(what, rapid.IntRange(0, 60).Draw(t, what)) }
			text = `{"jsonrpc":"2.0","method":"m","params":{"_meta":{"a":"` + long("x") + `"},"arguments":{"a":"` + long("é") + `"},"name":"` + long("n") + `"}}`
		}
		e := &verdict.Evidence{Direction: ">", Text: text}
		if n := len(text); n > 1 && rapid.Bool().Draw(t, "marked") {
			from := rapid.IntRange(0, n-1).Draw(t, "from")
			e.Mark = &verdict.Span{From: from, To: rapid.IntRange(from+1, n+3).Draw(t, "to")}
		}
		columns := rapid.IntRange(0, 120).Draw(t, "columns")
		if got := elide(e, columns); len(got.Text) > len(text)+len(text)/2 || got.Mark != nil && got.Mark.From < 0 {
			t.Fatalf("%q became %q", text, got.Text)
		}
		_ = viewOf(e, max(columns, 40))
	})
}
