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

// Surroundings is what is known about a server in one revision.
type Surroundings struct {
	Offer *generate.Offer
	// Callable and Forbidden are the names of the tools that may be called, and
	// of those that may not.
	Callable, Forbidden []string
	// Name and Version are those of the server.
	Name, Version string

	messages int // frames that were exchanged to find this out
}

// Offered describes in one line what the server offers, including tools that
// may not be called.
func (s *Surroundings) Offered() string {
	return fmt.Sprintf("%s, %s, %s and %s", several(len(s.Callable)+len(s.Forbidden), "tool"),
		several(len(s.Offer.Resources), "resource"), several(len(s.Offer.Templates), "template"), several(len(s.Offer.Prompts), "prompt"))
}

func several(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// capabilities are the server capabilities that change what is sent.
var capabilities = []string{
	"tools", "resources", "resources.subscribe", "prompts", "completions", "logging", "tasks", "tasks.list", "tasks.cancel",
}

// Probe takes the inventory in one revision. It returns nil Surroundings if the
// server does not speak the revision, and an error if the server cannot be
// reached. The events are those of the attempt.
func Probe(ctx context.Context, d transport.Dialer, rev spec.Revision, policy inventory.Config, o client.Options) (*Surroundings, []*transcript.Event, error) {
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
	v := inventory.Take(ctx, c, policy)
	s := &Surroundings{Name: v.Server.Name, Version: v.Server.Version, Offer: offer(v, rev, d.Transport())}
	s.Offer.Paged = paged(c.Record.Dialogue())
	s.messages = script.Frames(c.Record.From(0))
	may := map[string]bool{}
	for _, t := range v.Callable() {
		may[t.Name] = true
		s.Callable = append(s.Callable, t.Name)
	}
	for _, t := range v.Tools {
		if !may[t.Name] {
			s.Forbidden = append(s.Forbidden, t.Name)
		}
	}
	return s, nil, nil
}

// paged returns the list methods that returned several pages.
func paged(d *transcript.Dialogue) map[string]bool {
	out := map[string]bool{}
	for _, r := range d.Requests() {
		if m := r.Response(); m != nil && generate.ListMember(r.Message.Method) != "" && m.ResultAt("/nextCursor") != nil {
			out[r.Message.Method] = true
		}
	}
	return out
}

// mostNames limits how many items of each kind, such as tools, are used.
const mostNames = 200

func offer(v *inventory.Inventory, rev spec.Revision, over spec.Transport) *generate.Offer {
	o := &generate.Offer{Revision: rev, Transport: over, Declared: map[string]bool{}}
	for _, capability := range capabilities {
		o.Declared[capability] = v.Declares(capability)
	}
	for _, t := range first(v.Callable()) {
		support, _ := wire.Text(wire.At(t.Raw, "/execution/taskSupport"))
		o.Tools = append(o.Tools, generate.Tool{
			Name: t.Name, Input: wire.At(t.Raw, "/inputSchema"),
			Tasks: v.Declares("tasks.requests.tools.call") && (support == "optional" || support == "required"),
		})
	}
	o.Resources, o.Templates = first(v.Resources), first(v.Templates)
	for _, p := range first(v.PromptEntries) {
		one := generate.Prompt{Name: p.Name, Required: p.Required()}
		for _, a := range p.Arguments {
			one.Arguments = append(one.Arguments, a.Name)
		}
		o.Prompts = append(o.Prompts, one)
	}
	o.Prepare()
	return o
}

func first[T any](all []T) []T { return all[:min(len(all), mostNames)] }
