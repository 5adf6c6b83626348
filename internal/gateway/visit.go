package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A visit is a session for one or more probes, through the gateway or without it.
type visit struct {
	*client.Conversation
	dialer   transport.Dialer
	options  client.Options
	upstream *Upstream
	mark     string                     // distinguishes the messages of this visit from all others
	offered  map[string]map[string]bool // the names in the lists of nameLists through this route; read on first use
}

// open opens a session over the route r.
func (o *Options) open(ctx context.Context, r Route) (*visit, error) {
	v := &visit{
		dialer: r.Dialer, options: client.Options{Revision: o.Revision, Timeout: o.Timeout, StartTimeout: o.StartTimeout},
		upstream: r.Upstream, mark: "mark-" + rand.Text(), offered: map[string]map[string]bool{},
	}
	var err error
	if v.Conversation, err = v.openConversation(ctx); err != nil {
		return nil, &openError{err}
	}
	return v, nil
}

// An openError reports that no session could be opened.
type openError struct{ err error }

func (e *openError) Error() string { return "no session could be opened: " + e.err.Error() }
func (e *openError) Unwrap() error { return e.err }

// A notOfferedError reports that the gateway does not offer what a probe needs.
type notOfferedError struct{ what string }

func (e *notOfferedError) Error() string { return e.what + " is not offered" }

// requireCapability returns an error if the server does not declare a capability, such as prompts.
func (v *visit) requireCapability(capability string) error {
	if capability != "" && wire.At(v.Server().Result, "/capabilities/"+capability) == nil {
		return &notOfferedError{"the capability " + capability}
	}
	return nil
}

// openAnother opens a second session with the same server, for another client.
func (v *visit) openAnother(ctx context.Context) (*visit, error) {
	c, err := v.openConversation(ctx)
	return &visit{Conversation: c, upstream: v.upstream, mark: v.mark + "-other", offered: v.offered}, err
}

// openConversation opens the conversation of a session.
func (v *visit) openConversation(ctx context.Context) (*client.Conversation, error) {
	c, err := client.Open(ctx, v.dialer, v.options)
	if err != nil {
		return nil, err
	}
	if err := c.Handshake(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// requestResult returns the decoded result of a request.
func (v *visit) requestResult(ctx context.Context, method string, params map[string]any) (any, error) {
	r := v.Do(ctx, method, params)
	if r.Err != nil {
		return nil, fmt.Errorf("%s: %w%s", method, r.Err, v.describeStatus(r))
	}
	if r.Message.IsError() {
		return nil, fmt.Errorf("%s gets the error %s", method, wire.Excerpt(string(r.Message.Member("error")), widestValue))
	}
	return decode(r.Message.Result()), nil
}

// describeStatus describes the HTTP status of a refused request, or returns "".
func (v *visit) describeStatus(r *client.Reply) string {
	if r.Sent == nil || r.Sent.Exchange == 0 {
		return ""
	}
	x := transcript.ExchangesOf(v.Record.From(0)).Of(r.Sent)
	if x == nil || x.Status() < 400 {
		return ""
	}
	return fmt.Sprintf(" (HTTP %d)", x.Status())
}

// mostPages bounds the pages of a list that are read.
const mostPages = 100

// readList reads all pages of the list in the given member of the result, and returns its entries
// in a map. The map's keys are the values of one member of the entries: the argument key is the
// name of that member, such as uri.
func (v *visit) readList(ctx context.Context, method, member, key string) (entries map[string]any, err error) {
	entries = map[string]any{}
	var params map[string]any
	for range mostPages {
		result, err := v.requestResult(ctx, method, params)
		if err != nil {
			return nil, err
		}
		page, _ := result.(map[string]any)
		all, _ := page[member].([]any)
		for _, entry := range all {
			e, _ := entry.(map[string]any)
			name, _ := e[key].(string)
			entries[name] = e
		}
		cursor, _ := page["nextCursor"].(string)
		if cursor == "" {
			return entries, nil
		}
		params = map[string]any{"cursor": cursor}
	}
	return nil, fmt.Errorf("%s has more than %d pages", method, mostPages)
}

// nameLists are the lists whose names a gateway may change, each with the method that reads it.
var nameLists = map[string]string{"tools": spec.MethodToolsList, "prompts": spec.MethodPromptsList}

// offeredName returns the name under which this route offers a tool or prompt. own is the
// upstream's name, to which a gateway may have added a prefix or a suffix. list is one of
// nameLists.
func (v *visit) offeredName(ctx context.Context, list, own string) (string, error) {
	if err := v.requireCapability(list); err != nil {
		return "", err
	}
	if v.offered[list] == nil {
		entries, err := v.readList(ctx, nameLists[list], list, "name")
		if err != nil {
			return "", err
		}
		v.offered[list] = map[string]bool{}
		for offered := range entries {
			v.offered[list][offered] = true
		}
	}
	if v.offered[list][own] {
		return own, nil
	}
	for offered := range v.offered[list] {
		if isAffixed(offered, own) {
			return offered, nil
		}
	}
	return "", &notOfferedError{"the " + strings.TrimSuffix(list, "s") + " " + own}
}

// isAffixed reports whether the first argument consists of the second one and a prefix or a suffix,
// separated from it by a character such as a dash.
func isAffixed(offered, name string) bool {
	before, hasSuffix := strings.CutSuffix(offered, name)
	after, hasPrefix := strings.CutPrefix(offered, name)
	const separators = "-_./:"
	return hasSuffix && before != "" && strings.Contains(separators, before[len(before)-1:]) ||
		hasPrefix && after != "" && strings.Contains(separators, after[:1])
}

// toolParams returns the params of tools/call for a tool of the upstream.
func (v *visit) toolParams(ctx context.Context, tool string, arguments, meta map[string]any) (map[string]any, error) {
	name, err := v.offeredName(ctx, "tools", tool)
	params := map[string]any{"name": name}
	if arguments != nil {
		params["arguments"] = arguments
	}
	if meta != nil {
		params["_meta"] = meta
	}
	return params, err
}

// callTool returns the result of a call of a tool.
func (v *visit) callTool(ctx context.Context, tool string, arguments, meta map[string]any) (any, error) {
	params, err := v.toolParams(ctx, tool, arguments, meta)
	if err != nil {
		return nil, err
	}
	return v.requestResult(ctx, spec.MethodToolsCall, params)
}

// A heldCall is a hold, together with the client's view of the call.
type heldCall struct {
	*hold
	visit *visit
	id    wire.ID
	from  int        // the position in the transcript from which to search for its response
	sent  chan error // the result of sending it
}

// holdCall makes a call whose arguments contain the mark and that the upstream holds open, and
// waits until the call has arrived.
func (v *visit) holdCall(ctx context.Context, mark, progressToken string) (*heldCall, error) {
	params, err := v.toolParams(ctx, "echo", map[string]any{"text": holdPrefix + mark}, map[string]any{"progressToken": progressToken})
	if err != nil {
		return nil, err
	}
	c := &heldCall{hold: v.upstream.findOrAddHold(mark), visit: v, id: v.NewID(), from: v.Record.Len(), sent: make(chan error, 1)}
	go func() { c.sent <- v.Send(ctx, v.Request(c.id, spec.MethodToolsCall, params)) }()
	limit := time.NewTimer(v.Options().Timeout)
	defer limit.Stop()
	select {
	case <-c.arrived:
		return c, nil
	case <-limit.C:
		c.releaseCall()
		return nil, errors.New("the call did not reach the upstream")
	case <-ctx.Done():
		c.releaseCall()
		return nil, context.Cause(ctx)
	}
}

// releaseAndAwait releases the call, and returns the text of its result.
func (c *heldCall) releaseAndAwait(ctx context.Context) (string, error) {
	c.releaseCall()
	if err := <-c.sent; err != nil {
		return "", err
	}
	r := c.visit.AwaitResponse(ctx, c.from, c.id, client.Within(c.visit.Options().Timeout))
	if r.Err != nil {
		return "", r.Err
	}
	return firstText(decode(r.Message.Result())), nil
}

// awaitNotification waits for a notification of a method, and reports whether one was received.
// Over HTTP, a notification is on a different stream than the responses to later requests, and a
// busy machine may read that stream later. So the absence of a notification counts only after the
// responses to several later requests.
func (v *visit) awaitNotification(ctx context.Context, method string) bool {
	for range 3 {
		failed := v.AwaitQuiet(ctx) != nil
		if came := len(v.received(method, v.position())) > 0; came || failed {
			return came
		}
		_ = v.Fence(ctx) // AwaitQuiet does not wait again if nothing was sent since
	}
	return false
}

// received returns the messages with the method that were received before the position upTo.
func (v *visit) received(method string, upTo int) []*wire.Message {
	var out []*wire.Message
	for e, m := range transcript.Messages(v.Record.From(0)[:upTo], transcript.Received) {
		if m.Method == method && e.Seq < upTo {
			out = append(out, m)
		}
	}
	return out
}

// position returns the position of the next event in the transcript.
func (v *visit) position() int { return v.Record.Len() }

// requestAboutPrompt returns the result of a request about a prompt of the upstream. The function
// params builds the params of the request from the name under which this route offers the prompt.
func (v *visit) requestAboutPrompt(ctx context.Context, prompt, method string, params func(name string) map[string]any) (any, error) {
	name, err := v.offeredName(ctx, "prompts", prompt)
	if err != nil {
		return nil, err
	}
	return v.requestResult(ctx, method, params(name))
}
