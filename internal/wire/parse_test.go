package wire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// read is what Parse makes of a frame, in a form that is easily written down.
type read struct {
	Problems []string // fault@offset pointer
	Batch    bool
	Messages []string // kind id method: raw
}

func readOf(f *Frame) read {
	r := read{Batch: f.Batch}
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

func one(kind, id, method, raw string) []string {
	return []string{strings.Join([]string{kind, id, method, raw}, " | ")}
}

func TestParseFaults(t *testing.T) {
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	request := one("request", "1", "ping", ping)
	deep := strings.Repeat("[", MaxDepth)
	for _, c := range []struct {
		name, in string
		want     read
	}{
		{"nothing wrong", ping, read{Messages: request}},
		{"white space around", " \t\r\n" + ping + " \r", read{Messages: request}},
		{"nothing", "", read{Problems: []string{"empty@0"}}},
		{"white space alone", " \t\r\n", read{Problems: []string{"empty@0"}}},
		{"a form feed is no white space of JSON", "\f", read{Problems: []string{"not-json@0"}}},
		{"a no-break space is none", "\u00a0" + ping, read{Problems: []string{"not-json@0"}}},
		{"nor behind the value", ping + "\u00a0", read{Problems: []string{"trailing-text@40"}, Messages: request}},
		{"nor is a vertical tab", ping + "\v", read{Problems: []string{"trailing-text@40"}, Messages: request}},
		{"byte order mark", bom + ping, read{Problems: []string{"byte-order-mark@0"}, Messages: request}},
		{"byte order mark alone", bom, read{Problems: []string{"byte-order-mark@0", "empty@0"}}},
		{"byte order mark behind white space", " " + bom + ping, read{Problems: []string{"not-json@1"}}},
		{"log line", "Server started", read{Problems: []string{"not-json@0"}}},
		{"log line in brackets", "[INFO] Server started", read{Problems: []string{"not-json@1 (/0)"}}},
		{"log line that begins with a number", "2026-01-01 started", read{Problems: []string{"trailing-text@4"}, Messages: one("invalid message", "(no id)", "", "2026")}},
		{"cut short", `{"jsonrpc":"2.0","id":`, read{Problems: []string{"not-json@22 (/id)"}}},
		{"cut short behind a byte order mark", bom + `{"id":`, read{Problems: []string{"byte-order-mark@0", "not-json@9 (/id)"}}},
		{"single quotes", `{'id':1}`, read{Problems: []string{"not-json@1"}}},
		{"trailing comma", `{"id":1,}`, read{Problems: []string{"not-json@8"}}},
		{"NaN", `{"id":NaN}`, read{Problems: []string{"not-json@6 (/id)"}}},
		{"NUL alone", "\x00", read{Problems: []string{"not-json@0"}}},
		{"NUL behind", ping + "\x00", read{Problems: []string{"trailing-text@40"}, Messages: request}},
		{"NUL in a string", "\"a\x00\"", read{Problems: []string{"not-json@2"}}},
		{"two messages on a line", ping + ping, read{Problems: []string{"trailing-text@40"}, Messages: request}},
		{"text behind white space", " " + ping + "  x", read{Problems: []string{"trailing-text@43"}, Messages: request}},
		{"text that is not UTF-8 behind", ping + "x\xff", read{Problems: []string{"trailing-text@40", "invalid-utf8@41"}, Messages: request}},
		{"no JSON and no UTF-8", "abc\xff", read{Problems: []string{"not-json@0", "invalid-utf8@3"}}},
		{"duplicate member", `{"id":1,"id":2,"method":"a"}`, read{
			Problems: []string{"duplicate-key@8 (/id)"}, Messages: one("request", "2", "a", `{"id":1,"id":2,"method":"a"}`),
		}},
		{"duplicate member behind white space", `  {"id":1,"id":2}`, read{
			Problems: []string{"duplicate-key@10 (/id)"}, Messages: one("invalid message", "2", "", `{"id":1,"id":2}`),
		}},
		{"duplicate member, spelled otherwise", `{"a":1,"\u0061":2}`, read{
			Problems: []string{"duplicate-key@7 (/a)"}, Messages: one("invalid message", "(no id)", "", `{"a":1,"\u0061":2}`),
		}},
		{"duplicate member at depth", `{"result":{"x":[0,{"b":1,"b":1}]}}`, read{
			Problems: []string{"duplicate-key@25 (/result/x/1/b)"},
			Messages: one("response", "(no id)", "", `{"result":{"x":[0,{"b":1,"b":1}]}}`),
		}},
		{"bytes that are not UTF-8", "{\"result\":{\"x\":\"a\xffb\"}}", read{
			Problems: []string{"invalid-utf8@17 (/result/x)"}, Messages: one("response", "(no id)", "", "{\"result\":{\"x\":\"a\xffb\"}}"),
		}},
		{"not UTF-8 in a name", "{\"a\xc3\":1}", read{Problems: []string{"invalid-utf8@3"}, Messages: one("invalid message", "(no id)", "", "{\"a\xc3\":1}")}},
		{"an encoded surrogate", "\"\xed\xa0\x80\"", read{Problems: []string{"invalid-utf8@1"}, Messages: one("invalid message", "(no id)", "", "\"\xed\xa0\x80\"")}},
		{"half a pair", `{"id":"\ud83d","method":"a"}`, read{
			Problems: []string{"invalid-utf8@7 (/id)"}, Messages: one("request", `"\ud83d"`, "a", `{"id":"\ud83d","method":"a"}`),
		}},
		{"the other half", `"\ude00"`, read{Problems: []string{"invalid-utf8@1"}, Messages: one("invalid message", "(no id)", "", `"\ude00"`)}},
		{"a whole pair", `"\ud83d\ude00"`, read{Messages: one("invalid message", "(no id)", "", `"\ud83d\ude00"`)}},
		{"both kinds behind a byte order mark", bom + "{\"a\":\"\xff\",\"a\":1}", read{
			Problems: []string{"byte-order-mark@0", "duplicate-key@12 (/a)", "invalid-utf8@9 (/a)"},
			Messages: one("invalid message", "(no id)", "", "{\"a\":\"\xff\",\"a\":1}"),
		}},
		{"empty batch", " [] ", read{Batch: true}},
		{"batch", `[` + ping + `, 3 ,{"method":"n"}]`, read{Batch: true, Messages: []string{
			request[0], "invalid message | (no id) |  | 3", `notification | (no id) | n | {"method":"n"}`,
		}}},
		{"batch in a batch", `[[` + ping + `]]`, read{Batch: true, Messages: one("invalid message", "(no id)", "", "["+ping+"]")}},
		{"batch with a fault in a member", `[{"id":1},{"id":1,"id":2}]`, read{
			Problems: []string{"duplicate-key@18 (/1/id)"}, Batch: true,
			Messages: []string{`invalid message | 1 |  | {"id":1}`, `invalid message | 2 |  | {"id":1,"id":2}`},
		}},
		{"as deep as can be", deep + strings.Repeat("]", MaxDepth), read{
			Batch: true, Messages: one("invalid message", "(no id)", "", deep[1:]+strings.Repeat("]", MaxDepth-1)),
		}},
		{"deeper", " " + deep + "[" + strings.Repeat("]", MaxDepth+1), read{Problems: []string{fmt.Sprintf("too-deep@%d", MaxDepth+1)}}},
		{"deeper, with a brace at the end", deep + "{}" + strings.Repeat("]", MaxDepth), read{Problems: []string{fmt.Sprintf("too-deep@%d", MaxDepth)}}},
		{"brackets in a string are not deep", `"` + deep + deep + `\""`, read{Messages: one("invalid message", "(no id)", "", `"`+deep+deep+`\""`)}},
		{"brackets behind the message are not deep", ping + deep + deep, read{Problems: []string{"trailing-text@40"}, Messages: request}},
		{"closing brackets without end", strings.Repeat("]", 5*MaxDepth), read{Problems: []string{"not-json@0"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := Parse([]byte(c.in))
			if diff := cmp.Diff(c.want, readOf(f), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("Parse(%.100q) (-want +got):\n%s", c.in, diff)
			}
			if string(f.Raw) != c.in {
				t.Errorf("Raw is %.100q", f.Raw)
			}
			if want := c.want.Batch || len(c.want.Messages) > 0; f.Readable() != want {
				t.Errorf("Readable() = %v", f.Readable())
			}
		})
	}
}

func TestParseBoundsWhatItTakesIn(t *testing.T) {
	object := func(members int) string {
		return "{" + strings.TrimSuffix(strings.Repeat(`"a":1,`, members), ",") + "}"
	}
	array := func(messages int) string { return "[" + strings.TrimSuffix(strings.Repeat("1,", messages), ",") + "]" }
	for _, c := range []struct {
		name, in string
		many     bool
		messages int
	}{
		{"a batch that fits", array(MaxMembers), false, MaxMembers},
		{"a batch that does not", array(MaxMembers + 1), true, 0},
		{"a message that fits", object(MaxMembers), false, 1},
		{"a message that does not", object(MaxMembers + 1), true, 0},
		{"one that does not in a batch", "[1," + object(MaxMembers+1) + "]", true, 0},
		{"a result is not bounded", `{"result":` + array(MaxMembers+1) + `}`, false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := Parse([]byte(c.in))
			if f.Has(TooMany) != c.many || len(f.Messages) != c.messages || f.Readable() != (c.messages > 0) {
				t.Errorf("TooMany %v, %d messages, readable %v", f.Has(TooMany), len(f.Messages), f.Readable())
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
		{"request whose method is no string", `{"id":1,"method":7}`, Request, "1", ""},
		{"request with a result", `{"id":1,"method":"a","result":{}}`, Request, "1", "a"},
		{"method with escapes", `{"id":1,"method":"a\u002Fb"}`, Request, "1", "a/b"},
		{"notification", `{"method":"a"}`, Notification, "(no id)", "a"},
		{"result", `{"id":"x","result":null}`, Response, `"x"`, ""},
		{"error", `{"id":null,"error":{}}`, Response, "null", ""},
		{"error without an id", `{"error":{}}`, Response, "(no id)", ""},
		{"both", `{"id":1,"result":1,"error":{}}`, Response, "1", ""},
		{"neither", `{"jsonrpc":"2.0","id":1}`, Invalid, "1", ""},
		{"method in other case", `{"id":1,"Method":"a"}`, Invalid, "1", ""},
		{"id in other case", `{"ID":1,"method":"a"}`, Notification, "(no id)", "a"},
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

func TestMembersKeepTheirOrderAndBytes(t *testing.T) {
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
		t.Errorf("the object again (-want +got):\n%s", diff)
	}
	if !m.Has("error") || !m.IsError() || m.Has("result") || m.Params() != nil || m.Member("A") != nil {
		t.Error("a member is taken for another, or null for absence")
	}
	if _, ok := m.Error(); ok {
		t.Error("an error member that is null counts as an object")
	}
}

// A value that is cut out of a frame must not reach what stands behind it.
func TestAppendToAValueLeavesTheFrameAlone(t *testing.T) {
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
		t.Errorf("the frame became %s", raw)
	}
}

func TestErrorOf(t *testing.T) {
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
