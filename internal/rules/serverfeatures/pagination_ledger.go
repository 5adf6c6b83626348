package serverfeatures

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// listing is one of the lists that may be paginated.
type listing struct {
	capability string
	member     string // the member of the result that has the items
	key        string // pointer to the member that identifies an item
	changed    string // the notification of a change
}

var listings = map[string]listing{
	spec.MethodToolsList:          {"tools", "tools", "/name", spec.MethodToolsChanged},
	spec.MethodPromptsList:        {"prompts", "prompts", "/name", spec.MethodPromptsChanged},
	spec.MethodResourcesList:      {"resources", "resources", "/uri", spec.MethodResourcesChanged},
	spec.MethodResourcesTemplates: {"resources", "resourceTemplates", "/uriTemplate", spec.MethodResourcesChanged},
}

// item is one entry of a list.
type item struct {
	key   string // empty if there is none that is a string
	raw   jsontext.Value
	keyed bool // it has a key, of any type
	text  bool // the key is a string
}

// page is a response to a list request: a result or an error.
type page struct {
	method    string
	request   *rules.Request
	event     *transcript.Event
	message   *wire.Message
	cursor    string
	hasCursor bool // the request has a cursor that is a string
	items     []item
	next      string
	hasNext   bool  // the result has a next cursor that is a string
	before    *page // the page that returned the cursor; nil if none did
	// undisturbed is set if nothing can have changed the list since the request for the previous
	// page of the walk or, if this page is the first, since the request for this page.
	undisturbed bool
	listVersion int // the version of the list when the request was sent (see ledger.changes)
	refused     bool
	// first is the first page of the walk. It is nil if a page between the first page and this one
	// is unknown, or if the list can have changed since the first page was requested.
	first *page
	// emptySince is the first of the consecutive pages without items that end with this one, and
	// empty is their number. If this page has items, they are nil and 0.
	emptySince *page
	empty      int
	// index has the first place of each item of the walk; the pages of a walk share it.
	index     map[string]place
	isIndexed bool
	// repeats are the items of this page whose key came earlier in the walk.
	repeats []repeat
}

// place is where an item was listed.
type place struct {
	on  *page
	raw jsontext.Value
}

// repeat is an item whose key was listed before, with the place at which it was listed first.
type repeat struct {
	item
	first place
}

// isFirst reports whether the page is the first of a walk.
func (p *page) isFirst() bool { return !p.hasCursor }

// positions returns the positions of the request and of the response.
func (p *page) positions() []int { return rules.PositionsOf(p.request.Event, p.event) }

// linkToEarlier sets first, emptySince and empty from the pages before p.
func (p *page) linkToEarlier() {
	switch {
	case !p.undisturbed:
	case p.isFirst():
		p.first = p
	case p.before != nil:
		p.first = p.before.first
	}
	if len(p.items) > 0 {
		return
	}
	p.emptySince, p.empty = p, 1
	if b := p.before; b != nil && b.empty > 0 {
		p.emptySince, p.empty = b.emptySince, b.empty+1
	}
}

// pagesFromFirst returns the pages of the walk from its first page to p; nil if a page is unknown,
// or if the list can have changed in between.
func (p *page) pagesFromFirst() []*page {
	if p.first == nil {
		return nil
	}
	back := []*page{p}
	for q := p; q != p.first; {
		q = q.before
		back = append(back, q)
	}
	slices.Reverse(back)
	return back
}

// continues reports whether q is p itself or an earlier page of the same walk.
func (p *page) continues(q *page) bool {
	for r := p; p.first != nil; r = r.before {
		if r == q {
			return true
		}
		if r == p.first {
			return false
		}
	}
	return false
}

// ledger tracks the server's lists: their pages and cursors, and whether a list can have changed
// since a page was requested.
type ledger struct {
	// changes counts the events that can have changed a list: if the number is the same, the list
	// is the same.
	changes  map[string]int              // by capability
	sent     map[*rules.Request]int      // the number of changes when the request was sent
	returned map[string]map[string]*page // by method and cursor
	// whole has the pages of the last complete walk, by method.
	whole map[string][]*page
	sets  map[string]keySet // see isInLastWalk
	// listed has the items of resources/list by URI, with the version of the list in which they
	// were valid.
	listed map[string]listedItem
	// refused has the list methods whose latest request for a first page was refused.
	refused map[string]bool
	last    *page // the latest page
}

// ledgers keeps the ledger of each conversation. When a rule handles a message, the ledger already
// includes that message.
var ledgers = &rules.Shared[*ledger]{Start: func() (l *ledger, before, after rules.Handlers) {
	l = newLedger()
	return l, l.handlers(), nil
}}

// readsLedger is the Shared field of rules that read the ledger.
var readsLedger = []rules.SharedState{ledgers}

// onPages returns handlers that call the function see with each page, whether a result or an error.
func onPages(see func(s *rules.Session, p *page, out *rules.Reporter)) rules.Handlers {
	return onListResponses(func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
		if p := ledgers.Of(s).last; p != nil && p.message == obs.Message {
			see(s, p, out)
		}
	})
}

type listedItem struct {
	item
	on          *page
	listVersion int
}

func newLedger() *ledger {
	return &ledger{
		changes: map[string]int{}, sent: map[*rules.Request]int{}, returned: map[string]map[string]*page{},
		whole: map[string][]*page{}, sets: map[string]keySet{}, listed: map[string]listedItem{}, refused: map[string]bool{},
	}
}

// handlers returns the handlers that keep the ledger up to date.
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

// noteAnyChange records an event that may have changed any list.
func (l *ledger) noteAnyChange() {
	for _, list := range []string{"tools", "prompts", "resources"} {
		l.changes[list]++
	}
}

// addPage records the first response to a regular list request, and returns it as a page. It
// returns nil for any other response, for an error about metadata, if the request's cursor is not a
// string, or if DeclaresOtherCapabilities returns true for the request.
func (l *ledger) addPage(s *rules.Session, method string, obs *rules.Observation) *page {
	req, list := obs.Request, listings[method]
	if !req.IsRegular() || req.Responses[0].Message != obs.Message || isAboutMetadata(s, obs) || s.DeclaresOtherCapabilities(req) {
		return nil
	}
	p := &page{method: method, request: req, event: obs.Event, message: obs.Message, listVersion: l.sent[req], refused: obs.Message.IsError()}
	if raw := req.Message.ParamAt("/cursor"); raw != nil {
		if p.cursor, p.hasCursor = wire.Text(raw); !p.hasCursor {
			return nil
		}
		p.before = l.returned[method][p.cursor]
	}
	now := l.changes[list.capability]
	p.undisturbed = p.listVersion == now && (p.before == nil || p.before.listVersion == now && p.before.event.Seq < req.Event.Seq)
	if p.isFirst() {
		l.refused[method] = p.refused
	}
	if p.refused {
		return p
	}
	p.items = itemsOf(s, obs.Message, list.member, list.key)
	p.next, p.hasNext = nextOf(s, obs.Message)
	l.storePage(p, s.Began())
	return p
}

// itemsKey is the memo key of the items of a result.
type itemsKey struct{ member, key string }

// itemsOf returns the items of a list in a result; key is the pointer to the member that
// identifies an item. The items are shared, and must not be changed.
func itemsOf(s *rules.Session, m *wire.Message, member, key string) []item {
	return rules.MemoResult(s, m, itemsKey{member, key}, func() []item {
		elements := wire.Elements(m.ResultAt("/" + member))
		items := make([]item, 0, len(elements)) // allocated at once, because a list may be long
		for _, raw := range elements {
			name := wire.At(raw, key)
			text, isText := wire.Text(name)
			items = append(items, item{text, raw, name != nil, isText})
		}
		return items
	})
}

// nextKey is the memo key of the next cursor of a result.
type nextKey struct{}

// nextCursor is the member nextCursor of a result.
type nextCursor struct {
	raw  jsontext.Value // nil if there is none
	text string
	ok   bool // it is a string
}

func cursorOf(s *rules.Session, m *wire.Message) nextCursor {
	return rules.MemoResult(s, m, nextKey{}, func() nextCursor {
		n := nextCursor{raw: m.ResultAt("/nextCursor")}
		n.text, n.ok = wire.Text(n.raw)
		return n
	})
}

// nextOf returns the next cursor, and whether there is one that is a string.
func nextOf(s *rules.Session, m *wire.Message) (string, bool) {
	n := cursorOf(s, m)
	return n.text, n.ok
}

// storePage adds a page to its walk, and records its next cursor and the resources that it lists.
// It indexes the items only if began is set, which means that the server's capabilities are known.
func (l *ledger) storePage(p *page, began bool) {
	switch {
	case p.isFirst():
		p.index = map[string]place{}
	case p.before != nil:
		p.index = p.before.index
	}
	p.linkToEarlier()
	if p.first != nil && began {
		p.indexItems()
	}
	if p.hasNext {
		if l.returned[p.method] == nil {
			l.returned[p.method] = map[string]*page{}
		}
		l.returned[p.method][p.next] = p
	} else if p.first != nil {
		l.whole[p.method] = p.pagesFromFirst()
	}
	if p.method == spec.MethodResourcesList && p.undisturbed {
		for _, i := range p.items {
			l.listed[i.key] = listedItem{i, p, p.listVersion}
		}
	}
}

// indexItems adds the items of a page to the index of its walk.
func (p *page) indexItems() {
	p.isIndexed = true
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

// listedResource returns the entry of resources/list for a URI, if it is still valid.
func (l *ledger) listedResource(uri string) (listedItem, bool) {
	i, ok := l.listed[uri]
	return i, ok && uri != "" && i.listVersion == l.changes["resources"]
}

// hasCompleteWalk reports whether there is a complete walk through the list that is still valid.
func (l *ledger) hasCompleteWalk(method string) bool {
	chain := l.whole[method]
	return chain != nil && chain[0].listVersion == l.changes[listings[method].capability]
}

// itemKeys returns the keys of all items of a complete walk that is still valid; ok is false if
// there is none.
func (l *ledger) itemKeys(method string) (keys []string, ok bool) {
	if !l.hasCompleteWalk(method) {
		return nil, false
	}
	for _, p := range l.whole[method] {
		for _, i := range p.items {
			keys = append(keys, i.key)
		}
	}
	return keys, true
}

// keySet is the keys of a complete walk. The last page identifies the walk.
type keySet struct {
	last *page
	has  map[string]bool
}

// isInLastWalk reports whether the last complete walk, which must exist, has an item with the key.
func (l *ledger) isInLastWalk(method, key string) bool {
	chain := l.whole[method]
	if last := chain[len(chain)-1]; l.sets[method].last != last {
		set := keySet{last, map[string]bool{}}
		for _, p := range chain {
			for _, i := range p.items {
				set.has[i.key] = true
			}
		}
		l.sets[method] = set
	}
	return l.sets[method].has[key]
}

// isFirstResponse reports whether the message is the first response to a regular request, in a
// conversation in which the server's capabilities are known. It returns false if the transcript
// does not have the whole response, or if the response is an error about metadata.
func isFirstResponse(s *rules.Session, obs *rules.Observation) bool {
	return s.Began() && !isAboutMetadata(s, obs) && obs.Request.IsRegular() && !obs.Event.IsCut() && obs.Request.Responses[0].Message == obs.Message
}
