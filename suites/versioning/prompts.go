package versioning

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

// maxPrompts bounds the prompts that are requested.
const maxPrompts = 20

// promptCase gets the prompts without arguments, so that rules see whether their content belongs
// to the negotiated revision.
func promptCase() suite.Case {
	return suite.Case{
		ID:                 "versioning.prompts",
		Title:              "Gets prompts without arguments, and checks for content newer than the revision",
		Requirements:       []string{respectedSince24, respectedSince25},
		Needs:              []string{"prompts"},
		SharesConversation: true,
		Run: func(ctx context.Context, t *suite.T) {
			for i, name := range t.Inventory.BarePrompts {
				if i == maxPrompts || ctx.Err() != nil {
					break
				}
				c := t.Conversation(ctx)
				c.Do(ctx, spec.MethodPromptsGet, map[string]any{"name": name}, client.Within(0))
			}
		},
	}
}
