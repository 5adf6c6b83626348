// Package pagination makes the traffic on which rules judge cursors: walks to
// the end of every list, cursors asked for twice, and cursors that no list
// gave out.
package pagination

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/client"
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

// each runs f for each list of a declared capability.
func each(f func(ctx context.Context, c *client.Conversation, method string)) func(context.Context, *suite.T) {
	return func(ctx context.Context, t *suite.T) {
		c := t.Conversation(ctx)
		for _, list := range lists {
			if c.Server().Declares(list.capability) && c.Alive() && ctx.Err() == nil {
				f(ctx, c, list.method)
			}
		}
	}
}

// page asks for a page, the first one where there is no cursor, and returns
// the cursor of the next.
func page(ctx context.Context, c *client.Conversation, method string, cursor any) (next string, more bool) {
	var params map[string]any
	if cursor != nil {
		params = map[string]any{"cursor": cursor}
	}
	r := c.Ask(ctx, method, params)
	if !r.Succeeded() {
		return "", false
	}
	return wire.Text(wire.At(r.Message.Result(), "/nextCursor"))
}

const (
	// maxPages bounds a walk by a case. Longer lists were walked before.
	maxPages = 40
	// maxReturns is how often a cursor that came back is followed.
	maxReturns = 2
)

// follow walks through a list. A cursor that came back may be legal, so it is
// followed, too: only the pages can show that there is no end.
func follow(ctx context.Context, c *client.Conversation, method string) {
	cursor, more := page(ctx, c, method, nil)
	seen := map[string]int{}
	for n := 1; more && n < maxPages && ctx.Err() == nil; n++ {
		seen[cursor]++
		if seen[cursor] > maxReturns {
			return
		}
		cursor, more = page(ctx, c, method, cursor)
	}
}

// twice asks for the second page twice.
func twice(ctx context.Context, c *client.Conversation, method string) {
	if cursor, more := page(ctx, c, method, nil); more {
		page(ctx, c, method, cursor)
		page(ctx, c, method, cursor)
	}
}

// made sends cursors that no server gave out, and then asks for the first page.
func made(ctx context.Context, c *client.Conversation, method string) {
	first, more := page(ctx, c, method, nil)
	cursors := []any{"mcp-conform-made-up", 5}
	if more {
		cursors = append(cursors, mutated(first))
	}
	for _, cursor := range cursors {
		page(ctx, c, method, cursor)
	}
	page(ctx, c, method, nil)
}

// mutated returns a cursor that is like another, and not decodable in the ways
// that are usual.
func mutated(cursor string) string { return cursor + "\u2301mcp-conform" }

// foreign sends each list the cursor of the list before it that pages.
func foreign(ctx context.Context, t *suite.T) {
	cursors := map[string]string{}
	each(func(ctx context.Context, c *client.Conversation, method string) {
		if cursor, more := page(ctx, c, method, nil); more && cursor != "" {
			cursors[method] = cursor
		}
	})(ctx, t)
	each(func(ctx context.Context, c *client.Conversation, method string) {
		for _, other := range lists {
			if cursor, more := cursors[other.method]; more && other.method != method && cursors[method] != cursor {
				page(ctx, c, method, cursor)
				return
			}
		}
	})(ctx, t)
}
