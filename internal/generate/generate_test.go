package generate_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

func TestValuesAreJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := generate.Values{Depth: 5}.Value().Draw(t, "value")
		if !json.Valid(v) || !utf8.Valid(v) || bytes.ContainsAny(v, "\n\r") {
			t.Fatalf("%s is not JSON on one line", v)
		}
		f := wire.Parse(v)
		if len(f.Problems) > 0 {
			t.Fatalf("%.200s: %v", v, f.Problems)
		}
	})
}

func TestTextIsUTF8(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if s := generate.Text.Draw(t, "text"); !utf8.ValidString(s) {
			t.Fatalf("%q is not UTF-8", s)
		}
	})
}

// TestEnvelopes checks that ids do not repeat, that a message written in another way keeps its
// meaning, and that a wrong envelope is not a request.
func TestEnvelopes(t *testing.T) {
	objects := rapid.Map(generate.Values{Depth: 2}.Value(), func(v jsontext.Value) jsontext.Value { return jsontext.Value(`{"value":` + string(v) + `}`) })
	rapid.Check(t, func(t *rapid.T) {
		var ids generate.IDs
		seen := map[string]bool{}
		for range 20 {
			id := ids.Next(t)
			if seen[id.Key()] || !id.IsString() && !id.IsInteger() {
				t.Fatalf("id %s is not new", id.Raw())
			}
			seen[id.Key()] = true
			m := script.Message{ID: id, Method: generate.Text.Draw(t, "method")}
			if rapid.Bool().Draw(t, "params") {
				m.Params = objects.Draw(t, "params")
			}
			f := wire.Parse(generate.Spellings(m).Draw(t, "message"))
			if len(f.Messages) != 1 || len(f.Problems) > 0 {
				t.Fatalf("%s is not a message: %v", f.Raw, f.Problems)
			}
			got := &f.Messages[0]
			if got.Kind != wire.Request || got.Method != m.Method || got.ID.Raw() != id.Raw() || string(got.Params()) != string(m.Params) {
				t.Fatalf("%s is not %+v", f.Raw, m)
			}
			w := generate.WrongEnvelope(ids.Next(t)).Draw(t, "wrong")
			if !json.Valid(w.Bytes) || isRequest(w.Bytes) {
				t.Fatalf("%s is a request: %s", w.Bytes, w.Why)
			}
		}
	})
}

// isRequest reports whether the bytes are a JSON-RPC request.
func isRequest(b []byte) bool {
	f := wire.Parse(b)
	if len(f.Messages) != 1 || f.Batch {
		return false
	}
	m := &f.Messages[0]
	version, _ := wire.Text(m.Member("jsonrpc"))
	return m.Kind == wire.Request && version == "2.0" && m.Method != "" && (m.ID.IsString() || m.ID.IsInteger()) &&
		(m.Params() == nil || m.Params().Kind() == '{') && !m.Has("result")
}

func TestDamage(t *testing.T) {
	line := script.Message{ID: wire.IntID(1), Method: "ping"}.Bytes()
	rapid.Check(t, func(t *rapid.T) {
		d := generate.Damages(line).Draw(t, "damage")
		if !bytes.HasSuffix(d.Bytes, []byte("\n")) {
			t.Fatalf("%s: %q does not end with a newline", d.Name, d.Bytes)
		}
		for i, at := range d.Splits {
			if at <= 0 || at >= len(d.Bytes) || i > 0 && at <= d.Splits[i-1] {
				t.Fatalf("%s: %v do not split %d bytes", d.Name, d.Splits, len(d.Bytes))
			}
		}
		if d.Whole && !isRequest(bytes.TrimSuffix(d.Bytes, []byte("\n"))) {
			t.Fatalf("%s is marked as having the same meaning: %q", d.Name, d.Bytes)
		}
	})
}

// schemas draws schemas of both dialects, with all keywords that the generators
// know.
func schemas(depth int) *rapid.Generator[map[string]any] {
	return rapid.Custom(func(t *rapid.T) map[string]any {
		kinds := []string{"string", "integer", "number", "boolean", "null", "enum", "const"}
		if depth > 0 {
			kinds = append(kinds, "array", "object", "object", "anyOf", "oneOf", "allOf", "$ref")
		}
		kind := rapid.SampledFrom(kinds).Draw(t, "kind")
		s := map[string]any{"type": kind}
		maybe := func(name string, v *rapid.Generator[any]) {
			if rapid.IntRange(0, 3).Draw(t, "has "+name) == 0 {
				s[name] = v.Draw(t, name)
			}
		}
		switch kind {
		case "string":
			maybe("minLength", rapid.IntRange(0, 12).AsAny())
			maybe("maxLength", rapid.IntRange(0, 12).AsAny())
			maybe("pattern", rapid.SampledFrom([]string{"^a+$", "^[0-9]{3}$", "x"}).AsAny())
		case "integer", "number":
			for _, name := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"} {
				maybe(name, rapid.IntRange(-20, 20).AsAny())
			}
			maybe("multipleOf", rapid.SampledFrom([]float64{1, 2, 3, 0.5}).AsAny())
		case "array":
			s["items"] = schemas(depth-1).Draw(t, "items")
			maybe("minItems", rapid.IntRange(0, 4).AsAny())
			maybe("maxItems", rapid.IntRange(0, 4).AsAny())
			maybe("uniqueItems", rapid.Bool().AsAny())
		case "object":
			members, required := map[string]any{}, []any{}
			for _, name := range []string{"a", "b", "c"} {
				if rapid.Bool().Draw(t, "has "+name) {
					members[name] = schemas(depth-1).Draw(t, name)
				}
				if rapid.Bool().Draw(t, "requires "+name) {
					required = append(required, name)
				}
			}
			s["properties"], s["required"], s["additionalProperties"] = members, required, rapid.Bool().Draw(t, "more")
			maybe("minProperties", rapid.IntRange(0, 3).AsAny())
			maybe("maxProperties", rapid.IntRange(0, 3).AsAny())
		case "anyOf", "oneOf", "allOf":
			s = map[string]any{kind: rapid.SliceOfN(schemas(depth-1), 1, 3).Draw(t, kind)}
		case "enum":
			s = map[string]any{"enum": []any{"one", 2, map[string]any{"three": true}}}
		case "const":
			s = map[string]any{"const": rapid.SampledFrom([]any{"one", 2, true}).Draw(t, "const")}
		case "$ref":
			s = map[string]any{"$ref": "#/$defs/a"}
		}
		return s
	})
}

func TestInstances(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := schemas(2).Draw(t, "schema")
		s["$defs"] = map[string]any{"a": map[string]any{"type": "string", "minLength": 1}}
		rev := spec.V20251125
		if rapid.Bool().Draw(t, "older") {
			s["$schema"] = "http://json-schema.org/draft-07/schema#"
		}
		raw := jsontext.Value(wire.JSON(s))
		c := jsonschema.NewCompiler()
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AddResource("schema:test", doc); err != nil {
			t.Fatal(err)
		}
		compiled, err := c.Compile("schema:test")
		if err != nil {
			t.Fatal(err)
		}
		g := generate.NewSchema(raw, rev)
		if i := g.Valid().Draw(t, "valid"); i.OK {
			if err := compiled.Validate(decoded(t, i.Value)); err != nil {
				t.Fatalf("%s does not conform to %s: %v", i.Value, raw, err)
			}
		}
		if i := g.Invalid().Draw(t, "invalid"); i.OK {
			err := compiled.Validate(decoded(t, i.Value))
			if err == nil {
				t.Fatalf("%s conforms to %s, but is marked as violating %s at %s", i.Value, raw, i.Violates, i.At)
			}
			var refused *jsonschema.ValidationError
			if errors.As(err, &refused) && !strings.Contains(i.Violates, "Properties") && !names(refused, i.Violates) {
				t.Fatalf("%s violates %s, but not %s at %s: %v", i.Value, raw, i.Violates, i.At, err)
			}
		}
	})
}

func decoded(t *rapid.T, v jsontext.Value) any {
	out, err := jsonschema.UnmarshalJSON(bytes.NewReader(v))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// names reports whether the error, or one of its causes, is about the keyword.
func names(e *jsonschema.ValidationError, keyword string) bool {
	if path := e.ErrorKind.KeywordPath(); len(path) > 0 && path[len(path)-1] == keyword {
		return true
	}
	if _, ok := e.ErrorKind.(*kind.FalseSchema); ok {
		return true
	}
	for _, cause := range e.Causes {
		if names(cause, keyword) {
			return true
		}
	}
	return false
}

// fullOffer returns an offer with everything that a server may have.
func fullOffer(rev spec.Revision, over spec.Transport) *generate.Offer {
	o := &generate.Offer{
		Revision: rev, Transport: over,
		Declared: map[string]bool{
			"tools": true, "resources": true, "resources.subscribe": true, "prompts": true, "completions": true, "logging": true,
			"tasks": rev == spec.V20251125, "tasks.list": rev == spec.V20251125, "tasks.cancel": rev == spec.V20251125,
		},
		Tools: []generate.Tool{
			{Name: "add", Input: jsontext.Value(`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}`), Tasks: true},
			{Name: "none", Input: jsontext.Value(`{"type":"object"}`)},
		},
		Resources: []string{"demo://a", "demo://b"}, Templates: []string{"demo://x/{y}"},
		Prompts: []generate.Prompt{{Name: "p", Arguments: []string{"a", "b"}, Required: []string{"a"}}},
		Paged:   map[string]bool{spec.MethodToolsList: true},
	}
	o.Prepare()
	return o
}

func drawScript(t *rapid.T, validity generate.Validity) script.Script {
	rev := rapid.SampledFrom(append(spec.HandshakeRevisions(), spec.V20260728)).Draw(t, "revision")
	over := rapid.SampledFrom([]spec.Transport{spec.Stdio, spec.StreamableHTTP}).Draw(t, "transport")
	s := generate.Scripts{Offer: fullOffer(rev, over), Validity: validity, Operations: 12, Conversations: rapid.IntRange(1, 3).Draw(t, "conversations")}
	if rapid.Bool().Draw(t, "enumeration") {
		enumeration := generate.Enumeration{Index: rapid.Uint64Range(0, 2000).Draw(t, "index"), Seed: rapid.Uint64().Draw(t, "seed")}
		if enumeration.Validity() == validity {
			s.Enumeration = &enumeration
			return s.Script().Draw(t, "script")
		}
	}
	first := s.Script().Draw(t, "first")
	s.Seeds = [][][]script.Operation{{first.Operations[:4]}, {first.Operations[6:9]}}
	return s.Script().Draw(t, "script")
}

// TestValidScripts checks that a client may send each message, that ids are
// unique in a conversation, and that cancellations and further rounds refer to earlier
// requests.
func TestValidScripts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScript(t, generate.ValidOnly)
		asked := map[int]map[string]bool{}
		for i := range s.Operations {
			o := &s.Operations[i]
			if asked[o.On] == nil {
				asked[o.On] = map[string]bool{}
			}
			if o.Violates != "" || o.Do == script.Raw || o.Do == script.HTTP {
				t.Fatalf("%+v is not valid", o)
			}
			if o.Target != nil && !asked[o.On][wire.RawID(string(o.Target)).Key()] {
				t.Fatalf("%+v refers to a request that was not sent", o)
			}
			if o.Do != script.Send {
				continue
			}
			f := wire.Parse(o.Message)
			if len(f.Messages) != 1 || len(f.Problems) > 0 || bytes.ContainsAny(o.Message, "\n\r") {
				t.Fatalf("%s is not a message: %v", o.Message, f.Problems)
			}
			m := &f.Messages[0]
			switch {
			case m.Kind == wire.Request && (asked[o.On][m.ID.Key()] || !isRequest(o.Message)):
				t.Fatalf("%s is not a valid request, or its id was used before", o.Message)
			case m.Kind == wire.Request:
				asked[o.On][m.ID.Key()] = true
			case m.Method == spec.MethodCancelled:
				if id := m.ParamIDAt("/requestId"); !asked[o.On][id.Key()] {
					t.Fatalf("%s cancels a request that was not sent", o.Message)
				}
			}
			for _, take := range o.Take {
				if !asked[o.On][wire.RawID(string(take.ID)).Key()] {
					t.Fatalf("%s takes a value from a request that was not sent", o.Message)
				}
			}
		}
	})
}

func TestInvalidMessagesAreMarked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		validity := rapid.SampledFrom([]generate.Validity{generate.InvalidParams, generate.Malformed}).Draw(t, "validity")
		s := drawScript(t, validity)
		for i := range s.Operations {
			o := &s.Operations[i]
			if o.Do == script.Send && o.Violates == "" && len(wire.Parse(o.Message).Messages) != 1 {
				t.Fatalf("%s is not a message, but is not marked as invalid", o.Message)
			}
		}
	})
}

// TestScriptJSONRoundTrip checks that a script survives a round trip through
// JSON.
func TestScriptJSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScript(t, rapid.SampledFrom([]generate.Validity{generate.ValidOnly, generate.InvalidParams, generate.Malformed}).Draw(t, "validity"))
		var out bytes.Buffer
		e := json.NewEncoder(&out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(s); err != nil {
			t.Fatal(err)
		}
		var back script.Script
		if err := json.Unmarshal(out.Bytes(), &back); err != nil {
			t.Fatalf("%v in %s", err, out.Bytes())
		}
		for i := range s.Operations { // nil and an empty message are equivalent
			if len(s.Operations[i].Message) == 0 {
				s.Operations[i].Message = nil
			}
			if x := s.Operations[i].Exchange; x != nil && len(x.Body) == 0 {
				x.Body = nil
			}
		}
		if diff := cmp.Diff(s, back); diff != "" {
			t.Fatalf("-was +came back:\n%s", diff)
		}
	})
}

// TestBytes checks that script.Bytes survive a round trip through JSON.
func TestBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := script.Bytes(rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "bytes"))
		if rapid.Bool().Draw(t, "text") {
			want = script.Bytes(generate.Text.Draw(t, "text") + "x")
		}
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got script.Bytes
		if err := json.Unmarshal(text, &got); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%q came back as %q from %s (%v)", want, got, text, err)
		}
	})
}
