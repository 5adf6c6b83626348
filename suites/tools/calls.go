package tools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A readyTool is a tool that may be called, with minimal arguments.
type readyTool struct {
	inventory.Tool
	arguments map[string]any
}

// readyTools returns the first callable tools that disturb no other case and for which arguments
// can be generated. It ends the case if there are none.
func readyTools(t *suite.T) []readyTool {
	t.RequireCallableTool()
	callable := t.Inventory.Callable()
	var out []readyTool
	for _, tool := range callable {
		if len(out) == maxTools {
			break
		}
		if t.DisturbsOthers(tool) {
			continue
		}
		if arguments, err := tool.Arguments(); err == nil {
			out = append(out, readyTool{tool, arguments})
		}
	}
	if len(out) == 0 {
		t.GiveUp("mcp-conform can't make arguments for any tool that it may call")
	}
	return out
}

// callTools calls each tool, and the first one that needs no arguments also without any. If that
// gets an internal error, callTools repeats it later, because the reason may be another one. Then it
// reads resources to which the results link.
func callTools(ctx context.Context, t *suite.T) {
	tools := readyTools(t)
	k := newCaller(t.Conversation(ctx))
	bare := slices.IndexFunc(tools, func(r readyTool) bool { return len(r.arguments) == 0 })
	hasFailed := false
	if bare >= 0 {
		reply, more := k.callTool(ctx, map[string]any{"name": tools[bare].Name})
		if !more {
			return
		}
		hasFailed = isInternalError(reply)
	}
	var links []string
	for i, r := range tools {
		reply, more := k.callTool(ctx, map[string]any{
			"name": r.Name, "arguments": r.arguments,
			"_meta": map[string]any{"progressToken": callToken(i)},
		})
		if !more {
			return
		}
		links = append(links, resourceLinks(reply)...)
	}
	if hasFailed && (!k.call(ctx, map[string]any{"name": tools[bare].Name}) || !k.call(ctx, map[string]any{"name": tools[bare].Name, "arguments": map[string]any{}})) {
		return
	}
	if !k.c.Server().Declares("resources") {
		return
	}
	for _, uri := range links[:min(len(links), maxLinks)] {
		k.c.Do(ctx, spec.MethodResourcesRead, map[string]any{"uri": uri}, client.Within(callTime))
	}
}

func isInternalError(r *client.Reply) bool {
	if !r.Answered() {
		return false
	}
	code, ok := r.Message.ErrorCode()
	return ok && spec.Code(code) == spec.CodeInternal
}

// callToken returns the progress token of a call. Tokens alternate between an integer, which the
// official SDKs use, and a string, because a server may confuse the two types.
func callToken(call int) any {
	if call%2 == 0 {
		return 1000 + call
	}
	return "mcp-conform-call-" + strconv.Itoa(call)
}

// callToolsAgain calls the fast tools with more arguments than required, and with other values
// that their schemas list. It is a separate case, because a second call may undo what the first
// one changed in a list.
func callToolsAgain(ctx context.Context, t *suite.T) {
	tools := readyTools(t)
	k := newCaller(t.Conversation(ctx))
	for i, r := range tools {
		if wasSlow(k.c, r.Name) {
			continue
		}
		more := r.MoreArguments()
		if inventory.Structured.ExistsIn(t.Revision) && wire.At(r.Raw, "/outputSchema") != nil {
			more = append(more, r.EdgeArguments()...) // servers often mistake empty or zero results for none
		}
		call := i + 1 // callTools calls this tool with callToken(i); these tokens have the other type
		for _, arguments := range more {
			call += 2 * maxTools
			reply, more := k.callTool(ctx, map[string]any{
				"name": r.Name, "arguments": arguments,
				"_meta": map[string]any{"progressToken": callToken(call)},
			})
			if !more {
				return
			}
			if !reply.Answered() || reply.Event.At-reply.Sent.At > fastTime {
				break
			}
		}
	}
}

// wasSlow reports whether a call of the tool in this conversation took longer than fastTime, or was
// not answered.
func wasSlow(c *client.Conversation, tool string) bool {
	return c.Record.HasRequest(func(q *transcript.Request) bool {
		name, _ := wire.Text(wire.At(q.Message.Params(), "/name"))
		return q.Message.Method == spec.MethodToolsCall && name == tool && (len(q.Responses) == 0 || q.Responses[0].Event.At-q.Event.At > fastTime)
	})
}

// longText is the length in bytes of a long name or argument, about that of the text of a page. A
// response that repeats it is longer than some line or buffer limits.
const longText = 20_000

// requestAnswered is the requirement that each request gets a response.
const requestAnswered = "base.request-answered"

// callWithLongText calls an unknown tool with a long name, and callable tools with a long text as
// an argument. The server may refuse the calls; rules judge the responses.
func callWithLongText(ctx context.Context, t *suite.T) {
	k := newCaller(t.Conversation(ctx))
	long := strings.Repeat("sixteen-letters-", longText/16)
	if !k.call(ctx, map[string]any{"name": unknownName + "-" + long, "arguments": map[string]any{}}) {
		return
	}
	called := 0
	for _, r := range readyTools(t) {
		arguments, ok := r.ArgumentsWithText(strings.ReplaceAll(long, "-", " "))
		if !ok {
			continue
		}
		if called++; !k.call(ctx, map[string]any{"name": r.Name, "arguments": arguments}) || called == maxLong {
			return
		}
	}
}

// maxLong bounds the tools that are called with a long text.
const maxLong = 3

// resourceLinks returns the URIs of the resources to which a tool result links. It leaves out http
// and https URIs, because clients can fetch these without the server.
func resourceLinks(r *client.Reply) []string {
	if !r.Succeeded() {
		return nil
	}
	var out []string
	for _, block := range wire.Elements(wire.At(r.Message.Result(), "/content")) {
		kind, _ := wire.Text(wire.At(block, "/type"))
		uri, ok := wire.Text(wire.At(block, "/uri"))
		if kind == "resource_link" && ok && !strings.HasPrefix(strings.ToLower(uri), "http") {
			out = append(out, uri)
		}
	}
	return out
}

// callUnknown calls names that no tool has. A call of an existing tool may change the list of
// tools, so the list is read between that call and the others.
func callUnknown(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	k := newCaller(c)
	control, odd := t.OrdinaryRequest(spec.MethodToolsCall), suite.OddParams(spec.MethodToolsCall, map[string]any{"name": unknownName, "arguments": map[string]any{}})
	mayChange := control.Method == spec.MethodToolsCall
	for _, tool := range t.Inventory.Callable() {
		name := changeLetterCase(tool.Name)
		arguments, err := tool.Arguments()
		if err == nil && name != tool.Name && !slices.ContainsFunc(t.Inventory.Tools, func(o inventory.Tool) bool { return o.Name == name }) {
			control, mayChange = suite.ValidCall(tool.Name, arguments), !tool.ReadOnly
			odd = append(odd, suite.ValidCall(name, arguments))
			break
		}
	}
	if mayChange {
		if !k.call(ctx, control.Params) {
			return
		}
		inventory.Walk(ctx, c, spec.MethodToolsList, "tools", maxPages)
	}
	t.WalkUnlessNotified(ctx, spec.MethodToolsList, "tools", maxPages)
	k.probe(ctx, t, suite.Probe{Control: control, Odd: odd, ByName: true})
	t.ResendAlone(ctx, c, odd[0])
}

// changeLetterCase returns the name with the case of its first ASCII letter changed, or the name
// itself if it has no such letter.
func changeLetterCase(name string) string {
	i := strings.IndexFunc(name, func(r rune) bool { return r < unicode.MaxASCII && unicode.IsLetter(r) })
	if i < 0 {
		return name
	}
	letter := strings.ToUpper(name[i : i+1])
	if letter == name[i:i+1] {
		letter = strings.ToLower(letter)
	}
	return name[:i] + letter + name[i+1:]
}

// sendMalformedCalls sends calls with invalid params. It uses the name of an existing tool only if
// that tool may be called, because a lenient server might run it.
func sendMalformedCalls(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	control := t.OrdinaryRequest(spec.MethodToolsCall)
	params := []map[string]any{{"arguments": map[string]any{}}, {"name": 5, "arguments": map[string]any{}}}
	for _, tool := range t.Inventory.Callable() {
		if arguments, err := tool.Arguments(); err == nil && len(arguments) == 0 {
			control = suite.ValidCall(tool.Name, arguments)
			params = append(params,
				map[string]any{"name": tool.Name, "arguments": []any{}}, map[string]any{"name": tool.Name, "arguments": "text"})
			break
		}
	}
	newCaller(c).probe(ctx, t, suite.Probe{Control: control, Odd: suite.OddParams(spec.MethodToolsCall, params...), ByName: true})
}

// callWithWrongArguments calls only tools that may be called, because a lenient server runs the
// tool. Tools whose arguments can be wrong in more ways come first. A tool that fails with valid
// arguments shows nothing, so others are tried too. Rules judge the responses; a missing one is
// judged here.
func callWithWrongArguments(ctx context.Context, t *suite.T) {
	var tools []readyTool
	for _, r := range readyTools(t) {
		if len(r.WrongArguments()) > 0 && len(tools) < maxTools {
			tools = append(tools, r)
		}
	}
	slices.SortStableFunc(tools, func(a, b readyTool) int { return len(b.WrongArguments()) - len(a.WrongArguments()) })
	if len(tools) == 0 {
		t.Skip("no tool that may be called has arguments that could be wrong")
	}
	k := newCaller(t.Conversation(ctx))
	foundSilence := false
	for provoked := 0; len(tools) > 0 && provoked < maxProvoked; tools = tools[1:] {
		var odd []suite.Request
		for _, wrong := range tools[0].WrongArguments() {
			odd = append(odd, suite.ValidCall(tools[0].Name, wrong.Arguments))
		}
		valid := suite.ValidCall(tools[0].Name, tools[0].arguments)
		controlServed, more := k.probe(ctx, t, suite.Probe{Control: valid, Odd: odd})
		if controlServed {
			provoked++
			if wrong, silent := suite.FirstUnanswered(k.c, odd); !silent {
				t.MarkKept(requestAnswered)
			} else if !foundSilence {
				foundSilence = judgeSilence(ctx, t, valid, wrong)
			}
		}
		if !more {
			return
		}
	}
}

// judgeSilence repeats a call with wrong arguments that got no response, after valid calls in a
// conversation of its own, and waits for the whole timeout. A tool may take any time, so a missing
// response counts only if each valid call is answered within fastTime, and only as a warning.
func judgeSilence(ctx context.Context, t *suite.T, valid, wrong suite.Request) (found bool) {
	c := t.Start(ctx, client.Options{Pace: &client.Pace{}})
	longest := time.Duration(0)
	for range 2 {
		r := c.Do(ctx, valid.Method, valid.Params, client.Within(callTime))
		if !r.Succeeded() || r.Event.At-r.Sent.At > fastTime {
			return false
		}
		longest = max(longest, r.Event.At-r.Sent.At)
	}
	id, from := c.NewID(), c.Record.Len()
	if c.Send(ctx, c.Request(id, wrong.Method, wrong.Params)) != nil {
		return false
	}
	r := c.AwaitResponse(ctx, from, id, client.Within(0))
	if !errors.Is(r.Err, client.ErrUnanswered) || ctx.Err() != nil {
		return false
	}
	sent := c.RequestSent(from, id)
	t.Report(c, verdict.Deviation{
		Requirement: requestAnswered,
		Summary:     "The server does not answer a tool call whose arguments violate the tool's schema.",
		Permitted:   "a result with isError true, or an error",
		Seen:        fmt.Sprintf("no response in %v; valid calls of the tool were answered within %v", c.Options().Timeout, longest.Round(time.Millisecond)),
		At:          transcript.Positions(sent),
		Pointer:     "/params/arguments",
		Weight:      verdict.AtMostWarning,
	})
	_ = c.Cancel(ctx, id, transcript.JudgedReason)
	return true
}
