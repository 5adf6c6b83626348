// Package pagination creates the traffic for the rules on cursors: complete walks through every
// list, sequential, concurrent and while the list changes; cursors used twice and out of order;
// and cursors that no list returned.
package pagination

import (
	"context"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// list is a paginated method, with its capability and the notification of its changes, if there is
// one.
type list struct{ capability, method, changed string }

var lists = []list{
	{"tools", spec.MethodToolsList, spec.MethodToolsChanged},
	{"prompts", spec.MethodPromptsList, spec.MethodPromptsChanged},
	{"resources", spec.MethodResourcesList, spec.MethodResourcesChanged},
	{"resources", spec.MethodResourcesTemplates, ""},
}

// Cases returns the cases of this area.
func Cases() []suite.Case {
	return []suite.Case{
		{
			ID:                 "pagination.walks",
			Title:              "Follows the cursors of every list, including repeated ones",
			Provokes:           []string{"pagination.walk.", "pagination.next-cursor.", "pagination.cursor.accepted", "pagination.cursor.continues"},
			SharesConversation: true,
			Run:                forEachList(followCursors),
		},
		{
			ID:                 "pagination.again",
			Title:              "Requests the second page of every list twice, and the third before the second",
			Provokes:           []string{"pagination.cursor.stable", "pagination.cursor.accepted"},
			SharesConversation: true,
			Run:                forEachList(requestPageTwice),
		},
		{
			ID:                 "pagination.side-by-side",
			Title:              "Walks through every list twice at the same time, one page of each walk in a write",
			Provokes:           []string{"pagination.walk.complete", "pagination.cursor.stable", "pagination.cursor.accepted", "pagination.cursor.continues"},
			SharesConversation: true,
			Run:                forEachList(walkConcurrently),
		},
		{
			ID:       "pagination.stale-cursors",
			Title:    "Changes a list during a walk, continues with the old cursor, and walks again",
			Provokes: []string{"pagination.cursor.invalid-handled"},
			Needs:    []string{"tools"},
			Run:      resumeAfterChange,
		},
		{
			ID:                 "pagination.bad-cursors",
			Title:              "Sends every list unknown cursors, an empty one, and values that are not strings",
			Provokes:           []string{"pagination.cursor.invalid-handled", "pagination.cursor.invalid-code", "pagination.cursor.wrong-type"},
			SharesConversation: true,
			Run:                forEachList(sendInventedCursors),
		},
		{
			ID:                 "pagination.foreign-cursors",
			Title:              "Sends every list the cursor of another list",
			Provokes:           []string{"pagination.cursor.other-list"},
			SharesConversation: true,
			Run:                sendForeignCursors,
		},
		connectionsCase(),
	}
}

// forEachList runs f for each list that has a declared capability and gave the inventory a result.
// Over HTTP, or if the server is slow, it does so for all lists at the same time, so that they take
// no more rounds than the longest list. Otherwise it takes one list after the other, and stops if a
// request gets no response, because each further list would cost the same wait.
func forEachList(f func(ctx context.Context, l *listing)) func(context.Context, *suite.T) {
	return func(ctx context.Context, t *suite.T) {
		c := t.Conversation(ctx)
		var all []*listing
		for _, known := range lists {
			if c.Server().Declares(known.capability) && t.Inventory.Incomplete[known.method] != inventory.NoResult {
				all = append(all, &listing{c: c, list: known})
			}
		}
		if c.Web() != nil || c.IsSlow() {
			runInRounds(ctx, c, all, f)
			return
		}
		for _, l := range all {
			if f(ctx, l); l.unanswered || !c.Alive() || ctx.Err() != nil {
				return
			}
		}
	}
}

// listing is a list that a case requests.
type listing struct {
	list
	c          *client.Conversation
	rounds     *rounds // nil if no other list is requested at the same time
	unanswered bool
}

// subscribe subscribes to changes of the list in the stateless era, if the server announces them.
// Without a subscription, a different page for the same cursor shows nothing, because the list may
// have changed unnoticed. end ends the subscription.
func (l *listing) subscribe(ctx context.Context) (end func()) {
	if l.c.Revision().Era() != spec.Stateless || l.changed == "" || !l.c.Server().Declares(l.capability+".listChanged") {
		return func() {}
	}
	s, err := l.c.Subscribe(ctx, map[string]any{spec.FilterMember(l.changed): true})
	if err != nil {
		return func() {}
	}
	_, _ = s.AwaitAcknowledgement(ctx)
	return func() { _ = s.Cancel(ctx) }
}

// requestPage requests the page at the cursor, or the first page if cursor is nil. It returns the
// cursor of the next page. After a request without a response it sends no more.
func (l *listing) requestPage(ctx context.Context, cursor any) (next string, more bool) {
	if l.unanswered {
		return "", false
	}
	return nextCursor(l.requestPages(ctx, cursor)[0])
}

// requestPages requests a page for each cursor, all of them at the same time.
func (l *listing) requestPages(ctx context.Context, cursors ...any) []*client.Reply {
	var replies []*client.Reply
	switch {
	case l.rounds != nil:
		replies = l.rounds.send(ctx, l, l.requests(cursors))
	case len(cursors) == 1:
		replies = []*client.Reply{l.c.Do(ctx, l.method, pageParams(cursors[0]))}
	default:
		replies = l.c.DoAll(ctx, l.requests(cursors))
	}
	for _, r := range replies {
		l.unanswered = l.unanswered || !r.Answered()
	}
	return replies
}

func (l *listing) requests(cursors []any) [][]byte {
	requests := make([][]byte, len(cursors))
	for i, cursor := range cursors {
		requests[i] = l.c.Request(l.c.NewID(), l.method, pageParams(cursor))
	}
	return requests
}

// pageParams returns the params of the request for the page at the cursor, or for the first page
// if cursor is nil.
func pageParams(cursor any) map[string]any {
	if cursor == nil {
		return nil
	}
	return map[string]any{"cursor": cursor}
}

const (
	// maxPages bounds a walk by a case. The inventory has already walked longer lists.
	maxPages = 8
	// maxReturns is how often a repeated cursor is followed.
	maxReturns = 2
)

// followCursors walks through a list. A repeated cursor may be legal, so it is followed too. Only
// the content of the pages can show that the list has no end.
func followCursors(ctx context.Context, l *listing) {
	cursor, more := l.requestPage(ctx, nil)
	seen := map[string]int{}
	for n := 1; more && n < maxPages && ctx.Err() == nil; n++ {
		seen[cursor]++
		if seen[cursor] > maxReturns {
			return
		}
		cursor, more = l.requestPage(ctx, cursor)
	}
}

// requestPageTwice requests the second page twice. If there is a third page, it requests that after
// each of these two requests.
func requestPageTwice(ctx context.Context, l *listing) {
	second, more := l.requestPage(ctx, nil)
	if !more {
		return
	}
	defer l.subscribe(ctx)()
	third, more := l.requestPage(ctx, second)
	if more {
		l.requestPage(ctx, third)
	}
	l.requestPage(ctx, second)
	if more {
		l.requestPage(ctx, third)
	}
}

// sendInventedCursors sends cursors that no server returned, and then requests the first page.
func sendInventedCursors(ctx context.Context, l *listing) {
	first, more := l.requestPage(ctx, nil)
	cursors := []any{transcript.InventedCursorMark + "-made-up", 5, map[string]any{"page": 2}}
	if more {
		cursors = append(cursors, mutateCursor(first))
	}
	if first != "" {
		cursors = append(cursors, "") // it is valid if the server returned it
	}
	for _, cursor := range cursors {
		l.requestPage(ctx, cursor)
	}
	l.requestPage(ctx, nil)
}

// mutateCursor returns the cursor with text appended. The text is not ASCII, so decoders such as
// those for base64 refuse the result.
func mutateCursor(cursor string) string { return cursor + "\u2301" + transcript.InventedCursorMark }

// sendForeignCursors sends each list a cursor of another one.
func sendForeignCursors(ctx context.Context, t *suite.T) {
	var mu sync.Mutex
	cursors := map[string]string{}
	forEachList(func(ctx context.Context, l *listing) {
		if cursor, more := l.requestPage(ctx, nil); more && cursor != "" {
			mu.Lock()
			defer mu.Unlock()
			cursors[l.method] = cursor
		}
	})(ctx, t)
	forEachList(func(ctx context.Context, l *listing) {
		for _, other := range lists {
			if cursor, more := cursors[other.method]; more && other.method != l.method && cursors[l.method] != cursor {
				l.requestPage(ctx, cursor)
				return
			}
		}
	})(ctx, t)
}
