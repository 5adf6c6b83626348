package serverfeatures

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// listing is one of the lists that may be paginated.
type listing struct {
	capability string
	member     string // of the result
	key        string // pointer to what names an item
	changed    string // the notification that it has changed
}

var listings = map[string]listing{
	spec.MethodToolsList:          {"tools", "tools", "/name", spec.MethodToolsChanged},
	spec.MethodPromptsList:        {"prompts", "prompts", "/name", spec.MethodPromptsChanged},
	spec.MethodResourcesList:      {"resources", "resources", "/uri", spec.MethodResourcesChanged},
	spec.MethodResourcesTemplates: {"resources", "resourceTemplates", "/uriTemplate", spec.MethodResourcesChanged},
}

// item is one entry of a list.
type item struct {
	key   string // empty where it has none
	raw   jsontext.Value
	keyed bool // it has a key, of whatever type
	text  bool // and that is a text
}

// page is one answer to a list request: a result, or a refusal.
type page struct {
	method    string
	asked     *rules.Request
	event     *transcript.Event
	message   *wire.Message
	cursor    string
	hasCursor bool // a string
	items     []item
	next      string
	hasNext   bool // a string
	before    *page
	// calm: nothing since the page before was asked for can have changed the list.
	calm    bool
	era     int // of the list, when it was asked for
	refused bool
	// index has where each item of the walk came first; the pages of a walk
	// share it.
	index map[string]place
	// repeats are the items with a key that came before in the walk.
	repeats []repeat
}

// place is where an item stands.
type place struct {
	on  *page
	raw jsontext.Value
}

// repeat is an item with the key of another, and where that stands.
type repeat struct {
	item
	first place
}

// isFirst reports whether the page is the first of a walk.
func (p *page) isFirst() bool { return !p.hasCursor }

// at returns the positions that show the page.
func (p *page) at() []int { return rules.At(p.asked.Event, p.event) }

// chain returns the pages from the first of the walk to this one; nil where
// that is not known, or where the list can have changed meanwhile.
func (p *page) chain() []*page {
	var back []*page
	for q := p; ; q = q.before {
		if q == nil || !q.calm {
			return nil
		}
		back = append(back, q)
		if q.isFirst() {
			break
		}
	}
	for i, j := 0, len(back)-1; i < j; i, j = i+1, j-1 {
		back[i], back[j] = back[j], back[i]
	}
	return back
}

// ledger follows what the server lists: pages and cursors, and whether a list
// can have changed since.
type ledger struct {
	// changes counts the events by which a list can have changed, so that
	// equal numbers mean that it is the same still.
	changes map[string]int // by capability
	sent    map[*rules.Request]int
	handed  map[string]map[string]*page // by method and cursor
	// whole are the pages of the last complete walk, by method.
	whole map[string][]*page
	// listed are the items of resources/list that hold still, by URI.
	listed map[string]listedItem
	// refused are the lists whose first page was refused last.
	refused map[string]bool
	last    *page // what was entered last
}

// ledgers keeps the ledger of each conversation, the message that a rule hears
// included.
var ledgers = &rules.Shared[*ledger]{Start: func() (l *ledger, before, after rules.Handlers) {
	l = newLedger()
	return l, l.handlers(), nil
}}

// readsLedger is for the folds of rules that read the ledger.
var readsLedger = []rules.SharedState{ledgers}

// onPages hears each page, be it a result or a refusal.
func onPages(see func(s *rules.Session, p *page, out *rules.Reporter)) rules.Handlers {
	return onListResponses(func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
		if p := ledgers.Of(s).last; p != nil && p.message == obs.Message {
			see(s, p, out)
		}
	})
}

type listedItem struct {
	item
	on  *page
	era int
}

func newLedger() *ledger {
	return &ledger{
		changes: map[string]int{}, sent: map[*rules.Request]int{}, handed: map[string]map[string]*page{},
		whole: map[string][]*page{}, listed: map[string]listedItem{}, refused: map[string]bool{},
	}
}

// handlers returns what it takes to keep the ledger.
func (l *ledger) handlers() rules.Handlers {
	h := rules.Handlers{
		rules.ClientRequest(spec.MethodToolsCall):         func(*rules.Session, *rules.Observation, *rules.Reporter) { l.noteAnyChange() },
		rules.ResultOf(spec.MethodToolsCall):              func(*rules.Session, *rules.Observation, *rules.Reporter) { l.noteAnyChange() },
		rules.ClientNotification(spec.MethodRootsChanged): func(*rules.Session, *rules.Observation, *rules.Reporter) { l.noteAnyChange() },
		rules.Notification(spec.MethodToolsChanged):       func(*rules.Session, *rules.Observation, *rules.Reporter) { l.changes["tools"]++ },
		rules.Notification(spec.MethodPromptsChanged):     func(*rules.Session, *rules.Observation, *rules.Reporter) { l.changes["prompts"]++ },
		rules.Notification(spec.MethodResourcesChanged):   func(*rules.Session, *rules.Observation, *rules.Reporter) { l.changes["resources"]++ },
	}
	for method, list := range listings {
		h[rules.ClientRequest(method)] = func(_ *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
			l.sent[obs.Request] = l.changes[list.capability]
		}
		answer := func(s *rules.Session, obs *rules.Observation, _ *rules.Reporter) { l.last = l.addPage(s, method, obs) }
		h[rules.ResultOf(method)], h[rules.ErrorTo(method)] = answer, answer
	}
	return h
}

// noteAnyChange takes note of what may have changed any list.
func (l *ledger) noteAnyChange() {
	for _, list := range []string{"tools", "prompts", "resources"} {
		l.changes[list]++
	}
}

// addPage makes a page of the first answer to a well-formed request; nil where
// it is none, or was asked for by a cursor that is no string.
func (l *ledger) addPage(s *rules.Session, method string, obs *rules.Observation) *page {
	req, list := obs.Request, listings[method]
	if !req.IsRegular() || req.Responses[0].Message != obs.Message {
		return nil
	}
	p := &page{method: method, asked: req, event: obs.Event, message: obs.Message, era: l.sent[req], refused: obs.Message.IsError()}
	if raw := wire.At(req.Message.Params(), "/cursor"); raw != nil {
		if p.cursor, p.hasCursor = wire.Text(raw); !p.hasCursor {
			return nil
		}
		p.before = l.handed[method][p.cursor]
	}
	now := l.changes[list.capability]
	p.calm = p.era == now && (p.before == nil || p.before.era == now && p.before.event.Seq < req.Event.Seq)
	if p.isFirst() {
		l.refused[method] = p.refused
	}
	if p.refused {
		return p
	}
	p.items = itemsOf(s, obs.Message, list.member, list.key)
	p.next, p.hasNext = nextOf(s, obs.Message)
	l.keep(p, s.Began())
	return p
}

// itemsKey is that of the items of one result.
type itemsKey struct {
	message     *wire.Message
	member, key string
}

// itemsOf returns the items of a list in a result; key is the pointer to what
// names one. They are shared, and must not be altered.
func itemsOf(s *rules.Session, m *wire.Message, member, key string) []item {
	return rules.Memo(s, itemsKey{m, member, key}, func() []item {
		elements := wire.Elements(wire.At(m.Result(), "/"+member))
		items := make([]item, 0, len(elements)) // a list may be long, and room that grows takes twice as much
		for _, raw := range elements {
			name := wire.At(raw, key)
			text, isText := wire.Text(name)
			items = append(items, item{text, raw, name != nil, isText})
		}
		return items
	})
}

// nextKey is that of the cursor in one result.
type nextKey struct{ message *wire.Message }

// next is a cursor.
type next struct {
	raw  jsontext.Value // nil where there is none
	text string
	ok   bool // it is a string
}

func cursorOf(s *rules.Session, m *wire.Message) next {
	return rules.Memo(s, nextKey{m}, func() next {
		n := next{raw: wire.At(m.Result(), "/nextCursor")}
		n.text, n.ok = wire.Text(n.raw)
		return n
	})
}

// nextOf returns the cursor that leads on, and whether there is one that is a
// string.
func nextOf(s *rules.Session, m *wire.Message) (string, bool) {
	n := cursorOf(s, m)
	return n.text, n.ok
}

// keep remembers what follows from a page.
func (l *ledger) keep(p *page, began bool) {
	switch {
	case p.isFirst():
		p.index = map[string]place{}
	case p.before != nil:
		p.index = p.before.index
	}
	chain := p.chain()
	if chain != nil && began {
		p.indexItems()
	}
	if p.hasNext {
		if l.handed[p.method] == nil {
			l.handed[p.method] = map[string]*page{}
		}
		l.handed[p.method][p.next] = p
	} else if chain != nil {
		l.whole[p.method] = chain
	}
	if p.method == spec.MethodResourcesList && p.calm {
		for _, i := range p.items {
			l.listed[i.key] = listedItem{i, p, p.era}
		}
	}
}

// indexItems enters the items of a page into the index of its walk.
func (p *page) indexItems() {
	for _, i := range p.items {
		if i.key == "" {
			continue
		}
		if first, known := p.index[i.key]; known {
			p.repeats = append(p.repeats, repeat{i, first})
		} else {
			p.index[i.key] = place{p, i.raw}
		}
	}
}

// resource returns what resources/list said of a URI, as far as that holds still.
func (l *ledger) resource(uri string) (listedItem, bool) {
	i, ok := l.listed[uri]
	return i, ok && uri != "" && i.era == l.changes["resources"]
}

// keys returns the keys of all items of a complete walk that holds still; not
// ok where there was none.
func (l *ledger) keys(method string) (keys []string, ok bool) {
	chain := l.whole[method]
	if chain == nil || chain[0].era != l.changes[listings[method].capability] {
		return nil, false
	}
	for _, p := range chain {
		for _, i := range p.items {
			keys = append(keys, i.key)
		}
	}
	return keys, true
}

// mergeHandlers makes one of several, which hear the same message in their order.
func mergeHandlers(several ...rules.Handlers) rules.Handlers {
	all := rules.Handlers{}
	for _, hears := range several {
		for topic, hear := range hears {
			before := all[topic]
			if before == nil {
				all[topic] = hear
				continue
			}
			all[topic] = func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
				before(s, obs, out)
				hear(s, obs, out)
			}
		}
	}
	return all
}

// isFirstResponse reports whether the message is the first answer to a regular
// request of a session whose handshake was seen.
func isFirstResponse(s *rules.Session, obs *rules.Observation) bool {
	return s.Began() && s.Era() == spec.Handshake && obs.Request.IsRegular() && !obs.Event.IsCut() && obs.Request.Responses[0].Message == obs.Message
}
