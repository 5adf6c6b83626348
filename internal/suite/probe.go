package suite

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"reflect"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/control"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A Request is a request that a case sends.
type Request struct {
	Method string
	Params map[string]any
}

// A Probe consists of odd requests that a server should refuse, and their control: the ordinary
// request that differs from them only in what is odd. A refusal of an odd request is interpreted
// only if the control was served. Cases check that with CanInterpret, rules with
// rules.Reporter.RequireInterpretable.
type Probe struct {
	Control Request
	Odd     []Request
	// What names the control in a sentence; by default "an ordinary request".
	What string
	// ByName reports whether the odd part is a name. Then a refusal is also interpreted if the
	// control was refused with a different response.
	ByName bool
	// Limit bounds the wait for each response, as client.Within does; zero
	// means the limit of Conversation.Do.
	Limit time.Duration
}

// An OddReply is the reply to an odd request, together with the result of its
// control.
type OddReply struct {
	*client.Reply
	Control control.Control
	params  jsontext.Value
	byName  bool
}

// NewOddReply returns a reply to a request whose method is odd, together with the result of its
// control. A control that gets a different response shows that the server distinguishes methods.
func NewOddReply(odd, ordinary *client.Reply) OddReply {
	return OddReply{Reply: odd, Control: control.New("an ordinary request", nil, ordinary.Message), byName: true}
}

// OddParams returns the odd requests of a probe that differ in their params: one with the method
// for each of the given params.
func OddParams(method string, params ...map[string]any) []Request {
	out := make([]Request, 0, len(params))
	for _, p := range params {
		out = append(out, Request{method, p})
	}
	return out
}

// Probe sends the control, unless the conversation already has a response to it, and then the odd
// requests one after the other, as long as the caller iterates and the server has not ended. If the
// control was not served, and Probe.ByName is not set, it sends only the first odd request, whose
// reply cannot be interpreted.
func (t *T) Probe(ctx context.Context, c *client.Conversation, p Probe) iter.Seq[OddReply] {
	send := func(r Request) *client.Reply {
		if p.Limit > 0 {
			return c.Do(ctx, r.Method, r.Params, client.Within(p.Limit))
		}
		return c.Do(ctx, r.Method, r.Params)
	}
	what := cmp.Or(p.What, "an ordinary request")
	return func(yield func(OddReply) bool) {
		ordinary := responseTo(c, p.Control)
		if ordinary == nil {
			ordinary = c.Do(ctx, p.Control.Method, p.Control.Params, client.Within(cmp.Or(p.Limit, controlTime))).Message
		}
		ordinarily := control.New(what, wire.JSON(p.Control.Params), ordinary)
		for _, r := range p.Odd {
			if ctx.Err() != nil || !c.Alive() {
				return
			}
			odd := OddReply{Reply: send(r), Control: ordinarily, params: wire.JSON(r.Params), byName: p.ByName}
			if !yield(odd) || !ordinarily.Served && !p.ByName {
				return // the others would show nothing either
			}
		}
	}
}

// ResendAlone resends a request that got no response in c, in a conversation of its own, and waits
// for up to the whole timeout; rules judge the response. In c, a call of an existing tool may have
// kept the server busy. A request with an unknown name runs no code of the server's author, so a
// server that has nothing else to do must respond to it.
func (t *T) ResendAlone(ctx context.Context, c *client.Conversation, r Request) {
	if ctx.Err() == nil && responseTo(c, r) == nil {
		t.Start(ctx, client.Options{Pace: &client.Pace{}}).Do(ctx, r.Method, r.Params)
	}
}

// FirstUnanswered returns the first of the requests that was sent in c and got no
// response there, if any.
func FirstUnanswered(c *client.Conversation, requests []Request) (Request, bool) {
	i := slices.IndexFunc(requests, func(r Request) bool { return responseTo(c, r) == nil && wasSent(c, r) })
	if i < 0 {
		return Request{}, false
	}
	return requests[i], true
}

// responseTo returns the response to the last request in c that is equal to r and has a response.
// It returns nil if there is none. An error such as a rate limit does not count as a response.
func responseTo(c *client.Conversation, r Request) (response *wire.Message) {
	c.Record.ReadDialogue(func(d *transcript.Dialogue) {
		for q := range sentRequestsLike(d, r) {
			if m := q.Response(); m != nil && !m.IsOverloadError() {
				response = m.Message
				return
			}
		}
	})
	return response
}

// wasSent reports whether a request equal to r was sent in c.
func wasSent(c *client.Conversation, r Request) (sent bool) {
	c.Record.ReadDialogue(func(d *transcript.Dialogue) {
		for range sentRequestsLike(d, r) {
			sent = true
			return
		}
	})
	return sent
}

// sentRequestsLike returns the requests that were sent and are equal to r but for their
// metadata, the last one first.
func sentRequestsLike(d *transcript.Dialogue, r Request) iter.Seq[*transcript.Request] {
	want := paramsWithoutMeta(r.Params)
	return func(yield func(*transcript.Request) bool) {
		for _, q := range slices.Backward(d.Requests()) {
			if q.Message.Method != r.Method {
				continue
			}
			var params map[string]any
			if q.Message.Params() != nil && json.Unmarshal(q.Message.Params(), &params) != nil {
				continue
			}
			if delete(params, "_meta"); len(params)+len(want) != 0 && !reflect.DeepEqual(params, want) {
				continue
			}
			if !yield(q) {
				return
			}
		}
	}
}

// paramsWithoutMeta returns params after a round trip through JSON, without _meta. It returns nil
// if the round trip fails.
func paramsWithoutMeta(params map[string]any) map[string]any {
	var out map[string]any
	text, err := json.Marshal(params)
	if err != nil || json.Unmarshal(text, &out) != nil {
		return nil
	}
	delete(out, "_meta")
	return out
}

// whyUnclear returns why the response to an odd request shows nothing, or "" if it shows something
// or there is no response.
func (o OddReply) whyUnclear() string {
	if !o.Answered() || control.IsServed(o.Message) {
		return ""
	}
	return o.Control.WhyUnclear(control.ResponseTo(o.params, o.Message), o.byName)
}

// CanInterpret reports whether the reply to an odd request may be interpreted.
// If not, it reports the requirement as not observed, with the reason.
func (t *T) CanInterpret(o OddReply, requirement string) bool {
	why := o.whyUnclear()
	if why != "" {
		t.MarkNotObserved(requirement, why)
	}
	return why == ""
}

// controlTime bounds the wait for a control without Probe.Limit, because the control may run code
// of the server's author.
const controlTime = 3 * time.Second

// OrdinaryRequest returns a request that the server should serve, for use as the control of odd
// requests with the method. For tools/call, prompts/get and resources/read it names a listed tool
// that may be called and does not disturb other cases, a listed prompt, or a listed resource; if
// there is none, the request is for the list. For a list method or logging/setLevel the request
// has that method. For any other method it has one that every server serves.
func (t *T) OrdinaryRequest(method string) Request {
	switch method {
	case spec.MethodToolsCall:
		for _, tool := range t.Inventory.Callable() {
			if arguments, err := tool.Arguments(); err == nil && !t.DisturbsOthers(tool) {
				return ValidCall(tool.Name, arguments)
			}
		}
		return Request{Method: spec.MethodToolsList}
	case spec.MethodPromptsGet:
		for _, p := range t.Inventory.PromptEntries {
			return Request{method, map[string]any{"name": p.Name, "arguments": p.Values(false)}}
		}
		return Request{Method: spec.MethodPromptsList}
	case spec.MethodResourcesRead:
		for _, uri := range t.Inventory.Resources {
			return Request{method, map[string]any{"uri": uri}}
		}
		return Request{Method: spec.MethodResourcesList}
	case spec.MethodSetLevel:
		return Request{method, map[string]any{"level": "debug"}}
	case spec.MethodToolsList, spec.MethodPromptsList, spec.MethodResourcesList, spec.MethodResourcesTemplates:
		return Request{Method: method}
	}
	if t.Revision.Era() == spec.Stateless {
		return Request{Method: spec.MethodDiscover}
	}
	return Request{Method: spec.MethodPing}
}

// ValidCall returns a call of the tool with these arguments.
func ValidCall(tool string, arguments map[string]any) Request {
	return Request{spec.MethodToolsCall, map[string]any{"name": tool, "arguments": arguments}}
}

// PromptCompletion returns a request for completions of an argument of the prompt, whose value is
// still empty.
func PromptCompletion(prompt, argument string) Request {
	return Request{spec.MethodComplete, map[string]any{
		"ref":      map[string]any{"type": "ref/prompt", "name": prompt},
		"argument": map[string]any{"name": argument, "value": ""},
	}}
}
