package cancellation

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// race is one order of messages: what the client does, the legal outcomes, and
// what is said of a server where something else does. That a server ends, falls
// silent, or answers twice, the rules say.
type race struct {
	suite.Race
	requirement string // of the requests that are not cancelled
	unanswered  string // the sentence on one that has no answer
	ordered     bool   // it says something only where messages arrive in their order
	play        func(p *play)
}

const neighbour = "The server drops a request when concurrent ones are cancelled."

// quick are the races that any server can be tried in, for they need nothing
// that takes time.
func quick() []race {
	return []race{
		{
			Race:        suite.Race{Name: "in the write that makes the request", Cancelled: suite.Any},
			requirement: raceHandled,
			play: func(p *play) {
				for range p.rounds {
					p.cancel(p.ask())
					p.send()
				}
			},
		},
		{
			Race:        suite.Race{Name: "right behind the request, which the server may not have read yet", Cancelled: suite.Any},
			requirement: raceHandled,
			play: func(p *play) {
				for range p.rounds {
					id := p.ask()
					p.send()
					p.cancel(id)
					p.send()
				}
			},
		},
		{
			Race:        suite.Race{Name: "when the request was answered", Cancelled: suite.Answer},
			requirement: raceHandled,
			play: func(p *play) {
				for range p.rounds {
					id := p.ask()
					p.send()
					if p.await(id) {
						p.cancel(id)
						p.send()
					}
				}
			},
		},
		{
			Race:        suite.Race{Name: "twice in one write, and once more", Cancelled: suite.Any},
			requirement: raceHandled,
			play: func(p *play) {
				for range p.rounds {
					id := p.ask()
					p.cancel(id)
					p.cancel(id)
					p.send()
					p.cancel(id)
					p.send()
				}
			},
		},
		{
			Race:        suite.Race{Name: "ahead of the request with this id (on stdio), which no client may do", Others: suite.Answer, ClientForbidden: true},
			requirement: unknownIgnored,
			unanswered:  "The server drops a request whose id was cancelled before.",
			ordered:     true,
			play: func(p *play) {
				for range p.rounds {
					id := p.c.NewID()
					p.cancel(id)
					p.askAs(id)
					p.send()
				}
			},
		},
		otherTypes(),
		mixed(most),
	}
}

// otherTypes cancels ids that differ from those of requests by their type
// alone: where there is no such request, and where there is one beside it.
func otherTypes() race {
	return race{
		Race:        suite.Race{Name: "by an id of another type: a number as a string, and the other way round, with and without a request of that id beside it", Cancelled: suite.Any, Others: suite.Answer},
		requirement: idType,
		unanswered:  "The server cancels a request by an id of another type.",
		play: func(p *play) {
			number, lookalike, both, too := p.c.NewID(), p.c.NewID(), p.c.NewID(), p.c.NewID()
			tries := []struct {
				asked  []wire.ID
				cancel wire.ID
			}{
				{[]wire.ID{number}, text(number)},
				{[]wire.ID{text(lookalike)}, lookalike},
				{[]wire.ID{both, text(both)}, text(both)},
				{[]wire.ID{too, text(too)}, too},
			}
			for _, try := range tries {
				for _, id := range try.asked {
					p.askAs(id)
				}
				if !p.runs { // what ends at once has to be cancelled at once
					p.cancel(try.cancel)
				}
			}
			p.ask()
			p.send()
			if p.runs && p.under() {
				for _, try := range tries {
					p.cancel(try.cancel)
				}
				p.send()
			}
		},
	}
}

// text returns the id as a string.
func text(id wire.ID) wire.ID { return wire.StringID(id.Raw()) }

// most is how many requests are in flight at once.
const most = 50

// half has n requests run, of which it cancels a half that is drawn at random,
// and the same in every run, one of them twice.
func half(n int) race {
	return race{
		Race:        suite.Race{Name: "a half, drawn at random, of several requests that run, one of them twice", Cancelled: suite.Any, Others: suite.Answer},
		requirement: raceHandled,
		unanswered:  neighbour,
		play: func(p *play) {
			var ids []wire.ID
			for range p.crowd(n) {
				ids = append(ids, p.ask())
			}
			p.send()
			if !p.under() {
				return
			}
			p.random.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
			for _, id := range ids[:len(ids)/2] {
				p.cancel(id)
			}
			p.cancel(ids[0])
			p.send()
		},
	}
}

// mixed cancels a half of up to n requests that are made in one write, each
// cancellation somewhere behind its request.
func mixed(n int) race {
	r := half(n)
	r.Name = "a half, drawn at random, of many requests, in the write that makes them"
	r.play = func(p *play) {
		var open []wire.ID
		for range p.crowd(n) {
			open = append(open, p.ask())
			if p.random.IntN(2) == 0 {
				at := p.random.IntN(len(open))
				p.cancel(open[at])
				open = slices.Delete(open, at, at+1)
			}
		}
		p.send()
	}
	return r
}

// nothing are the capabilities of a client that a server can't ask anything:
// many servers wait for the answer to a request of their own before they exit.
var nothing = map[string]any{}

// races plays them one after the other, and ends by closing the server's input
// right behind cancellations.
func races(ctx context.Context, t *suite.T) {
	c := t.Start(ctx, client.Options{Capabilities: nothing})
	first := c
	for _, r := range quick() {
		c = r.try(ctx, t, c, anything(t, c))
	}
	t.Quiet(ctx, c)
	if c == first { // else one that ended stands for it already
		shutdown(ctx, t, c)
	}
}

// anything makes requests that every server answers, in turn: pings, and those
// for a list if there is one that is not long.
func anything(t *suite.T, c *client.Conversation) asking {
	methods := []string{c.HarmlessMethod()}
	if method := list(t); method != "" {
		methods = append(methods, method)
	}
	return func(id wire.ID, n int) []byte { return c.Request(id, methods[n%len(methods)], nil) }
}

// longList is the size, in bytes, from which on a list is not asked for often.
const longList = 32 << 10

func list(t *suite.T) string {
	size := 0
	for _, tool := range t.Inventory.Tools {
		size += len(tool.Raw)
	}
	switch {
	case t.Inventory.Declares("tools") && size < longList:
		return spec.MethodToolsList
	case t.Inventory.Declares("prompts"):
		return spec.MethodPromptsList
	default:
		return ""
	}
}

// cancellation is the notification that cancels the request with the id.
func cancellation(id wire.ID) []byte {
	return wire.NewNotification(spec.MethodCancelled, map[string]any{"requestId": json.RawMessage(id.Raw()), "reason": "the case wants to see what becomes of it"})
}
