package script

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A server may handle requests one by one, and a tool may take as long as its
// author likes: a request sent after a call does not count as unanswered while the
// call has no response either. Nothing distinguishes that from a server that has
// stopped responding.

// excuse takes back that answers did not come that a call may have held up.
func (c *Conversation) excuse() {
	gaveUp := func(e *transcript.Event) bool { return e.Kind == transcript.GaveUp }
	if !c.Deaf && !slices.ContainsFunc(c.Events, gaveUp) {
		return
	}
	call := occupying(c.Events)
	held := func(e *transcript.Event) bool { return gaveUp(e) && e.Of > call.Seq }
	if call == nil || !c.Deaf && !slices.ContainsFunc(c.Events, held) {
		return
	}
	c.Deaf = false
	if c.Unanswered == "" {
		c.Unanswered = "a call that may hold up the others"
	}
	c.Events = slices.Clone(c.Events)
	for i, e := range c.Events {
		if held(e) {
			c.Events[i] = &transcript.Event{Seq: e.Seq, At: e.At, Kind: transcript.Remark, Detail: "not waited for any longer, behind a call that is not answered"}
		}
	}
}

// occupies reports whether a request is one that may take as long as it likes, and
// whatever is behind it with it.
func occupies(method string) bool {
	return method == spec.MethodToolsCall || method == spec.MethodTasksResult
}

// occupying returns the call that has no answer and behind which nothing has
// one, nil where there is none.
func occupying(events []*transcript.Event) *transcript.Event {
	var calls []*transcript.Event
	asked, answered := map[string]int{}, map[int]bool{}
	newest := -1
	for _, e := range events {
		for i := range e.Messages() {
			m := &e.Frame.Messages[i]
			switch {
			case e.Kind == transcript.Sent && m.Kind == wire.Request:
				asked[m.ID.Key()] = e.Seq
				if occupies(m.Method) {
					calls = append(calls, e)
				}
			case e.Kind == transcript.Received && m.Kind == wire.Response:
				if at, ok := asked[m.ID.Key()]; ok {
					answered[at], newest = true, max(newest, at)
				}
			}
		}
	}
	i := slices.IndexFunc(calls, func(e *transcript.Event) bool { return !answered[e.Seq] && e.Seq > newest })
	if i < 0 {
		return nil
	}
	return calls[i]
}
