package stateless

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const silentWithoutLevel = "logging.per-request.silent-without-level"

// mixedCases returns the cases that send pairs of equal requests concurrently, because a server that
// keeps the metadata of the current request in a variable serves one request with the metadata of
// the other. Rules judge the responses, and over HTTP the log messages. There no other case may run
// at the same time, because its requests, too, would change the variable.
func mixedCases() []suite.Case {
	const title = "Sends equal requests at once, one with all client capabilities and a log level, one without"
	provokes := []string{"stateless.no-undeclared-capability", "mrtr.only-declared-capabilities", "stateless.missing-capability-error", "logging.per-request."}
	return []suite.Case{
		{
			ID:                 "stateless.mixed",
			Title:              title,
			Requirements:       []string{silentWithoutLevel},
			Provokes:           provokes,
			OnlyOver:           spec.Stdio,
			SharesConversation: true,
			Run:                sendMixedPairs,
		},
		{
			ID:        "stateless.mixed-posts",
			Title:     title,
			Provokes:  provokes,
			OnlyOver:  spec.StreamableHTTP,
			Exclusive: true,
			Run:       sendMixedPairs,
		},
	}
}

func sendMixedPairs(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	// All requests are sent alone first, so that the evidence of what they show quotes no concurrent
	// messages, whose order varies from run to run.
	var dependent []*metadataPair
	for _, r := range likelyDependent(t) {
		if ctx.Err() != nil || !c.Alive() {
			return
		}
		if p := (&metadataPair{Request: r, c: c}); p.isDependent(ctx, t) {
			dependent = append(dependent, p)
		}
	}
	for _, p := range dependent {
		if ctx.Err() != nil || !c.Alive() {
			return
		}
		p.mix(ctx, t)
	}
}

// maxDependent limits how many prompts, and how many resources, a case requests.
const maxDependent = 2

// mixedTime is how long a request may take alone. If it takes longer, it is not sent concurrently.
const mixedTime = time.Second

// likelyDependent returns requests whose outcome may depend on the metadata: calls of tools that
// ask the client or log, prompts and resources.
func likelyDependent(t *suite.T) []suite.Request {
	var out []suite.Request
	var names []string
	for _, role := range []inventory.Role{inventory.AsksElicitation, inventory.AsksSampling, inventory.AsksRoots, inventory.Logging} {
		for _, k := range firstOnly(t.Inventory.KnownCalls(role)) {
			if k.Took < mixedTime && !slices.Contains(names, k.Tool) {
				names = append(names, k.Tool)
				out = append(out, suite.Request{Method: spec.MethodToolsCall, Params: k.Params()})
			}
		}
	}
	for _, name := range t.Inventory.BarePrompts[:min(maxDependent, len(t.Inventory.BarePrompts))] {
		out = append(out, suite.Request{Method: spec.MethodPromptsGet, Params: map[string]any{"name": name}})
	}
	for _, uri := range t.Inventory.Resources[:min(maxDependent, len(t.Inventory.Resources))] {
		out = append(out, suite.Request{Method: spec.MethodResourcesRead, Params: map[string]any{"uri": uri}})
	}
	return out
}

// A metadataPair is a request that is sent in two forms: full, with all client capabilities and the
// log level debug, and bare, with no capabilities and no log level.
type metadataPair struct {
	suite.Request
	c *client.Conversation

	logs []string // the log messages during a full request that is sent alone, sorted
}

func (p *metadataPair) full() map[string]any {
	return map[string]any{spec.MetaClientCapabilities: client.AllCapabilities(p.c.Revision()), spec.MetaLogLevel: "debug"}
}

func (p *metadataPair) bare() map[string]any {
	return map[string]any{spec.MetaClientCapabilities: map[string]any{}}
}

// sendAlone sends one form of the request. It returns the reply, and the log messages until nothing
// more comes, sorted.
func (p *metadataPair) sendAlone(ctx context.Context, t *suite.T, meta map[string]any) (*client.Reply, []string) {
	from := p.c.Record.Len()
	r := p.c.Do(ctx, p.Method, paramsWithMeta(p.Request, meta), client.OneRound, client.Within(callTime))
	if r.Answered() && len(logsSince(p.c, from)) > 0 {
		t.AwaitQuiet(ctx, p.c) // some may come after the response
	}
	return r, logsSince(p.c, from)
}

// isDependent sends both forms alone, and the bare one again, and reports whether they differ: the
// server requires input, or logs, only for the full form.
func (p *metadataPair) isDependent(ctx context.Context, t *suite.T) bool {
	isSilent := func() bool {
		r, logs := p.sendAlone(ctx, t, p.bare())
		return r.Answered() && !r.Busy() && !r.IsInputRequired() && len(logs) == 0
	}
	if !isSilent() {
		return false
	}
	r, logs := p.sendAlone(ctx, t, p.full())
	if !r.Succeeded() || r.Event.At-r.Sent.At > mixedTime || !r.IsInputRequired() && len(logs) == 0 {
		return false
	}
	p.logs = logs
	return isSilent()
}

// mix sends both forms concurrently, in both orders.
func (p *metadataPair) mix(ctx context.Context, t *suite.T) {
	for _, pair := range [][]map[string]any{{p.bare(), p.full()}, {p.full(), p.bare()}} {
		from := p.c.Record.Len()
		var frames [][]byte
		for _, meta := range pair {
			frames = append(frames, p.c.Request(p.c.NewID(), p.Method, paramsWithMeta(p.Request, meta)))
		}
		replies := p.c.DoAll(ctx, frames, client.Within(callTime))
		if slices.ContainsFunc(replies, func(r *client.Reply) bool { return !r.Answered() }) {
			return
		}
		if t.Transport == spec.Stdio && len(p.logs) > 0 {
			t.AwaitQuiet(ctx, p.c)
			p.judgeLogs(ctx, t, replies, logsSince(p.c, from))
		}
	}
}

// judgeLogs judges the log messages during two concurrent requests, of which one asked for them.
// Over stdio nothing shows to which of the two a message belongs. But if each message came twice,
// the server probably sent those of both.
func (p *metadataPair) judgeLogs(ctx context.Context, t *suite.T, replies []*client.Reply, logs []string) {
	twice := slices.Concat(p.logs, p.logs)
	slices.Sort(twice)
	if !slices.Equal(logs, twice) {
		t.MarkKept(silentWithoutLevel)
		return
	}
	if _, again := p.sendAlone(ctx, t, p.full()); !slices.Equal(again, p.logs) {
		return // the number of messages varies
	}
	t.Report(p.c, verdict.Deviation{
		Requirement: silentWithoutLevel,
		Summary:     "The server logs for a request without a log level when a concurrent one has one.",
		Permitted:   "no log messages for a request without " + spec.MetaLogLevel + " in _meta",
		Seen:        "each log message twice during two concurrent requests, one of them without a log level; once when the other is alone",
		At:          slices.Concat(replies[0].Positions(), replies[1].Positions()),
		Weight:      verdict.AtMostWarning, // the request with the level may have sent all of them
		Fix:         "Keep io.modelcontextprotocol/logLevel with its request, not in a variable that all requests share.",
	})
}

// numbers matches what may differ between equal log messages, such as a time.
var numbers = lazyregexp.New(`[0-9]+`)

// logsSince returns the log messages at or after a position, sorted, with each number replaced.
func logsSince(c *client.Conversation, from int) []string {
	var out []string
	for _, m := range transcript.Messages(c.Record.From(from), transcript.Received) {
		if m.Method == spec.MethodMessage {
			var parts []string
			for _, name := range []string{"/level", "/logger", "/data"} {
				parts = append(parts, wire.Canonical(wire.At(m.Params(), name)))
			}
			out = append(out, numbers.ReplaceAllString(strings.Join(parts, " "), "0"))
		}
	}
	slices.Sort(out)
	return out
}
