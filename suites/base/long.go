package base

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

const answered = "base.request-answered"

// longText is twice 64 KiB, the default limit of many line readers. Files and images in tool
// arguments are longer.
const longText = 128 << 10

// longRequestCase finds at most a warning, because no maximum length is specified. Rules report a
// server that exits.
func longRequestCase() suite.Case {
	return suite.Case{
		ID:                 "messages.long",
		Title:              fmt.Sprintf("Sends a request of more than %d KiB", longText>>10),
		Requirements:       []string{answered},
		SharesConversation: true,
		Run: func(ctx context.Context, t *suite.T) {
			c := t.Conversation(ctx)
			from := c.Record.Len()
			r := c.Do(ctx, c.HarmlessMethod(), map[string]any{"_meta": map[string]any{
				"com.example.harness/long": strings.Repeat("sixteen letters ", longText/16),
			}}, client.Within(0))
			switch {
			case r.Answered():
				t.MarkKept(answered)
			case suite.IsRefused(c, from):
				t.MarkNotObserved(answered, "the server refused the long request by HTTP status")
			case errors.Is(r.Err, client.ErrUnanswered):
				t.Report(c, verdict.Deviation{
					Requirement: answered,
					Summary:     "The server does not answer a long request.",
					Permitted:   "a result, or an error that refuses it for its length",
					Seen:        fmt.Sprintf("no answer to a request with %d KiB of metadata", longText>>10),
					At:          []int{firstSent(c, from)},
					Weight:      verdict.AtMostWarning,
				})
			case !errors.Is(r.Err, client.ErrEnded):
				t.GiveUp("mcp-conform could not wait for the response: " + r.Err.Error())
			}
		},
	}
}
