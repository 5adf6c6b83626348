package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A probe compares one thing: it has the same value through a gateway that changes nothing.
type probe struct {
	name, title string
	isLegal     bool   // to change it is legal, so a change is a note
	section     string // of the specification, as the catalogue names it
	// value returns what is compared, as decoded JSON. An error says why it can't be had.
	value func(ctx context.Context, v *visit) (any, error)
}

// probes returns all probes, in the order in which they run.
func probes() []probe {
	return []probe{
		{"capabilities", "the capabilities that are declared", false, "basic/lifecycle#capability-negotiation", capabilities},
		{"server-info", "serverInfo and instructions", true, "", serverInfo},
		{"tool-names", "the names of tools", true, "", toolNames},
		{"tools", "the entries of tools", false, "server/tools#listing-tools", tools},
		{"prompts", "the entries of prompts", false, "server/prompts#listing-prompts", listed(spec.MethodPromptsList, "prompts", "name")},
		{"resources", "the entries of resources", false, "server/resources#listing-resources", listed(spec.MethodResourcesList, "resources", "uri")},
		{"templates", "the entries of resource templates", false, "server/resources#resource-templates", listed(spec.MethodResourcesTemplates, "resourceTemplates", "uriTemplate")},
		{"results", "the results of tools, prompts and resources", false, "server/tools#calling-tools", results},
		{"errors", "the codes of errors", false, "basic/index#error-responses", errorCodes},
		{"request-meta", "_meta of requests, as the server gets it", false, "basic/index#_meta", requestMeta},
		{"ids", "ids of requests, as the server gets them", true, "", ids},
		{"progress", "progress that comes before the result", false, "basic/utilities/progress#progress-flow", progress},
		{"streaming", "when progress comes", false, "basic/utilities/progress#progress-flow", streaming},
		{"cancellation", "whether a cancellation reaches the server", false, "basic/utilities/cancellation#behavior-requirements", cancellation},
		{"requests-of-the-server", "whether requests of the server reach the client, and its responses the server", false, "client/sampling#creating-messages", serverRequests},
		{"list-changed", "whether a changed list is announced, and read anew", false, "server/tools#list-changed-notification", listChanged},
		{"subscriptions", "whether updates of a resource come", false, "server/resources#subscriptions", subscriptions},
		{"logging", "log messages", false, "server/utilities/logging#log-message-notifications", logging},
		{"size", "an argument and a result of 1 MiB", false, "", size},
		{"headers", "headers of HTTP requests, as the server gets them", true, "basic/transports#protocol-version-header", headers},
		{"sessions", "whether two clients have two sessions with the server", true, "", sessions},
	}
}

func capabilities(_ context.Context, v *visit) (any, error) {
	return decoded(wire.At(v.Server().Result, "/capabilities")), nil
}

func serverInfo(_ context.Context, v *visit) (any, error) {
	return map[string]any{
		"serverInfo":   decoded(wire.At(v.Server().Result, "/serverInfo")),
		"instructions": decoded(wire.At(v.Server().Result, "/instructions")),
	}, nil
}

func toolNames(ctx context.Context, v *visit) (any, error) {
	entries, err := v.list(ctx, spec.MethodToolsList, "tools", "name")
	names := map[string]any{}
	for name := range entries {
		names[name] = "tool"
	}
	return names, err
}

// tools returns the entries of tools, under the names that the upstream gives them.
func tools(ctx context.Context, v *visit) (any, error) {
	entries, err := v.list(ctx, spec.MethodToolsList, "tools", "name")
	out := map[string]any{}
	for offered, entry := range entries {
		e, _ := entry.(map[string]any)
		delete(e, "name")
		out[v.upstream.toolName(offered)] = e
	}
	return out, err
}

func listed(method, member, key string) func(context.Context, *visit) (any, error) {
	return func(ctx context.Context, v *visit) (any, error) {
		entries, err := v.list(ctx, method, member, key)
		delete(entries, "demo://roots") // its size depends on when the client's roots have come
		return entries, err
	}
}

// results returns results of all kinds.
func results(ctx context.Context, v *visit) (any, error) {
	out := map[string]any{}
	var failed error
	note := func(name string, value any, err error) {
		out[name] = value
		failed = errors.Join(failed, err)
	}
	for tool, arguments := range map[string]map[string]any{
		"echo": {"text": "Grüße, 世界 🙂\u2028\"\\"}, "add": {"a": 0.1, "b": 2e10}, "content": nil, "fail": nil, "show-meta": nil,
	} {
		value, err := v.called(ctx, tool, arguments, nil)
		note(tool, value, err)
	}
	for _, prompt := range []string{"hello", "everything"} {
		value, err := v.result(ctx, spec.MethodPromptsGet, map[string]any{"name": prompt})
		note("prompt "+prompt, value, err)
	}
	for _, uri := range []string{"demo://text/hello", "demo://image/dot"} {
		value, err := v.result(ctx, spec.MethodResourcesRead, map[string]any{"uri": uri})
		note(uri, value, err)
	}
	value, err := v.result(ctx, spec.MethodComplete, map[string]any{
		"ref": map[string]any{"type": "ref/prompt", "name": "greeting"}, "argument": map[string]any{"name": "style", "value": "f"},
	})
	note("completion", value, err)
	return out, failed
}

func errorCodes(ctx context.Context, v *visit) (any, error) {
	out := map[string]any{}
	for name, request := range map[string]struct {
		method string
		params map[string]any
	}{
		"an unknown tool":     {spec.MethodToolsCall, map[string]any{"name": "no-such-tool"}},
		"an unknown prompt":   {spec.MethodPromptsGet, map[string]any{"name": "no-such-prompt"}},
		"an unknown resource": {spec.MethodResourcesRead, map[string]any{"uri": "demo://no-such-resource"}},
		"an unknown method":   {"example.com/no-such-method", nil},
	} {
		r := v.Do(ctx, request.method, request.params)
		if r.Err != nil {
			return nil, fmt.Errorf("%s: %w", name, r.Err)
		}
		if code, failed := r.Message.ErrorCode(); failed {
			out[name] = float64(code)
		} else {
			out[name] = "a result"
		}
	}
	return out, nil
}

func requestMeta(ctx context.Context, v *visit) (any, error) {
	const key = "example.com/trace"
	_, err := v.called(ctx, "show-meta", nil, map[string]any{key: map[string]any{"id": v.mark}, "progressToken": 7})
	if err != nil {
		return nil, err
	}
	a, err := v.upstream.marked(v.mark)
	if err != nil {
		return map[string]any{}, nil
	}
	_, members := wire.Members(wire.At(a.message.Params(), "/_meta"))
	return map[string]any{key: members[key] != nil, "progressToken": members["progressToken"] != nil}, nil
}

func ids(ctx context.Context, v *visit) (any, error) {
	params, err := v.call(ctx, "echo", map[string]any{"text": v.mark}, nil)
	if err != nil {
		return nil, err
	}
	r := v.DoRaw(ctx, wire.StringID(v.mark), v.Request(wire.StringID(v.mark), spec.MethodToolsCall, params))
	if r.Err != nil {
		return nil, r.Err
	}
	a, err := v.upstream.marked(v.mark)
	if err != nil {
		return nil, err
	}
	if a.message.ID.Same(wire.StringID(v.mark)) {
		return "the same", nil
	}
	return "others", nil
}

func progress(ctx context.Context, v *visit) (any, error) {
	params, err := v.call(ctx, "slow", map[string]any{"durationMs": 40, "steps": 4}, map[string]any{"progressToken": v.mark})
	if err != nil {
		return nil, err
	}
	r := v.Do(ctx, spec.MethodToolsCall, params)
	if r.Err != nil {
		return nil, r.Err
	}
	_ = v.Quiet(ctx) // over HTTP streams are read at the same time
	out := []any{}
	for _, m := range v.received(spec.MethodProgress, r.Event.Seq) {
		if token, _ := wire.Text(m.ParamAt("/progressToken")); token == v.mark {
			out = append(out, decoded(m.ParamAt("/progress")))
		}
	}
	return out, nil
}

func streaming(ctx context.Context, v *visit) (any, error) {
	_, end, err := v.held(ctx)
	if err != nil {
		return nil, err
	}
	_ = v.Quiet(ctx) // what the upstream sent before has come
	during := len(v.received(spec.MethodProgress, v.now()))
	if err := end(); err != nil {
		return nil, err
	}
	_ = v.Quiet(ctx)
	switch {
	case during > 0:
		return "while the call runs", nil
	case len(v.received(spec.MethodProgress, v.now())) > 0:
		return "only when the call has ended", nil
	default:
		return "never", nil
	}
}

func cancellation(ctx context.Context, v *visit) (any, error) {
	id, end, err := v.held(ctx)
	if err != nil {
		return nil, err
	}
	defer v.upstream.hold(v.mark).end()
	call, err := v.upstream.marked(v.mark)
	if err != nil {
		return nil, errors.Join(err, end())
	}
	if err := v.Cancel(ctx, id, "a probe"); err != nil {
		return nil, err
	}
	_ = v.Quiet(ctx)
	found := v.upstream.found(func(a *arrival) bool {
		m := &a.message
		return a.session == call.session && m.Method == spec.MethodCancelled && m.ParamIDAt("/requestId").Same(call.message.ID)
	})
	if len(found) == 0 {
		return "it does not come, or names another request", nil
	}
	return "it comes", nil
}

func serverRequests(ctx context.Context, v *visit) (any, error) {
	out := map[string]any{}
	for _, tool := range []string{"ask-ping", "ask-roots", "ask-sampling", "ask-elicitation"} {
		value, err := v.called(ctx, tool, nil, nil)
		if err != nil {
			value = err.Error()
		}
		out[tool] = value
	}
	return out, nil
}

func listChanged(ctx context.Context, v *visit) (any, error) {
	has := func() (bool, error) {
		entries, err := v.list(ctx, spec.MethodToolsList, "tools", "name")
		for offered := range entries {
			if v.upstream.toolName(offered) == "extra" {
				return true, err
			}
		}
		return false, err
	}
	before, err := has()
	if err != nil {
		return nil, err
	}
	if _, err := v.called(ctx, "trigger-list-changed", nil, nil); err != nil {
		return nil, err
	}
	_ = v.Quiet(ctx)
	after, err := has()
	return map[string]any{"announced": len(v.received(spec.MethodToolsChanged, v.now())) > 0, "listed": before != after}, err
}

func subscriptions(ctx context.Context, v *visit) (any, error) {
	if _, err := v.result(ctx, spec.MethodResourcesSubscribe, map[string]any{"uri": "demo://note"}); err != nil {
		return nil, err
	}
	if _, err := v.called(ctx, "update-resource", map[string]any{"text": v.mark}, nil); err != nil {
		return nil, err
	}
	_ = v.Quiet(ctx)
	return len(v.received(spec.MethodResourcesUpdated, v.now())) > 0, nil
}

func logging(ctx context.Context, v *visit) (any, error) {
	if _, err := v.result(ctx, spec.MethodSetLevel, map[string]any{"level": "debug"}); err != nil {
		return nil, err
	}
	if _, err := v.called(ctx, "log", map[string]any{"text": v.mark}, nil); err != nil {
		return nil, err
	}
	_ = v.Quiet(ctx)
	levels := []any{}
	for _, m := range v.received(spec.MethodMessage, v.now()) {
		if strings.Contains(string(m.Params()), v.mark) {
			levels = append(levels, decoded(m.ParamAt("/level")))
		}
	}
	return levels, nil
}

func size(ctx context.Context, v *visit) (any, error) {
	long := strings.Repeat("0123456789abcdef", 1<<16)
	result, err := v.called(ctx, "echo", map[string]any{"text": long}, nil)
	if err != nil {
		return nil, err
	}
	if strings.Contains(firstText(result), long) {
		return "unchanged", nil
	}
	return "changed", nil
}

// firstText returns the text of the first content block of a result.
func firstText(result any) string {
	r, _ := result.(map[string]any)
	content, _ := r["content"].([]any)
	if len(content) == 0 {
		return ""
	}
	block, _ := content[0].(map[string]any)
	s, _ := block["text"].(string)
	return s
}

// tracing is a header of the client's own.
const tracing = "X-Mcp-Conform-Probe"

func headers(ctx context.Context, v *visit) (any, error) {
	web := v.Web()
	if web == nil {
		return nil, errors.New("the client does not use HTTP")
	}
	params, err := v.call(ctx, "echo", map[string]any{"text": v.mark}, nil)
	if err != nil {
		return nil, err
	}
	body := v.Request(v.NewID(), spec.MethodToolsCall, params)
	fields := append(web.Headers("POST", body), transcript.Field{Name: tracing, Value: v.mark})
	if _, _, err := v.Exchange(ctx, transport.Request{Method: "POST", Fields: fields, Body: body}, ""); err != nil {
		return nil, err
	}
	header := v.upstream.headersOf(v.mark)
	if header == nil {
		return nil, errors.New("the gateway does not reach the upstream over HTTP")
	}
	out := map[string]any{tracing: header.Get(tracing) == v.mark}
	if v.Revision().AtLeast(spec.V20250618) {
		out["MCP-Protocol-Version"] = header.Get("Mcp-Protocol-Version")
	}
	return out, nil
}

func sessions(ctx context.Context, v *visit) (any, error) {
	other, err := v.another(ctx)
	if err != nil {
		return nil, err
	}
	defer other.Close()
	for i, c := range []*visit{v, {Conversation: other, upstream: v.upstream, mark: v.mark}} {
		if _, err := c.called(ctx, "echo", map[string]any{"text": fmt.Sprintf("%s-%d", v.mark, i)}, nil); err != nil {
			return nil, err
		}
	}
	a, errA := v.upstream.marked(v.mark + "-0")
	b, errB := v.upstream.marked(v.mark + "-1")
	if err := errors.Join(errA, errB); err != nil {
		return nil, err
	}
	if a.session == b.session {
		return "they share one", nil
	}
	return "each has its own", nil
}
