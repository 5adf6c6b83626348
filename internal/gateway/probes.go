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

// A probe obtains one value to compare. A transparent gateway does not change it.
type probe struct {
	name, title string
	isLegal     bool   // a gateway may change the value, so a change is a note
	reads       bool   // it only reads, so that several probes can share a session
	section     string // of the specification, as the catalogue names it
	capability  string // the capability that the probe needs, such as prompts; "" for none
	// value returns the value, as decoded JSON. An error says why it can't be obtained.
	value func(ctx context.Context, v *visit) (any, error)
}

// probes returns all probes, in the order in which they run.
func probes() []probe {
	return []probe{
		{"capabilities", "the capabilities that are declared", false, true, "basic/lifecycle#capability-negotiation", "", probeCapabilities},
		{"server-info", "serverInfo and instructions", true, true, "", "", probeServerInfo},
		{"tool-names", "the names of tools and prompts", true, true, "", "tools", probeToolNames},
		{"tools", "the entries of tools", false, true, "server/tools#listing-tools", "tools", entriesByName("tools")},
		{"prompts", "the entries of prompts", false, true, "server/prompts#listing-prompts", "prompts", entriesByName("prompts")},
		{"resources", "the entries of resources", false, true, "server/resources#listing-resources", "resources", listEntries(spec.MethodResourcesList, "resources", "uri")},
		{"templates", "the entries of resource templates", false, true, "server/resources#resource-templates", "resources", listEntries(spec.MethodResourcesTemplates, "resourceTemplates", "uriTemplate")},
		{"results", "the results of tools, prompts and resources", false, true, "server/tools#calling-tools", "", probeResults},
		{"errors", "the codes of errors", false, false, "basic/index#error-responses", "", probeErrorCodes},
		{"request-meta", "_meta of requests, as the server gets it", false, false, "basic/index#_meta", "", probeRequestMeta},
		{"ids", "ids of requests, as the server gets them", true, false, "", "", probeIDs},
		{"progress", "progress that arrives before the result", false, false, "basic/utilities/progress#progress-flow", "", probeProgress},
		{"streaming", "when progress arrives", false, false, "basic/utilities/progress#progress-flow", "", probeStreaming},
		{"cancellation", "whether a cancellation reaches the server", false, false, "basic/utilities/cancellation#behavior-requirements", "", probeCancellation},
		{"requests-of-the-server", "whether the server's requests reach the client, and the client's responses the server", false, false, "client/sampling#creating-messages", "", probeServerRequests},
		{"list-changed", "whether a changed list is announced, and the gateway reads it again", false, false, "server/tools#list-changed-notification", "", probeListChanged},
		{"subscriptions", "whether updates of a resource arrive, and the gateway reads it again", false, false, "server/resources#subscriptions", "resources/subscribe", probeSubscriptions},
		{"logging", "log messages", false, false, "server/utilities/logging#log-message-notifications", "logging", probeLogging},
		{"size", "an argument and a result of 1 MiB", false, false, "", "", probeSize},
		{"headers", "headers of HTTP requests, as the server gets them", true, false, "basic/transports#protocol-version-header", "", probeHeaders},
		{"sessions", "whether two clients have two sessions with the server", true, false, "", "", probeSessions},
		{"clients", "whether two clients get their own results and progress", false, false, "", "tools", probeClients},
	}
}

func probeCapabilities(_ context.Context, v *visit) (any, error) {
	return decode(wire.At(v.Server().Result, "/capabilities")), nil
}

func probeServerInfo(_ context.Context, v *visit) (any, error) {
	return map[string]any{
		"serverInfo":   decode(wire.At(v.Server().Result, "/serverInfo")),
		"instructions": decode(wire.At(v.Server().Result, "/instructions")),
	}, nil
}

// extra is the name of the tool and of the prompt that the upstream offers only at times.
const extra = "extra"

func probeToolNames(ctx context.Context, v *visit) (any, error) {
	out := map[string]any{}
	for list, method := range nameLists {
		if v.requireCapability(list) != nil {
			out[list] = notOffered{}
			continue
		}
		entries, err := v.readList(ctx, method, list, "name")
		if err != nil {
			return nil, err
		}
		names := map[string]any{}
		for offered := range entries {
			if v.upstream.ownName(list, offered) != extra {
				names[offered] = strings.TrimSuffix(list, "s")
			}
		}
		out[list] = names
	}
	return out, nil
}

// entriesByName returns the value function of a probe. That function reads a list, and returns a
// map from the upstream's names of the entries to the entries.
func entriesByName(list string) func(context.Context, *visit) (any, error) {
	return func(ctx context.Context, v *visit) (any, error) {
		entries, err := v.readList(ctx, nameLists[list], list, "name")
		out := map[string]any{}
		for offered, entry := range entries {
			e, _ := entry.(map[string]any)
			delete(e, "name")
			out[v.upstream.ownName(list, offered)] = e
		}
		delete(out, extra)
		return out, err
	}
}

// listEntries returns the value function of a probe. That function reads the list in the given
// member of the result, and returns its entries in a map. The map's keys are the values of one
// member of the entries: the argument key is the name of that member, such as uri.
func listEntries(method, member, key string) func(context.Context, *visit) (any, error) {
	return func(ctx context.Context, v *visit) (any, error) {
		entries, err := v.readList(ctx, method, member, key)
		// The size of demo://roots depends on whether the client's roots have arrived. In
		// 2026-07-28 all clients share demo://note and demo://text/extra, so the run that judged
		// the server through the gateway, before this comparison, may have changed them.
		for _, uri := range []string{"demo://roots", "demo://note", "demo://text/extra"} {
			delete(entries, uri)
		}
		return entries, err
	}
}

// probeResults returns results of tools, prompts, resources and completion.
func probeResults(ctx context.Context, v *visit) (any, error) {
	out := map[string]any{}
	var failed error
	note := func(name string, value any, err error) {
		if missing := (*notOfferedError)(nil); errors.As(err, &missing) {
			value, err = notOffered{}, nil
		}
		out[name] = value
		failed = errors.Join(failed, err)
	}
	for tool, arguments := range map[string]map[string]any{
		"echo": {"text": "Grüße, 世界 🙂\u2028\"\\"}, "add": {"a": 0.1, "b": 2e10}, "content": nil, "fail": nil, "show-meta": nil,
	} {
		value, err := v.callTool(ctx, tool, arguments, nil)
		note(tool, value, err)
	}
	for _, prompt := range []string{"hello", "everything"} {
		value, err := v.requestAboutPrompt(ctx, prompt, spec.MethodPromptsGet, func(name string) map[string]any { return map[string]any{"name": name} })
		note("prompt "+prompt, value, err)
	}
	for _, uri := range []string{"demo://text/hello", "demo://image/dot"} {
		err := v.requireCapability("resources")
		var value any
		if err == nil {
			value, err = v.requestResult(ctx, spec.MethodResourcesRead, map[string]any{"uri": uri})
		}
		note(uri, value, err)
	}
	err := v.requireCapability("completions")
	var value any
	if err == nil || !v.Revision().HasCompletionsCapability() {
		value, err = v.requestAboutPrompt(ctx, "greeting", spec.MethodComplete, func(name string) map[string]any {
			return map[string]any{"ref": map[string]any{"type": "ref/prompt", "name": name}, "argument": map[string]any{"name": "style", "value": "f"}}
		})
	}
	note("completion", value, err)
	return out, failed
}

func probeErrorCodes(ctx context.Context, v *visit) (any, error) {
	out := map[string]any{}
	for name, request := range map[string]struct {
		capability, method string
		params             map[string]any
	}{
		"an unknown tool":     {"tools", spec.MethodToolsCall, map[string]any{"name": "no-such-tool"}},
		"an unknown prompt":   {"prompts", spec.MethodPromptsGet, map[string]any{"name": "no-such-prompt"}},
		"an unknown resource": {"resources", spec.MethodResourcesRead, map[string]any{"uri": "demo://no-such-resource"}},
		"an unknown method":   {"", "example.com/no-such-method", nil},
	} {
		if v.requireCapability(request.capability) != nil {
			out[name] = notOffered{}
			continue
		}
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

func probeRequestMeta(ctx context.Context, v *visit) (any, error) {
	const key = "example.com/trace"
	_, err := v.callTool(ctx, "show-meta", nil, map[string]any{key: map[string]any{"id": v.mark}, "progressToken": 7})
	if err != nil {
		return nil, err
	}
	a, err := v.upstream.requestWithMark(v.mark)
	if err != nil {
		return map[string]any{}, nil
	}
	_, members := wire.Members(wire.At(a.message.Params(), "/_meta"))
	return map[string]any{key: members[key] != nil, "progressToken": members["progressToken"] != nil}, nil
}

func probeIDs(ctx context.Context, v *visit) (any, error) {
	params, err := v.toolParams(ctx, "echo", map[string]any{"text": v.mark}, nil)
	if err != nil {
		return nil, err
	}
	r := v.DoRaw(ctx, wire.StringID(v.mark), v.Request(wire.StringID(v.mark), spec.MethodToolsCall, params))
	if r.Err != nil {
		return nil, r.Err
	}
	a, err := v.upstream.requestWithMark(v.mark)
	if err != nil {
		return nil, err
	}
	if a.message.ID.Same(wire.StringID(v.mark)) {
		return "the same", nil
	}
	return "others", nil
}

func probeProgress(ctx context.Context, v *visit) (any, error) {
	params, err := v.toolParams(ctx, "slow", map[string]any{"durationMs": 40, "steps": 4}, map[string]any{"progressToken": v.mark})
	if err != nil {
		return nil, err
	}
	r := v.Do(ctx, spec.MethodToolsCall, params)
	if r.Err != nil {
		return nil, r.Err
	}
	_ = v.AwaitQuiet(ctx) // over HTTP, concurrent streams may deliver the progress later
	out := []any{}
	for _, m := range v.received(spec.MethodProgress, r.Event.Seq) {
		if token, _ := wire.Text(m.ParamAt("/progressToken")); token == v.mark {
			out = append(out, decode(m.ParamAt("/progress")))
		}
	}
	return out, nil
}

func probeStreaming(ctx context.Context, v *visit) (any, error) {
	call, err := v.holdCall(ctx, v.mark, v.mark)
	if err != nil {
		return nil, err
	}
	_ = v.AwaitQuiet(ctx) // wait for the messages that the upstream has sent so far
	during := len(v.received(spec.MethodProgress, v.position()))
	if _, err := call.releaseAndAwait(ctx); err != nil {
		return nil, err
	}
	_ = v.AwaitQuiet(ctx)
	switch {
	case during > 0:
		return "while the call runs", nil
	case len(v.received(spec.MethodProgress, v.position())) > 0:
		return "only when the call has ended", nil
	default:
		return "never", nil
	}
}

func probeCancellation(ctx context.Context, v *visit) (any, error) {
	call, err := v.holdCall(ctx, v.mark, v.mark)
	if err != nil {
		return nil, err
	}
	defer call.releaseCall()
	if err := v.Cancel(ctx, call.id, "a probe"); err != nil {
		return nil, err
	}
	_ = v.AwaitQuiet(ctx)
	if !call.isCancelled() {
		return "it does not arrive, or names another request", nil
	}
	return "it comes", nil
}

func probeServerRequests(ctx context.Context, v *visit) (any, error) {
	out := map[string]any{}
	for _, tool := range []string{"ask-ping", "ask-roots", "ask-sampling", "ask-elicitation"} {
		value, err := v.callTool(ctx, tool, nil, nil)
		if missing := (*notOfferedError)(nil); errors.As(err, &missing) {
			value = notOffered{}
		} else if err != nil {
			value = err.Error()
		}
		out[tool] = value
	}
	return out, nil
}

func probeSize(ctx context.Context, v *visit) (any, error) {
	long := strings.Repeat("0123456789abcdef", 1<<16)
	result, err := v.callTool(ctx, "echo", map[string]any{"text": long}, nil)
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

// tracing is the name of a header that the client sends, and that is not part of the protocol.
const tracing = "X-Mcp-Conform-Probe"

func probeHeaders(ctx context.Context, v *visit) (any, error) {
	web := v.Web()
	if web == nil {
		return nil, errors.New("the client does not use HTTP")
	}
	params, err := v.toolParams(ctx, "echo", map[string]any{"text": v.mark}, nil)
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
	if v.Revision().HasVersionHeader() {
		out["MCP-Protocol-Version"] = header.Get("Mcp-Protocol-Version")
	}
	return out, nil
}

func probeSessions(ctx context.Context, v *visit) (any, error) {
	other, err := v.openAnother(ctx)
	if err != nil {
		return nil, err
	}
	defer other.Close()
	for i, c := range []*visit{v, other} {
		if _, err := c.callTool(ctx, "echo", map[string]any{"text": fmt.Sprintf("%s-%d", v.mark, i)}, nil); err != nil {
			return nil, err
		}
	}
	a, errA := v.upstream.requestWithMark(v.mark + "-0")
	b, errB := v.upstream.requestWithMark(v.mark + "-1")
	if err := errors.Join(errA, errB); err != nil {
		return nil, err
	}
	if a.session == b.session {
		return "they share one", nil
	}
	return "each has its own", nil
}
