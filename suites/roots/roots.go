// Package roots checks a server that requests its client's roots: whether it requests them again
// after a change, and whether it handles their absence.
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
			ID:            "roots.change",
			Title:         "Changes the roots, requests files outside of them, and returns no roots",
			Requirements:  []string{changeHandled, asksAgain, unavailableHandled, withinRoots, pathsValidated},
			Provokes:      []string{"roots."},
			Waits:         true,
			SpoilsSession: true,
			Run:           changeRoots,
		},
	}
}

const (
	maxAskers = 2
	callTime  = 3 * time.Second
	// firstTime is the maximum time for a server to request the roots unprompted, while other cases
	// run. againTime is the time for such a server to request them after another change.
	firstTime = time.Second
	againTime = 3 * time.Second
)

type object = map[string]any

// unavailable are the responses of a client whose roots are gone.
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
	tools := t.Inventory.AskingTools(inventory.AsksRoots)
	tools = tools[:min(len(tools), maxAskers)]
	isStateless := t.Revision.Era() == spec.Stateless // nothing announces changes, and no server requests the roots by itself
	if isStateless && len(tools) == 0 {
		reportNotApplicable(t, "mcp-conform knows no tool that requests the roots")
		return
	}
	caps := client.AllCapabilities(t.Revision)
	script := client.NewAnswers(caps)
	g, err := newRootFolders()
	if err == nil {
		defer g.remove()
		script.Set(spec.MethodRootsList, func(m *wire.Message) []byte { return wire.NewResult(m.ID, g.roots()) })
	}
	o := client.Options{Capabilities: caps, Answer: script.Answer}
	var c *client.Conversation
	unprompted := false
	if isStateless {
		c = t.Start(ctx, o)
	} else {
		c = t.StartFresh(ctx, o)
		if unprompted = awaitUnpromptedRequest(ctx, t, c); !announceChange(ctx, t, c, unprompted) {
			return
		}
	}
	limits := callTools(ctx, c, tools)
	for _, tool := range tools {
		if limits[tool.Name] > 0 && !isStateless && !judgeRememberedRoots(ctx, t, c, tool) {
			return
		}
	}
	checkBoundaries(ctx, t, c, g)
	for _, u := range unavailable {
		script.Set(spec.MethodRootsList, u.answer)
		if unprompted && !removeRoots(ctx, t, c, u.summary) {
			return
		}
		for _, tool := range tools {
			if limit := limits[tool.Name]; limit > 0 && !removeRootsDuringCall(ctx, t, c, tool, limit, u.summary) {
				return
			}
		}
	}
}

// awaitUnpromptedRequest reports whether the server requests the roots unprompted, as servers that
// cache them do. After the grace it waits only while other cases run anyway.
func awaitUnpromptedRequest(ctx context.Context, t *suite.T, c *client.Conversation) bool {
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

// awaitRootsRequest reports whether the server requests the roots at or after the given position.
func awaitRootsRequest(ctx context.Context, c *client.Conversation, from int, limit time.Duration) bool {
	_, err := c.Await(ctx, from, isRootsList, client.Within(limit))
	return err == nil
}

func isRootsList(e *transcript.Event) bool {
	return e.Kind == transcript.Received && suite.HasMessage(e, func(m *wire.Message) bool {
		return m.Kind == wire.Request && m.Method == spec.MethodRootsList
	})
}

// announceChange announces changed roots, and reports whether the case can continue. unprompted is
// set if the server has requested the roots by itself before, so that it should request them again.
func announceChange(ctx context.Context, t *suite.T, c *client.Conversation, unprompted bool) bool {
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
		Seen:        "no response to later requests",
		At:          []int{sent},
	}
	switch err := c.Fence(ctx); {
	case err == nil:
		t.MarkKept(changeHandled)
	case errors.Is(err, client.ErrEnded):
		d.Seen = "the server ended"
		t.Report(c, d)
		return false
	case errors.Is(err, client.ErrUnanswered): // although it answered earlier requests
		t.Report(c, d)
		return false
	default:
		return false
	}
	if !unprompted {
		t.MarkNotObserved(asksAgain, "the server had not requested the roots by itself before")
		return true
	}
	if awaitRootsRequest(ctx, c, from, c.Grace()) {
		t.MarkKept(asksAgain)
		return true
	}
	if err := c.AwaitQuiet(ctx); err != nil {
		return false
	}
	if awaitRootsRequest(ctx, c, from, time.Millisecond) {
		t.MarkKept(asksAgain)
		return true
	}
	t.Report(c, verdict.Deviation{
		Requirement: asksAgain,
		// The server may know that its roots are outdated, and request them when it next needs
		// them, which is not visible here.
		Weight:    verdict.OnlyNote,
		Summary:   "The server does not request the roots again after they change.",
		Permitted: "roots/list after notifications/roots/list_changed",
		Seen:      "no roots/list",
		At:        []int{sent},
	})
	return true
}

// removeRoots announces changed roots, so that the server requests roots that are gone. It reports
// whether the case can continue: the server survived the response, or requested no roots.
func removeRoots(ctx context.Context, t *suite.T, c *client.Conversation, summary string) bool {
	from := c.Record.Len()
	if err := c.Notify(ctx, spec.MethodRootsChanged, nil); err != nil || !awaitRootsRequest(ctx, c, from, againTime) {
		return err == nil
	}
	awaitReply(ctx, c, from) // otherwise the server could read the fence before the response
	switch err := c.Fence(ctx); {
	case err == nil:
		t.MarkKept(unavailableHandled)
		return true
	case errors.Is(err, client.ErrEnded):
		return reportUnresponsive(t, c, from, "the server ended", summary)
	case errors.Is(err, client.ErrUnanswered):
		return reportUnresponsive(t, c, from, "the server no longer answers", summary)
	default:
		return false
	}
}

// awaitReply waits until the client has sent a response at or after the given position.
func awaitReply(ctx context.Context, c *client.Conversation, from int) {
	_, _ = c.Await(ctx, from, func(e *transcript.Event) bool {
		return e.Kind == transcript.Sent && suite.HasMessage(e, func(m *wire.Message) bool { return m.Kind == wire.Response })
	}, client.Within(againTime))
}

// callTools calls each tool once while the roots are available. For each tool that requests the
// roots, it returns the time limit for a call without them.
func callTools(ctx context.Context, c *client.Conversation, tools []inventory.Tool) map[string]time.Duration {
	limits := map[string]time.Duration{}
	for _, tool := range tools {
		if n := suite.Call(ctx, c, tool, callTime); n != nil && n.Answered() && n.HasRequest(spec.MethodRootsList) {
			limits[tool.Name] = max(5*time.Second, 20*n.Took)
		}
	}
	return limits
}

// judgeRememberedRoots calls a tool that requested the roots in an earlier call. If the tool now
// uses cached roots, the client announces a change, after which the cached roots are outdated,
// and calls the tool once more. judgeRememberedRoots reports whether more calls may follow.
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
		t.MarkKept(asksAgain)
	case again.Answered() && !again.Failed() && c.AwaitQuiet(ctx) == nil && !awaitRootsRequest(ctx, c, from, time.Millisecond):
		t.Report(c, verdict.Deviation{
			Requirement: asksAgain,
			Summary:     "The server's tool uses the old roots after they change.",
			Permitted:   "roots/list after notifications/roots/list_changed, at least before the roots are used",
			Seen:        "the call of " + wire.Excerpt(tool.Name, 60) + " makes the server request the roots the first time, but not after the change",
			At:          transcript.Positions(n.Sent, again.Sent, again.Event),
		})
	}
	return again.Answered()
}

// removeRootsDuringCall calls a tool that requests roots that are gone, and reports whether the
// case can continue.
func removeRootsDuringCall(ctx context.Context, t *suite.T, c *client.Conversation, tool inventory.Tool, limit time.Duration, summary string) bool {
	from := c.Record.Len()
	n := suite.Call(ctx, c, tool, limit)
	if !n.HasRequest(spec.MethodRootsList) {
		return n.Answered()
	}
	err := c.Fence(ctx)
	switch {
	case n.Answered() && err == nil:
		t.MarkKept(unavailableHandled)
		return true
	case errors.Is(n.Err, client.ErrUnanswered) && err == nil, errors.Is(n.Err, client.ErrEnded), errors.Is(err, client.ErrEnded):
		return reportUnresponsive(t, c, from, suite.Describe(n.Reply), summary)
	default:
		return false
	}
}

func reportUnresponsive(t *suite.T, c *client.Conversation, from int, seen, summary string) bool {
	t.Report(c, verdict.Deviation{
		Requirement: unavailableHandled,
		Summary:     summary,
		Permitted:   "a response to the original request, and a server that continues",
		Seen:        seen,
		At:          []int{from},
	})
	return false
}
