package generate

import (
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// concurrencies are the numbers of concurrent requests if all are requests of one method.
// alternations are the numbers of requests per method if requests of two methods alternate.
var (
	concurrencies = []int{3, 6, 16, 31}
	alternations  = []int{1, 2}
)

func (o *Offer) concurrentCombinations() int {
	n := len(o.Requests())
	return n*len(concurrencies) + n*n*len(alternations)
}

// concurrentCombination sends several requests of one method, or alternating requests of
// two methods, in one write.
func (m *maker) concurrentCombination(conversation, number int) {
	n := len(m.requests)
	var methods []string
	if number < n*len(concurrencies) {
		for range concurrencies[number/n] {
			methods = append(methods, m.requests[number%n])
		}
	} else {
		number -= n * len(concurrencies)
		for range alternations[number/(n*n)] {
			methods = append(methods, m.requests[number%n], m.requests[number/n%n])
		}
	}
	m.addFence(conversation)
	for i, method := range methods {
		m.addRequestOf(conversation, method, m.offer.drawParams(m.t, method))
		last := &m.out[len(m.out)-1]
		last.Await, last.Together = false, i < len(methods)-1
	}
	m.addFence(conversation)
}

// repeats are the numbers of repetitions. There are no small numbers, because a longer sequence
// contains the shorter ones.
var repeats = []int{33, 33, 129}

// countRepeatable returns the number of operations that can be repeated: requests, requests for all
// pages of a list, a request with an unknown method, and a notification.
func (o *Offer) countRepeatable() int { return len(o.Requests()) + len(o.Lists()) + 2 }

func (o *Offer) repeatCombinations() int { return o.countRepeatable() * len(repeats) }

// repeatCombination repeats one operation.
func (m *maker) repeatCombination(conversation, number int) {
	kinds := m.offer.countRepeatable()
	what, times := number%kinds, repeats[number/kinds]
	alike := drawChance(m.t, 50)
	params := members(nil)
	if what < len(m.requests) {
		params = m.offer.drawParams(m.t, m.requests[what])
	}
	for range times {
		switch at := what - len(m.requests); {
		case at < 0 && alike:
			m.addRequestOf(conversation, m.requests[what], append(members(nil), params...))
		case at < 0:
			m.addRequestOf(conversation, m.requests[what], m.offer.drawParams(m.t, m.requests[what]))
		case at < len(m.lists):
			m.add(script.Operation{Do: script.Walk, On: conversation, Method: m.lists[at]})
		case at == len(m.lists):
			m.addRequestOf(conversation, "mcp-conform/unknown", nil)
		default:
			m.addRootsChanged(conversation)
		}
	}
}

// change is a request that changes the state of a session.
type change struct {
	method string
	level  any    // for logging/setLevel
	uri    string // for a subscription
}

// changes returns the changes that are made: each log level, and the subscriptions and
// unsubscriptions of the first two resources.
func (o *Offer) changes() []change {
	var out []change
	for _, method := range o.Requests() {
		switch method {
		case spec.MethodSetLevel:
			for _, level := range levels {
				out = append(out, change{method: method, level: level})
			}
		case spec.MethodResourcesSubscribe, spec.MethodResourcesUnsubscribe:
			for _, resource := range o.Resources[:min(len(o.Resources), 2)] {
				out = append(out, change{method: method, uri: resource})
			}
		}
	}
	return out
}

func (o *Offer) changeCombinations() int { n := len(o.changes()); return n * n }

// addChange adds a request for a change, and waits for the response.
func (m *maker) addChange(conversation int, c change) {
	if c.method == spec.MethodSetLevel {
		m.addRequestOf(conversation, c.method, members{{"level", wire.JSON(c.level)}})
	} else {
		if c.method == spec.MethodResourcesSubscribe {
			m.conversations[conversation].subscribed = append(m.conversations[conversation].subscribed, c.uri)
		}
		m.addRequestOf(conversation, c.method, members{{"uri", wire.Quote(c.uri)}})
	}
	m.awaitLast()
}

// changeCombination makes two changes, which may be the same, one after the other, and then calls
// tools.
func (m *maker) changeCombination(conversation, number int) {
	all := m.offer.changes()
	m.addChange(conversation, all[number%len(all)])
	m.addChange(conversation, all[number/len(all)])
	m.addToolCalls(conversation)
}

func (o *Offer) invalidAfterChangeCombinations() int { return len(o.changes()) }

// invalidAfterChangeCombination makes a change, then sends an invalid request of the same method.
// The invalid request must leave the state as it was after the change.
func (m *maker) invalidAfterChangeCombination(conversation, number int) {
	c := m.offer.changes()[number]
	m.addChange(conversation, c)
	m.addInvalidRequest(conversation, c.method)
	m.addToolCalls(conversation)
}

// addToolCalls adds calls of tools whose results or messages may depend on the state of the
// session.
func (m *maker) addToolCalls(conversation int) {
	if len(m.offer.Tools) == 0 || !m.offer.Has("tools") {
		m.addRequest(conversation)
		return
	}
	for range 6 {
		tool := rapid.SampledFrom(m.offer.Tools).Draw(m.t, "tool")
		p := members{{"name", wire.Quote(tool.Name)}}
		if i := m.offer.schemas["tool "+tool.Name].Valid().Draw(m.t, "arguments"); i.OK {
			p.add("arguments", i.Value)
		} else {
			p.add("arguments", jsontext.Value("{}"))
		}
		m.addRequestOf(conversation, spec.MethodToolsCall, p)
	}
}
