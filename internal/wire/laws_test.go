package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// checkParse checks the properties that hold for every frame.
func checkParse(t interface {
	Fatalf(format string, args ...any)
}, raw []byte) {
	before := bytes.Clone(raw)
	f := Parse(raw)
	if !bytes.Equal(raw, before) {
		t.Fatalf("Parse altered %q", before)
	}
	seen := map[ProblemKind]bool{}
	for _, p := range f.Problems {
		if seen[p.Kind] {
			t.Fatalf("%s is twice in %v", p.Kind, f.Problems)
		}
		seen[p.Kind] = true
		if p.Offset < 0 || p.Offset > int64(len(raw)) {
			t.Fatalf("%v is outside of %d bytes", p, len(raw))
		}
	}
	if seen[TooDeep] || seen[TooMany] {
		return
	}
	noValue := seen[NotJSON] || seen[TrailingText] || seen[Empty] || seen[ByteOrderMark]
	if valid := json.Valid(raw); valid == noValue {
		t.Fatalf("encoding/json reports valid = %v, but Parse reports %v", valid, f.Problems)
	}
	if !utf8.Valid(raw) && !seen[InvalidUTF8] {
		t.Fatalf("the bytes are not UTF-8, but the problems are %v", f.Problems)
	}
	if f.IsReadable() == (seen[NotJSON] || seen[Empty]) {
		t.Fatalf("Readable() = %v with problems %v", f.IsReadable(), f.Problems)
	}
	for i := range f.Messages {
		m := &f.Messages[i]
		if !bytes.Contains(raw, m.Raw) {
			t.Fatalf("message %q is not a substring of %q", m.Raw, raw)
		}
		if (m.Members == nil) != (m.Raw.Kind() != '{') || len(m.Names) < len(m.Members) {
			t.Fatalf("%q has the members %v and the names %v", m.Raw, m.Members, m.Names)
		}
		if m.ID.IsPresent() != m.Has("id") || m.Kind == Request && !m.Has("method") || m.Kind == Response && m.Has("method") {
			t.Fatalf("%q has kind %v", m.Raw, m.Kind)
		}
	}
}

// fragments are the building blocks of damaged messages.
var fragments = []string{
	"{", "}", "[", "]", ",", ":", `"`, `\`, " ", "\n", "\x00", "\xff", "\xed\xa0\x80", bom, `"id"`, `"method"`, `"result"`, `"\ud800"`, `"\u0069d"`,
	"1", "1.0", "1e5", "-", "null", "true", `{"id":1,"method":"a"}`, `{"id":1,"id":2}`, `"é"`, "é", "\u00a0", "/",
}

func TestParseAnyInput(t *testing.T) {
	t.Run("bytes", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) { checkParse(t, rapid.SliceOf(rapid.Byte()).Draw(t, "raw")) })
	})
	t.Run("fragments", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			parts := rapid.SliceOfN(rapid.SampledFrom(fragments), 0, 12).Draw(t, "parts")
			checkParse(t, []byte(strings.Join(parts, "")))
		})
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range fragments {
		f.Add([]byte(s))
	}
	f.Add([]byte(`[{"jsonrpc":"2.0","id":"a","result":{"x":[1,2.50,"\ud83d\ude00"]}},{"method":"n","params":{}}]`))
	f.Add([]byte(strings.Repeat("[", MaxDepth+1)))
	f.Fuzz(func(t *testing.T, raw []byte) { checkParse(t, raw) })
}

func TestBuildParseRoundTrip(t *testing.T) {
	soundIDs := rapid.OneOf(
		rapid.Map(rapid.Int64(), IntID), rapid.Map(rapid.String(), StringID), rapid.Just(RawID("null")), rapid.Just(RawID("1.5e3")),
	)
	values := rapid.Custom(jsonValue)
	rapid.Check(t, func(t *rapid.T) {
		id, method, value := soundIDs.Draw(t, "id"), rapid.String().Draw(t, "method"), values.Draw(t, "value")
		code := rapid.Int64().Draw(t, "code")
		read := func(frame []byte, kind Kind) *Message {
			f := Parse(frame)
			if len(f.Problems) > 0 || len(f.Messages) != 1 || f.Messages[0].Kind != kind {
				t.Fatalf("%s is parsed as %+v", frame, f)
			}
			if bytes.ContainsAny(frame, "\n\r") {
				t.Fatalf("%q is not one line", frame)
			}
			return &f.Messages[0]
		}
		same := func(what string, got []byte) {
			var back any
			if err := json.Unmarshal(got, &back); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if diff := cmp.Diff(value, back); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", what, diff)
			}
		}
		m := read(NewRequest(id, method, value), Request)
		if m.ID != id || m.Method != method || m.Has("params") != (value != nil) {
			t.Fatalf("id %s, method %q, params %s", m.ID, m.Method, m.Params())
		}
		if value != nil {
			same("params", m.Params())
		}
		if m = read(NewNotification(method, value), Notification); m.Method != method || m.ID.IsPresent() {
			t.Fatalf("id %s, method %q", m.ID, m.Method)
		}
		if m = read(NewResult(id, value), Response); m.ID != id || m.IsError() {
			t.Fatalf("id %s, result %s", m.ID, m.Result())
		}
		same("result", m.Result())
		m = read(NewError(id, code, method, value), Response)
		e, ok := m.Error()
		if got, _ := m.ErrorCode(); !ok || m.ID != id || got != code {
			t.Fatalf("id %s, error %+v", m.ID, e)
		}
		if text, _ := Text(e.Message); text != method || (e.Data != nil) != (value != nil) {
			t.Fatalf("message %q, data %s", text, e.Data)
		}
	})
}

func TestBuildWithoutID(t *testing.T) {
	for want, got := range map[string][]byte{
		`{"jsonrpc":"2.0","method":"a"}`:                                   NewRequest(ID{}, "a", nil),
		`{"jsonrpc":"2.0","id":null,"result":null}`:                        NewResult(ID{}, nil),
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":""}}`: NewError(ID{}, -32700, "", nil),
	} {
		if string(got) != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// jsonValue draws a value of the types that json.Unmarshal produces.
func jsonValue(t *rapid.T) any {
	switch rapid.IntRange(0, 6).Draw(t, "type") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return float64(rapid.Int32().Draw(t, "number"))
	case 3:
		return rapid.SampledFrom(names).Draw(t, "string")
	case 4:
		return rapid.String().Draw(t, "string")
	case 5:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			list = append(list, jsonValue(t))
		}
		return list
	default:
		object := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "size") {
			object[rapid.SampledFrom(names).Draw(t, "name")] = jsonValue(t)
		}
		return object
	}
}

var names = []string{"", "a", "~", "/", "~1", "a/b", "0", "é", "<&>", "\u2028", `"`}

// pointer joins path elements to a JSON pointer with the escaping of RFC 6901.
func pointer(path []string) string {
	var b strings.Builder
	for _, part := range path {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(part))
	}
	return b.String()
}

// follow walks along path through a value that encoding/json decoded.
func follow(v any, path []string) (any, bool) {
	for _, part := range path {
		switch x := v.(type) {
		case map[string]any:
			next, ok := x[part]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(x) {
				return nil, false
			}
			v = x[i]
		default:
			return nil, false
		}
	}
	return v, true
}

func TestAtAgreesWithEncodingJSON(t *testing.T) {
	steps := rapid.SampledFrom(append([]string{"1", "2"}, names...))
	rapid.Check(t, func(t *rapid.T) {
		text := JSON(jsonValue(t))
		path := rapid.SliceOfN(steps, 0, 4).Draw(t, "path")
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		want, ok := follow(v, path)
		got := At(text, pointer(path))
		if (got != nil) != ok {
			t.Fatalf("At(%s, %s) = %q, but presence in encoding/json's value is %v", text, pointer(path), got, ok)
		}
		if !ok {
			return
		}
		var back any
		if err := json.Unmarshal(got, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, back); diff != "" {
			t.Fatalf("At(%s, %s) (-want +got):\n%s", text, pointer(path), diff)
		}
	})
}

func TestAt(t *testing.T) {
	const doc = ` {"a":{"b":[10, 20]},"a/b":1,"~":2,"":3,"d":1,"d":4,"n":null}`
	for _, c := range []struct{ pointer, want string }{
		{"", doc}, {"/a/b/1", "20"}, {"/a~1b", "1"}, {"/~0", "2"}, {"/", "3"}, {"/d", "4"}, {"/n", "null"},
		{"/a/b/2", ""}, {"/a/b/-", ""}, {"/a/b/-1", ""}, {"/a/b/01", ""}, {"/a/b/+1", ""}, {"/a/b/-0", ""}, {"/a/b/x", ""}, {"/a/b/", ""},
		{"/x", ""}, {"/x/y", ""}, {"/n/x", ""}, {"/d/0", ""}, {"a", ""}, {"a/b", ""},
	} {
		got := At([]byte(doc), c.pointer)
		if string(got) != c.want || (got == nil) != (c.want == "") {
			t.Errorf("At(%q) = %q, want %q", c.pointer, got, c.want)
		}
	}
	if At(nil, "/a") != nil || At(nil, "") != nil {
		t.Error("At finds a value in an empty document")
	}
}

func TestReadInvalidJSON(t *testing.T) {
	if names, values := Members([]byte(`{"a":1,"b":`)); len(names) != 1 || string(values["a"]) != "1" {
		t.Errorf("Members = %v, %v", names, values)
	}
	if got := Elements([]byte(`[1,2,`)); len(got) != 2 {
		t.Errorf("Elements = %s", got)
	}
	for _, in := range []string{``, `1`, `"a"`, `null`} {
		if names, values := Members([]byte(in)); names != nil || values != nil || Elements([]byte(in)) != nil {
			t.Errorf("%q has members or elements", in)
		}
	}
	for in, want := range map[string]string{`"a"`: "a", `""`: "", "\"a\xff\"": "a\uFFFD", `"\ud800"`: "\uFFFD"} {
		if got, ok := Text([]byte(in)); !ok || got != want {
			t.Errorf("Text(%q) = %q, %v", in, got, ok)
		}
	}
	for _, in := range []string{``, `"a`, `1`, `null`, `"\x"`} {
		if got, ok := Text([]byte(in)); ok || got != "" {
			t.Errorf("Text(%q) = %q, %v", in, got, ok)
		}
	}
}

func TestJSONEscaping(t *testing.T) {
	for in, want := range map[string]string{
		"<a href='x'>&": `"<a href='x'>&"`, "a\xffb": "\"a\uFFFDb\"", "\n\x00": `"\n\u0000"`, "é": `"é"`, `"\`: `"\"\\"`,
	} {
		if got := string(Quote(in)); got != want {
			t.Errorf("Quote(%q) = %s, want %s", in, got, want)
		}
		var a, b string
		if err := json.Unmarshal(JSON(in), &a); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(Quote(in), &b); err != nil || a != b {
			t.Errorf("JSON(%q) = %s and Quote = %s differ: %v", in, JSON(in), Quote(in), err)
		}
	}
	if got := string(JSON(map[string]any{"<": json.RawMessage(" [ 1.0 ] ")})); got != `{"<":[1.0]}` {
		t.Errorf("JSON() writes raw JSON as %s", got)
	}
	defer func() {
		if p := fmt.Sprint(recover()); !strings.Contains(p, "can't encode chan int") {
			t.Errorf("panicked with %q", p)
		}
	}()
	JSON(make(chan int))
}
