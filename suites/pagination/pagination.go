// Package pagination makes the traffic on which rules judge cursors: walks to
// the end of every list, cursors asked for twice, and cursors that no list
// gave out.
package pagination

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// lists are the methods that may be paginated, and their capabilities.
var lists = []struct{ capability, method string }{
	{"tools", spec.MethodToolsList},
	{"prompts", spec.MethodPromptsList},
	{"resources", spec.MethodResourcesList},
	{"resources", spec.MethodResourcesTemplates},
}

// Cases returns the cases of this area.
func Cases() []suite.Case {
	return []suite.Case{
		{
			ID:       "pagination.walks",
			Title:    "follows cursors from the first page of every list, also where they come back",
			Provokes: []string{"pagination.walk.", "pagination.next-cursor.", "pagination.cursor.accepted", "pagination.cursor.continues"},
			Asks:     true,
			Run:      each(follow),
		},
		{
			ID:       "pagination.again",
			Title:    "asks for the second page of every list twice",
			Provokes: []string{"pagination.cursor.stable", "pagination.cursor.accepted"},
			Asks:     true,
			Run:      each(twice),
		},
		{
			ID:       "pagination.bad-cursors",
			Title:    "sends every list cursors that were never given out, and one that is no string",
			Provokes: []string{"pagination.cursor.invalid-handled", "pagination.cursor.invalid-code", "pagination.cursor.wrong-type"},
			Asks:     true,
			Run:      each(made),
		},
		{
			ID:       "pagination.foreign-cursors",
			Title:    "sends every list the cursor of another",
			Provokes: []string{"pagination.cursor.other-list"},
			Asks:     true,
			Run:      foreign,
		},
	}
}

// each runs f for each list of a declared capability, until one is not answered:
// the others would each cost the same wait.
func each(f func(ctx context.Context, l *list)) func(context.Context, *suite.T) {
	return func(ctx context.Context, t *suite.T) {
		c := t.Conversation(ctx)
		for _, known := range lists {
			l := &list{c: c, method: known.method}
			if !c.Server().Declares(known.capability) || t.Inventory.Incomplete[known.method] == inventory.NoResult {
				continue
			}
			if f(ctx, l); l.unanswered || !c.Alive() || ctx.Err() != nil {
				return
			}
		}
	}
}

// list is one that is asked for.
type list struct {
	c          *client.Conversation
	method     string
	unanswered bool
}

// page asks for a page, the first one where there is no cursor, and returns
// the cursor of the next.
func (l *list) page(ctx context.Context, cursor any) (next string, more bool) {
	if l.unanswered {
		return "", false
	}
	var params map[string]any
	if cursor != nil {
		params = map[string]any{"cursor": cursor}
	}
	r := l.c.Ask(ctx, l.method, params)
	l.unanswered = !r.Answered()
	if !r.Succeeded() {
		return "", false
	}
	return wire.Text(wire.At(r.Message.Result(), "/nextCursor"))
}

const (
	// maxPages bounds a walk by a case. Longer lists were walked before, when
	// stock was taken.
	maxPages = 8
	// maxReturns is how often a cursor that came back is followed.
	maxReturns = 2
)

// follow walks through a list. A cursor that came back may be legal, so it is
// followed, too: only the pages can show that there is no end.
func follow(ctx context.Context, l *list) {
	cursor, more := l.page(ctx, nil)
	seen := map[string]int{}
	for n := 1; more && n < maxPages && ctx.Err() == nil; n++ {
		seen[cursor]++
		if seen[cursor] > maxReturns {
			return
		}
		cursor, more = l.page(ctx, cursor)
	}
}

// twice asks for the second page twice.
func twice(ctx context.Context, l *list) {
	if cursor, more := l.page(ctx, nil); more {
		l.page(ctx, cursor)
		l.page(ctx, cursor)
	}
}

// made sends cursors that no server gave out, and then asks for the first page.
func made(ctx context.Context, l *list) {
	first, more := l.page(ctx, nil)
	cursors := []any{"mcp-conform-made-up", 5}
	if more {
		cursors = append(cursors, mutated(first))
	}
	for _, cursor := range cursors {
		l.page(ctx, cursor)
	}
	l.page(ctx, nil)
}

// mutated returns a cursor that is like another, and not decodable in the ways
// that are usual.
func mutated(cursor string) string { return cursor + "\u2301mcp-conform" }

// foreign sends each list a cursor of another one.
func foreign(ctx context.Context, t *suite.T) {
	cursors := map[string]string{}
	each(func(ctx context.Context, l *list) {
		if cursor, more := l.page(ctx, nil); more && cursor != "" {
			cursors[l.method] = cursor
		}
	})(ctx, t)
	each(func(ctx context.Context, l *list) {
		for _, other := range lists {
			if cursor, more := cursors[other.method]; more && other.method != l.method && cursors[l.method] != cursor {
				l.page(ctx, cursor)
				return
			}
		}
	})(ctx, t)
}
