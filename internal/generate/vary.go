package generate

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// addVaried adds a sequence of operations that caused new behaviour before, changed in a few
// positions.
func (m *maker) addVaried(conversation int) {
	group := rapid.SampledFrom(m.seeds).Draw(m.t, "group")
	seed := slices.Clone(rapid.SampledFrom(group).Draw(m.t, "seed"))
	for range rapid.IntRange(0, 3).Draw(m.t, "changes") {
		if len(seed) > 0 {
			seed = m.changeOnePosition(seed)
		}
	}
	m.addWithNewIDs(conversation, seed)
}

// changeOnePosition changes a sequence in one position.
func (m *maker) changeOnePosition(seed []script.Operation) []script.Operation {
	i := rapid.IntRange(0, len(seed)-1).Draw(m.t, "place")
	switch rapid.IntRange(0, 6).Draw(m.t, "change") {
	case 0:
		return slices.Insert(seed, i, seed[i])
	case 1:
		if len(seed) > 1 {
			return slices.Delete(seed, i, i+1)
		}
	case 2:
		if i > 0 {
			seed[i], seed[i-1] = seed[i-1], seed[i]
		}
	case 3:
		seed[i].Await = !seed[i].Await
	case 4:
		seed[i].Together = !seed[i].Together
	default:
		seed[i] = m.changeValue(seed[i])
	}
	return seed
}

// changeValue replaces one value in the message.
func (m *maker) changeValue(o script.Operation) script.Operation {
	if o.Do != script.Send || o.Violates != "" {
		return o
	}
	read := wire.Parse(o.Message)
	if len(read.Messages) != 1 || read.Messages[0].Params() == nil {
		return o
	}
	one := &read.Messages[0]
	d := json.NewDecoder(bytes.NewReader(one.Params()))
	d.UseNumber()
	var params map[string]any
	if d.Decode(&params) != nil {
		return o
	}
	var places []func()
	for _, name := range slices.Sorted(maps.Keys(params)) {
		switch name {
		case "arguments", "argument", "uri":
			places = append(places, m.replacements(params[name], func(v any) { params[name] = v }, 0)...)
		}
	}
	if len(places) == 0 {
		return o
	}
	rapid.SampledFrom(places).Draw(m.t, "value")()
	o.Message = script.Message{ID: one.ID, Method: one.Method, Params: wire.JSON(params)}.Bytes()
	return o
}

// replacements returns functions, each of which replaces one string, number or boolean with another
// value of the same type.
func (m *maker) replacements(v any, set func(any), depth int) []func() {
	var out []func()
	switch v := v.(type) {
	case string:
		out = append(out, func() { set(anyText.Draw(m.t, "text")) })
	case json.Number:
		out = append(out, func() { set(json.Number(someNumbers.Draw(m.t, "number"))) })
	case bool:
		out = append(out, func() { set(!v) })
	case []any:
		for i := range v {
			out = append(out, m.replacements(v[i], func(e any) { v[i] = e }, depth+1)...)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if depth == 0 && name == "name" {
				continue // the name of what is to be completed
			}
			out = append(out, m.replacements(v[name], func(e any) { v[name] = e }, depth+1)...)
		}
	}
	return out
}

// addWithNewIDs adds operations from another script, with new ids.
func (m *maker) addWithNewIDs(conversation int, seed []script.Operation) {
	h := m.conversations[conversation]
	renamed := map[string]wire.ID{}
	for _, o := range seed {
		o.On = conversation
		switch {
		case o.Do == script.Raw || o.Do == script.HTTP || o.Do == script.Send && o.Violates != "" && o.Method == "":
			if m.validity == Malformed {
				m.addDamaged(conversation) // the ids in damaged bytes can't be replaced reliably
			}
			continue
		case o.Do == script.Send && o.Violates != "":
			if !m.renameInvalidRequest(h, &o) {
				continue
			}
		case (o.Do == script.Send || o.Do == script.Cancel) && !m.rename(h, &o, renamed):
			continue
		}
		m.add(o)
	}
}

// rename gives a request a new id, and updates references to other requests. It
// returns false if the operation refers to a request that was not renamed.
func (m *maker) rename(h *conversation, o *script.Operation, renamed map[string]wire.ID) bool {
	if o.Do == script.Cancel {
		to, ok := renamed[string(o.Target)]
		o.Target = script.Bytes(to.Raw())
		return ok
	}
	read := wire.Parse(o.Message)
	if len(read.Messages) != 1 {
		return false
	}
	one := &read.Messages[0]
	params := one.Params()
	if one.Method == spec.MethodCancelled {
		to, ok := renamed[string(wire.At(params, "/requestId"))]
		if !ok {
			return false
		}
		params = withMember(params, "requestId", jsontext.Value(to.Raw()))
	}
	if wire.At(params, "/_meta/progressToken") != nil {
		m.tokens++
		params = withMember(params, "_meta", m.offer.drawMeta(m.t, m.tokens))
	}
	takes := slices.Clone(o.Take)
	for i := range takes {
		to, ok := renamed[string(takes[i].ID)]
		if !ok {
			return false
		}
		takes[i].ID = script.Bytes(to.Raw())
	}
	o.Take = takes
	if o.Target != nil {
		to, ok := renamed[string(o.Target)]
		if !ok {
			return false
		}
		o.Target = script.Bytes(to.Raw())
	}
	id := one.ID
	if id.IsPresent() {
		id = h.ids.Next(m.t)
		renamed[one.ID.Raw()] = id
		h.sent = append(h.sent, id)
		if ListMember(one.Method) != "" {
			h.lists[one.Method] = append(h.lists[one.Method], id)
		}
	}
	o.Message = script.Message{ID: id, Method: one.Method, Params: params}.Bytes()
	return true
}

// renameInvalidRequest gives a request with invalid params a new id.
func (m *maker) renameInvalidRequest(h *conversation, o *script.Operation) bool {
	read := wire.Parse(o.Message)
	if len(read.Messages) != 1 || read.Messages[0].Kind != wire.Request {
		return false
	}
	one := &read.Messages[0]
	o.Message = script.Message{ID: h.ids.Next(m.t), Method: one.Method, Params: one.Params()}.Bytes()
	return true
}

// withMember returns the object o with a new value for the member with this name. If o has no such
// member, the result equals o.
func withMember(o jsontext.Value, name string, value jsontext.Value) jsontext.Value {
	names, have := wire.Members(o)
	var out members
	for _, n := range names {
		if n == name {
			have[n] = value
		}
		out.add(n, have[n])
	}
	return out.bytes()
}
