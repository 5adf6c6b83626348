// Package roots checks what a server does that asks its client for roots: that
// it asks anew when they change, and copes with their absence.
package roots

import (
	"context"
	"errors"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	changeHandled      = "roots.change.handled"
	asksAgain          = "roots.change.asks-again"
	unavailableHandled = "roots.unavailable.handled"
)

// Cases returns the cases of this area.
func Cases() []suite.Case {
	return []suite.Case{
		{
			ID:           "roots.change",
			Title:        "Changes the roots, requests files outside of them, and returns no roots",
			Requirements: []string{changeHandled, asksAgain, unavailableHandled, withinRoots, pathsValidated},
			Provokes:     []string{"roots."},
			Waits:        true,
			Run:          changeRoots,
		},
	}
}

const (
	maxAskers = 2
	callTime  = 3 * time.Second
	// firstTime is how long a server has at most to ask for the roots unprompted
	// while other cases work, and againTime how long one that did so has when they
	// change once more.
	firstTime = time.Second
	againTime = 3 * time.Second
)

type object = map[string]any

// unavailable are the answers of a client whose roots are gone.
var unavailable = []struct {
	answer  func(m *wire.Message) []byte
	summary string
}{
	{
		func(m *wire.Message) []byte {
			return wire.NewError(m.ID, int64(spec.CodeInternal), "The roots can't be read", nil)
		},
		"The server fails if the client refuses roots/list.",
	},
	{
		func(m *wire.Message) []byte { return wire.NewResult(m.ID, object{"roots": []any{}}) },
		"The server fails if the client has no roots.",
	},
	{
		func(m *wire.Message) []byte {
			return wire.NewResult(m.ID, object{"roots": []any{object{"uri": "file:///mcp-conform/there/is/no/such/folder"}}})
		},
		"The server fails at a root that does not exist.",
	},
}

func changeRoots(ctx context.Context, t *suite.T) {
	caps := client.AllCapabilities(t.Revision)
	script := client.NewAnswers(caps)
	g, err := newRootFolders()
	if err == nil {
		defer g.remove()
		script.Set(spec.MethodRootsList, func(m *wire.Message) []byte { return wire.NewResult(m.ID, g.roots()) })
	}
	c := t.Start(ctx, client.Options{Capabilities: caps, Answer: script.Answer})
	keeps := requestsRoots(ctx, t, c)
	if !announceChange(ctx, t, c, keeps) {
		return
	}
	var tools []inventory.Tool
	if all := t.Inventory.Askers(inventory.AsksRoots); len(all) > 0 {
		tools = all[:min(len(all), maxAskers)]
	}
	took := callTools(ctx, c, tools)
	for _, tool := range tools {
		if took[tool.Name] > 0 && !judgeRememberedRoots(ctx, t, c, tool) {
			return
		}
	}
	checkBoundaries(ctx, t, c, g)
	for _, u := range unavailable {
		script.Set(spec.MethodRootsList, u.answer)
		if keeps && !removeRoots(ctx, t, c, u.summary) {
			return
		}
		for _, tool := range tools {
			if limit := took[tool.Name]; limit > 0 && !removeRootsDuringCall(ctx, t, c, tool, limit, u.summary) {
				return
			}
		}
	}
}

// requestsRoots reports whether the server asks for the roots by itself, as one
// does that keeps them. Beyond what absence takes to be believed it is waited
// for that only as long as others work anyway.
func requestsRoots(ctx context.Context, t *suite.T, c *client.Conversation) bool {
	if c.Fence(ctx) != nil {
		return false
	}
	defer c.BeginIdle()()
	if awaitRootsRequest(ctx, c, 0, c.Grace()) {
		return true
	}
	if t.Idle == nil {
		return false
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-t.Idle:
			cancel()
		case <-ctx.Done():
		}
	}()
	return awaitRootsRequest(ctx, c, 0, firstTime)
}

// awaitRootsRequest reports whether the server asks for the roots at position from or later.
func awaitRootsRequest(ctx context.Context, c *client.Conversation, from int, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, err := c.Await(ctx, from, isRootsList)
	return err == nil
}

func isRootsList(e *transcript.Event) bool {
	return e.Kind == transcript.Received && suite.HasMessage(e, func(m *wire.Message) bool {
		return m.Kind == wire.Request && m.Method == spec.MethodRootsList
	})
}

// announceChange says that the roots changed, and reports whether the server is there
// afterwards.
func announceChange(ctx context.Context, t *suite.T, c *client.Conversation, keeps bool) bool {
	from := c.Record.Len()
	if err := c.Notify(ctx, spec.MethodRootsChanged, nil); err != nil {
		return false
	}
	sent := 0
	for _, e := range c.Record.From(from) {
		if e.Kind == transcript.Sent && len(e.Messages()) > 0 && e.Messages()[0].Method == spec.MethodRootsChanged {
			sent = e.Seq
		}
	}
	d := verdict.Deviation{
		Requirement: changeHandled,
		Summary:     "The server fails when the roots change.",
		Permitted:   "no response, and a server that continues",
		Seen:        "no answer to what was asked afterwards",
		At:          []int{sent},
	}
	switch err := c.Fence(ctx); {
	case err == nil:
		t.Kept(changeHandled)
	case errors.Is(err, client.ErrEnded):
		d.Seen = "the server ended"
		t.Deviates(c, d)
		return false
	case errors.Is(err, client.ErrUnanswered): // it answered before
		t.Deviates(c, d)
		return false
	default:
		return false
	}
	if !keeps {
		t.NotObserved(asksAgain, "the server did not ask for the roots by itself before")
		return true
	}
	if awaitRootsRequest(ctx, c, from, c.Grace()) {
		t.Kept(asksAgain)
		return true
	}
	if err := c.Quiet(ctx); err != nil {
		return false
	}
	if awaitRootsRequest(ctx, c, from, time.Millisecond) {
		t.Kept(asksAgain)
		return true
	}
	t.Deviates(c, verdict.Deviation{
		Requirement: asksAgain,
		// It may know that what it has is out of date, and ask when it needs the
		// roots next, of which nothing is to be seen here.
		Weight:    verdict.OnlyNote,
		Summary:   "The server does not request the roots again after they change.",
		Permitted: "roots/list after notifications/roots/list_changed",
		Seen:      "no roots/list",
		At:        []int{sent},
	})
	return true
}

// removeRoots says that the roots changed, to have the server ask for what is no
// more there, and reports whether it survives that.
func removeRoots(ctx context.Context, t *suite.T, c *client.Conversation, summary string) bool {
	from := c.Record.Len()
	if err := c.Notify(ctx, spec.MethodRootsChanged, nil); err != nil || !awaitRootsRequest(ctx, c, from, againTime) {
		return err == nil
	}
	awaitReply(ctx, c, from) // else the fence could be read before the answer
	switch err := c.Fence(ctx); {
	case err == nil:
		t.Kept(unavailableHandled)
		return true
	case errors.Is(err, client.ErrEnded):
		return reportUnresponsive(t, c, from, "the server ended", summary)
	case errors.Is(err, client.ErrUnanswered):
		return reportUnresponsive(t, c, from, "the server answers nothing any more", summary)
	default:
		return false
	}
}

// awaitReply waits until the server's question at position from or later is answered.
func awaitReply(ctx context.Context, c *client.Conversation, from int) {
	ctx, cancel := context.WithTimeout(ctx, againTime)
	defer cancel()
	_, _ = c.Await(ctx, from, func(e *transcript.Event) bool {
		return e.Kind == transcript.Sent && suite.HasMessage(e, func(m *wire.Message) bool { return m.Kind == wire.Response })
	})
}

// callTools calls each tool once as it should go, and returns what it gets when
// the roots are gone: nothing where it does not ask for them.
func callTools(ctx context.Context, c *client.Conversation, tools []inventory.Tool) map[string]time.Duration {
	limits := map[string]time.Duration{}
	for _, tool := range tools {
		if n := suite.Call(ctx, c, tool, callTime); n != nil && n.Answered() && n.HasRequest(spec.MethodRootsList) {
			limits[tool.Name] = max(5*time.Second, 20*n.Took)
		}
	}
	return limits
}

// judgeRememberedRoots calls a tool again that asked for the roots. Where it has them from
// before, it is told that they changed and called once more: what it has is out
// of date. It reports whether others may follow.
func judgeRememberedRoots(ctx context.Context, t *suite.T, c *client.Conversation, tool inventory.Tool) bool {
	n := suite.Call(ctx, c, tool, callTime)
	if !n.Answered() || n.Failed() || n.HasRequest(spec.MethodRootsList) {
		return n.Answered()
	}
	from := c.Record.Len()
	if c.Notify(ctx, spec.MethodRootsChanged, nil) != nil || c.Fence(ctx) != nil {
		return false
	}
	again := suite.Call(ctx, c, tool, callTime)
	switch {
	case awaitRootsRequest(ctx, c, from, c.Grace()):
		t.Kept(asksAgain)
	case again.Answered() && !again.Failed() && c.Quiet(ctx) == nil && !awaitRootsRequest(ctx, c, from, time.Millisecond):
		t.Deviates(c, verdict.Deviation{
			Requirement: asksAgain,
			Summary:     "The server's tool uses the old roots after they change.",
			Permitted:   "roots/list after notifications/roots/list_changed, at least before the roots are used",
			Seen:        "the call of " + wire.Excerpt(tool.Name, 60) + " asks for them the first time, and not after the change",
			At:          transcript.Positions(n.Sent, again.Sent, again.Event),
		})
	}
	return again.Answered()
}

// removeRootsDuringCall calls a tool that asks for the roots.
func removeRootsDuringCall(ctx context.Context, t *suite.T, c *client.Conversation, tool inventory.Tool, limit time.Duration, summary string) bool {
	from := c.Record.Len()
	n := suite.Call(ctx, c, tool, limit)
	if !n.HasRequest(spec.MethodRootsList) {
		return n.Answered()
	}
	err := c.Fence(ctx)
	switch {
	case n.Answered() && err == nil:
		t.Kept(unavailableHandled)
		return true
	case errors.Is(n.Err, client.ErrUnanswered) && err == nil, errors.Is(n.Err, client.ErrEnded), errors.Is(err, client.ErrEnded):
		return reportUnresponsive(t, c, from, suite.Describe(n.Reply), summary)
	default:
		return false
	}
}

func reportUnresponsive(t *suite.T, c *client.Conversation, from int, seen, summary string) bool {
	t.Deviates(c, verdict.Deviation{
		Requirement: unavailableHandled,
		Summary:     summary,
		Permitted:   "a response to the original request, and a server that continues",
		Seen:        seen,
		At:          []int{from},
	})
	return false
}
