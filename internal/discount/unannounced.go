package discount

import (
	"slices"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// unannouncedChange voids differences between walks through a list over HTTP if another conversation
// with the same server may have changed the list meanwhile.
//
// In a search, every difference is void unless the server announces changes of the list to the
// client, because the search calls tools in other conversations. In the stateless era the server
// announces changes only to a client with a subscription.
//
// In a run, another conversation must have called a tool while the conversation of the claim was
// open, and no retry must have reproduced the deviation.
type unannouncedChange struct {
	mu    sync.Mutex
	calls []toolCall
}

// A toolCall is a call of a tool that got a result.
type toolCall struct {
	conversation *transcript.Event // the first event of its conversation
	sent, result time.Time
}

func (u *unannouncedChange) observe(c Conversation) {
	if c.OwnProcess || len(c.Events) == 0 {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, req := range c.Dialogue.Requests() {
		if answer := req.Response(); req.Message.Method == spec.MethodToolsCall && answer != nil && !answer.IsError() {
			u.calls = append(u.calls, toolCall{c.Events[0], c.Start.Add(req.Event.At), c.Start.Add(answer.Event.At)})
		}
	}
}

func (u *unannouncedChange) discount(c *Claim) (Effect, string) {
	if !c.Search && !c.Unreproduced || !spec.Requirements().Has(c.Requirement, spec.Walks) || len(c.Events) == 0 {
		return Counts, ""
	}
	for _, m := range transcript.Messages(c.Events, transcript.Sent) {
		if m.Method == spec.MethodInitialize || c.Search && m.Method == spec.MethodListen {
			return Counts, ""
		}
	}
	switch overHTTP := slices.ContainsFunc(c.Events, func(e *transcript.Event) bool { return e.Exchange != 0 }); {
	case !overHTTP:
	case c.Search:
		return Void, "another conversation of the search may have changed the list"
	case u.hasCallDuring(c):
		return Void, "another conversation of the run may have changed the list"
	}
	return Counts, ""
}

// hasCallDuring reports whether a tool was called in another conversation while the conversation of
// the claim was open.
func (u *unannouncedChange) hasCallDuring(c *Claim) bool {
	end := c.Start.Add(c.Events[len(c.Events)-1].At)
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.ContainsFunc(u.calls, func(call toolCall) bool {
		return call.conversation != c.Events[0] && call.sent.Before(end) && call.result.After(c.Start)
	})
}
