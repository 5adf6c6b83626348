package base

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	receive       = "base.batch-receive"
	complete      = "base.batch-responses-complete"
	together      = "base.batch-response-array"
	silentBatches = "base.batch-only-notifications-silent"
)

func batchCase() suite.Case {
	return suite.Case{
		ID:                 "messages.batch",
		Title:              "Sends a batch of requests, one of requests and a notification, and one of notifications only",
		Requirements:       []string{receive, complete, together, silentBatches},
		SharesConversation: true,
		Run: func(ctx context.Context, t *suite.T) {
			c := t.Conversation(ctx)
			if !sendBatchOfRequests(ctx, t, c) {
				t.MarkNotObserved(silentBatches, "the server serves no batches at all")
				return
			}
			sendMixedBatch(ctx, t, c)
			for _, next := range []func(context.Context, *suite.T, *client.Conversation){sendLongBatch, sendBatchOfNotifications} {
				if !c.Alive() {
					c = t.Conversation(ctx)
				}
				next(ctx, t, c)
			}
		},
	}
}

// batchResponses are the responses to the requests of a batch.
type batchResponses struct {
	from   int // position in the transcript before the batch
	sent   int // position of the batch
	ids    []wire.ID
	events map[wire.ID][]*transcript.Event // responses by id
	missed bool
	ended  bool // whether the server ended after the batch
}

// sendBatch sends the messages as an array, and waits for a response to each id in ids.
func sendBatch(ctx context.Context, c *client.Conversation, ids []wire.ID, messages ...[]byte) (batchResponses, error) {
	a := batchResponses{from: c.Record.Len(), ids: ids, events: map[wire.ID][]*transcript.Event{}}
	_ = c.Send(ctx, joinAsArray(messages...)) // if it can't be sent, the fence fails
	a.sent = firstSent(c, a.from)
	for _, id := range ids {
		r := c.AwaitResponse(ctx, a.from, id, client.MayIgnore)
		if errors.Is(r.Err, client.ErrNoFence) { // unresponsive or busy
			r = c.AwaitResponse(ctx, a.from, id, client.Within(c.Options().Timeout))
		}
		if !r.Answered() {
			a.ended = hasEnded(c, c.Fence(ctx))
			break
		}
	}
	if ctx.Err() != nil {
		return a, context.Cause(ctx)
	}
	a.collect(c)
	a.missed = len(a.events) < len(ids) // the last response may have come since
	return a, nil
}

// collect reads the responses to the requests of the batch.
func (a *batchResponses) collect(c *client.Conversation) {
	clear(a.events)
	c.Record.ReadDialogue(func(d *transcript.Dialogue) {
		for _, id := range a.ids {
			for _, r := range d.RequestsWithID(id) {
				for _, m := range r.Responses {
					a.events[id] = append(a.events[id], m.Event)
				}
			}
		}
	})
}

// firstSent returns the position of the first frame sent at or after the given position.
func firstSent(c *client.Conversation, from int) int {
	for _, e := range c.Record.From(from) {
		if e.Kind == transcript.Sent {
			return e.Seq
		}
	}
	return from
}

func joinAsArray(messages ...[]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(messages, []byte{','})...), ']')
}

// sendBatchOfRequests sends a batch of two requests, and reports whether the server responds to
// both.
func sendBatchOfRequests(ctx context.Context, t *suite.T, c *client.Conversation) bool {
	ids := []wire.ID{c.NewID(), c.NewID()}
	a, err := sendBatch(ctx, c, ids, c.Request(ids[0], c.HarmlessMethod(), nil), c.Request(ids[1], c.HarmlessMethod(), nil))
	if err != nil {
		t.GiveUp("mcp-conform got no response to the batch: " + err.Error())
	}
	if a.missed {
		judgeMissingResponses(t, c, &a, "a batch of requests")
		return false
	}
	t.MarkKept(receive)
	one, other := a.events[ids[0]][0], a.events[ids[1]][0]
	if one.Seq == other.Seq && one.Frame.Batch {
		t.MarkKept(together)
	} else {
		t.Report(c, verdict.Deviation{
			Requirement: together,
			Summary:     "The server sends the responses to a batch one by one.",
			Permitted:   "one JSON array with the responses to all requests of the batch",
			Seen:        "responses in several messages, or outside an array",
			At:          []int{a.sent, one.Seq, other.Seq},
		})
	}
	return true
}

// knownNotification returns a notification that every server has to accept. Over HTTP, a server may
// refuse an unknown notification, and with it the whole batch.
func knownNotification() []byte { return wire.NewNotification(spec.MethodRootsChanged, nil) }

// sendMixedBatch sends a batch of two requests with a notification between them, and judges the
// responses.
func sendMixedBatch(ctx context.Context, t *suite.T, c *client.Conversation) {
	ids := []wire.ID{c.NewID(), c.NewID()}
	a, err := sendBatch(ctx, c, ids,
		c.Request(ids[0], c.HarmlessMethod(), nil),
		knownNotification(),
		c.Request(ids[1], c.HarmlessMethod(), nil))
	if err != nil {
		t.GiveUp("mcp-conform got no response to the batch: " + err.Error())
	}
	if a.missed {
		judgeMissingResponses(t, c, &a, "a batch of requests and a notification")
		return
	}
	t.AwaitQuiet(ctx, c) // extra responses may come last
	a.collect(c)
	judgeExtraResponses(t, c, &a)
}

// longBatch is the number of requests in a long batch.
const longBatch = 50

// sendLongBatch sends more requests in a batch than some servers have workers or queue slots. A
// server that refuses the whole batch is not judged, because it may find the batch too long.
func sendLongBatch(ctx context.Context, t *suite.T, c *client.Conversation) {
	var ids []wire.ID
	var messages [][]byte
	for range longBatch {
		id := c.NewID()
		ids, messages = append(ids, id), append(messages, c.Request(id, c.HarmlessMethod(), nil))
	}
	a, err := sendBatch(ctx, c, ids, messages...)
	switch {
	case err != nil:
		t.GiveUp("mcp-conform got no response to the long batch: " + err.Error())
	case a.missed && (len(a.events) > 0 || a.ended):
		judgeMissingResponses(t, c, &a, fmt.Sprintf("a batch of %d requests", longBatch))
	case !a.missed:
		t.MarkKept(receive)
	}
}

func judgeMissingResponses(t *suite.T, c *client.Conversation, a *batchResponses, what string) {
	d := verdict.Deviation{
		Requirement: receive,
		Summary:     "The server does not serve " + what + ".",
		Permitted:   "a response to each request of the batch",
		Seen:        "no answer to any request of it",
		At:          append([]int{a.sent}, unmatchedResponses(c, a.from)...),
	}
	switch n := len(a.events); {
	case n > 0:
		d.Summary = "The server does not answer " + what + " in full."
		d.Seen = fmt.Sprintf("answers to %d of %d requests", n, len(a.ids))
		t.Report(c, d)
		d.Requirement = complete
	case a.ended:
		d.Summary = "The server exits at " + what + "."
		d.Seen = "the server ended the connection"
	}
	t.Report(c, d)
}

// judgeExtraResponses looks for more than one response for a request, and for responses that match
// no request.
func judgeExtraResponses(t *suite.T, c *client.Conversation, a *batchResponses) {
	extra := unmatchedResponses(c, a.from)
	for _, id := range a.ids {
		for _, e := range a.events[id][1:] {
			extra = append(extra, e.Seq)
		}
	}
	if len(extra) == 0 {
		t.MarkKept(complete)
		return
	}
	t.Report(c, verdict.Deviation{
		Requirement: complete,
		Summary:     "The server sends more responses to a batch than it has requests.",
		Permitted:   "one response to each request, none to a notification",
		Seen:        fmt.Sprintf("%d responses to %d requests", len(a.events)+len(extra), len(a.ids)),
		At:          append([]int{a.sent}, extra...),
	})
}

func sendBatchOfNotifications(ctx context.Context, t *suite.T, c *client.Conversation) {
	from := c.Record.Len()
	if err := c.Send(ctx, joinAsArray(knownNotification(), knownNotification())); err != nil {
		t.GiveUp("mcp-conform could not send the batch: " + err.Error())
	}
	t.AwaitQuiet(ctx, c)
	at := unmatchedResponses(c, from)
	for _, e := range c.Record.From(from) {
		if e.Kind == transcript.Received && e.Frame.Batch && len(e.Frame.Messages) == 0 {
			at = append(at, e.Seq)
		}
	}
	if len(at) == 0 {
		t.MarkKept(silentBatches)
		return
	}
	t.Report(c, verdict.Deviation{
		Requirement: silentBatches,
		Summary:     "The server answers a batch of notifications.",
		Permitted:   "no response, not even an empty array",
		Seen:        "an empty array, or responses without an id",
		At:          append([]int{firstSent(c, from)}, at...),
	})
}
