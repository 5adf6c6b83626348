package gateway

import (
	"context"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

func probeListChanged(ctx context.Context, v *visit) (any, error) {
	out := map[string]any{}
	lists := map[string]struct{ method, key, announcement string }{
		"tools":     {spec.MethodToolsList, "name", spec.MethodToolsChanged},
		"prompts":   {spec.MethodPromptsList, "name", spec.MethodPromptsChanged},
		"resources": {spec.MethodResourcesList, "uri", spec.MethodResourcesChanged},
	}
	for list, l := range lists {
		if v.requireCapability(list) != nil {
			out[list] = notOffered{}
			continue
		}
		before, err := v.readList(ctx, l.method, list, l.key)
		if err != nil {
			return nil, err
		}
		if _, err := v.callTool(ctx, "trigger-list-changed", map[string]any{"list": list}, nil); err != nil {
			return nil, err
		}
		announced := v.awaitNotification(ctx, l.announcement)
		after, err := v.readList(ctx, l.method, list, l.key)
		if err != nil {
			return nil, err
		}
		out[list] = map[string]any{"announced": announced, "listed": len(before) != len(after)}
	}
	return out, nil
}

// probeSubscriptions subscribes to a resource, changes it, and reads it before and after.
func probeSubscriptions(ctx context.Context, v *visit) (any, error) {
	resource := map[string]any{"uri": "demo://note"}
	if _, err := v.requestResult(ctx, spec.MethodResourcesSubscribe, resource); err != nil {
		return nil, err
	}
	if _, err := v.requestResult(ctx, spec.MethodResourcesRead, resource); err != nil {
		return nil, err
	}
	if _, err := v.callTool(ctx, "update-resource", map[string]any{"text": v.mark}, nil); err != nil {
		return nil, err
	}
	v.awaitNotification(ctx, spec.MethodResourcesUpdated)
	updated := map[string]any{}
	for _, m := range v.received(spec.MethodResourcesUpdated, v.position()) {
		uri, _ := wire.Text(m.ParamAt("/uri"))
		updated[uri] = true
	}
	after, err := v.requestResult(ctx, spec.MethodResourcesRead, resource)
	return map[string]any{"updated": updated, "read again": strings.Contains(string(wire.JSON(after)), v.mark)}, err
}

func probeLogging(ctx context.Context, v *visit) (any, error) {
	if _, err := v.requestResult(ctx, spec.MethodSetLevel, map[string]any{"level": "warning"}); err != nil {
		return nil, err
	}
	if _, err := v.callTool(ctx, "log", map[string]any{"text": v.mark}, nil); err != nil {
		return nil, err
	}
	v.awaitNotification(ctx, spec.MethodMessage)
	levels := []any{}
	for _, m := range v.received(spec.MethodMessage, v.position()) {
		if strings.Contains(string(m.Params()), v.mark) {
			levels = append(levels, decode(m.ParamAt("/level")))
		}
	}
	return levels, nil
}
