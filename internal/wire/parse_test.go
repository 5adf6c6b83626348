package wire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// parsed is the result of Parse in a form that is easy to write in a table.
type parsed struct {
	Problems []string // kind@offset pointer
	Batch    bool
	Messages []string // kind id method: raw
}

func parsedOf(f *Frame) parsed {
	r := parsed{Batch: f.Batch}
	for _, p := range f.Problems {
		p.Detail = ""
		r.Problems = append(r.Problems, strings.Replace(p.String(), " at byte ", "@", 1))
	}
	for i := range f.Messages {
		m := &f.Messages[i]
		r.Messages = append(r.Messages, strings.Join([]string{m.Kind.String(), m.ID.String(), m.Method, string(m.Raw)}, " | "))
	}
	return r
}

func oneMessage(kind, id, method, raw string) []string {
	return []string{strings.Join([]string{kind, id, method, raw}, " | ")}
}

func TestParseProblems(t *testing.T) {
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	request := oneMessage("request", "1", "ping", ping)
	deep := strings.Repeat("[", MaxDepth)
	for _, c := range []struct {
		name, in string
		want     parsed
	}{
		{"valid", ping, parsed{Messages: request}},
		{"white space around", " \t\r\n" + ping + " \r", parsed{Messages: request}},
		{"empty", "", parsed{Problems: []string{"empty@0"}}},
		{"only white space", " \t\r\n", parsed{Problems: []string{"empty@0"}}},
		{"form feed", "\f", parsed{Problems: []string{"not-json@0"}}},
		{"no-break space before the value", "\u00a0" + ping, parsed{Problems: []string{"not-json@0"}}},
		{"no-break space after the value", ping + "\u00a0", parsed{Problems: []string{"trailing-text@40"}, Messages: request}},
		{"vertical tab after the value", ping + "\v", parsed{Problems: []string{"trailing-text@40"}, Messages: request}},
		{"byte order mark", bom + ping, parsed{Problems: []string{"byte-order-mark@0"}, Messages: request}},
		{"byte order mark only", bom, parsed{Problems: []string{"byte-order-mark@0", "empty@0"}}},
		{"byte order mark after white space", " " + bom + ping, parsed{Problems: []string{"not-json@1"}}},
		{"log line", "Server started", parsed{Problems: []string{"not-json@0"}}},
		{"log line in brackets", "[INFO] Server started", parsed{Problems: []string{"not-json@1 (/0)"}}},
		{"log line that begins with a number", "2026-01-01 started", parsed{Problems: []string{"trailing-text@4"}, Messages: oneMessage("invalid message", "(no id)", "", "2026")}},
		{"cut short", `{"jsonrpc":"2.0","id":`, parsed{Problems: []string{"not-json@22 (/id)"}}},
		{"cut short after a byte order mark", bom + `{"id":`, parsed{Problems: []string{"byte-order-mark@0", "not-json@9 (/id)"}}},
		{"single quotes", `{'id':1}`, parsed{Problems: []string{"not-json@1"}}},
		{"trailing comma", `{"id":1,}`, parsed{Problems: []string{"not-json@8"}}},
		{"NaN", `{"id":NaN}`, parsed{Problems: []string{"not-json@6 (/id)"}}},
		{"only NUL", "\x00", parsed{Problems: []string{"not-json@0"}}},
		{"NUL after the value", ping + "\x00", parsed{Problems: []string{"trailing-text@40"}, Messages: request}},
		{"NUL in a string", "\"a\x00\"", parsed{Problems: []string{"not-json@2"}}},
		{"two messages on a line", ping + ping, parsed{Problems: []string{"trailing-text@40"}, Messages: request}},
		{"trailing text after white space", " " + ping + "  x", parsed{Problems: []string{"trailing-text@43"}, Messages: request}},
		{"trailing text that is not UTF-8", ping + "x\xff", parsed{Problems: []string{"trailing-text@40", "invalid-utf8@41"}, Messages: request}},
		{"neither JSON nor UTF-8", "abc\xff", parsed{Problems: []string{"not-json@0", "invalid-utf8@3"}}},
		{"duplicate member", `{"id":1,"id":2,"method":"a"}`, parsed{
			Problems: []string{"duplicate-key@8 (/id)"}, Messages: oneMessage("request", "2", "a", `{"id":1,"id":2,"method":"a"}`),
		}},
		{"duplicate member after white space", `  {"id":1,"id":2}`, parsed{
			Problems: []string{"duplicate-key@10 (/id)"}, Messages: oneMessage("invalid message", "2", "", `{"id":1,"id":2}`),
		}},
		{"duplicate member, escaped differently", `{"a":1,"\u0061":2}`, parsed{
			Problems: []string{"duplicate-key@7 (/a)"}, Messages: oneMessage("invalid message", "(no id)", "", `{"a":1,"\u0061":2}`),
		}},
		{"nested duplicate member", `{"result":{"x":[0,{"b":1,"b":1}]}}`, parsed{
			Problems: []string{"duplicate-key@25 (/result/x/1/b)"},
			Messages: oneMessage("response", "(no id)", "", `{"result":{"x":[0,{"b":1,"b":1}]}}`),
		}},
		{"bytes that are not UTF-8", "{\"result\":{\"x\":\"a\xffb\"}}", parsed{
			Problems: []string{"invalid-utf8@17 (/result/x)"}, Messages: oneMessage("response", "(no id)", "", "{\"result\":{\"x\":\"a\xffb\"}}"),
		}},
		{"name that is not UTF-8", "{\"a\xc3\":1}", parsed{Problems: []string{"invalid-utf8@3"}, Messages: oneMessage("invalid message", "(no id)", "", "{\"a\xc3\":1}")}},
		{"an encoded surrogate", "\"\xed\xa0\x80\"", parsed{Problems: []string{"invalid-utf8@1"}, Messages: oneMessage("invalid message", "(no id)", "", "\"\xed\xa0\x80\"")}},
		{"high surrogate without a low one", `{"id":"\ud83d","method":"a"}`, parsed{
			Problems: []string{"invalid-utf8@7 (/id)"}, Messages: oneMessage("request", `"\ud83d"`, "a", `{"id":"\ud83d","method":"a"}`),
		}},
		{"low surrogate without a high one", `"\ude00"`, parsed{Problems: []string{"invalid-utf8@1"}, Messages: oneMessage("invalid message", "(no id)", "", `"\ude00"`)}},
		{"surrogate pair", `"\ud83d\ude00"`, parsed{Messages: oneMessage("invalid message", "(no id)", "", `"\ud83d\ude00"`)}},
		{"duplicate member and invalid UTF-8 after a byte order mark", bom + "{\"a\":\"\xff\",\"a\":1}", parsed{
			Problems: []string{"byte-order-mark@0", "duplicate-key@12 (/a)", "invalid-utf8@9 (/a)"},
			Messages: oneMessage("invalid message", "(no id)", "", "{\"a\":\"\xff\",\"a\":1}"),
		}},
		{"empty batch", " [] ", parsed{Batch: true}},
		{"batch", `[` + ping + `, 3 ,{"method":"n"}]`, parsed{Batch: true, Messages: []string{
			request[0], "invalid message | (no id) |  | 3", `notification | (no id) | n | {"method":"n"}`,
		}}},
		{"batch in a batch", `[[` + ping + `]]`, parsed{Batch: true, Messages: oneMessage("invalid message", "(no id)", "", "["+ping+"]")}},
		{"batch with a duplicate member", `[{"id":1},{"id":1,"id":2}]`, parsed{
			Problems: []string{"duplicate-key@18 (/1/id)"}, Batch: true,
			Messages: []string{`invalid message | 1 |  | {"id":1}`, `invalid message | 2 |  | {"id":1,"id":2}`},
		}},
		{"deepest allowed nesting", deep + strings.Repeat("]", MaxDepth), parsed{
			Batch: true, Messages: oneMessage("invalid message", "(no id)", "", deep[1:]+strings.Repeat("]", MaxDepth-1)),
		}},
		{"too deep", " " + deep + "[" + strings.Repeat("]", MaxDepth+1), parsed{Problems: []string{fmt.Sprintf("too-deep@%d", MaxDepth+1)}}},
		{"too deep, with a brace innermost", deep + "{}" + strings.Repeat("]", MaxDepth), parsed{Problems: []string{fmt.Sprintf("too-deep@%d", MaxDepth)}}},
		{"brackets in a string", `"` + deep + deep + `\""`, parsed{Messages: oneMessage("invalid message", "(no id)", "", `"`+deep+deep+`\""`)}},
		{"brackets after the message", ping + deep + deep, parsed{Problems: []string{"trailing-text@40"}, Messages: request}},
		{"only closing brackets", strings.Repeat("]", 5*MaxDepth), parsed{Problems: []string{"not-json@0"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := Parse([]byte(c.in))
			if diff := cmp.Diff(c.want, parsedOf(f), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("Parse(%.100q) (-want +got):\n%s", c.in, diff)
			}
			if string(f.Raw) != c.in {
				t.Errorf("Raw is %.100q", f.Raw)
			}
			if want := c.want.Batch || len(c.want.Messages) > 0; f.IsReadable() != want {
				t.Errorf("Readable() = %v", f.IsReadable())
			}
		})
	}
}

func TestParseEnforcesLimits(t *testing.T) {
	object := func(members int) string {
		return "{" + strings.TrimSuffix(strings.Repeat(`"a":1,`, members), ",") + "}"
	}
	array := func(messages int) string { return "[" + strings.TrimSuffix(strings.Repeat("1,", messages), ",") + "]" }
	for _, c := range []struct {
		name, in string
		many     bool
		messages int
	}{
		{"largest batch", array(MaxMembers), false, MaxMembers},
		{"batch too large", array(MaxMembers + 1), true, 0},
		{"largest message", object(MaxMembers), false, 1},
		{"message too large", object(MaxMembers + 1), true, 0},
		{"message too large in a batch", "[1," + object(MaxMembers+1) + "]", true, 0},
		{"large result", `{"result":` + array(MaxMembers+1) + `}`, false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := Parse([]byte(c.in))
			if f.Has(TooMany) != c.many || len(f.Messages) != c.messages || f.IsReadable() != (c.messages > 0) {
				t.Errorf("TooMany %v, %d messages, readable %v", f.Has(TooMany), len(f.Messages), f.IsReadable())
			}
		})
	}
}

func TestMessageKinds(t *testing.T) {
	for _, c := range []struct {
		name, in string
		kind     Kind
		id       string
		method   string
	}{
		{"request", `{"id":1,"method":"a"}`, Request, "1", "a"},
		{"request with a null id", `{"id":null,"method":"a"}`, Request, "null", "a"},
		{"request whose method is a number", `{"id":1,"method":7}`, Request, "1", ""},
		{"request with a result", `{"id":1,"method":"a","result":{}}`, Request, "1", "a"},
		{"method with escapes", `{"id":1,"method":"a\u002Fb"}`, Request, "1", "a/b"},
		{"notification", `{"method":"a"}`, Notification, "(no id)", "a"},
		{"result", `{"id":"x","result":null}`, Response, `"x"`, ""},
		{"error", `{"id":null,"error":{}}`, Response, "null", ""},
		{"error without an id", `{"error":{}}`, Response, "(no id)", ""},
		{"result and error", `{"id":1,"result":1,"error":{}}`, Response, "1", ""},
		{"neither method nor result nor error", `{"jsonrpc":"2.0","id":1}`, Invalid, "1", ""},
		{"capitalized Method", `{"id":1,"Method":"a"}`, Invalid, "1", ""},
		{"upper-case ID", `{"ID":1,"method":"a"}`, Notification, "(no id)", "a"},
		{"empty object", `{}`, Invalid, "(no id)", ""},
		{"string", `"ping"`, Invalid, "(no id)", ""},
		{"id that is an object", `{"id":{"a": 1},"method":"a"}`, Request, `{"a": 1}`, "a"},
		{"huge id", `{"id":123456789012345678901234567890,"method":"a"}`, Request, "123456789012345678901234567890", "a"},
		{"id that overflows", `{"id":1e999999999999,"method":"a"}`, Request, "1e999999999999", "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := Parse([]byte(c.in))
			if len(f.Problems) > 0 || len(f.Messages) != 1 {
				t.Fatalf("problems %v, %d messages", f.Problems, len(f.Messages))
			}
			m := f.Messages[0]
			if m.Kind != c.kind || m.ID.String() != c.id || m.Method != c.method {
				t.Errorf("got %v, id %s, method %q", m.Kind, m.ID, m.Method)
			}
		})
	}
}

func TestMembersPreserveOrderAndBytes(t *testing.T) {
	const in = `{ "b" : 1.0 , "a":[ 1 ] ,"b":"\u0062","error":null}`
	m := Parse([]byte(in)).Messages[0]
	if diff := cmp.Diff([]string{"b", "a", "b", "error"}, m.Names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	got := map[string]string{}
	for name, v := range m.Members {
		got[name] = string(v)
	}
	if diff := cmp.Diff(map[string]string{"a": "[ 1 ]", "b": `"\u0062"`, "error": "null"}, got); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(`{"b":"\u0062","a":[ 1 ],"error":null}`, string(Object(m.Names, m.Members))); diff != "" {
		t.Errorf("rewritten object (-want +got):\n%s", diff)
	}
	if !m.Has("error") || !m.IsError() || m.Has("result") || m.Params() != nil || m.Member("A") != nil {
		t.Error("Has, Params or Member confuses members, or null with absence")
	}
	if _, ok := m.Error(); ok {
		t.Error("Error() accepts a null error member")
	}
}

// TestAppendToValueKeepsFrame checks that appending to a value that was cut out of a frame
// does not overwrite the bytes after it.
func TestAppendToValueKeepsFrame(t *testing.T) {
	raw := []byte(`[{"id":1,"params":{}},{"id":2}]`)
	want := string(raw)
	f := Parse(raw)
	for i := range f.Messages {
		m := &f.Messages[i]
		_ = append(m.Raw, "xx"...)
		_ = append(m.Members["id"], "xx"...)
	}
	_ = append(At(raw, "/0/params"), "xx"...)
	if string(raw) != want {
		t.Errorf("appending changed the frame to %s", raw)
	}
}

func TestErrorCodeOfMessages(t *testing.T) {
	for _, c := range []struct {
		in   string
		code int64
		ok   bool
	}{
		{`{"error":{"code":-32601,"message":"m"}}`, -32601, true},
		{`{"error":{"code":-32601.0}}`, -32601, true},
		{`{"error":{"code":"-32601"}}`, -32601, true},
		{`{"error":{"code":1.5}}`, 0, false},
		{`{"error":{"code":9223372036854775808}}`, 0, false},
		{`{"error":{}}`, 0, false},
		{`{"error":-32601}`, 0, false},
		{`{"result":{"code":1}}`, 0, false},
	} {
		m := Parse([]byte(c.in)).Messages[0]
		if code, ok := m.ErrorCode(); code != c.code || ok != c.ok {
			t.Errorf("ErrorCode of %s = %d, %v", c.in, code, ok)
		}
	}
}

func TestCanonical(t *testing.T) {
	for text, want := range map[string]string{
		`{"b": 1.0, "a":[ "\u0062" ]}`: `{"a":["b"],"b":1}`,
		`{"a":1, "a":2}`:               `{"a":1, "a":2}`,
		`{"a":`:                        `{"a":`,
		``:                             ``,
	} {
		v := jsontext.Value(text)
		if got := Canonical(v); got != want || string(v) != text {
			t.Errorf("Canonical(%s) = %s, want %s; the value is then %s", text, got, want, v)
		}
	}
}
