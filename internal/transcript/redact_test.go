package transcript

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/wire"

	"github.com/mcp-conform/mcp-conform/internal/redact"
)

func TestRedactFrame(t *testing.T) {
	r := NewRedactor(redact.New(`p"ss\wörd`, "swordfish-77", "123456789"))
	for _, c := range []struct{ name, frame, want string }{
		{"nothing to hide", `{"jsonrpc":"2.0", "id":1 ,"method":"tools/list","params":{"a":[1,2.50,null,true,"x\u0041"]}}`, ""},
		{"a member", `{"params":{"arguments":{"token":"abc","apiKey": "d","n":1}}}`, `{"params":{"arguments":{"token":"REDACTED","apiKey": "REDACTED","n":1}}}`},
		{"spellings", `{"API_KEY":"a","x-api-key":"b","clientSecret":"c","Set-Cookie":"d","GITHUB_TOKEN":"e","privateKey":"f"}`,
			`{"API_KEY":"REDACTED","x-api-key":"REDACTED","clientSecret":"REDACTED","Set-Cookie":"REDACTED","GITHUB_TOKEN":"REDACTED","privateKey":"REDACTED"}`},
		{"what only sounds like it", `{"progressToken":"abc","key":"b","keywords":"c","tokenizer":"d","maxTokens":100,"totalTokens":7}`, ""},
		{"below a member", `{"credentials":{"user":"u","list":["a",1,null]}}`, `{"credentials":{"user":"REDACTED","list":["REDACTED",0,null]}}`},
		{"numbers, null and empty strings", `{"password":12,"token":null,"secret":"","pwd":false}`, `{"password":0,"token":null,"secret":"","pwd":false}`},
		{"a pair of name and value", `{"argument":{"name":"api_key","value":"abc"}}`, `{"argument":{"name":"api_key","value":"REDACTED"}}`},
		{"another pair", `{"argument":{"name":"style","value":"abc"}}`, ""},
		{"a schema", `{"inputSchema":{"type":"object","properties":{"token":{"type":"string","default":"abc","description":"Your token"}},"required":["token"]}}`,
			`{"inputSchema":{"type":"object","properties":{"token":{"type":"string","default":"REDACTED","description":"Your token"}},"required":["token"]}}`},
		{"no schema", `{"properties":{"token":"abc"}}`, `{"properties":{"token":"REDACTED"}}`},
		{"a known secret in a string", `{"text":"it is swordfish-77."}`, `{"text":"it is REDACTED."}`},
		{"escaped", `{"text":"p\"ss\\w\u00f6rd"}`, `{"text":"REDACTED"}`},
		{"in a name", `{"swordfish-77":1,"a":2}`, `{"REDACTED":1,"a":2}`},
		{"as a number", `{"n":123456789,"id":123456789}`, `{"n":0,"id":999999999}`},
		{"the rest of a string stays", "{\"text\":\"swordfish-77 \xff\\u0041\"}", "{\"text\":\"REDACTED \xff\\u0041\"}"},
		{"a header in text", `{"text":"GET /\r\nAuthorization: Bearer abc\r\nHost: x"}`, `{"text":"GET /\r\nAuthorization: REDACTED\r\nHost: x"}`},
		{"JSON in text", `{"text":"{\"GITHUB_TOKEN\": \"a\\\"b\",\"HOME\":\"/\"}"}`, `{"text":"{\"GITHUB_TOKEN\": \"REDACTED\",\"HOME\":\"/\"}"}`},
		{"a URI", `{"uri":"https://u:pw@h/x?token=abc&n=1"}`, `{"uri":"https://u:REDACTED@h/x?token=REDACTED&n=1"}`},
		{"a bearer", `{"text":"use bearer abc123DEF456"}`, `{"text":"use bearer REDACTED"}`},
		{"a bearer in prose", `{"text":"the bearer certificate"}`, ""},
		{"an issued token", `{"text":"ghp_0123456789abcdef0123"}`, `{"text":"REDACTED"}`},
		{"ids stay apart", `{"id":"token=abc","params":{"requestId":"token=d"}}`, ""},
		{"a batch", `[{"token":"a"} , {"token":"b"}]`, `[{"token":"REDACTED"} , {"token":"REDACTED"}]`},
		{"a member twice", `{"token":"a","token":"b"}`, `{"token":"REDACTED","token":"REDACTED"}`},
		{"text after it", `{"a":1} token=abc`, `{"a":1} token=REDACTED`},
		{"a byte order mark", "\xef\xbb\xbf{\"token\":\"a\"}\r", "\xef\xbb\xbf{\"token\":\"REDACTED\"}\r"},
		{"no JSON", `Starting with TOKEN=abc, {"password":"x`, `Starting with TOKEN=REDACTED, {"password":"REDACTED`},
		{"half a message", `{"jsonrpc":"2.0","params":{"token":"abc","n":`, `{"jsonrpc":"2.0","params":{"token":"REDACTED","n":`},
		{"empty", ``, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := c.want
			if want == "" {
				want = c.frame
			}
			if diff := cmp.Diff(want, string(r.RedactFrame([]byte(c.frame)))); diff != "" {
				t.Errorf("redacted (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRedactEvents(t *testing.T) {
	events := []*Event{
		{Seq: 0, Kind: Opened, Detail: "server --token=abc"},
		{Seq: 1, Kind: Stderr, Raw: []byte("a swordfis"), Size: 10},
		{Seq: 2, Kind: Received, Raw: []byte(`{"id":1,"result":{"token":"abc"}}`), Size: 33},
		{Seq: 3, Kind: Stderr, Raw: []byte("h-77, and swordfish-77"), Size: 22},
		{Seq: 4, Kind: Received, Raw: []byte(`{"result":"swordfish-77`), Size: 1 << 20},
		{Seq: 5, Kind: Sent, Raw: []byte(`{"id":1}`), Size: 8},
	}
	for _, e := range events {
		e.parse()
	}
	got := NewRedactor(redact.New("swordfish-77", "x")).RedactEvents(events)
	want := []string{"server --token=REDACTED", "a REDACTED", `{"id":1,"result":{"token":"REDACTED"}}`, ", and REDACTED", `{"result":"REDACTED`, `{"id":1}`}
	for i, e := range got {
		if text := e.Detail + string(e.Raw); text != want[i] {
			t.Errorf("event %d is %q, not %q", i, text, want[i])
		}
		if e.IsCut() != events[i].IsCut() || e.Seq != i {
			t.Errorf("event %d: cut: %v", i, e.IsCut())
		}
	}
	if got[5] != events[5] {
		t.Error("an event without secrets was copied")
	}
	if string(events[2].Raw) != `{"id":1,"result":{"token":"abc"}}` {
		t.Error("the event given was altered")
	}
	if m := got[2].Messages(); len(m) != 1 || string(m[0].Result()) != `{"token":"REDACTED"}` {
		t.Errorf("the message of the copy is %v", m)
	}
}

// plainTexts draws texts that do not look like secrets.
var plainTexts = rapid.StringMatching(`[a-z /ü"\\\n{}<>]{0,12}`)

// drawValue draws a JSON value with the secret inside some of its strings.
func drawValue(t *rapid.T, secret string, depth int) any {
	kind := rapid.IntRange(0, 6).Draw(t, "kind")
	if depth == 0 {
		kind %= 5
	}
	switch kind {
	case 0:
		return rapid.Float64Range(-1e6, 1e6).Draw(t, "number")
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return nil
	case 3:
		return plainTexts.Draw(t, "text") + secret + plainTexts.Draw(t, "text")
	case 4:
		return plainTexts.Draw(t, "text")
	case 5:
		out := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			out = append(out, drawValue(t, secret, depth-1))
		}
		return out
	default:
		out := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			name := rapid.SampledFrom([]string{"a", "name", "value", "text", "arguments", "properties", "password", "x-token", "authorization", "id"}).Draw(t, "name")
			out[name] = drawValue(t, secret, depth-1)
		}
		return out
	}
}

// hidden returns the strings below members with secret names. It skips members named properties,
// because they may be schemas.
func hidden(v any, secret bool) []string {
	var out []string
	switch v := v.(type) {
	case string:
		if secret && v != "" {
			out = append(out, v)
		}
	case []any:
		for _, e := range v {
			out = append(out, hidden(e, secret)...)
		}
	case map[string]any:
		for name, e := range v {
			if name != "properties" {
				out = append(out, hidden(e, secret || name == "password" || name == "x-token" || name == "authorization")...)
			}
		}
	}
	return out
}

// TestRedactionLaws checks that redaction keeps any message JSON of the same shape, and
// removes known secrets and everything below members with secret names.
func TestRedactionLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[A-Za-z0-9"\\/ é=:.+\-]{6,20}`).Filter(func(s string) bool {
			mark := redact.Mark // a part of the mark would stay; secrets are trimmed
			return strings.TrimSpace(s) == s && !strings.Contains(mark, s)
		}).Draw(t, "secret")
		value := map[string]any{"jsonrpc": "2.0", "id": 1, "params": drawValue(t, secret, 4)}
		raw, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "as others write it") {
			raw = bytes.ReplaceAll(raw, []byte("/"), []byte(`\/`))
			raw = bytes.ReplaceAll(raw, []byte("é"), []byte(`\u00e9`))
		}
		r := NewRedactor(redact.New(secret))
		got := r.RedactFrame(bytes.Clone(raw))
		if f := wire.Parse(got); len(f.Problems) > 0 {
			t.Fatalf("%s became %s: %v", raw, got, f.Problems)
		}
		var back any
		if err := json.Unmarshal(got, &back); err != nil {
			t.Fatal(err)
		}
		plain, _ := json.Marshal(shape(back))
		original, _ := json.Marshal(shape(any(value)))
		if !bytes.Equal(plain, original) && !strings.ContainsAny(secret, "jsonrpcidams") {
			t.Fatalf("the shape %s became %s", original, plain)
		}
		for _, s := range texts(back) {
			if strings.Contains(s, secret) {
				t.Fatalf("the secret %q is still in %s", secret, got)
			}
		}
		for _, s := range hidden(back, false) {
			if s != redact.Mark {
				t.Fatalf("%q stayed in %s", s, got)
			}
		}
		if again := r.RedactFrame(bytes.Clone(got)); !bytes.Equal(again, got) {
			t.Fatalf("%s is redacted to %s once more", got, again)
		}
	})
}

// shape replaces strings and numbers, which redaction may change.
func shape(v any) any {
	switch v := v.(type) {
	case string:
		return ""
	case float64, int:
		return 0
	case []any:
		out := []any{}
		for _, e := range v {
			out = append(out, shape(e))
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for name, e := range v {
			out[name] = shape(e)
		}
		return out
	}
	return v
}

func texts(v any) []string {
	var out []string
	switch v := v.(type) {
	case string:
		out = append(out, v)
	case []any:
		for _, e := range v {
			out = append(out, texts(e)...)
		}
	case map[string]any:
		for name, e := range v {
			out = append(append(out, name), texts(e)...)
		}
	}
	return out
}

// TestRedactKnownSecretsInText checks that redaction removes known secrets from arbitrary
// bytes.
func TestRedactKnownSecretsInText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[a-z0-9]{6,9}`).Draw(t, "secret")
		parts := rapid.SliceOfN(rapid.OneOf(rapid.Just([]byte(secret)), rapid.SliceOfN(rapid.Byte(), 0, 9), rapid.Just([]byte(`{"token":"`))), 1, 8).Draw(t, "parts")
		raw := bytes.Join(parts, nil)
		if got := NewRedactor(redact.New(secret)).RedactFrame(bytes.Clone(raw)); bytes.Contains(got, []byte(secret)) {
			t.Fatalf("%q became %q", raw, got)
		}
	})
}
