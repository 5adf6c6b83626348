package sse

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

const bindLocalhost = "sse.bind-localhost"

func boundCase() suite.Case {
	return suite.Case{
		ID:                 "sse.bound",
		Title:              "Checks on which addresses the started server listens",
		Requirements:       []string{bindLocalhost},
		SharesConversation: true,
		OnlyOver:           spec.SSE,
		Run: func(ctx context.Context, t *suite.T) {
			t.CheckListenAddresses(ctx, bindLocalhost)
		},
	}
}
