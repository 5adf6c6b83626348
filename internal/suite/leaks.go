package suite

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A provocation is a call after which the server sends messages of a method to
// the client that made the call, and to no other.
type provocation struct {
	call    inventory.KnownCall
	method  string
	summary string
}

func (c *ConcurrentClients) provocations() []provocation {
	var out []provocation
	add := func(call inventory.KnownCall, ok bool, method, summary string) {
		if ok {
			out = append(out, provocation{call, method, summary})
		}
	}
	logging, ok := c.t.Inventory.LoggingCall()
	add(logging, ok, spec.MethodMessage, "The server sends a client the log messages of another's call.")
	for _, method := range []string{spec.MethodSampling, spec.MethodElicit, spec.MethodRootsList} {
		asking, ok := c.t.Inventory.AskingCallFor(method)
		add(asking, ok, method, "The server asks one client about another client's call.")
	}
	return out
}

// controlFactor is how many times longer the listeners listen without the calls than with them.
// Otherwise messages that the server sends to all clients now and then would often arrive only
// during the calls.
const controlFactor = 3

// checkLeaks makes calls, as the first client, after which the server sends messages to this
// client. The other clients only listen. A message to a listener is a leak if it comes in two
// rounds with the calls and in neither of two rounds without them, because a server may also send
// all clients messages that concern no single client.
func (c *ConcurrentClients) checkLeaks(ctx context.Context) {
	all := c.provocations()
	if c.Isolation == "" || len(all) == 0 {
		return
	}
	began := time.Now()
	suspects, ok := c.listenDuring(ctx, c.callAsFirst, all...)
	control := controlFactor * time.Since(began)
	if !ok {
		return
	}
	for _, s := range suspects {
		seen := s
		for _, withCalls := range []bool{false, true, false} {
			act := c.callAsFirst
			if !withCalls {
				act = func(ctx context.Context, _ provocation) { c.First().Pause(ctx, control) }
			}
			again, ok := c.listenDuring(ctx, act, s.provocation)
			if !ok || withCalls != (len(again) > 0) {
				seen.event = nil
				break
			}
			if withCalls {
				seen = again[0]
			}
		}
		if seen.event != nil {
			c.reportLeak(seen.client, seen.event, s.provocation.summary)
			return
		}
	}
}

// An overheardMessage is a message that a listener received and that has the method of a
// provocation.
type overheardMessage struct {
	provocation provocation
	client      *client.Conversation
	event       *transcript.Event
}

// callAsFirst makes the call of a provocation as the first client.
func (c *ConcurrentClients) callAsFirst(ctx context.Context, p provocation) {
	c.First().Do(ctx, spec.MethodToolsCall, p.call.Params(), client.Within(crowdTime))
}

// listenDuring runs the function act for each provocation. It returns what the listeners received
// until all were quiet: for each provocation at most one message with its method. ok is false if
// a listener could not be shown to be quiet.
func (c *ConcurrentClients) listenDuring(ctx context.Context, act func(context.Context, provocation), all ...provocation) (heard []overheardMessage, ok bool) {
	listeners := c.convs[1:]
	from := make([]int, len(listeners))
	for i, l := range listeners {
		from[i] = l.Record.Len()
	}
	for _, p := range all {
		act(ctx, p)
	}
	silent := make([]bool, len(c.convs))
	c.forEach(func(i int, conv *client.Conversation) { silent[i] = i == 0 || conv.AwaitQuiet(ctx) == nil })
	for _, p := range all {
		for i, l := range listeners {
			if e := firstWithMethod(l.Record.From(from[i]), p.method); e != nil {
				heard = append(heard, overheardMessage{p, l, e})
				break
			}
		}
	}
	return heard, !slices.Contains(silent, false)
}

// firstWithMethod returns the first event in which a message with the method was received, or nil.
func firstWithMethod(events []*transcript.Event, method string) *transcript.Event {
	for e, m := range transcript.Messages(events, transcript.Received) {
		if m.Method == method {
			return e
		}
	}
	return nil
}

// logLevelRounds is how many times the second client sets each of two log levels. Messages that a
// server logs for all clients come and go by themselves. If they follow the second client's level
// in every round, that is no coincidence.
const logLevelRounds = 5

// checkLogLevels changes the log level of the second client repeatedly, while the first client
// keeps its own. It checks whether that changes the levels of the messages that the first client
// receives.
func (c *ConcurrentClients) checkLogLevels(ctx context.Context) {
	first, second := c.First(), c.convs[1]
	if c.Isolation == "" || !first.Server().Declares("logging") {
		return
	}
	tool, ok := c.findLoggingCall(ctx)
	if !ok || !setLevel(ctx, first, "error") {
		return
	}
	levels := map[string]string{} // what the first client received, by the level of the second
	var last *transcript.Event
	for round := range logLevelRounds {
		for _, level := range []string{highestLevel, "debug"} {
			if !setLevel(ctx, second, level) || first.Fence(ctx) != nil {
				return
			}
			from := first.Record.Len()
			if !first.Do(ctx, spec.MethodToolsCall, tool.Params(), client.Within(crowdTime)).Succeeded() || first.Fence(ctx) != nil {
				return
			}
			received, e := logLevels(first.Record.From(from))
			if round > 0 && received != levels[level] {
				return
			}
			levels[level] = received
			if e != nil {
				last = e
			}
		}
		if levels[highestLevel] == levels["debug"] {
			return
		}
	}
	c.reportLeak(first, last, "The server applies one client's log level to another.")
}

const (
	maxLoggerTries = 5 // the number of calls to try
	loggerTimeout  = time.Second
)

// findLoggingCall returns a call that sends log messages: a call that is known to send them, or a
// call without arguments that sends them when it is tried after the first client has set the level
// debug.
func (c *ConcurrentClients) findLoggingCall(ctx context.Context) (inventory.KnownCall, bool) {
	if k, ok := c.t.Inventory.LoggingCall(); ok {
		return k, true
	}
	if !setLevel(ctx, c.First(), "debug") {
		return inventory.KnownCall{}, false
	}
	for _, k := range c.t.Inventory.CallsWithoutArguments(maxLoggerTries) {
		from := c.First().Record.Len()
		if !c.First().Do(ctx, spec.MethodToolsCall, k.Params(), client.Within(loggerTimeout)).Succeeded() || c.First().Fence(ctx) != nil {
			continue
		}
		if firstWithMethod(c.First().Record.From(from), spec.MethodMessage) != nil {
			return k, true
		}
	}
	return inventory.KnownCall{}, false
}

func setLevel(ctx context.Context, conv *client.Conversation, level string) bool {
	return conv.Do(ctx, spec.MethodSetLevel, map[string]any{"level": level}, client.Within(0)).Succeeded()
}

// highestLevel is the most severe log level: a server sends its messages whatever level the client
// has set.
const highestLevel = "emergency"

// logLevels returns the distinct levels of the log messages among the events, sorted and
// separated by spaces, and the event of the last of these messages. It ignores messages of
// highestLevel.
func logLevels(events []*transcript.Event) (levels string, last *transcript.Event) {
	var all []string
	for e, m := range transcript.Messages(events, transcript.Received) {
		if m.Method != spec.MethodMessage {
			continue
		}
		if level, _ := wire.Text(wire.At(m.Params(), "/level")); level != highestLevel {
			all, last = append(all, level), e
		}
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), " "), last
}

// checkLeaving ends the session of the first client. The sessions of the other clients must
// continue.
func (c *ConcurrentClients) checkLeaving(ctx context.Context) {
	served := make([]bool, len(c.convs))
	c.forEach(func(i int, conv *client.Conversation) {
		served[i] = i > 0 && conv.Do(ctx, conv.HarmlessMethod(), nil, client.Within(0)).Succeeded()
	})
	c.First().Close()
	c.forEach(func(i int, conv *client.Conversation) {
		if !served[i] {
			return
		}
		r := conv.Do(ctx, conv.HarmlessMethod(), nil)
		if r.Succeeded() || ctx.Err() != nil || isIntercepted(conv) {
			return
		}
		requirement := c.Isolation
		if requirement == "" {
			requirement = c.MultipleClients
		}
		at := r.Positions()
		if all := transcript.ExchangesOf(conv.Record.From(0)).All(); len(at) == 0 && len(all) > 0 {
			at = PositionsOf(all[len(all)-1])
		}
		// T.Report is not used here, because it would record that the session had ended, and a
		// deviation after the end of a session may be discounted. Here another client caused the
		// end.
		c.t.add(Observation{Requirement: requirement, Outcome: verdict.Note, Record: conv.Record, Deviation: &verdict.Deviation{
			Requirement: requirement,
			Summary:     "The server stops serving a client when another one leaves.",
			Permitted:   "independent sessions: this client was served until the other one ended its session",
			Seen:        Describe(r), At: at,
		}})
	})
}
