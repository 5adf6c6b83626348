// Package caching requests everything that has cache hints in its results. Rules judge the hints.
package caching

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

// Limits on what a case requests, because a server may offer a lot.
const (
	maxPages = 5  // of each list
	maxReads = 10 // number of resources
)

// Cases returns the cases of this area.
func Cases() []suite.Case {
	return []suite.Case{
		{
			ID:                 "caching.hints",
			Title:              "Requests server/discover, all pages of every list, and resources",
			Provokes:           []string{"caching.hints.", "caching.ttl.", "caching.scope."},
			SharesConversation: true,
			Run:                requestCacheable,
		},
	}
}

// requestCacheable requests server/discover, the declared lists, and resources. It reads each
// resource until the result is complete, because a result that requires input must not have
// hints.
func requestCacheable(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	c.Do(ctx, spec.MethodDiscover, nil)
	for _, list := range []struct{ capability, method, member string }{
		{"tools", spec.MethodToolsList, "tools"},
		{"prompts", spec.MethodPromptsList, "prompts"},
		{"resources", spec.MethodResourcesList, "resources"},
		{"resources", spec.MethodResourcesTemplates, "resourceTemplates"},
	} {
		if t.Inventory.Declares(list.capability) {
			inventory.Walk(ctx, c, list.method, list.member, maxPages)
		}
	}
	for _, uri := range t.Inventory.Resources[:min(maxReads, len(t.Inventory.Resources))] {
		r := c.Do(ctx, spec.MethodResourcesRead, map[string]any{"uri": uri}, client.Within(0))
		if !r.Answered() || !c.Alive() || ctx.Err() != nil {
			return
		}
	}
}
