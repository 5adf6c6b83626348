package tasks

import (
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// An index finds what belongs to a task or a call without a search through the conversation, which
// may have thousands of tasks. All lists are in the order of the conversation.
type index struct {
	callOf         map[*rules.Request]*call
	queryOf        map[*rules.Request]*taskRequest
	equal          map[callKey][]*call              // calls with the same name and arguments
	plain          map[callKey][]*call              // the calls in equal that have no task member
	created        map[*rules.Request]*task         // the task that the request created
	queries        map[string][]*taskRequest        // answered requests by taskId
	cancels        map[string][]*rules.Request      // tasks/cancel by taskId, answered or not
	notes          map[*task][]taskNotification     // notifications about the task
	serverRequests map[string][]*transcript.Request // the server's requests by the task that they name; "" for none
	// toolChanges are the notifications that the list of tools has changed.
	toolChanges []*transcript.Message
}

type callKey struct{ name, arguments string }

// A taskNotification is a notification about a task.
type taskNotification struct {
	*transcript.Message
	named bool // it names the task; otherwise it has the task's progress token
}

func (l *ledger) buildIndex() {
	x := index{
		callOf: map[*rules.Request]*call{}, queryOf: map[*rules.Request]*taskRequest{}, equal: map[callKey][]*call{}, plain: map[callKey][]*call{},
		created: map[*rules.Request]*task{}, queries: map[string][]*taskRequest{}, cancels: map[string][]*rules.Request{},
		notes: map[*task][]taskNotification{}, serverRequests: map[string][]*transcript.Request{},
	}
	for _, c := range l.calls {
		x.callOf[c.request] = c
		key := callKey{c.name, c.arguments}
		x.equal[key] = append(x.equal[key], c)
		if c.request.Message.ParamAt("/task") == nil {
			x.plain[key] = append(x.plain[key], c)
		}
	}
	for _, t := range l.tasks {
		if t.call != nil {
			x.created[t.call.request] = t
		}
	}
	for _, q := range l.answered {
		x.queryOf[q.request] = q
		if q.named {
			x.queries[q.id] = append(x.queries[q.id], q)
		}
	}
	for _, req := range l.s.ClientRequests() {
		if req.Message.Method != spec.MethodTasksCancel {
			continue
		}
		if id, ok := wire.Text(req.Message.ParamAt("/taskId")); ok {
			x.cancels[id] = append(x.cancels[id], req)
		}
	}
	for _, p := range l.s.ServerRequests() {
		id, _ := wire.Text(p.Message.ParamAt(relatedTask))
		x.serverRequests[id] = append(x.serverRequests[id], p)
	}
	l.index = x
	for _, n := range l.notes {
		if n.Method == spec.MethodToolsChanged {
			l.index.toolChanges = append(l.index.toolChanges, n)
		}
		l.readNotification(n)
	}
}

// readNotification adds a notification to the tasks that it belongs to.
func (l *ledger) readNotification(n *transcript.Message) {
	var named *task
	if id, ok := wire.Text(n.ParamAt(relatedTask)); ok {
		named = l.byID[id]
	}
	if named != nil {
		l.index.notes[named] = append(l.index.notes[named], taskNotification{n, true})
	}
	if n.Method != spec.MethodProgress {
		return
	}
	if owner := l.taskWithToken(n.ParamAt("/progressToken"), n.Event); owner != nil && owner != named {
		l.index.notes[owner] = append(l.index.notes[owner], taskNotification{n, false})
	}
}

// equalCalls returns the calls with the same name and arguments, including c.
func (l *ledger) equalCalls(c *call) []*call { return l.index.equal[callKey{c.name, c.arguments}] }

// plainCalls returns the calls with the same name and arguments that have no task member.
func (l *ledger) plainCalls(c *call) []*call { return l.index.plain[callKey{c.name, c.arguments}] }

// sentAfter returns the client's requests after the event.
func (l *ledger) sentAfter(e *transcript.Event) []*rules.Request { return l.s.RequestsFrom(e.Seq + 1) }
