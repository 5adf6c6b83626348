// Package inventory records what a server offers in a revision: its
// capabilities, its lists walked to the end, and which tools may be called.
package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Limits for each list, because a list may be endless.
const (
	maxPages = 200
	maxItems = 20_000
)

// NoResult is the entry in Inventory.Incomplete of a list that was refused or got no response.
const NoResult = "the list was not answered with a result"

// EmptyCursor is the entry in Inventory.Incomplete of a list with the next cursor "", in a revision
// in which that is not an ordinary cursor.
const EmptyCursor = "the next cursor is an empty string, so no further page was requested"

// A Tool is one entry of tools/list.
type Tool struct {
	Name     string
	ReadOnly bool // annotations.readOnlyHint is true
	Raw      jsontext.Value
	given    []map[string]any // arguments that are known to be good, used instead of generated ones
	// plain generates the plainest arguments, and keeps them, because a schema may be megabytes
	// long. If plain is nil, they are generated for each call.
	plain func() (map[string]any, error)
}

// An Inventory is what a server offers in one revision, without list entries
// that have no name or URI.
type Inventory struct {
	Server    client.Server
	Tools     []Tool
	Resources []string // URIs
	Templates []string // URI templates
	Prompts   []string // names
	// BarePrompts are the names of the prompts that need no argument.
	BarePrompts []string
	// PromptEntries are the prompts with their arguments.
	PromptEntries []Prompt
	// Incomplete holds, by list method, why the client could not walk a list to its end.
	Incomplete    map[string]string
	config        Config
	hasUnanswered bool             // a list request got no response
	learnRoles    func() []Learned // see SetLearned; nil if it was not called
	unknownOf     struct {         // see unknownTools
		sync.Once
		tools []Tool
	}
	suspectsOf struct { // see suspects
		sync.Mutex
		byRole map[Role][]Tool
	}
}

// Declares reports whether the server declared the capability, as
// client.Server.Declares does.
func (v *Inventory) Declares(capability string) bool { return v.Server.Declares(capability) }

// Empty returns an inventory without entries, for a server whose offer is unknown.
func Empty() *Inventory {
	return &Inventory{Incomplete: map[string]string{}, config: Config{Policy: CallNone}}
}

// Take walks the lists of all declared capabilities in conversation c, after its handshake. If a
// list fails, Take records this in Incomplete instead of returning an error, because the cases
// about that list judge it.
func Take(ctx context.Context, c *client.Conversation, config Config) *Inventory {
	v := &Inventory{Server: c.Server(), Incomplete: map[string]string{}, config: config}
	var lists []*list
	if v.Declares("tools") {
		lists = append(lists, newList(spec.MethodToolsList, "tools", maxPages, func(item jsontext.Value) {
			if name, ok := wire.Text(wire.At(item, "/name")); ok {
				readOnly := string(wire.At(item, "/annotations/readOnlyHint")) == "true"
				plain := sync.OnceValues(func() (map[string]any, error) { return generate.Arguments(wire.At(item, "/inputSchema")) })
				v.Tools = append(v.Tools, Tool{name, readOnly, item, config.knownGoodArguments(name, item), plain})
			}
		}))
	}
	if v.Declares("resources") {
		lists = append(lists, newList(spec.MethodResourcesList, "resources", maxPages, collectText(&v.Resources, "/uri")),
			newList(spec.MethodResourcesTemplates, "resourceTemplates", maxPages, collectText(&v.Templates, "/uriTemplate")))
	}
	if v.Declares("prompts") {
		lists = append(lists, newList(spec.MethodPromptsList, "prompts", maxPages, func(item jsontext.Value) {
			collectText(&v.Prompts, "/name")(item)
			v.PromptEntries = append(v.PromptEntries, promptsOf(item, config)...)
			for _, a := range wire.Elements(wire.At(item, "/arguments")) {
				if string(wire.At(a, "/required")) == "true" {
					return
				}
			}
			collectText(&v.BarePrompts, "/name")(item)
		}))
	}
	if c.Web() != nil { // over HTTP, concurrent requests save round trips and do not disturb each other
		v.walk(ctx, c, lists...)
		return v
	}
	for _, l := range lists {
		v.walk(ctx, c, l)
	}
	return v
}

func collectText(into *[]string, pointer string) func(jsontext.Value) {
	return func(item jsontext.Value) {
		if s, ok := wire.Text(wire.At(item, pointer)); ok {
			*into = append(*into, s)
		}
	}
}

// afterUnansweredTime is how long the client waits for a list after another got no response. It is
// short, so that a server that loses all responses does not cost the whole timeout for each list.
const afterUnansweredTime = 2 * time.Second

var errOtherUnanswered = errors.New("another list got no response, so the client stopped waiting for this one")

// Walk walks a list in conversation c, as Take does, for at most the given number of pages. member
// is the member of the result that holds the items.
func Walk(ctx context.Context, c *client.Conversation, method, member string, pages int) {
	v := &Inventory{Incomplete: map[string]string{}}
	v.walk(ctx, c, newList(method, member, pages, func(jsontext.Value) {}))
}

// A list is the state of one of the server's lists while its pages are requested.
type list struct {
	method, member string
	each           func(jsontext.Value) // called with each item
	items          int
	pagesLeft      int
	cursor         *string // the cursor of the next page; nil for the first page
	seen           map[string]bool
	isOver         bool
}

func newList(method, member string, pages int, each func(jsontext.Value)) *list {
	return &list{method: method, member: member, each: each, pagesLeft: pages, seen: map[string]bool{}}
}

// params returns the params of the request for the next page.
func (l *list) params() map[string]any {
	if l.cursor == nil {
		return nil
	}
	return map[string]any{"cursor": *l.cursor}
}

// walk requests all pages of the lists. Each round requests one page of each list that has not
// ended.
func (v *Inventory) walk(ctx context.Context, c *client.Conversation, lists ...*list) {
	if v.hasUnanswered {
		var cancel context.CancelFunc
		ctx, cancel = c.Record.WithTimeout(ctx, afterUnansweredTime, errOtherUnanswered)
		defer cancel()
	}
	for len(lists) > 0 {
		for i, r := range requestPages(ctx, c, lists) {
			v.takePage(c, lists[i], r)
		}
		lists = slices.DeleteFunc(lists, func(l *list) bool { return l.isOver })
	}
}

// requestPages requests the next page of each list.
func requestPages(ctx context.Context, c *client.Conversation, lists []*list) []*client.Reply {
	if len(lists) == 1 {
		return []*client.Reply{c.Do(ctx, lists[0].method, lists[0].params())}
	}
	requests := make([][]byte, len(lists))
	for i, l := range lists {
		requests[i] = c.Request(c.NewID(), l.method, l.params())
	}
	return c.DoAll(ctx, requests)
}

// takePage processes a page of the list l, and decides whether to request another one. A repeated
// cursor ends the list. An empty cursor, which many servers send on the last page, also ends it,
// unless the revision says that an empty cursor is a cursor.
func (v *Inventory) takePage(c *client.Conversation, l *list, r *client.Reply) {
	l.isOver = true
	if !r.Succeeded() {
		v.hasUnanswered = v.hasUnanswered || errors.Is(r.Err, client.ErrUnanswered)
		v.Incomplete[l.method] = NoResult
		return
	}
	for _, item := range wire.Elements(wire.At(r.Message.Result(), "/"+l.member)) {
		if l.items == maxItems {
			break
		}
		l.each(item)
		l.items++
	}
	cursor, more := wire.Text(wire.At(r.Message.Result(), "/nextCursor"))
	l.pagesLeft--
	switch {
	case more && l.pagesLeft == 0:
		v.Incomplete[l.method] = fmt.Sprintf("the list did not end within %d pages, so no further page was requested", len(l.seen)+1)
	case l.items == maxItems:
		v.Incomplete[l.method] = "the list is very long, so no further page was requested"
	case !more:
	case cursor == "" && !c.Revision().HasEmptyCursors():
		v.Incomplete[l.method] = EmptyCursor
	case l.seen[cursor]:
		v.Incomplete[l.method] = "a cursor was repeated, so no further page was requested"
	default:
		l.seen[cursor] = true
		l.cursor, l.isOver = &cursor, false
	}
}
