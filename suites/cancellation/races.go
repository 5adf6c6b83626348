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

// race is an order of messages: the steps of the client, the legal outcomes, and the summary for
// a server with an outcome that is not legal. Rules report servers that end, stop responding or
// respond twice.
type race struct {
	suite.Race
	requirement string // on the requests that are not cancelled
	unanswered  string // the summary if one of them gets no response
	ordered     bool   // the race shows something only if messages arrive in order
	// needsRunning is set if only a race of requests that are seen to run shows that the requirement
	// is kept.
	needsRunning bool
	steps        func(p *raceRun)
}

const dropsConcurrent = "The server drops a request when concurrent ones are cancelled."

// quickRaces returns the races for any server, because they need no slow tool.
func quickRaces() []race {
	return []race{
		{
			Race:        suite.Race{Name: "in the write that makes the request", Cancelled: suite.Any},
			requirement: raceHandled,
			steps: func(p *raceRun) {
				for range p.rounds {
					p.cancel(p.request())
					p.send()
				}
			},
		},
		{
			Race:        suite.Race{Name: "right after the request, which the server may not have read yet", Cancelled: suite.Any},
			requirement: raceHandled,
			steps: func(p *raceRun) {
				for range p.rounds {
					id := p.request()
					p.send()
					p.cancel(id)
					p.send()
				}
			},
		},
		{
			Race:        suite.Race{Name: "when the request was answered", Cancelled: suite.Answer},
			requirement: raceHandled,
			steps: func(p *raceRun) {
				for range p.rounds {
					id := p.request()
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
			steps: func(p *raceRun) {
				for range p.rounds {
					id := p.request()
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
			steps: func(p *raceRun) {
				for range p.rounds {
					id := p.c.NewID()
					p.cancel(id)
					p.requestWithID(id)
					p.send()
				}
			},
		},
		otherTypeRace(),
		mixedRace(most),
	}
}

// otherTypeRace cancels ids that differ from those of requests only in type, both with and
// without a concurrent request that has the cancelled id.
func otherTypeRace() race {
	return race{
		Race:         suite.Race{Name: "by an id of another type: a number as a string, and the other way round, with and without a concurrent request that has that id", Cancelled: suite.Any, Others: suite.Answer},
		requirement:  idType,
		unanswered:   "The server cancels a request by an id of another type.",
		needsRunning: true,
		steps: func(p *raceRun) {
			number, lookalike, both, too := p.c.NewID(), p.c.NewID(), p.c.NewID(), p.c.NewID()
			tries := []struct {
				asked  []wire.ID
				cancel wire.ID
			}{
				{[]wire.ID{number}, idAsString(number)},
				{[]wire.ID{idAsString(lookalike)}, lookalike},
				{[]wire.ID{both, idAsString(both)}, idAsString(both)},
				{[]wire.ID{too, idAsString(too)}, too},
			}
			for _, try := range tries {
				for _, id := range try.asked {
					p.requestWithID(id)
				}
				if !p.runs { // quick requests have to be cancelled at once
					p.cancel(try.cancel)
				}
			}
			p.request()
			p.send()
			if p.runs && p.awaitRunning() {
				for _, try := range tries {
					p.cancel(try.cancel)
				}
				p.send()
			}
		},
	}
}

// idAsString returns the id as a string.
func idAsString(id wire.ID) wire.ID { return wire.StringID(id.Raw()) }

// most is the maximum number of concurrent requests.
const most = 50

// halfRace sends at most n requests and, once the first is seen to run, cancels half of them, one
// of them twice. The half is drawn at random, with a fixed seed.
func halfRace(n int) race {
	return race{
		Race:        suite.Race{Name: "a half, drawn at random, of several requests that run, one of them twice", Cancelled: suite.Any, Others: suite.Answer},
		requirement: raceHandled,
		unanswered:  dropsConcurrent,
		steps: func(p *raceRun) {
			var ids []wire.ID
			for range p.concurrency(n) {
				ids = append(ids, p.request())
			}
			p.send()
			if !p.awaitRunning() {
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

// mixedRace sends up to n requests in one write and cancels about half of them, drawn at random
// with a fixed seed, each cancellation somewhere after its request.
func mixedRace(n int) race {
	r := halfRace(n)
	r.Name = "a half, drawn at random, of many requests, in the write that makes them"
	r.steps = func(p *raceRun) {
		var open []wire.ID
		for range p.concurrency(n) {
			open = append(open, p.request())
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

// noCapabilities are the capabilities of a client to which a server can't send requests. Many
// servers wait for the responses to their own requests before they exit.
var noCapabilities = map[string]any{}

// runQuickRaces runs the races one after the other, and ends by closing the server's input right
// after cancellations. The server is fresh, because some servers decide by the first requests which
// era the client uses.
func runQuickRaces(ctx context.Context, t *suite.T) {
	c := t.StartFresh(ctx, client.Options{Capabilities: noCapabilities})
	first := c
	for _, r := range quickRaces() {
		c = r.run(ctx, t, c, harmlessRequests(t, c))
	}
	t.AwaitQuiet(ctx, c)
	if c == first { // otherwise the server has already ended once
		closeAfterCancellations(ctx, t, c)
	}
}

// harmlessRequests returns alternating requests that the server answers: harmless ones, and
// requests for the list of shortListMethod if there is one.
func harmlessRequests(t *suite.T, c *client.Conversation) raceRequests {
	methods := []string{c.HarmlessMethod()}
	if method := shortListMethod(t); method != "" {
		methods = append(methods, method)
	}
	return raceRequests{makeFrame: func(id wire.ID, n int) []byte { return c.Request(id, methods[n%len(methods)], nil) }}
}

// longList is the size in bytes at which a list is too long to be requested repeatedly.
const longList = 32 << 10

// shortListMethod returns the method for the list of tools if that list is declared and shorter
// than longList. Otherwise it returns the method for the list of prompts, whatever its size, or ""
// if prompts are not declared.
func shortListMethod(t *suite.T) string {
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

// cancellationFrame returns the notification that cancels the request with the id.
func cancellationFrame(id wire.ID) []byte {
	return wire.NewNotification(spec.MethodCancelled, map[string]any{"requestId": json.RawMessage(id.Raw()), "reason": "the case wants to see what becomes of it"})
}
