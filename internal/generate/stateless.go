package generate

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// This file has what exists only in the stateless era: subscriptions that are requests, requests in
// several rounds, and metadata in each request.

// maxListening limits the subscriptions of a conversation. Over HTTP each needs a connection.
const maxListening = 4

// addListen adds a subscription.
func (m *maker) addListen(conversation int) {
	h := m.conversations[conversation]
	if h.listening == maxListening {
		m.addCancellation(conversation)
		return
	}
	h.listening++
	m.addRequestOf(conversation, spec.MethodListen, members{{"notifications", m.drawFilter()}})
	m.out[len(m.out)-1].Await = false
}

// drawFilter draws the notifications that a subscription requests.
func (m *maker) drawFilter() jsontext.Value {
	var filter members
	for _, name := range []string{"toolsListChanged", "promptsListChanged", "resourcesListChanged"} {
		if drawChance(m.t, 50) {
			filter.add(name, wire.JSON(!drawChance(m.t, 15)))
		}
	}
	if len(m.offer.Resources) > 0 && drawChance(m.t, 60) {
		uris := rapid.SliceOfN(rapid.SampledFrom(m.offer.Resources), 0, 4).Draw(m.t, "URIs")
		filter.add("resourceSubscriptions", wire.JSON(uris))
	}
	if len(filter) == 0 {
		return jsontext.Value("{}")
	}
	return filter.bytes()
}

// addRounds adds a request with up to three further rounds, which the player sends if the server
// requires input.
func (m *maker) addRounds(conversation int) {
	methods := slices.DeleteFunc(slices.Clone(m.requests), func(name string) bool { return !spec.MayRequireInput(name) })
	if len(methods) == 0 {
		m.addFence(conversation)
		return
	}
	if drawChance(m.t, 40) {
		m.addAnswer(conversation)
	}
	method := rapid.SampledFrom(methods).Draw(m.t, "method")
	params := m.offer.drawParams(m.t, method)
	if !params.has("_meta") && drawChance(m.t, 30) {
		m.tokens++
		params.add("_meta", m.offer.drawMeta(m.t, m.tokens))
	}
	id := m.addRequestOf(conversation, method, slices.Clone(params))
	m.awaitLast()
	for range rapid.IntRange(1, 3).Draw(m.t, "rounds") {
		last := id
		id = m.addRequestOf(conversation, method, slices.Clone(params))
		m.awaitLast()
		m.out[len(m.out)-1].Target = script.Bytes(last.Raw())
	}
}

// drawDeclarations draws the keys of _meta by which a request declares what its client can do and
// wants. They hold for this request alone (2026-07-28, basic/index#meta).
func drawDeclarations(t *rapid.T, m *members) {
	if drawChance(t, 40) {
		m.add(spec.MetaClientCapabilities, rapid.SampledFrom(declaredCapabilities).Draw(t, "capabilities"))
	}
	if drawChance(t, 30) {
		m.add(spec.MetaLogLevel, wire.JSON(rapid.SampledFrom(levels).Draw(t, "level")))
	}
	if drawChance(t, 20) {
		m.add(spec.MetaClientInfo, jsontext.Value(`{"name":`+string(wire.Quote(anyText.Draw(t, "name")))+`,"version":"1"}`))
	}
	if drawChance(t, 10) {
		m.add("traceparent", jsontext.Value(`"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"`))
	}
}

var declaredCapabilities = []jsontext.Value{
	jsontext.Value(`{}`), jsontext.Value(`{"roots":{}}`), jsontext.Value(`{"sampling":{}}`), jsontext.Value(`{"elicitation":{}}`),
	jsontext.Value(`{"elicitation":{"url":{}}}`), jsontext.Value(`{"sampling":{"tools":{}},"elicitation":{"form":{}}}`),
	jsontext.Value(`{"extensions":{"com.example/unknown":{}}}`),
}

// wrongValue is a value that a server must refuse, and the reason.
type wrongValue struct{ why, value string }

// wrongMetadata are values of _meta that a server must refuse, and the reasons. VERSION stands for
// the revision.
var wrongMetadata = []wrongValue{
	{"no _meta", ``},
	{"a _meta that is null", `null`},
	{"a _meta that is an array", `[]`},
	{"an empty _meta", `{}`},
	{"no protocol version", `{"io.modelcontextprotocol/clientCapabilities":{}}`},
	{"no client capabilities", `{"io.modelcontextprotocol/protocolVersion":"VERSION"}`},
	{"a protocol version that is a number", `{"io.modelcontextprotocol/protocolVersion":20260728,"io.modelcontextprotocol/clientCapabilities":{}}`},
	{"a protocol version that is null", `{"io.modelcontextprotocol/protocolVersion":null,"io.modelcontextprotocol/clientCapabilities":{}}`},
	{"an unpublished protocol version", `{"io.modelcontextprotocol/protocolVersion":"1900-01-01","io.modelcontextprotocol/clientCapabilities":{}}`},
	{"client capabilities that are an array", `{"io.modelcontextprotocol/protocolVersion":"VERSION","io.modelcontextprotocol/clientCapabilities":[]}`},
	{"client capabilities that are a string", `{"io.modelcontextprotocol/protocolVersion":"VERSION","io.modelcontextprotocol/clientCapabilities":"roots"}`},
}

// addWrongMetadata adds a request whose metadata is missing or malformed. Over stdio the metadata
// names a version, because a request without one may select a handshake revision for the process.
func (m *maker) addWrongMetadata(conversation int) {
	method := rapid.SampledFrom(m.requests).Draw(m.t, "method")
	params := slices.DeleteFunc(m.offer.drawParams(m.t, method), func(one member) bool { return one.name == "_meta" })
	all := wrongMetadata
	if m.offer.Transport == spec.Stdio {
		all = slices.DeleteFunc(slices.Clone(all), func(w wrongValue) bool { return !strings.Contains(w.value, `"`+spec.MetaVersion+`":"`) })
	}
	wrong := rapid.SampledFrom(all).Draw(m.t, "metadata")
	if wrong.value != "" {
		params.add("_meta", jsontext.Value(strings.ReplaceAll(wrong.value, "VERSION", string(m.offer.Revision))))
	}
	id := m.conversations[conversation].ids.Next(m.t)
	line := append(script.Message{ID: id, Method: method, Params: params.bytes()}.Bytes(), '\n')
	m.add(script.Operation{Do: script.Raw, On: conversation, Message: line, Violates: wrong.why}) // the operation Send would add the metadata
	m.addFence(conversation)
}
