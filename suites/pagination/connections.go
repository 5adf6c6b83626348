package pagination

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const otherConnection = "pagination.cursor.works-on-other-connection-2026-07-28"

// independentLists are the lists that must not depend on the connection, nor on earlier requests,
// and the requirements that say so.
var independentLists = []independentList{
	{"tools", spec.MethodToolsList, "tools", "tools.list.same-on-every-connection", "tools.list.no-side-effect-of-requests"},
	{"prompts", spec.MethodPromptsList, "prompts", "prompts.list.same-on-every-connection", "prompts.list.no-side-effect-of-requests"},
	{"resources", spec.MethodResourcesList, "resources", "resources.list.same-on-every-connection", "resources.list.no-side-effect-of-requests"},
}

type independentList struct{ capability, method, member, same, noSideEffect string }

func connectionsCase() suite.Case {
	var judged []string
	for _, l := range independentLists {
		judged = append(judged, l.same, l.noSideEffect)
	}
	return suite.Case{
		ID:           "pagination.connections",
		Title:        "Walks every list on several connections, before and after other requests",
		Requirements: append(judged, otherConnection),
		Reuses:       suite.ReuseNone,
		Servers:      2,
		Run:          compareConnections,
	}
}

// manyPages is how many pages of a list are compared.
const manyPages = 60

// walkEntries walks a list and returns its entries, sorted and one per line, and the positions of
// the last page. It returns false if the list does not come to an end within manyPages, or can't be
// read.
func walkEntries(ctx context.Context, c *client.Conversation, method, member string) (all string, at []int, ok bool) {
	from := c.Record.Len()
	inventory.Walk(ctx, c, method, member, manyPages)
	var items []string
	for _, r := range c.Record.Dialogue().Requests() {
		m := r.Response()
		if r.Event.Seq < from || r.Message.Method != method || m == nil || m.IsError() {
			continue
		}
		for _, item := range wire.Elements(wire.At(m.Result(), "/"+member)) {
			items = append(items, string(item))
		}
		at = transcript.Positions(r.Event, m.Event)
		ok = wire.At(m.Result(), "/nextCursor") == nil
	}
	slices.Sort(items)
	return strings.Join(items, "\n"), at, ok
}

// compareConnections compares the lists that two connections get, and those of one connection
// before and after other requests. It calls no tool that exists, because over stdio each connection
// has its own process, and what a call changes in one process is not visible in another.
func compareConnections(ctx context.Context, t *suite.T) {
	a, b := t.StartFresh(ctx, client.Options{}), t.StartFresh(ctx, client.Options{})
	for _, l := range independentLists {
		if t.Inventory.Declares(l.capability) {
			judgeCursor(ctx, t, a, b, l.method)
		}
	}
	before := map[string]string{}
	for _, l := range independentLists {
		if !t.Inventory.Declares(l.capability) {
			continue
		}
		first, at, ok := walkEntries(ctx, a, l.method, l.member)
		other, _, okOther := walkEntries(ctx, b, l.method, l.member)
		again, _, okAgain := walkEntries(ctx, a, l.method, l.member)
		otherAgain, _, okOtherAgain := walkEntries(ctx, b, l.method, l.member)
		id := l.same
		switch {
		case !ok || !okOther || !okAgain || !okOtherAgain:
			t.MarkNotObserved(id, "mcp-conform could not read the list to its end")
			continue
		case first != again || other != otherAgain:
			t.MarkNotObserved(id, "the list changes by itself")
			continue
		case first != other:
			if changesByItself(ctx, l, a, first) || changesByItself(ctx, l, b, other) {
				t.MarkNotObserved(id, "the list changes by itself")
				continue
			}
			t.Report(a, verdict.Deviation{
				Requirement: id,
				Summary:     "The server's list depends on the connection.",
				Permitted:   "the same entries on every connection",
				Seen:        "on two connections, twice: " + firstDifferent(first, other),
				At:          at,
			})
			continue
		}
		t.MarkKept(id)
		before[l.method] = first
	}
	for _, r := range []suite.Request{
		{Method: spec.MethodToolsCall, Params: map[string]any{"name": "mcp-conform-none", "arguments": map[string]any{}}},
		{Method: spec.MethodPromptsGet, Params: map[string]any{"name": "mcp-conform-none"}},
		{Method: spec.MethodResourcesRead, Params: map[string]any{"uri": "mcp-conform:none"}},
		suite.PromptCompletion("mcp-conform-none", "x"),
		{Method: "com.example.mcp-conform/none"},
	} {
		a.Do(ctx, r.Method, r.Params, client.Within(0))
	}
	judgeSideEffects(ctx, t, a, before)
}

// watchTime is how long a list must stay the same before a difference counts. A list may change
// over time. Over stdio it may depend on the time since the start of the process, and each
// connection has its own process.
const watchTime = 2 * time.Second

// changesByItself walks a list again after half of watchTime, and reports whether its entries
// differ from those before, or can't be read.
func changesByItself(ctx context.Context, l independentList, c *client.Conversation, before string) bool {
	c.Pause(ctx, watchTime/2)
	now, _, ok := walkEntries(ctx, c, l.method, l.member)
	return !ok || now != before
}

// judgeSideEffects walks the lists once more. A change that a new connection shows, too, is not an
// effect of the requests on the old one.
func judgeSideEffects(ctx context.Context, t *suite.T, a *client.Conversation, before map[string]string) {
	var fresh *client.Conversation
	for _, l := range independentLists {
		was, ok := before[l.method]
		if !ok {
			continue
		}
		id := l.noSideEffect
		is, at, ok := walkEntries(ctx, a, l.method, l.member)
		if !ok {
			t.MarkNotObserved(id, "mcp-conform could not read the list to its end")
			continue
		}
		if is == was {
			t.MarkKept(id)
			continue
		}
		if fresh == nil {
			fresh = t.StartFresh(ctx, client.Options{})
		}
		elsewhere, _, ok := walkEntries(ctx, fresh, l.method, l.member)
		if !ok || elsewhere != was {
			t.MarkNotObserved(id, "the list has changed on a new connection, too")
			continue
		}
		if changesByItself(ctx, l, a, is) || changesByItself(ctx, l, fresh, was) {
			t.MarkNotObserved(id, "the list changes by itself")
			continue
		}
		t.Report(a, verdict.Deviation{
			Requirement: id,
			Summary:     "The server's list changes with other requests on the connection.",
			Permitted:   "the entries that a new connection gets",
			Seen:        "on this connection and on a new one: " + firstDifferent(is, was),
			At:          at,
		})
	}
}

// firstDifferent describes an entry of the first walk that the second walk does not have. If there
// is none, it states how many entries each walk has.
func firstDifferent(these, those string) string {
	list := strings.Split(those, "\n")
	for _, item := range strings.Split(these, "\n") {
		if slices.Contains(list, item) {
			continue
		}
		name := nameOf(item)
		if slices.ContainsFunc(list, func(other string) bool { return nameOf(other) == name }) {
			return "the entry " + name + " differs"
		}
		return "the entry " + name + " is in one of them only"
	}
	return fmt.Sprintf("%d entries and %d", strings.Count(these, "\n")+1, len(list))
}

// nameOf returns the JSON text of an entry's name or URI, or an excerpt of an entry without one.
func nameOf(item string) string {
	if name := suite.EntryName(jsontext.Value(item)); name != nil {
		return wire.Excerpt(string(name), 80)
	}
	return wire.Excerpt(item, 120)
}

// judgeCursor uses a cursor from one connection on another one. If the server refuses it there,
// judgeCursor also uses it on the first connection, for comparison.
func judgeCursor(ctx context.Context, t *suite.T, a, b *client.Conversation, method string) {
	cursor, more := nextCursor(a.Do(ctx, method, nil))
	if !more {
		return
	}
	r := b.Do(ctx, method, pageParams(cursor))
	if r.Answered() && !r.Succeeded() && !a.Do(ctx, method, pageParams(cursor)).Succeeded() {
		t.MarkNotObserved(otherConnection, "the server refuses the cursor on its own connection, too")
		return
	}
	t.Expect(b, r).Keeps(otherConnection, "The server's cursor works only on the connection that got it.", suite.BeResult())
}
