package script

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// A server may handle requests one by one, and a tool may take any time. So a
// request sent after a tool call does not count as unanswered as long as the
// call has no response either: such a server cannot be distinguished from one
// that stopped responding.

// excuse discounts missing responses that a tool call may have delayed.
func (c *Conversation) excuse() {
	gaveUp := func(e *transcript.Event) bool { return e.Kind == transcript.GaveUp }
	if !c.Unresponsive && !slices.ContainsFunc(c.Events, gaveUp) {
		return
	}
	call := blockingCall(c.Events)
	held := func(e *transcript.Event) bool { return gaveUp(e) && e.Of > call.Seq }
	if call == nil || !c.Unresponsive && !slices.ContainsFunc(c.Events, held) {
		return
	}
	c.Unresponsive = false
	if c.Unanswered == "" {
		c.Unanswered = "a call that may delay the others"
	}
	c.Events = slices.Clone(c.Events)
	for i, e := range c.Events {
		if held(e) {
			c.Events[i] = &transcript.Event{Seq: e.Seq, At: e.At, Kind: transcript.Remark, Detail: "no longer awaited, because an earlier call got no response"}
		}
	}
}

// mayBlock reports whether a request may take any time, and delay later ones.
func mayBlock(method string) bool {
	return method == spec.MethodToolsCall || method == spec.MethodTasksResult
}

// blockingCall returns the tool call without a response after which no request has
// one, or nil.
func blockingCall(events []*transcript.Event) *transcript.Event {
	open := stillOpen(transcript.DialogueOf(events))
	if i := slices.IndexFunc(open, func(r *transcript.Request) bool { return mayBlock(r.Message.Method) }); i >= 0 {
		return open[i].Event
	}
	return nil
}

// stillOpen returns the client's requests such that neither they nor later ones
// have a response.
func stillOpen(d *transcript.Dialogue) []*transcript.Request {
	all := d.Requests()
	for i, r := range slices.Backward(all) {
		if r.Response() != nil {
			return all[i+1:]
		}
	}
	return all
}
