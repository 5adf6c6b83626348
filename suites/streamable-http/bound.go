package streamablehttp

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

const bindLocalhost = "streamable-http.bind-localhost"

func boundCase() suite.Case {
	return suite.Case{
		ID:                 "streamable-http.bound",
		Title:              "Checks on which addresses the started server listens",
		Requirements:       []string{bindLocalhost},
		SharesConversation: true,
		OnlyOver:           spec.StreamableHTTP,
		Run: func(ctx context.Context, t *suite.T) {
			t.CheckListenAddresses(ctx, bindLocalhost)
		},
	}
}
