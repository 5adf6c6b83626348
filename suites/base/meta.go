package base

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

const foreignKeys = "base.meta-foreign-keys-accepted"

// lists are the list requests that a server with the capability must serve.
var lists = []struct{ capability, method string }{
	{"tools", spec.MethodToolsList},
	{"resources", spec.MethodResourcesList},
	{"prompts", spec.MethodPromptsList},
}

func foreignMetaCase() suite.Case {
	return suite.Case{
		ID:                 "messages.foreign-meta",
		Title:              "Adds another vendor's metadata to requests, and compares the responses with those without it",
		Requirements:       []string{foreignKeys},
		SharesConversation: true,
		Run: func(ctx context.Context, t *suite.T) {
			c := t.Conversation(ctx)
			methods := []string{c.HarmlessMethod()}
			for _, l := range lists {
				if c.Server().Declares(l.capability) {
					methods = append(methods, l.method)
				}
			}
			for _, method := range methods {
				compareWithMeta(ctx, t, c, method)
			}
		},
	}
}

func compareWithMeta(ctx context.Context, t *suite.T, c *client.Conversation, method string) {
	if !c.Do(ctx, method, nil).Succeeded() {
		t.MarkNotObserved(foreignKeys, "the server does not serve the request without metadata, either")
		return
	}
	r := c.Do(ctx, method, map[string]any{"_meta": map[string]any{
		"com.example.harness/probe": map[string]any{"nested": []any{1, "two", nil}},
		"com.example.harness/none":  nil,
		"unprefixed-key_1.0":        "text",
	}})
	t.Expect(c, r).Keeps(foreignKeys, "The server refuses a request because of its _meta.", suite.BeResult())
}
