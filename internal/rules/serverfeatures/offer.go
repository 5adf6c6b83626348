package serverfeatures

import (
	"maps"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// list is a list that the server offers.
type list struct {
	capability string
	method     string
	member     string // the array of items in the result
	key        string // the member that identifies an item
	changed    string // the method of the notification of changes
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
	// walk is the walk that the part continues or begins; nil if the cursor is unknown, or if a
	// change of the list was announced after the request.
	walk *listWalk
}

// listWalk is a walk through the pages of a list, up to the latest page.
type listWalk struct {
	begun   int // the position of its first request
	pages   []*transcript.Event
	items   map[string]jsontext.Value
	cursors map[string]bool
	cursor  string // the next cursor
}

// listState is the known state of a list. Every item on a page exists; only a complete walk
// without an announced change shows what does not exist.
type listState struct {
	list
	whole      *listWalk            // the last complete walk; nil after an announced change
	latest     *listWalk            // the last complete walk, even if a change was announced since
	walks      map[string]*listWalk // the incomplete walks, by their next cursors
	settled    bool                 // the last two complete walks had the same names, with nothing in between that may change the list
	changes    int                  // the position of the last change notification, -1 if there is none
	touched    int                  // the position of the last result of a call that may have changed the list, -1 if there is none
	seen       map[string]jsontext.Value
	shares     bool            // seen and whole.items are the same map, so seen must be copied before it is changed
	everListed map[string]bool // every key that was ever in the list: an item that is not listed now may be hidden, not removed
}

func newListState(l list) *listState {
	return &listState{list: l, walks: map[string]*listWalk{}, seen: map[string]jsontext.Value{}, everListed: map[string]bool{}, changes: -1, touched: -1}
}

// handlers returns the handlers that keep the state up to date.
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

// catalog is everything that is known about what the server offers.
type catalog struct{ tools, prompts, templates *listState }

// catalogs keeps the catalog of each conversation. A rule sees it as it was before the message
// that the rule handles.
var catalogs = &rules.Shared[*catalog]{Start: func() (c *catalog, before, after rules.Handlers) {
	c = &catalog{newListState(toolList), newListState(promptList), newListState(templateList)}
	return c, nil, rules.MergeHandlers(c.tools.handlers(), c.prompts.handlers(), c.templates.handlers(), rules.Handlers{
		rules.ResultOf(spec.MethodToolsCall): c.noteCall,
	})
}}

// readsCatalog is the Shared field of rules that read the catalog.
var readsCatalog = []rules.SharedState{catalogs}

// listState returns the state of a list by its method.
func (c *catalog) listState(method string) *listState {
	for _, o := range []*listState{c.tools, c.prompts, c.templates} {
		if o.method == method {
			return o
		}
	}
	return nil
}

// noteCall records a successful call of a tool that is not known to be read-only, because it may
// change what is offered.
func (c *catalog) noteCall(_ *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
	if name, _ := wire.Text(obs.Request.Message.ParamAt("/name")); !isFailedResult(obs.Message) && !isReadOnly(c.tools.seen[name]) {
		for _, o := range []*listState{c.tools, c.prompts, c.templates} {
			o.touched, o.settled = obs.Event.Seq, false
		}
	}
}

func isReadOnly(tool jsontext.Value) bool {
	return string(wire.At(tool, "/annotations/readOnlyHint")) == "true"
}

// isFailedResult reports whether a tool result has isError set.
func isFailedResult(m *wire.Message) bool { return string(m.ResultAt("/isError")) == "true" }

// isKnownAbsent reports whether the item was never listed, the list is known, and nothing may have
// changed it since the request was sent. If the server served the request (served is set), the item
// may have appeared in the meantime. The list must then also be known to be stable: the server
// announces changes, or two walks were equal.
func (o *listState) isKnownAbsent(s *rules.Session, name string, req *rules.Request, served bool) bool {
	if !o.isKnown() || max(o.changes, o.touched) >= req.Event.Seq || o.everListed[name] {
		return false
	}
	return !served || o.settled || s.ServerDeclared(listings[o.method].capability+".listChanged")
}

// isKnown reports whether the list was walked completely, and no event since that walk began can
// have changed the list.
func (o *listState) isKnown() bool { return o.whole != nil && o.whole.begun > o.touched }

// partOfResult returns the part of the list that a result holds, and false if the response is not
// regular (see isRegular).
func (o *listState) partOfResult(s *rules.Session, obs *rules.Observation) (listPart, bool) {
	if !isRegular(s, obs) {
		return listPart{}, false
	}
	return listPart{obs.Event, itemsOf(s, obs.Message, o.member, "/"+o.key), o.walkOf(obs)}, true
}

func (o *listState) noteResult(s *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
	p, ok := o.partOfResult(s, obs)
	if !ok {
		return
	}
	for _, i := range p.items {
		o.everListed[i.key] = true
	}
	next := cursorOf(s, obs.Message)
	if p.walk == nil || next.raw != nil { // after the last page of a walk, seen becomes the items of the walk
		if o.shares {
			o.seen, o.shares = maps.Clone(o.seen), false
		}
		o.storeItems(o.seen, p)
	}
	if p.walk == nil {
		return
	}
	if o.walks[p.walk.cursor] == p.walk {
		delete(o.walks, p.walk.cursor)
	}
	p.walk.pages = append(p.walk.pages, obs.Event)
	o.storeItems(p.walk.items, p)
	if next.raw != nil {
		o.noteNextCursor(p.walk, next)
		return
	}
	o.settled = o.isKnown() && haveEqualNames(o.whole, p.walk)
	o.whole, o.seen, o.shares = p.walk, p.walk.items, true
	o.latest = p.walk
}

// walkOf returns the walk that the result continues or begins; nil if a change of the list was
// announced after the request, or if the cursor is unknown.
func (o *listState) walkOf(obs *rules.Observation) *listWalk {
	cursor := obs.Request.Message.ParamAt("/cursor")
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

// noteNextCursor records the cursor that continues the walk. It ignores a cursor that is not a
// string, and one that an earlier page of the walk returned too, because following it would never
// end.
func (o *listState) noteNextCursor(w *listWalk, n nextCursor) {
	if n.ok && !w.cursors[n.text] {
		w.cursors[n.text], w.cursor = true, n.text
		o.walks[n.text] = w
	}
}

func (o *listState) storeItems(into map[string]jsontext.Value, p listPart) {
	for _, i := range p.items {
		if i.keyed {
			into[i.key] = i.raw
		}
	}
}

// isRegular reports whether the message is the first response to a valid request with valid
// metadata, in a conversation in which the server's capabilities are known. In the stateless era,
// the request must declare the same client capabilities as the first request with complete metadata
// (see Negotiation.DeclaresOtherCapabilities). isRegular returns false if the request was
// cancelled, if the transcript does not have the whole response, or if the response is an error
// about metadata.
func isRegular(s *rules.Session, obs *rules.Observation) bool {
	return s.Began() && !isAboutMetadata(s, obs) && !s.DeclaresOtherCapabilities(obs.Request) && obs.Request.IsRegular() && !obs.Request.IsCancelled() && obs.Request.Responses[0].Message == obs.Message && !obs.Event.IsCut() && obs.Request.HasValidMeta()
}

// isAboutMetadata reports whether a response of the stateless era is an error about the headers,
// the version or the capabilities of the request. Such errors have rules of their own.
func isAboutMetadata(s *rules.Session, obs *rules.Observation) bool {
	return s.Era() == spec.Stateless && rules.IsAboutMetadata(obs.Message)
}

// declaresCapability reports whether the server declared the capability; malformed is set if the
// declaration can't be read.
func declaresCapability(s *rules.Session, capability string) (declared, malformed bool) {
	declared = s.ServerDeclared(capability)
	return declared, !declared && wire.At(s.ServerCapabilities, "/"+capability) != nil
}
