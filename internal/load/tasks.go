package load

import (
	"bytes"
	"context"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// operation is one request, or several that belong together. The function do sends them, and
// returns a complaint, or "" if all is well.
type operation struct {
	name     string
	requests int // number of requests that the client sends
	do       func(ctx context.Context, c *client.Conversation, sign string) string
}

// operations are what each session does, one operation after the other. Where possible, results
// contain the sign (a unique string) of their session, so that a result in the wrong session is
// detected.
var operations = []operation{
	requestOperation(spec.MethodPing, nil),
	requestOperation(spec.MethodToolsList, nil),
	callOperation("echo", func(sign string) map[string]any { return map[string]any{"text": sign} }, true),
	requestOperation(spec.MethodResourcesRead, map[string]any{"uri": "demo://text/hello"}),
	callOperation("slow", func(string) map[string]any { return map[string]any{"durationMs": 4, "steps": 2} }, false),
	requestOperation(spec.MethodPromptsList, nil),
	callOperation("add", func(string) map[string]any { return map[string]any{"a": 1, "b": 2} }, false),
	{"a subscription", 2, func(ctx context.Context, c *client.Conversation, sign string) string {
		note := map[string]any{"uri": "demo://note"}
		if text := complaintAbout(c.Do(ctx, spec.MethodResourcesSubscribe, note)); text != "" {
			return text
		}
		return complaintAbout(c.Do(ctx, spec.MethodToolsCall, map[string]any{"name": "update-resource", "arguments": map[string]any{"text": sign}}))
	}},
	callOperation("ask-sampling", func(string) map[string]any { return map[string]any{"prompt": "Say a word."} }, true),
	requestOperation(spec.MethodResourcesList, nil),
	{"a cancellation", 2, func(ctx context.Context, c *client.Conversation, sign string) string {
		id := c.NewID()
		if err := c.Send(ctx, c.Request(id, spec.MethodToolsCall, callParams("slow", map[string]any{"durationMs": 2000}, sign))); err != nil {
			return err.Error()
		}
		if err := c.Cancel(ctx, id, "no more"); err != nil {
			return err.Error()
		}
		return complaintAbout(c.Do(ctx, spec.MethodPing, nil))
	}},
	callOperation("log", func(sign string) map[string]any { return map[string]any{"level": "error", "text": sign} }, false),
}

func requestOperation(method string, params map[string]any) operation {
	return operation{method, 1, func(ctx context.Context, c *client.Conversation, _ string) string {
		return complaintAbout(c.Do(ctx, method, params))
	}}
}

// callOperation returns an operation that calls a tool. If returns is set, the result must contain
// the sign of the session.
func callOperation(tool string, arguments func(sign string) map[string]any, returns bool) operation {
	return operation{"the tool " + tool, 1, func(ctx context.Context, c *client.Conversation, sign string) string {
		r := c.Do(ctx, spec.MethodToolsCall, callParams(tool, arguments(sign), sign))
		if text := complaintAbout(r); text != "" {
			return text
		}
		if returns && !strings.Contains(string(r.Message.Result()), sign) {
			return "the result is of another session: " + string(r.Message.Result())
		}
		return ""
	}}
}

func callParams(tool string, arguments map[string]any, sign string) map[string]any {
	return map[string]any{"name": tool, "arguments": arguments, "_meta": map[string]any{"progressToken": sign + tool}}
}

func complaintAbout(r *client.Reply) string {
	switch {
	case r.Err != nil:
		return r.Err.Error()
	case r.Message.IsError():
		return "the server returned an error: " + string(r.Message.Raw)
	}
	return ""
}

// samplingHandler returns a handler of sampling requests whose response contains the sign.
func samplingHandler(sign string) func(*wire.Message) []byte {
	return func(m *wire.Message) []byte {
		return wire.NewResult(m.ID, map[string]any{
			"role": "assistant", "model": "none", "content": map[string]any{"type": "text", "text": sign},
		})
	}
}

// signed is the prefix of all signs.
const signed = "session-"

// foreignMessage returns a received message with the sign of another session, or "".
func foreignMessage(events []*transcript.Event, sign string) string {
	for _, e := range events {
		if e.Kind != transcript.Received {
			continue
		}
		for rest := e.Raw; ; rest = rest[len(signed):] {
			at := bytes.Index(rest, []byte(signed))
			if at < 0 {
				break
			}
			if rest = rest[at:]; !bytes.HasPrefix(rest, []byte(sign)) {
				return string(e.Raw)
			}
		}
	}
	return ""
}
