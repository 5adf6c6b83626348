package tasks

import (
	"context"
	"errors"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	disconnectTolerated = "tasks.disconnect-tolerated"
	noListForAll        = "tasks.no-list-without-identity"
)

func httpCase() suite.Case {
	return suite.Case{
		ID:           "tasks.over-http",
		Title:        "Breaks the connection while waiting for a task's result, and lists tasks in another session",
		Requirements: []string{disconnectTolerated, noListForAll},
		Provokes:     []string{"tasks.no-sse-for-get"},
		Needs:        []string{toolCalls},
		OnlyOver:     spec.StreamableHTTP,
		Run: func(ctx context.Context, t *suite.T) {
			call, ok := findSlowTask(t)
			if !ok {
				t.Skip("no tool that is known to be slow may be called as a task")
			}
			r := startRunner(ctx, t)
			ids := r.create(ctx, asTask(call, "left", object{"ttl": ttl}), asTask(call, "stayed-with", object{"ttl": ttl}))
			if len(ids) < 2 {
				t.GiveUp("the server did not run the call as a task")
			}
			r.getStatus(ctx, ids[0])
			stream := r.disconnect(ctx, t, ids[0])
			listInNewSession(ctx, t, ids)
			r.requestAgain(ctx, t, stream, ids)
		},
	}
}

// disconnect requests the result of a running task, and closes the connection after the server
// has read the request.
func (r *runner) disconnect(ctx context.Context, t *suite.T, id string) *suite.Stream {
	stream := t.Web(r.c).Begin(suite.WebRequest{Body: r.c.Request(r.c.NewID(), spec.MethodTasksResult, object{"taskId": id})})
	t.Fence(ctx, r.c)
	stream.Drop()
	return stream
}

// requestAgain requests the result of the abandoned task ids[0] again, and compares the response
// with that for the task ids[1], for which no connection broke. left is the exchange that broke.
func (r *runner) requestAgain(ctx context.Context, t *suite.T, left *suite.Stream, ids []string) {
	stayed := r.request(ctx, spec.MethodTasksResult, ids[1])
	again := r.request(ctx, spec.MethodTasksResult, ids[0])
	r.getStatus(ctx, ids[0])
	x := left.Exchange()
	switch {
	case x == nil || len(x.Messages()) > 0:
		t.GiveUp("the task was over before the connection could be broken")
	case !stayed.Succeeded():
		t.GiveUp("the server does not return the result of a task whose connection did not break, either")
	case again.Succeeded():
		t.MarkKept(disconnectTolerated)
	case again.Answered(), errors.Is(again.Err, client.ErrUnanswered) && r.c.Fence(ctx) == nil:
		t.Report(r.c, verdict.Deviation{
			Requirement: disconnectTolerated,
			Summary:     "The server loses a task's result when a waiting connection breaks.",
			Permitted:   "the result, as without a broken connection",
			Seen:        suite.Describe(again),
			At:          append(suite.PositionsOf(x), transcript.Positions(again.Sent, again.Event)...),
		})
	}
}

// listInNewSession lists tasks in a new session, which has no tasks of its own; others are the ids
// of tasks of another session.
func listInNewSession(ctx context.Context, t *suite.T, others []string) {
	if !t.Inventory.Declares("tasks.list") {
		t.MarkNotApplicable(noListForAll, "the server does not declare tasks.list")
		return
	}
	c := t.Open(ctx, client.Options{})
	if name := suite.IdentifyingHeader(c); name != "" {
		t.MarkNotObserved(noListForAll, "the server may recognize its client by the header "+name)
		return
	}
	if c.Handshake(ctx) != nil {
		t.MarkNotObserved(noListForAll, "mcp-conform could not open a second session")
		return
	}
	inventory.Walk(ctx, c, spec.MethodTasksList, "tasks", maxPages)
	answered := false
	for e, m := range transcript.Messages(c.Record.From(0), transcript.Received) {
		tasks := m.ResultAt("/tasks")
		answered = answered || tasks.Kind() == '['
		for _, task := range wire.Elements(tasks) {
			if id, _ := wire.Text(wire.At(task, "/taskId")); slices.Contains(others, id) {
				t.Report(c, verdict.Deviation{
					Requirement: noListForAll,
					Summary:     "The server lists tasks to clients that it cannot distinguish.",
					Permitted:   "tasks.list not declared, or only the tasks of the session listed",
					Seen:        "the task " + wire.Excerpt(id, 80) + " of another session",
					At:          []int{e.Seq},
				})
				return
			}
		}
	}
	if answered {
		t.MarkKept(noListForAll)
	}
}
