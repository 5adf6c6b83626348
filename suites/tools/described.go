package tools

import (
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const description = "tools.description.optional"

// noteDescriptions notes tools without a description, which is permitted but leaves a model only
// the name.
func noteDescriptions(t *suite.T, c *client.Conversation, r *client.Reply) {
	if !r.Succeeded() {
		return
	}
	for _, tool := range wire.Elements(wire.At(r.Message.Result(), "/tools")) {
		raw := wire.At(tool, "/description")
		if text, isText := wire.Text(raw); raw != nil && (!isText || strings.TrimSpace(text) != "") {
			continue
		}
		t.Report(c, verdict.Deviation{
			Requirement: description,
			Summary:     "The server's tool has no description.",
			Permitted:   "a tool may have no description, but a model chooses tools by their descriptions",
			Seen:        wire.Excerpt(string(tool), 200),
			At:          r.Positions(), Weight: verdict.OnlyNote,
		})
		return
	}
	t.MarkKept(description)
}
