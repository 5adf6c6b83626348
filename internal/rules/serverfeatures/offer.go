package serverfeatures

import (
	"maps"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// list is one of the lists that a server can be asked for.
type list struct {
	capability string
	method     string
	member     string // of the result, an array
	key        string // the member of an item that it is known by
	changed    string // the notification
}

var (
	toolList     = list{"tools", spec.MethodToolsList, "tools", "name", spec.MethodToolsChanged}
	promptList   = list{"prompts", spec.MethodPromptsList, "prompts", "name", spec.MethodPromptsChanged}
	templateList = list{"resources", spec.MethodResourcesTemplates, "resourceTemplates", "uriTemplate", spec.MethodResourcesChanged}
)

// listPart is the part of a list that one result holds.
type listPart struct {
	event *transcript.Event
	items []item
	// listWalk is what of the list was gone through before; nil where that is not
	// known, or where the list may have changed between.
	walk *listWalk
}

// listWalk is a list as far as it was gone through, page by page.
type listWalk struct {
	begun   int // the position of its first request
	pages   []*transcript.Event
	items   map[string]jsontext.Value
	cursors map[string]bool
	cursor  string // the one that leads on
}

// listState is what a list was seen to hold. What is on a page is there; only
// a walk to the end, in which no change was told of, says what is not there.
type listState struct {
	list
	whole   *listWalk            // the last that came to the end; nil where a change was announced since
	latest  *listWalk            // the last that came to the end, even so
	walks   map[string]*listWalk // by the cursor that leads on
	settled bool                 // the last two that came to the end had the same, and nothing was done between that may change it
	changes int                  // the position of the last word of a change, -1 before one
	touched int                  // that of the last result of a call that may have changed the list, -1 before one
	seen    map[string]jsontext.Value
	shares  bool            // seen is that of the whole walk, and is copied before it changes
	ever    map[string]bool // all that ever stood in it: it may be hidden, and not gone
}

func newListState(l list) *listState {
	return &listState{list: l, walks: map[string]*listWalk{}, seen: map[string]jsontext.Value{}, ever: map[string]bool{}, changes: -1, touched: -1}
}

// handlers returns what it takes to know the list.
func (o *listState) handlers() rules.Handlers {
	return rules.Handlers{
		rules.ResultOf(o.method): o.noteResult,
		rules.Notification(o.changed): func(_ *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
			o.whole, o.settled, o.changes = nil, false, obs.Event.Seq
			clear(o.walks)
			o.seen, o.shares = map[string]jsontext.Value{}, false
		},
	}
}

// catalog is all that is known of what the server offers.
type catalog struct{ tools, prompts, templates *listState }

// catalogs keeps the catalog of each conversation, as it was before the message
// that a rule hears.
var catalogs = &rules.Shared[*catalog]{Start: func() (c *catalog, before, after rules.Handlers) {
	c = &catalog{newListState(toolList), newListState(promptList), newListState(templateList)}
	return c, nil, mergeHandlers(c.tools.handlers(), c.prompts.handlers(), c.templates.handlers(), rules.Handlers{
		rules.ResultOf(spec.MethodToolsCall): c.noteCall,
	})
}}

// readsCatalog is for the folds of rules that read the catalog.
var readsCatalog = []rules.SharedState{catalogs}

// listState returns what is known of a list, by its method.
func (c *catalog) list(method string) *listState {
	for _, o := range []*listState{c.tools, c.prompts, c.templates} {
		if o.method == method {
			return o
		}
	}
	return nil
}

// noteCall takes note of a call: what does more than read may well change what is
// offered.
func (c *catalog) noteCall(_ *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
	if name, _ := wire.Text(wire.At(obs.Request.Message.Params(), "/name")); !isFailedResult(obs.Message) && !isReadOnly(c.tools.seen[name]) {
		for _, o := range []*listState{c.tools, c.prompts, c.templates} {
			o.touched, o.settled = obs.Event.Seq, false
		}
	}
}

func isReadOnly(tool jsontext.Value) bool {
	return string(wire.At(tool, "/annotations/readOnlyHint")) == "true"
}

// isFailedResult reports whether the result of a tool says that it failed.
func isFailedResult(m *wire.Message) bool { return string(wire.At(m.Result(), "/isError")) == "true" }

// lacks reports whether the item was known not to be in the list when the
// request was sent, and still is, and never was. What was served although no
// list has it may be there by now, unless the list can be taken to be what it
// was: changes are announced, or two reads found the same.
func (o *listState) lacks(s *rules.Session, name string, req *rules.Request, served bool) bool {
	if !o.isKnown() || max(o.changes, o.touched) >= req.Event.Seq || o.ever[name] {
		return false
	}
	return !served || o.settled || s.ServerDeclared(listings[o.method].capability+".listChanged")
}

// isKnown reports whether the list was walked to its end, and nothing was done
// since that walk began that may have changed it.
func (o *listState) isKnown() bool { return o.whole != nil && o.whole.begun > o.touched }

// listPart returns what a result holds of the list; false where the result does
// not show how the server means it.
func (o *listState) part(s *rules.Session, obs *rules.Observation) (listPart, bool) {
	if !isRegular(s, obs) {
		return listPart{}, false
	}
	return listPart{obs.Event, itemsOf(s, obs.Message, o.member, "/"+o.key), o.walkOf(obs)}, true
}

func (o *listState) noteResult(s *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
	p, ok := o.part(s, obs)
	if !ok {
		return
	}
	for _, i := range p.items {
		o.ever[i.key] = true
	}
	next := cursorOf(s, obs.Message)
	if p.walk == nil || next.raw != nil { // else it is seen with the whole walk
		if o.shares {
			o.seen, o.shares = maps.Clone(o.seen), false
		}
		o.remember(o.seen, p)
	}
	if p.walk == nil {
		return
	}
	if o.walks[p.walk.cursor] == p.walk {
		delete(o.walks, p.walk.cursor)
	}
	p.walk.pages = append(p.walk.pages, obs.Event)
	o.remember(p.walk.items, p)
	if next.raw != nil {
		o.noteNextCursor(p.walk, next)
		return
	}
	o.settled = o.isKnown() && maps.EqualFunc(o.whole.items, p.walk.items, func(_, _ jsontext.Value) bool { return true })
	o.whole, o.seen, o.shares = p.walk, p.walk.items, true
	o.latest = p.walk
}

// walkOf returns the walk that the result goes on with, or begins; nil where
// it belongs to none that is undisturbed.
func (o *listState) walkOf(obs *rules.Observation) *listWalk {
	cursor := wire.At(obs.Request.Message.Params(), "/cursor")
	switch text, ok := wire.Text(cursor); {
	case obs.Request.Event.Seq < o.changes:
		return nil
	case cursor == nil:
		return &listWalk{begun: obs.Request.Event.Seq, items: map[string]jsontext.Value{}, cursors: map[string]bool{}}
	case ok:
		return o.walks[text]
	default:
		return nil
	}
}

// noteNextCursor remembers by which cursor the walk goes on; one that came before leads
// in a circle.
func (o *listState) noteNextCursor(w *listWalk, n next) {
	if n.ok && !w.cursors[n.text] {
		w.cursors[n.text], w.cursor = true, n.text
		o.walks[n.text] = w
	}
}

func (o *listState) remember(into map[string]jsontext.Value, p listPart) {
	for _, i := range p.items {
		if i.keyed {
			into[i.key] = i.raw
		}
	}
}

// isRegular reports whether an answer shows how the server means it: the first one
// to a request that was in order, its metadata included, in a conversation
// whose beginning was seen.
func isRegular(s *rules.Session, obs *rules.Observation) bool {
	return s.Began() && obs.Request.IsRegular() && !obs.Request.Cancelled && obs.Request.Responses[0].Message == obs.Message && !obs.Event.IsCut() && hasValidMetadata(obs.Request.Message)
}

func hasValidMetadata(m *wire.Message) bool {
	meta := wire.At(m.Params(), "/_meta")
	if meta == nil {
		return true
	}
	token := wire.At(meta, "/progressToken")
	_, whole := wire.Integer(token)
	return meta.Kind() == '{' && (token == nil || token.Kind() == '"' || whole)
}

// declaresCapability reports whether the server declared the capability; spoiled where
// what it declared can't be read.
func declaresCapability(s *rules.Session, capability string) (yes, spoiled bool) {
	yes = s.ServerDeclared(capability)
	return yes, !yes && wire.At(s.ServerCapabilities, "/"+capability) != nil
}
