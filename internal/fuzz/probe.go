package fuzz

import (
	"context"
	"fmt"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A ServerInfo is what is known about the server in one revision.
type ServerInfo struct {
	Offer *generate.Offer
	// Callable and Forbidden are the names of the tools that may be called, and of the tools that
	// may not.
	Callable, Forbidden []string
	// Name and Version are the server's name and version.
	Name, Version string

	messages int // frames that the probe exchanged
}

// Summary describes in one line what the server offers, including tools that
// may not be called.
func (s *ServerInfo) Summary() string {
	return fmt.Sprintf("%s, %s, %s and %s", countWithNoun(len(s.Callable)+len(s.Forbidden), "tool"),
		countWithNoun(len(s.Offer.Resources), "resource"), countWithNoun(len(s.Offer.Templates), "template"), countWithNoun(len(s.Offer.Prompts), "prompt"))
}

// countWithNoun returns a number with its noun, such as "2 tools".
func countWithNoun(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// capabilities are the server capabilities that affect what a search sends.
var capabilities = []string{
	"tools", "resources", "resources.subscribe", "prompts", "completions", "logging", "tasks", "tasks.list", "tasks.cancel",
}

// Probe takes the inventory in one revision. If the server does not speak the
// revision, it returns nil and the events of the attempt. It returns an error if the
// server cannot be reached.
func Probe(ctx context.Context, d transport.Dialer, rev spec.Revision, policy inventory.Config, o client.Options) (*ServerInfo, []*transcript.Event, error) {
	o.Revision = rev
	c, err := client.Open(ctx, d, o)
	if err != nil {
		return nil, nil, err
	}
	defer c.Close()
	if err := c.Handshake(ctx); err != nil {
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		return nil, c.Record.From(0), nil
	}
	if rev.Era() == spec.Stateless && !c.Server().Lists(rev) {
		return nil, c.Record.From(0), nil // a server of an older revision may answer any method
	}
	inv := inventory.Take(ctx, c, policy)
	server := &ServerInfo{Name: inv.Server.Name, Version: inv.Server.Version, Offer: offerOf(inv, rev, d.Transport())}
	server.Offer.Paged = pagedLists(c.Record.Dialogue())
	server.messages = script.CountFrames(c.Record.From(0))
	callable := map[string]bool{}
	for _, t := range inv.Callable() {
		callable[t.Name] = true
		server.Callable = append(server.Callable, t.Name)
	}
	for _, t := range inv.Tools {
		if !callable[t.Name] {
			server.Forbidden = append(server.Forbidden, t.Name)
		}
	}
	return server, nil, nil
}

// pagedLists returns the list methods whose results had several pages.
func pagedLists(d *transcript.Dialogue) map[string]bool {
	out := map[string]bool{}
	for _, r := range d.Requests() {
		if m := r.Response(); m != nil && generate.ListMember(r.Message.Method) != "" && m.ResultAt("/nextCursor") != nil {
			out[r.Message.Method] = true
		}
	}
	return out
}

// maxItems limits how many items of each list, such as tools, a search uses.
const maxItems = 200

// offerOf returns the part of an inventory that scripts use.
func offerOf(inv *inventory.Inventory, rev spec.Revision, over spec.Transport) *generate.Offer {
	out := &generate.Offer{Revision: rev, Transport: over, Declared: map[string]bool{}}
	for _, capability := range capabilities {
		out.Declared[capability] = inv.Declares(capability)
	}
	for _, t := range firstItems(inv.Callable()) {
		support, _ := wire.Text(wire.At(t.Raw, "/execution/taskSupport"))
		out.Tools = append(out.Tools, generate.Tool{
			Name: t.Name, Input: wire.At(t.Raw, "/inputSchema"),
			Tasks: inv.Declares("tasks.requests.tools.call") && (support == "optional" || support == "required"),
		})
	}
	out.Resources, out.Templates = firstItems(inv.Resources), firstItems(inv.Templates)
	for _, p := range firstItems(inv.PromptEntries) {
		prompt := generate.Prompt{Name: p.Name, Required: p.RequiredArguments()}
		for _, a := range p.Arguments {
			prompt.Arguments = append(prompt.Arguments, a.Name)
		}
		out.Prompts = append(out.Prompts, prompt)
	}
	out.Prepare()
	return out
}

func firstItems[T any](all []T) []T { return all[:min(len(all), maxItems)] }
