package base

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// lookalikeIDs returns ids that a server confuses if it keeps them as text, or without the sign.
func lookalikeIDs() []wire.ID {
	return []wire.ID{wire.IntID(7_000_021), wire.StringID("7000021"), wire.IntID(-7_000_021), wire.StringID("-7000021")}
}

// wideIDs returns ids beyond 2^53, and trial, another such id, with which to test whether the
// server returns such ids at all. A double can't hold every integer beyond 2^53, but it can hold
// these.
func wideIDs() (trial wire.ID, ids []wire.ID) {
	return wire.IntID(1<<53 + 6), []wire.ID{wire.IntID(1<<53 + 2), wire.IntID(1<<53 + 4)}
}

// callWithLookalikeIDs makes concurrent calls of a slow tool, and requests a list while they run,
// with ids that differ only in type and sign. If the server serves a request with an id beyond
// 2^53, some of the calls have such ids. Before that, callWithLookalikeIDs makes the same
// requests with ordinary ids, and stops if one of them fails. Rules judge that each request gets
// one response, and no progress after it.
func callWithLookalikeIDs(ctx context.Context, t *suite.T, c *client.Conversation) {
	ids := lookalikeIDs()
	trial, wide := wideIDs()
	if c.DoRaw(ctx, trial, c.Request(trial, c.HarmlessMethod(), nil), client.MayIgnore).Succeeded() {
		ids = append(wide, ids...)
	}
	last := len(ids) - 1
	requests := func(ids []wire.ID) [][]byte {
		var all [][]byte
		for i, id := range ids[:last] {
			slow, _ := t.Inventory.SlowCall(time.Duration(i+1)*duration, 2)
			all = append(all, c.Request(id, spec.MethodToolsCall, slow.ParamsWithToken("mcp-conform/lookalike/"+id.Raw())))
		}
		return append(all, c.Request(ids[last], spec.MethodToolsList, nil))
	}
	var ordinary []wire.ID
	for range ids {
		ordinary = append(ordinary, c.NewID())
	}
	resume := c.BeginIdle()
	defer resume()
	for _, r := range c.DoAll(ctx, requests(ordinary), client.Within(callTime)) {
		if !r.Succeeded() {
			return
		}
	}
	replies := c.DoAll(ctx, requests(ids))
	for i, r := range replies {
		if i != last {
			expectNoList(t, c, r, replies[last], "tools")
		}
		if slices.Contains(wide, ids[i]) && errors.Is(r.Err, client.ErrUnanswered) {
			t.Report(c, verdict.Deviation{
				Requirement: requestAnswered,
				Summary:     "The server does not answer one of two concurrent requests with ids beyond 2^53.",
				Permitted:   "a response to each of them, as to a single one",
				Seen:        "no response to the call with the id " + ids[i].Raw(),
				At:          transcript.Positions(r.Sent),
				Pointer:     "/id",
				Weight:      verdict.AtMostWarning, // not every JSON library can hold such a number
			})
		}
	}
}

// expectNoList checks that the result of a request is not the list that another request, lists,
// asked for; member is the name of that list. The ids of the two requests look alike. The response
// to the other request is not checked, because a list may lack its items for other reasons.
func expectNoList(t *suite.T, c *client.Conversation, r, lists *client.Reply, member string) {
	switch {
	case !r.Succeeded():
	case wire.At(r.Message.Result(), "/"+member) == nil:
		t.MarkKept(idEcho)
	default:
		t.Report(c, verdict.Deviation{
			Requirement: idEcho,
			Summary:     "The server answers a request with the result of another request.",
			Permitted:   "the result of the method that was requested with this id",
			Seen:        member + " in the result with the id " + idOf(r) + "; the request for " + member + " had the id " + idOf(lists),
			Fix:         `Keep ids apart by value and JSON type: 1 and "1" are the ids of two requests.`,
			At:          transcript.Positions(lists.Sent, r.Sent, r.Event),
			Pointer:     "/result/" + member,
		})
	}
}

// idOf returns the id of a request as it was sent, or "?" if it could not be sent.
func idOf(r *client.Reply) string {
	if r.Sent == nil {
		return "?"
	}
	return r.Sent.Messages()[0].ID.Raw()
}
