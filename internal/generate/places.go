package generate

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/uri"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// position is a position in a request for a value that the client chooses.
type position struct {
	// values are the values to try in this position.
	values []jsontext.Value
	// add adds a request with v in this position.
	add func(m *maker, conversation int, v jsontext.Value)
}

// The strings, numbers, ids and JSON values that are tried in each position that accepts them.
var (
	placedMixtures = sync.OnceValue(mixedStrings)
	placedTexts    = sync.OnceValue(func() []jsontext.Value { return quoteAll(oddTexts()) })
	placedNumbers  = sync.OnceValue(func() []jsontext.Value { return rawValues(numbers) })
	placedIDs      = sync.OnceValue(func() []jsontext.Value { return slices.Concat(placedTexts(), rawValues(idNumbers)) })
	placedValues   = sync.OnceValue(func() []jsontext.Value { return slices.Concat(placedTexts(), placedNumbers(), deepAndWide()) })
)

// idNumbers are integers at the limits of common integer types.
var idNumbers = []string{
	"0", "-1", "-9", "-10", "-99", "-100", "-999", "-1000", "-32768", "-32769", "-65536", "-2147483648", "-2147483649", "-4294967296", "-9007199254740991",
	"127", "128", "255", "256", "32767", "32768", "65535", "65536", "2147483647", "2147483648", "4294967295", "4294967296",
	"9007199254740990", "9007199254740991",
}

// oddTexts returns words, and strings whose length is at the limit of common
// buffers.
func oddTexts() []string {
	out := slices.Clone(words)
	for _, n := range lengths {
		out = append(out, strings.Repeat("a", n))
	}
	for _, n := range []int{16, 64, 128, 256} {
		out = append(out, strings.Repeat("é", n), strings.Repeat("👍", n))
	}
	return append(out, strings.Repeat("a", 4096), strings.Repeat("a", 65536))
}

// mixedStrings returns strings, each of which joins several words, so that one request tests them
// all. Most defects depend on one part of a string, whatever the other parts are.
func mixedStrings() []jsontext.Value {
	const together = 8
	var out []jsontext.Value
	for some := range slices.Chunk(words, together) {
		out = append(out, wire.Quote(strings.Join(some, "a")))
	}
	return out
}

func quoteAll(texts []string) []jsontext.Value {
	out := make([]jsontext.Value, 0, len(texts))
	for _, s := range texts {
		out = append(out, wire.Quote(s))
	}
	return out
}

func rawValues(texts []string) []jsontext.Value {
	out := make([]jsontext.Value, 0, len(texts))
	for _, s := range texts {
		out = append(out, jsontext.Value(s))
	}
	return out
}

// deepAndWide returns small values, deeply nested values and arrays with many elements.
func deepAndWide() []jsontext.Value {
	out := rawValues([]string{"null", "true", "false", "{}", "[]", "[[]]", `{"":{}}`})
	for _, n := range depths {
		out = append(out, jsontext.Value(strings.Repeat("[", n)+strings.Repeat("]", n)), jsontext.Value(strings.Repeat(`{"a":`, n)+"0"+strings.Repeat("}", n)))
	}
	for _, n := range []int{16, 100, 101, 128, 256, 257, 1000, 1024} {
		out = append(out, jsontext.Value("["+strings.Repeat("0,", n-1)+"0]"))
	}
	return out
}

// depths are nesting depths at the limits of common parsers.
var depths = []int{16, 20, 32, 33, 64, 65, 100, 101, 127, 128, 129, 200, 255, 256, 257, 512}

// positions returns all positions in the requests that the server supports.
func (o *Offer) positions() []position {
	out := []position{
		{placedIDs(), (*maker).addRequestWithID},
		{placedTexts(), func(m *maker, conversation int, v jsontext.Value) {
			m.addRequestOf(conversation, "mcp-conform/"+textOf(v), nil)
		}},
		{placedValues(), func(m *maker, conversation int, v jsontext.Value) {
			m.addRequestWith(conversation, func(p *members) { p.add("_meta", jsontext.Value(`{"example.com/value":`+string(v)+`}`)) })
		}},
		{placedTexts(), func(m *maker, conversation int, v jsontext.Value) {
			m.addRequestWith(conversation, func(p *members) {
				p.add("_meta", jsontext.Value(`{"example.com/`+someNames.Draw(m.t, "key")+`0":{`+string(v)+`:0}}`))
			})
		}},
		{placedValues(), func(m *maker, conversation int, v jsontext.Value) {
			m.addRequestOf(conversation, "mcp-conform/"+someNames.Draw(m.t, "method"), members{{"value", v}})
		}},
	}
	for i := range o.Tools {
		out = append(out, o.toolPositions(&o.Tools[i])...)
	}
	for _, p := range o.Prompts {
		for _, argument := range p.Arguments {
			out = append(out, position{placedTexts(), func(m *maker, conversation int, v jsontext.Value) { m.addPromptRequest(conversation, p, argument, v) }})
			if slices.Contains(o.Requests(), spec.MethodComplete) {
				ref := jsontext.Value(`{"type":"ref/prompt","name":` + string(wire.Quote(p.Name)) + `}`)
				out = append(out, completionPosition(ref, argument))
			}
		}
	}
	for _, template := range o.Templates {
		for _, variable := range uri.Parse(template).Variables {
			out = append(out, position{placedTexts(), func(m *maker, conversation int, v jsontext.Value) {
				m.addTemplateRead(conversation, template, variable, textOf(v))
			}})
			if slices.Contains(o.Requests(), spec.MethodComplete) {
				ref := jsontext.Value(`{"type":"ref/resource","uri":` + string(wire.Quote(template)) + `}`)
				out = append(out, completionPosition(ref, variable))
			}
		}
	}
	return out
}

func completionPosition(ref jsontext.Value, name string) position {
	return position{placedTexts(), func(m *maker, conversation int, v jsontext.Value) {
		m.addRequestOf(conversation, spec.MethodComplete, members{{"ref", ref}, {"argument", jsontext.Value(`{"name":` + string(wire.Quote(name)) + `,"value":` + string(v) + `}`)}})
	}}
}

func textOf(v jsontext.Value) string {
	s, _ := wire.Text(v)
	return s
}

// toolPositions returns the arguments of a tool as positions, except those that permit only a few
// values, such as booleans.
func (o *Offer) toolPositions(tool *Tool) []position {
	s := o.schemas["tool "+tool.Name]
	root, _ := s.resolve(s.root).(map[string]any)
	properties, _ := root["properties"].(map[string]any)
	var out []position
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		sub, _ := s.resolve(properties[name]).(map[string]any)
		values := placedValues()
		switch types := typesOf(sub); {
		case sub["enum"] != nil || sub["const"] != nil:
			continue
		case slices.Equal(types, []string{"string"}):
			values = placedTexts()
		case slices.Equal(types, []string{"number"}), slices.Equal(types, []string{"integer"}):
			values = placedNumbers()
		case slices.Equal(types, []string{"boolean"}), slices.Equal(types, []string{"null"}):
			continue
		}
		out = append(out, position{values, func(m *maker, conversation int, v jsontext.Value) { m.addToolCall(conversation, tool, name, v) }})
	}
	return out
}

// addToolCall adds a tool call in which the argument with this name has the value v. If the tool's
// schema does not permit v there, addToolCall puts v inside the argument instead, if the argument
// has a part of the same type.
func (m *maker) addToolCall(conversation int, tool *Tool, name string, v jsontext.Value) {
	s := m.offer.schemas["tool "+tool.Name]
	arguments, ok := s.drawValid(m.t)
	whole, isObject := arguments.(map[string]any)
	if ok && isObject {
		had, there := whole[name]
		whole[name] = decode(v)
		if s.Refuses(whole) {
			if whole[name] = had; there {
				replaceInside(m.t, had, decode(v), func(w any) { whole[name] = w })
			} else {
				delete(whole, name)
			}
		}
		if s.Refuses(whole) {
			whole[name] = had
		}
	}
	p := members{{"name", wire.Quote(tool.Name)}}
	if isObject {
		p.add("arguments", wire.JSON(whole))
	}
	m.addRequestOf(conversation, spec.MethodToolsCall, p)
}

// replaceInside replaces a random string or number in v with replacement, if both have the same
// type. It calls set with replacement if v itself is the string or number.
func replaceInside(t *rapid.T, v, replacement any, set func(any)) {
	switch v := v.(type) {
	case string:
		if s, ok := replacement.(string); ok {
			set(s)
		}
	case json.Number:
		if n, ok := replacement.(json.Number); ok {
			set(n)
		}
	case []any:
		if len(v) > 0 {
			i := rapid.IntRange(0, len(v)-1).Draw(t, "element")
			replaceInside(t, v[i], replacement, func(w any) { v[i] = w })
		}
	case map[string]any:
		if len(v) > 0 {
			name := rapid.SampledFrom(slices.Sorted(maps.Keys(v))).Draw(t, "member")
			replaceInside(t, v[name], replacement, func(w any) { v[name] = w })
		}
	}
}

func (m *maker) addPromptRequest(conversation int, p Prompt, argument string, v jsontext.Value) {
	var arguments members
	for _, name := range p.Arguments {
		switch {
		case name == argument:
			arguments.add(name, v)
		case slices.Contains(p.Required, name) || drawChance(m.t, 30):
			arguments.addText(name, someNames.Draw(m.t, name))
		}
	}
	m.addRequestOf(conversation, spec.MethodPromptsGet, members{{"name", wire.Quote(p.Name)}, {"arguments", arguments.bytes()}})
}

func (m *maker) addTemplateRead(conversation int, template, variable, value string) {
	parsed := uri.Parse(template)
	values := map[string]string{variable: value}
	for _, name := range parsed.Variables {
		if name != variable {
			values[name] = rapid.SampledFrom([]string{"1", "a"}).Draw(m.t, name)
		}
	}
	if out, ok := parsed.Expand(values); ok {
		m.addRequestOf(conversation, spec.MethodResourcesRead, members{{"uri", wire.Quote(out)}})
		return
	}
	m.addRequest(conversation)
}

// addRequestWith adds a request with valid params. The function more adds members to the params.
func (m *maker) addRequestWith(conversation int, more func(p *members)) {
	method := rapid.SampledFrom(m.requests).Draw(m.t, "method")
	p := m.offer.drawParams(m.t, method)
	more(&p)
	m.addRequestOf(conversation, method, p)
}

// addRequestWithID adds a request with the id v. If the conversation has used that id already, the
// request gets a new id, which begins with v if possible.
func (m *maker) addRequestWithID(conversation int, v jsontext.Value) {
	h := m.conversations[conversation]
	id := wire.RawID(string(v))
	for i := 0; !h.ids.markUsed(id); i++ {
		if s, ok := wire.Text(v); ok && i < 3 {
			v = wire.Quote(s + someNames.Draw(m.t, "more"))
			id = wire.RawID(string(v))
			continue
		}
		id = h.ids.Next(m.t)
		break
	}
	method := rapid.SampledFrom(m.requests).Draw(m.t, "method")
	m.addFence(conversation) // if a response has a wrong id, the fence shows to which request the response belongs
	m.addRequestAs(conversation, id, method, m.offer.drawParams(m.t, method))
	m.awaitLast()
}

// textPositions returns the positions that accept strings.
func (o *Offer) textPositions() []*position {
	var out []*position
	for i := range o.requestPositions {
		if slices.ContainsFunc(o.requestPositions[i].values, func(v jsontext.Value) bool { return v.Kind() == '"' }) {
			out = append(out, &o.requestPositions[i])
		}
	}
	return out
}

func (o *Offer) mixtureCombinations() int { return len(o.textPositions()) * len(placedMixtures()) }

// mixtureCombination adds a request with a mixed string in one position. The number selects both.
func (m *maker) mixtureCombination(conversation, number int) {
	texts := m.offer.textPositions()
	texts[number%len(texts)].add(m, conversation, placedMixtures()[number/len(texts)])
}

func (o *Offer) valueCombinations() int {
	n := 0
	for i := range o.requestPositions {
		n += len(o.requestPositions[i].values)
	}
	return n
}

// valueCombination adds a request with one value in one position. The number selects both.
func (m *maker) valueCombination(conversation, number int) {
	for i := range m.offer.requestPositions {
		p := &m.offer.requestPositions[i]
		if number < len(p.values) {
			p.add(m, conversation, p.values[number])
			return
		}
		number -= len(p.values)
	}
}

// addRequestWithEmptyMeta adds a request with an empty _meta.
func (m *maker) addRequestWithEmptyMeta(conversation int, method string) {
	h := m.conversations[conversation]
	m.addRequestAs(conversation, h.ids.Next(m.t), method, append(m.offer.drawParams(m.t, method), member{"_meta", jsontext.Value("{}")}))
}
