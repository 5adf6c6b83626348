package generate

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Validity is how far a script deviates from what a client may send.
type Validity int

// The validities.
const (
	// ValidOnly scripts contain only what a client may send.
	ValidOnly Validity = iota
	// InvalidParams scripts also contain params that are provably invalid for the method.
	InvalidParams
	// Malformed scripts also contain damaged bytes, and messages that are not
	// JSON-RPC.
	Malformed
)

// Scripts configures how scripts are generated.
type Scripts struct {
	Offer    *Offer
	Validity Validity
	// Operations and Conversations are the numbers of operations and of
	// conversations in a script.
	Operations, Conversations int
	// Seeds are groups of earlier sequences. Now and then a script contains a variation of one
	// sequence. All groups have the same probability, whatever their sizes.
	Seeds [][][]script.Operation
	// Enumeration, if not nil, selects a script of an enumeration, which is generated instead of a
	// random one.
	Enumeration *Enumeration
}

// Script draws a sequence of operations.
func (s Scripts) Script() *rapid.Generator[script.Script] {
	return rapid.Custom(func(t *rapid.T) script.Script {
		m := s.maker(t)
		if s.Enumeration != nil {
			m.enumerate(s.Enumeration)
			return s.with(m.out, t)
		}
		for len(m.out) < s.Operations {
			m.addNext()
		}
		return s.with(m.out, t)
	})
}

// with returns the script with these operations.
func (s Scripts) with(operations []script.Operation, t *rapid.T) script.Script {
	return script.Script{Revision: s.Offer.Revision, NoDiscover: s.Offer.isStateless() && drawChance(t, 50), Operations: operations}
}

func (s Scripts) maker(t *rapid.T) *maker {
	m := &maker{t: t, offer: s.Offer, validity: s.Validity, requests: s.Offer.Requests(), lists: slices.Sorted(maps.Keys(s.Offer.Lists())), seeds: s.Seeds}
	for range max(1, s.Conversations) {
		m.conversations = append(m.conversations, newConversation())
	}
	return m
}

// maker generates one script.
type maker struct {
	t             *rapid.T
	offer         *Offer
	validity      Validity
	requests      []string
	lists         []string
	seeds         [][][]script.Operation
	enumeration   *Enumeration // nil outside an enumeration
	conversations []*conversation
	out           []script.Operation
	tokens        int64
}

// conversation is the state of one conversation of a script: what the script has sent in it.
type conversation struct {
	ids        IDs
	sent       []wire.ID            // requests that may be cancelled
	listening  int                  // the number of subscriptions
	lists      map[string][]wire.ID // requests for a list, by method
	first      map[string][]wire.ID // the subset of lists that requested the first of several pages
	tasks      []wire.ID            // calls that create a task
	subscribed []string
}

func newConversation() *conversation {
	return &conversation{lists: map[string][]wire.ID{}, first: map[string][]wire.ID{}}
}

// operationKinds are the kinds of operations, with their probabilities in percent.
var operationKinds = []struct {
	often int
	do    func(m *maker, conversation int)
}{
	{50, (*maker).addRequest},
	{8, (*maker).addTaskOperation},
	{6, (*maker).addSubscription},
	{6, (*maker).addCancellation},
	{5, (*maker).addUnknown},
	{4, (*maker).addRootsChanged},
	{4, (*maker).addWalk},
	{4, (*maker).addFence},
	{4, (*maker).addBurst},
	{3, (*maker).addAnswer},
	{5, (*maker).addPage},
	{1, (*maker).addClose},
}

// addNext adds one operation, or several that belong together.
func (m *maker) addNext() {
	conversation := m.drawConversation()
	switch {
	case len(m.seeds) > 0 && drawChance(m.t, 35):
		m.addVaried(conversation)
		return
	case m.validity == InvalidParams && drawChance(m.t, 40):
		m.addInvalid(conversation)
		return
	case m.validity == Malformed && drawChance(m.t, 40):
		m.addDamaged(conversation)
		return
	}
	n := percent.Draw(m.t, "operation")
	for _, d := range operationKinds {
		if n -= d.often; n < 0 {
			d.do(m, conversation)
			return
		}
	}
}

func (m *maker) add(o script.Operation) { m.out = append(m.out, o) }

// addRequestOf adds a request and returns its id.
func (m *maker) addRequestOf(conversation int, method string, params members) wire.ID {
	id := m.conversations[conversation].ids.Next(m.t)
	m.addRequestAs(conversation, id, method, params)
	return id
}

// addRequestAs adds a request with this id.
func (m *maker) addRequestAs(conversation int, id wire.ID, method string, params members) {
	h := m.conversations[conversation]
	if !params.has("_meta") && drawChance(m.t, 20) {
		m.tokens++
		params.add("_meta", m.offer.drawMeta(m.t, m.tokens))
	}
	o := script.Operation{
		Do: script.Send, On: conversation, Method: method, Message: Spellings(script.Message{ID: id, Method: method, Params: params.bytes()}).Draw(m.t, "message"),
	}
	switch n := percent.Draw(m.t, "wait"); {
	case n < 30:
		o.Await = true
	case n < 45:
		o.Together = true
	}
	h.sent = append(h.sent, id)
	if ListMember(method) != "" {
		h.lists[method] = append(h.lists[method], id)
		if m.offer.Paged[method] && !params.has("cursor") {
			h.first[method] = append(h.first[method], id)
		}
	}
	m.add(o)
}

func (m *maker) addRequest(conversation int) {
	if m.offer.isStateless() && drawChance(m.t, 15) {
		m.addRounds(conversation)
		return
	}
	method := rapid.SampledFrom(m.requests).Draw(m.t, "method")
	m.addRequestOf(conversation, method, m.offer.drawParams(m.t, method))
}

// addTaskOperation adds a tool call that creates a task, or a request about an earlier task of the
// conversation.
func (m *maker) addTaskOperation(conversation int) {
	h := m.conversations[conversation]
	if !m.offer.Has("tasks") || !slices.ContainsFunc(m.offer.Tools, func(tool Tool) bool { return tool.Tasks }) {
		m.addRequest(conversation)
		return
	}
	if len(h.tasks) == 0 || drawChance(m.t, 40) {
		m.addTaskCall(conversation)
		return
	}
	method := rapid.SampledFrom(taskMethods).Draw(m.t, "method")
	if method == spec.MethodTasksCancel && !m.offer.Has("tasks.cancel") {
		method = spec.MethodTasksGet
	}
	m.addTaskRequest(conversation, method)
}

// addTaskCall adds a tool call that creates a task, if a tool supports tasks.
func (m *maker) addTaskCall(conversation int) {
	h := m.conversations[conversation]
	able := slices.DeleteFunc(slices.Clone(m.offer.Tools), func(tool Tool) bool { return !tool.Tasks })
	if len(able) == 0 {
		return
	}
	tool := rapid.SampledFrom(able).Draw(m.t, "tool")
	var p members
	p.addText("name", tool.Name)
	if i := m.offer.schemas["tool "+tool.Name].Valid().Draw(m.t, "arguments"); i.OK {
		p.add("arguments", i.Value)
	}
	p.add("task", rapid.SampledFrom(tasks).Draw(m.t, "task"))
	id := m.addRequestOf(conversation, spec.MethodToolsCall, p)
	m.awaitLast()
	h.sent = h.sent[:len(h.sent)-1] // tools/call as a task is cancelled with tasks/cancel
	h.tasks = append(h.tasks, id)
}

// addTaskRequest adds a request about an earlier task of the conversation.
func (m *maker) addTaskRequest(conversation int, method string) {
	from := rapid.SampledFrom(m.conversations[conversation].tasks).Draw(m.t, "task")
	m.addRequestOf(conversation, method, members{{"taskId", jsontext.Value(`""`)}})
	m.copyFromResponse(from, "/result/task/taskId", "taskId")
}

// copyFromResponse makes the last message take a value from the response to the earlier request
// with this id. The argument from is the JSON pointer of the value in the response. The argument
// into is the name of the member of params that receives the value.
func (m *maker) copyFromResponse(id wire.ID, from, into string) {
	last := &m.out[len(m.out)-1]
	last.Take = append(last.Take, script.Take{ID: script.Bytes(id.Raw()), From: from, Into: into})
}

// addSubscription adds a subscription to a resource or an unsubscription.
func (m *maker) addSubscription(conversation int) {
	if m.offer.isStateless() {
		m.addListen(conversation)
		return
	}
	if !m.offer.Has("resources.subscribe") || len(m.offer.Resources) == 0 {
		m.addRequest(conversation)
		return
	}
	h := m.conversations[conversation]
	var p members
	if len(h.subscribed) > 0 && drawChance(m.t, 40) {
		p.addText("uri", rapid.SampledFrom(h.subscribed).Draw(m.t, "URI"))
		m.addRequestOf(conversation, spec.MethodResourcesUnsubscribe, p)
		return
	}
	resource := rapid.SampledFrom(m.offer.Resources).Draw(m.t, "URI")
	h.subscribed = append(h.subscribed, resource)
	p.addText("uri", resource)
	m.addRequestOf(conversation, spec.MethodResourcesSubscribe, p)
}

func (m *maker) addCancellation(conversation int) {
	h := m.conversations[conversation]
	if len(h.sent) == 0 {
		m.addRequest(conversation)
		return
	}
	at := len(h.sent) - 1
	if drawChance(m.t, 30) {
		at = rapid.IntRange(0, at).Draw(m.t, "which")
	}
	if !m.offer.sendsNotifications() {
		m.add(script.Operation{Do: script.Cancel, On: conversation, Target: script.Bytes(h.sent[at].Raw())})
		return
	}
	p := members{{"requestId", jsontext.Value(h.sent[at].Raw())}}
	if drawChance(m.t, 50) {
		p.addText("reason", anyText.Draw(m.t, "reason"))
	}
	m.addNotification(conversation, spec.MethodCancelled, p)
}

// addNotification adds a notification.
func (m *maker) addNotification(conversation int, method string, p members) {
	m.add(script.Operation{
		Do: script.Send, On: conversation, Method: method, Message: Spellings(script.Message{Method: method, Params: p.bytes()}).Draw(m.t, "message"),
		Together: drawChance(m.t, 20),
	})
}

// addUnknown adds a request or a notification with a method that no server has.
func (m *maker) addUnknown(conversation int) {
	name := "mcp-conform/" + anyText.Draw(m.t, "method")
	if m.offer.sendsNotifications() && drawChance(m.t, 30) {
		m.addNotification(conversation, "notifications/"+name, nil)
		return
	}
	var p members
	if drawChance(m.t, 50) {
		p.add("value", Values{Depth: 4}.Value().Draw(m.t, "value"))
	}
	m.addRequestOf(conversation, name, p)
}

func (m *maker) addRootsChanged(conversation int) {
	if m.offer.isStateless() {
		m.addRequest(conversation)
		return
	}
	m.addNotification(conversation, spec.MethodRootsChanged, nil)
}

func (m *maker) addWalk(conversation int) {
	if len(m.lists) == 0 {
		m.addFence(conversation)
		return
	}
	m.add(script.Operation{Do: script.Walk, On: conversation, Method: rapid.SampledFrom(m.lists).Draw(m.t, "list")})
}

// addPage adds a request for one page of a list, with a cursor from an earlier response or without
// one.
func (m *maker) addPage(conversation int) {
	if len(m.lists) == 0 {
		m.addFence(conversation)
		return
	}
	method := rapid.SampledFrom(m.lists).Draw(m.t, "list")
	before := m.conversations[conversation].lists[method]
	if len(before) == 0 || drawChance(m.t, 40) {
		m.addRequestOf(conversation, method, nil)
		m.awaitLast()
		return
	}
	m.addNextPage(conversation, method, before)
}

// addNextPage adds a request for the page that follows the page of an earlier request. It draws the
// earlier request from those whose ids are in the slice before.
func (m *maker) addNextPage(conversation int, method string, before []wire.ID) {
	from := rapid.SampledFrom(before).Draw(m.t, "page")
	m.addRequestOf(conversation, method, members{{"cursor", jsontext.Value(`""`)}})
	m.copyFromResponse(from, "/result/nextCursor", "cursor")
}

func (m *maker) addFence(conversation int) {
	m.add(script.Operation{Do: script.Fence, On: conversation})
}

// addBurst adds several requests in one write.
func (m *maker) addBurst(conversation int) {
	method := rapid.SampledFrom(m.requests).Draw(m.t, "method")
	n := rapid.IntRange(2, 6).Draw(m.t, "requests")
	for i := range n {
		m.addRequestOf(conversation, method, m.offer.drawParams(m.t, method))
		last := &m.out[len(m.out)-1]
		last.Await, last.Together = false, i < n-1
	}
}

// addAnswer adds an operation that changes how the client responds to the server's requests.
func (m *maker) addAnswer(conversation int) {
	methods := []string{spec.MethodPing, spec.MethodRootsList, spec.MethodSampling, spec.MethodElicit}
	if m.offer.isStateless() {
		methods = methods[1:]
	}
	o := script.Operation{Do: script.Answer, On: conversation, Method: rapid.SampledFrom(methods).Draw(m.t, "method")}
	o.Reply = drawReply(m.t, o.Method)
	m.add(o)
}

// drawReply draws a response that a client may send.
func drawReply(t *rapid.T, method string) *script.Reply {
	if drawChance(t, 20) && method != spec.MethodPing {
		return &script.Reply{Code: rapid.SampledFrom([]int64{-1, -32603, -32601, -32000}).Draw(t, "code")}
	}
	switch method {
	case spec.MethodRootsList:
		var roots members
		roots.addText("uri", "file:///"+drawURIPath(t))
		return &script.Reply{Result: script.Bytes(`{"roots":[` + string(roots.bytes()) + `]}`)}
	case spec.MethodSampling:
		return &script.Reply{Result: script.Bytes(`{"role":"assistant","model":"none","content":{"type":"text","text":` + string(wire.Quote(anyText.Draw(t, "answer"))) + `}}`)}
	case spec.MethodElicit:
		return &script.Reply{Result: script.Bytes(rapid.SampledFrom([]string{`{"action":"decline"}`, `{"action":"cancel"}`}).Draw(t, "action"))}
	default:
		return &script.Reply{Result: script.Bytes(`{}`)}
	}
}

func drawURIPath(t *rapid.T) string { return someNames.Draw(t, "path") }

func (m *maker) addClose(conversation int) {
	m.add(script.Operation{Do: script.Close, On: conversation})
	h := newConversation()
	h.ids = m.conversations[conversation].ids
	m.conversations[conversation] = h
}

// addInvalid adds a request whose params are provably invalid for the method.
func (m *maker) addInvalid(conversation int) {
	if m.offer.isStateless() && drawChance(m.t, 30) {
		m.addWrongMetadata(conversation)
		return
	}
	m.addInvalidRequest(conversation, rapid.SampledFrom(m.requests).Draw(m.t, "method"))
}

func (m *maker) addInvalidRequest(conversation int, method string) {
	i := m.offer.schemas[method].Invalid().Draw(m.t, "params")
	if !i.OK || method == spec.MethodPing || method == spec.MethodDiscover {
		m.addRequest(conversation)
		return
	}
	id := m.conversations[conversation].ids.Next(m.t)
	m.add(script.Operation{
		Do: script.Send, On: conversation, Method: method, Message: script.Message{ID: id, Method: method, Params: i.Value}.Bytes(), Violates: i.Violates, At: i.At, Await: true,
	})
}

// addDamaged adds a wrong HTTP request, a message that is not JSON-RPC, or a line that is damaged
// or written in an unusual way.
func (m *maker) addDamaged(conversation int) {
	id := m.conversations[conversation].ids.Next(m.t)
	if m.offer.Transport != spec.Stdio && drawChance(m.t, 40) {
		m.add(script.Operation{Do: script.HTTP, On: conversation, Exchange: m.offer.wrongExchange(id).Draw(m.t, "exchange")})
		return
	}
	if drawChance(m.t, 40) {
		w := WrongEnvelope(id).Draw(m.t, "envelope")
		m.add(script.Operation{Do: script.Send, On: conversation, Message: w.Bytes, Violates: w.Why})
		m.addFence(conversation)
		return
	}
	line := m.offer.harmlessRequest(id)
	d := Damages(line).Draw(m.t, "damage")
	o := script.Operation{Do: script.Raw, On: conversation, Message: d.Bytes, Splits: d.Splits}
	if d.Whole {
		o.Method = wire.Parse(line).Messages[0].Method
	} else {
		o.Violates = d.Name
	}
	m.add(o)
	m.addFence(conversation)
}
