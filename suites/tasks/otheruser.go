package tasks

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// useForeignTasks requests tasks of the first user as a second user, who has a session of their
// own.
func useForeignTasks(ctx context.Context, t *suite.T) {
	run, _, _, _ := toolsByTaskSupport(t)
	if len(run) == 0 {
		t.GiveUp("no tool that may be called runs as a task")
	}
	r := startRunner(ctx, t)
	u := t.OtherUser(ctx, r.c)
	defer u.Leave(ctx)
	ids := r.create(ctx, asTask(run[0], "ended", object{"ttl": ttl}))
	if len(ids) == 0 || !r.request(ctx, spec.MethodTasksGet, ids[0]).Succeeded() {
		t.GiveUp("the server shows the first user no task")
	}
	r.c.Do(ctx, spec.MethodTasksResult, object{"taskId": ids[0]}, client.Within(allTime)) // by then, the task has ended
	request := func(method, id string) *suite.OutsideResponse {
		return u.Post(ctx, r.c.Request(r.c.NewID(), method, object{"taskId": id}))
	}
	deviates := func(requirement, summary, permitted string, a *suite.OutsideResponse) {
		t.Report(r.c, verdict.Deviation{Requirement: requirement, Summary: summary, Permitted: permitted, Seen: a.About + " got " + a.Describe(), At: []int{a.At}})
	}
	rejected := true
	reject := func(a *suite.OutsideResponse, isForeign bool, summary string) {
		if isForeign {
			rejected = false
			deviates(foreignRejected, summary, "an error, as for a task that does not exist", a)
		}
	}
	got := request(spec.MethodTasksGet, ids[0])
	reject(got, isAbout(got, ids[0]), "The server shows one user's task to another.")
	result := request(spec.MethodTasksResult, ids[0])
	reject(result, result.CarriesResult() && string(wire.At(result.Result(), "/isError")) != "true", "The server gives the result of one user's task to another.")
	if r.c.Server().Declares("tasks.cancel") {
		if running := r.create(ctx, asTask(run[0], "running", object{"ttl": ttl})); len(running) > 0 {
			cancelled := request(spec.MethodTasksCancel, running[0])
			reject(cancelled, isAbout(cancelled, running[0]), "The server cancels one user's task for another.")
		}
	}
	switch {
	case !rejected:
	case !r.request(ctx, spec.MethodTasksGet, ids[0]).Succeeded():
		t.MarkNotObserved(foreignRejected, "the task of the first user did not last until the second one's requests")
	default:
		t.MarkKept(foreignRejected)
	}
	if !r.c.Server().Declares("tasks.list") {
		t.MarkNotObserved(listFiltered, "the server does not declare tasks.list")
		return
	}
	listed, a := findListed(ctx, r, u, ids[0])
	switch {
	case listed:
		deviates(listFiltered, "The server lists one user's tasks for another.", "only tasks of the requesting user", a)
	case a.CarriesResult():
		t.MarkKept(listFiltered)
	default:
		t.MarkNotObserved(listFiltered, "the server lists no tasks for the second user: "+a.Describe())
	}
}

// isAbout reports whether the answer is a result that describes the task.
func isAbout(a *suite.OutsideResponse, id string) bool {
	text, _ := wire.Text(wire.At(a.Result(), "/taskId"))
	return text == id
}

// maxForeignPages is how many pages of the second user's list are read.
const maxForeignPages = 5

// findListed reports whether a task is in the second user's list. It returns the page that shows
// the task, or the last page if none does.
func findListed(ctx context.Context, r *runner, u *suite.OtherUser, id string) (bool, *suite.OutsideResponse) {
	params := object{}
	for page := 1; ; page++ {
		a := u.Post(ctx, r.c.Request(r.c.NewID(), spec.MethodTasksList, params))
		for _, task := range wire.Elements(wire.At(a.Result(), "/tasks")) {
			if text, _ := wire.Text(wire.At(task, "/taskId")); text == id {
				return true, a
			}
		}
		cursor, more := wire.Text(wire.At(a.Result(), "/nextCursor"))
		if !more || page == maxForeignPages {
			return false, a
		}
		params = object{"cursor": cursor}
	}
}
