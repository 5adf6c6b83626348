package base

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// echoWords returns distinct words for echo tools.
func echoWords() []string {
	return []string{"mcp-conform-beside-amber", "mcp-conform-beside-birch", "mcp-conform-beside-cedar", "mcp-conform-beside-dune"}
}

// An echoTool is a read-only tool whose result contains the value of its string argument.
type echoTool struct {
	tool      inventory.Tool
	arguments map[string]any
	argument  string
}

func (p echoTool) params(word string) map[string]any {
	arguments := maps.Clone(p.arguments)
	arguments[p.argument] = word
	return map[string]any{"name": p.tool.Name, "arguments": arguments}
}

// callEchoesOnly makes a single call, and reports whether its result contains the word and no other
// echo word.
func (p echoTool) callEchoesOnly(ctx context.Context, c *client.Conversation, word string) bool {
	r := c.Do(ctx, spec.MethodToolsCall, p.params(word), client.Within(aloneTime))
	return r.Succeeded() && slices.Equal(echoWordsIn(r), []string{word})
}

// echoWordsIn returns the echo words in a result.
func echoWordsIn(r *client.Reply) []string {
	return slices.DeleteFunc(echoWords(), func(word string) bool { return !strings.Contains(string(r.Message.Result()), word) })
}

// findEchoTool returns the first callable, read-only tool whose result contains its free-text
// argument. It tries at most maxTools tools.
func findEchoTool(ctx context.Context, t *suite.T, c *client.Conversation) (echoTool, bool) {
	tried := 0
	for _, tool := range t.Inventory.Callable() {
		arguments, err := tool.Arguments()
		name, free := freeTextArgument(tool)
		if !tool.ReadOnly || err != nil || !free {
			continue
		}
		if p := (echoTool{tool, arguments, name}); p.callEchoesOnly(ctx, c, echoWords()[0]) {
			return p, true
		}
		if tried++; tried == maxTools {
			break
		}
	}
	return echoTool{}, false
}

// freeTextArgument returns the first required argument that accepts any string, and whether there
// is one.
func freeTextArgument(tool inventory.Tool) (string, bool) {
	_, properties := wire.Members(wire.At(tool.Raw, "/inputSchema/properties"))
	for _, name := range tool.RequiredArguments() {
		_, keywords := wire.Members(properties[name])
		kind, _ := wire.Text(keywords["type"])
		for _, word := range []string{"type", "title", "description"} {
			delete(keywords, word)
		}
		if kind == "string" && len(keywords) == 0 {
			return name, true
		}
	}
	return "", false
}

// compareEchoes makes several concurrent calls, each with its own word. A result with the word of
// another call and without its own belongs to the other call. Results that only resemble each other
// show nothing, because that may be chance.
func compareEchoes(ctx context.Context, t *suite.T, c *client.Conversation, p echoTool) {
	var requests [][]byte
	for _, word := range echoWords() {
		requests = append(requests, c.Request(c.NewID(), spec.MethodToolsCall, p.params(word)))
	}
	seen := false
	for i, r := range c.DoAll(ctx, requests, client.Within(callTime)) {
		if !r.Succeeded() {
			continue
		}
		own := echoWords()[i]
		switch in := echoWordsIn(r); {
		case slices.Contains(in, own):
			seen = true
		case len(in) == 1 && p.callEchoesOnly(ctx, c, own):
			t.Report(c, verdict.Deviation{
				Requirement: idEcho,
				Summary:     "The server answers a call with the result of a concurrent call.",
				Permitted:   "a result that contains the call's argument, as for a single call: " + own,
				Seen:        wire.Excerpt(string(r.Message.Result()), 200),
				At:          r.Positions(),
			})
			return
		}
	}
	if seen {
		t.MarkKept(idEcho)
	}
}
