package generate

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// orderSteps is the number of steps of an order after which the next combination begins. Each
// combination also has the first steps of the next one, so that every word of the order (a
// succession of a few steps) is complete in one combination.
const orderSteps = 48

// step is one letter of the alphabet from which orders are formed.
type step struct {
	method  string // "" for an unknown method
	refused bool   // the request refers to something that does not exist
	wrong   bool   // the params are not valid for the method
}

// steps returns the letters: all requests, an unknown method, notifications, and cancellations.
func (o *Offer) steps() []step {
	out := []step{{method: ""}}
	if o.isStateless() {
		out = append(out, step{method: spec.MethodListen})
	} else {
		out = append(out, step{method: spec.MethodRootsChanged})
	}
	out = append(out, step{method: spec.MethodCancelled})
	for _, method := range o.Requests() {
		out = append(out, step{method: method})
	}
	return out
}

// stepsByOutcome returns the steps and, for each request with required params, a variant that names
// something that does not exist. If wrong is true, it adds a variant with invalid params as well.
func (o *Offer) stepsByOutcome(wrong bool) []step {
	out := o.steps()
	for _, method := range o.Requests() {
		if o.schemas[method].hasRequired() {
			out = append(out, step{method: method, refused: true})
			if wrong {
				out = append(out, step{method: method, wrong: true})
			}
		}
	}
	return out
}

// hasRequired reports whether the schema requires members of the params. Such members refer to
// something by name.
func (s *Schema) hasRequired() bool {
	o, _ := s.root.(map[string]any)
	required, _ := o["required"].([]any)
	return len(required) > 0
}

// order is a cyclic sequence of letters in which each word occurs once. The words are all
// successions of letters that have the given length.
type order struct {
	letters []step
	length  int   // letters in a word
	cycle   []int // the sequence, as indices of letters
}

func newOrder(letters []step, length int) order {
	return order{letters, length, deBruijn(len(letters), length)}
}

// combinations returns the number of combinations that the whole sequence needs.
func (r *order) combinations() int { return (len(r.cycle) + orderSteps - 1) / orderSteps }

func (o *Offer) tripleCombinations() int    { return o.triple.combinations() }
func (o *Offer) pairCombinations() int      { return o.pair.combinations() }
func (o *Offer) wrongPairCombinations() int { return o.wrongPair.combinations() }

func (m *maker) tripleCombination(conversation, number int) {
	m.addOrderPart(conversation, &m.offer.triple, number)
}
func (m *maker) pairCombination(conversation, number int) {
	m.addOrderPart(conversation, &m.offer.pair, number)
}
func (m *maker) wrongPairCombination(conversation, number int) {
	m.addOrderPart(conversation, &m.offer.wrongPair, number)
}

// addOrderPart adds one combination with a part of an order. Each step waits for its response, so
// that the server processes the steps in this order.
func (m *maker) addOrderPart(conversation int, r *order, number int) {
	names := make([]int, len(r.letters)) // the seed determines which number stands for which letter
	for i := range names {
		names[i] = permute(uint64(i), len(r.letters), m.enumeration.Seed) //nolint:gosec // small
	}
	m.addPrerequisites(conversation)
	for i := range orderSteps + r.length - 1 {
		s := r.letters[names[r.cycle[(number*orderSteps+i)%len(r.cycle)]]]
		before := len(m.out)
		m.addStep(conversation, s)
		if before < len(m.out) {
			last := &m.out[len(m.out)-1]
			last.Together, last.Await = false, last.Do == script.Send && s.method != spec.MethodListen && wire.Parse(last.Message).Messages[0].Kind == wire.Request
		}
	}
}

// addPrerequisites adds operations that later steps refer to: a task, and the first pages of lists.
func (m *maker) addPrerequisites(conversation int) {
	h := m.conversations[conversation]
	if m.offer.Has("tasks") && len(h.tasks) == 0 {
		m.addTaskCall(conversation)
	}
	for _, method := range m.lists {
		if m.offer.Paged[method] && len(h.first[method]) == 0 {
			m.addRequestOf(conversation, method, nil)
			m.awaitLast()
		}
	}
}

// awaitLast makes the script wait for the response to the last operation.
func (m *maker) awaitLast() {
	last := &m.out[len(m.out)-1]
	last.Await, last.Together = true, false
}

func (m *maker) addStep(conversation int, s step) {
	h := m.conversations[conversation]
	switch {
	case s.wrong:
		m.addInvalidRequest(conversation, s.method)
	case s.refused:
		m.addRequestOf(conversation, s.method, m.offer.drawUnknownParams(m.t, s.method))
	case s.method == "":
		m.addRequestOf(conversation, "mcp-conform/"+someNames.Draw(m.t, "method"), nil)
	case s.method == spec.MethodRootsChanged:
		m.addRootsChanged(conversation)
	case s.method == spec.MethodListen:
		m.addListen(conversation)
	case s.method == spec.MethodCancelled:
		m.addCancellation(conversation)
	case len(h.tasks) > 0 && slices.Contains(taskMethods, s.method):
		m.addTaskRequest(conversation, s.method)
	case s.method == spec.MethodResourcesUnsubscribe && len(h.subscribed) > 0 && drawChance(m.t, 70):
		m.addRequestOf(conversation, s.method, members{{"uri", wire.Quote(rapid.SampledFrom(h.subscribed).Draw(m.t, "URI"))}})
	case len(h.first[s.method]) > 0 && drawChance(m.t, 50):
		m.addNextPage(conversation, s.method, h.first[s.method])
	default:
		m.addRequestOf(conversation, s.method, m.offer.drawParams(m.t, s.method))
	}
}

// taskMethods are the methods of requests that name a task.
var taskMethods = []string{spec.MethodTasksGet, spec.MethodTasksResult, spec.MethodTasksCancel}

// drawUnknownParams draws params that are valid for the method but name something that does not
// exist, if the method has params that name something.
func (o *Offer) drawUnknownParams(t *rapid.T, method string) members {
	var m members
	switch method {
	case spec.MethodToolsCall, spec.MethodPromptsGet:
		m.addText("name", drawUnknownName(t))
	case spec.MethodComplete:
		m.add("ref", jsontext.Value(`{"type":"ref/prompt","name":`+string(wire.Quote(drawUnknownName(t)))+`}`))
		m.add("argument", jsontext.Value(`{"name":"a","value":""}`))
	case spec.MethodResourcesRead, spec.MethodResourcesSubscribe, spec.MethodResourcesUnsubscribe:
		m.addText("uri", URI().Draw(t, "URI"))
	default:
		return o.drawParams(t, method)
	}
	return m
}

// deBruijn returns the shortest cycle of letters in which each word of the
// given length occurs once (algorithm by Fredricksen, Kessler and Maiorana).
func deBruijn(letters, length int) []int {
	var out []int
	word := make([]int, letters*length+1)
	var extend func(t, p int)
	extend = func(t, p int) {
		if t > length {
			if length%p == 0 {
				out = append(out, word[1:p+1]...)
			}
			return
		}
		word[t] = word[t-p]
		extend(t+1, p)
		for j := word[t-p] + 1; j < letters; j++ {
			word[t] = j
			extend(t+1, t)
		}
	}
	extend(1, 1)
	return out
}
