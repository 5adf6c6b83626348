package pagination

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// nextCursor returns the cursor of the next page in an answer.
func nextCursor(r *client.Reply) (next string, more bool) {
	if !r.Succeeded() {
		return "", false
	}
	return wire.Text(wire.At(r.Message.Result(), "/nextCursor"))
}

// walk walks through a list, some pages at most, and reports whether it came
// to the end.
func (l *listing) walk(ctx context.Context) bool {
	cursor, more := l.page(ctx, nil)
	for n := 1; more && n < maxPages; n++ {
		cursor, more = l.page(ctx, cursor)
	}
	return !more && !l.unanswered
}

// walkConcurrently has two walks go through a list at the same time, a page of each in
// one write, between two that are alone. Longer lists are left out, as nothing
// can be said of walks without an end.
func walkConcurrently(ctx context.Context, l *listing) {
	if _, more := l.page(ctx, nil); !more || !l.walk(ctx) {
		return
	}
	cursors := []any{nil, nil}
	for n := 0; n < maxPages && len(cursors) > 0; n++ {
		requests := make([][]byte, len(cursors))
		for i, cursor := range cursors {
			requests[i] = l.c.Request(l.c.NewID(), l.method, pageParams(cursor))
		}
		cursors = nil
		for _, r := range l.c.DoAll(ctx, requests) {
			if l.unanswered = l.unanswered || !r.Answered(); l.unanswered {
				return
			}
			if cursor, more := nextCursor(r); more {
				cursors = append(cursors, cursor)
			}
		}
	}
	l.walk(ctx)
}

// resumeAfterChange has a list change in the middle of a walk, which then goes on with a
// cursor from before. What the rest of that walk brings is the server's
// business; the list must be served as before.
func resumeAfterChange(ctx context.Context, t *suite.T) {
	t.Needs(inventory.ChangesTools, inventory.ChangesResources, inventory.ChangesPrompts)
	c := t.Conversation(ctx)
	tried := false
	for _, known := range lists {
		change, ok := t.Inventory.ChangingList(known.method)
		l := &listing{c: c, method: known.method}
		if !ok || !c.Server().Declares(known.capability) {
			continue
		}
		cursor, more := l.page(ctx, nil)
		if !more {
			continue
		}
		tried = true
		for range 2 { // the second change may undo the first
			if !c.Do(ctx, spec.MethodToolsCall, change.Params(), client.Within(0)).Answered() {
				return
			}
			l.page(ctx, cursor)
			cursor, more = l.page(ctx, nil)
			if !more || l.unanswered {
				return
			}
		}
		if !l.walk(ctx) {
			return
		}
	}
	if !tried {
		t.Skip("no list that a known call changes has several pages")
	}
}
