package script

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// liveConversation is a conversation that has not ended.
type liveConversation struct {
	*Conversation
	c              *client.Conversation
	answers        *client.Answers
	pending        [][]byte        // frames that are written with the next one
	pendingFrom    int             // the operation of the first pending frame
	at             int             // the position up to which the record has been read
	sentRequests   []request       // in the order in which they were sent
	sentIDs        map[string]bool // the keys of the ids of sentRequests, to recognize an id that is used again
	over           bool            // the server has ended, or does not read
	timedOut       bool            // a response did not come in time
	lastResponseAt time.Duration   // the time of the latest response
	torn           bool            // a write failed, perhaps in the middle of a line
}

// request is a request that was sent.
type request struct {
	operation      int    // the operation that sent it
	text           []byte // its JSON text
	id             wire.ID
	method         string
	invalidParams  bool // the params are provably invalid
	cancelled      bool
	cancelledAtEnd bool // the player cancelled it at the end; no operation did
	asTask         bool
	odd            bool // it may have no response of its own: it is in a batch, subscribes, or its id was used before or is not valid
	at             time.Duration
}

// markCancelled marks all requests with the id as cancelled.
func (l *liveConversation) markCancelled(id wire.ID) {
	for i := range l.sentRequests {
		if l.sentRequests[i].id.Same(id) {
			l.sentRequests[i].cancelled = true
		}
	}
}

// waitUntil reads the record until the condition is true, and reports whether that happened within
// the time limit.
func (l *liveConversation) waitUntil(ctx context.Context, limit time.Duration, condition func() bool) bool {
	l.readEvents(l.c.Record.From(l.at))
	if condition() {
		return true
	}
	ctx, cancel := l.c.Record.WithTimeout(ctx, limit, context.DeadlineExceeded)
	defer cancel()
	for {
		events, err := l.c.Record.Wait(ctx, l.at)
		if err != nil {
			return false
		}
		l.readEvents(events)
		switch {
		case condition():
			return true
		case !l.c.Alive():
			l.readEvents(l.c.Record.From(l.at))
			return condition()
		}
	}
}

// readEvents processes new events.
func (l *liveConversation) readEvents(events []*transcript.Event) {
	for _, e := range events {
		l.at = e.Seq + 1
		l.dialogue.Note(e)
		if e.Kind == transcript.Received && slices.ContainsFunc(e.Messages(), func(m wire.Message) bool { return m.Kind == wire.Response }) {
			l.lastResponseAt = e.At
		}
	}
}

// noteSent records that a request was sent.
func (l *liveConversation) noteSent(a request) {
	l.sentRequests = append(l.sentRequests, a)
	l.sentIDs[a.id.Key()] = true
}

// readRest reads the remaining events of a conversation that has ended. If requests were removed
// from the record, because a rate limit refused them, readRest reads all events again, so that the
// dialogue does not contain those requests.
func (l *liveConversation) readRest() {
	if l.c.Record.CountRetracted() > 0 {
		l.dialogue, l.at = transcript.Dialogue{}, 0
	}
	l.readEvents(l.c.Record.From(l.at))
}

// responseTo returns the first response to a request with the id, or nil.
func (l *liveConversation) responseTo(id wire.ID) *transcript.Message {
	for _, r := range l.dialogue.RequestsWithID(id) {
		if m := r.Response(); m != nil {
			return m
		}
	}
	return nil
}

// outstandingRequests returns the requests that still must get a response. It omits cancelled
// requests, subscriptions, requests with provably invalid params, and those whose response the
// protocol does not define (see isProtocolDefined).
func (l *liveConversation) outstandingRequests() []request {
	var out []request
	for _, a := range l.sentRequests {
		if l.responseTo(a.id) == nil && isProtocolDefined(a.method) && a.method != spec.MethodListen && !a.cancelled && !a.invalidParams {
			out = append(out, a)
		}
	}
	return out
}

// positionOf returns the position in the record of the first request with the id, and whether there
// is one.
func (l *liveConversation) positionOf(id wire.ID) (int, bool) {
	all := l.dialogue.RequestsWithID(id)
	if len(all) == 0 {
		return 0, false
	}
	return all[0].Event.Seq, true
}

// CountFrames returns the number of frames that were sent in both directions.
func CountFrames(events []*transcript.Event) int {
	n := 0
	for _, e := range events {
		if e.Kind == transcript.Sent || e.Kind == transcript.Received {
			n++
		}
	}
	return n
}

// isProtocolDefined reports whether the protocol alone determines the response to a method. The
// response to any other method depends on code of the server's author, such as a tool, which may
// take any time.
func isProtocolDefined(method string) bool {
	return !slices.Contains([]string{
		spec.MethodToolsCall, spec.MethodResourcesRead, spec.MethodPromptsGet, spec.MethodComplete, spec.MethodTasksResult,
	}, method)
}

// describeRequest describes a request by its method and id.
func describeRequest(method string, id wire.ID) string {
	return fmt.Sprintf("%s with id %s", method, id.Raw())
}
