package pagination

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// nextCursor returns the cursor of the next page in a reply, and whether there is one.
func nextCursor(r *client.Reply) (next string, more bool) {
	if !r.Succeeded() {
		return "", false
	}
	return wire.Text(wire.At(r.Message.Result(), "/nextCursor"))
}

// walk walks through a list, up to maxPages, and reports whether it reached the end.
func (l *listing) walk(ctx context.Context) bool {
	cursor, more := l.requestPage(ctx, nil)
	for n := 1; more && n < maxPages; n++ {
		cursor, more = l.requestPage(ctx, cursor)
	}
	return !more && !l.unanswered
}

// walkConcurrently walks through a list twice at the same time, and requests the next page of both
// walks in one write. It makes a single walk before and after that. It skips lists with one page,
// and lists with more than maxPages, because incomplete walks show nothing.
func walkConcurrently(ctx context.Context, l *listing) {
	if _, more := l.requestPage(ctx, nil); !more || !l.walk(ctx) {
		return
	}
	cursors := []any{nil, nil}
	for n := 0; n < maxPages && len(cursors) > 0; n++ {
		replies := l.requestPages(ctx, cursors...)
		if l.unanswered {
			return
		}
		cursors = nil
		for _, r := range replies {
			if cursor, more := nextCursor(r); more {
				cursors = append(cursors, cursor)
			}
		}
	}
	l.walk(ctx)
}

// resumeAfterChange changes a list in the middle of a walk, and then continues with a cursor from
// before the change. The server decides what the rest of that walk contains; afterwards the list
// must be served as before.
func resumeAfterChange(ctx context.Context, t *suite.T) {
	t.RequireTool(inventory.ChangesTools, inventory.ChangesResources, inventory.ChangesPrompts)
	c := t.Conversation(ctx)
	tried := false
	for _, known := range lists {
		change, ok := t.Inventory.ListChangeCall(known.method)
		l := &listing{c: c, list: known}
		if !ok || !c.Server().Declares(known.capability) {
			continue
		}
		cursor, more := l.requestPage(ctx, nil)
		if !more {
			continue
		}
		tried = true
		for range 2 { // the second change may undo the first
			if !c.Do(ctx, spec.MethodToolsCall, change.Params(), client.Within(0)).Answered() {
				return
			}
			l.requestPage(ctx, cursor)
			cursor, more = l.requestPage(ctx, nil)
			if !more || l.unanswered {
				return
			}
		}
		if !l.walk(ctx) {
			return
		}
	}
	if !tried {
		t.Skip("no known call changes a list that has several pages")
	}
}
