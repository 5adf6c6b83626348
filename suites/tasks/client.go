package tasks

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

// maxAskers is how many tools are called for each kind of request that they may send.
const maxAskers = 2

// declareClientTasks declares client support for tasks, but for no kind of request. The server then
// must not request tasks.
func declareClientTasks(ctx context.Context, t *suite.T) {
	var tools []inventory.Tool
	for _, role := range []inventory.Role{inventory.AsksElicitation, inventory.AsksSampling} {
		askers := t.Inventory.AskingTools(role)
		tools = append(tools, askers[:min(len(askers), maxAskers)]...)
	}
	if len(tools) == 0 {
		t.RequireTool(inventory.AsksElicitation, inventory.AsksSampling)
	}
	caps := client.AllCapabilities(t.Revision)
	caps["tasks"] = object{}
	c := t.Start(ctx, client.Options{Capabilities: caps})
	for _, tool := range tools {
		if n := suite.Call(ctx, c, tool, callTime); n != nil && !n.Answered() {
			return
		}
	}
	t.Fence(ctx, c)
}
