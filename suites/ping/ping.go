// Package ping checks that a server answers pings: in every valid form, many at once, during slow
// tool calls, while a request of the server is open, and during the handshake.
package ping

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	responds          = "ping.responds"
	emptyResult       = "ping.empty-result" // judged by a rule
	beforeInitialized = "ping.before-initialized"
)

// Cases returns the cases of this area.
func Cases() []suite.Case {
	return []suite.Case{
		{
			ID:                 "ping.shapes",
			Title:              "Sends ping without params, with empty params and with metadata, with integer and string ids",
			Requirements:       []string{responds, emptyResult},
			SharesConversation: true,
			Unchecked:          true,
			Run:                pingWithShapes,
		},
		{
			ID:                 "ping.burst",
			Title:              "Sends twenty pings in one write",
			Requirements:       []string{responds, emptyResult},
			SharesConversation: true,
			Unchecked:          true,
			Run:                pingBurst,
		},
		{
			ID:                 "ping.while-busy",
			Title:              "Sends ping while a slow tool runs",
			Requirements:       []string{responds, emptyResult},
			Needs:              []string{"tools"},
			SharesConversation: true,
			Unchecked:          true,
			Run:                pingWhileBusy,
		},
		{
			ID:           "ping.behind-calls",
			Title:        "Sends ping while several slow tools run",
			Requirements: []string{responds},
			Needs:        []string{"tools"},
			Waits:        true,
			OwnServer:    true, // other cases on this server would have to wait
			Run:          pingBehindCalls,
		},
		{
			ID:           "ping.while-asked",
			Title:        "Sends ping while the server waits for a response: to roots/list, sampling and elicitation",
			Requirements: []string{responds, emptyResult},
			Needs:        []string{"tools"},
			Waits:        true,
			Run:          pingWhileAsked,
		},
		{
			ID:    "ping.during-handshake",
			Title: "Sends ping before initialize, and before initialized",
			Requirements: []string{
				beforeInitialized,
				// Rules judge these requirements. In this case a server has time to break them.
				"lifecycle.initialize-first", "lifecycle.no-requests-before-initialized",
			},
			SpoilsServer: true,
			Run:          pingDuringHandshake,
		},
	}
}

// judgePing judges the reply to one ping, and reports whether the ping was answered, so that the
// case can continue. Rules judge the content of a response, and servers that answer no ping at
// all. judgePing judges servers that answer some pings and not others.
func judgePing(ctx context.Context, t *suite.T, c *client.Conversation, r *client.Reply) bool {
	switch {
	case r.Succeeded():
		t.MarkKept(responds)
	case r.Answered():
	case ctx.Err() != nil || r.Sent == nil:
		t.GiveUp("mcp-conform could not send the ping or wait for its response")
	case !hasAnsweredPing(c):
		t.MarkNotObserved(responds, "the server answered no ping of this client, which a rule judges")
	default:
		d := unansweredPing(responds, "The server does not answer every ping.", r)
		names, open := requestsInFlight(c, r.Sent)
		if len(names) > 0 {
			d.Seen += ", while in flight: " + strings.Join(names, ", ")
		}
		d.At = append(open, d.At...)
		t.Report(c, d)
	}
	return r.Answered()
}

// mostInFlight limits how many requests in flight a finding names.
const mostInFlight = 3

// requestsInFlight returns the names and the positions of the last requests of both sides, at most
// mostInFlight, that had no response when the client sent a message. One of them may be the reason
// why there is no response to that message. It leaves out requests that the client no longer waited
// for.
func requestsInFlight(c *client.Conversation, sent *transcript.Event) (names []string, at []int) {
	isAwaited := func(r *transcript.Request) bool {
		return r.InFlight(sent.Seq) && !slices.ContainsFunc(c.Record.From(r.Event.Seq), func(e *transcript.Event) bool {
			return e.Kind == transcript.GaveUp && e.Of == r.Event.Seq && e.Seq < sent.Seq
		})
	}
	d := c.Record.Dialogue()
	open := slices.DeleteFunc(slices.Concat(d.Requests(), d.ServerRequests()), func(r *transcript.Request) bool { return !isAwaited(r) })
	slices.SortStableFunc(open, func(a, b *transcript.Request) int { return cmp.Compare(a.Event.Seq, b.Event.Seq) })
	for _, r := range open[max(0, len(open)-mostInFlight):] {
		names = append(names, fmt.Sprintf("%s with id %s", wire.Excerpt(r.Message.Method, 80), wire.Excerpt(r.Message.ID.Raw(), 80)))
		at = append(at, r.Event.Seq)
	}
	return names, at
}

func unansweredPing(requirement, summary string, r *client.Reply) verdict.Deviation {
	return verdict.Deviation{
		Requirement: requirement,
		Summary:     summary,
		Permitted:   "a result",
		Seen:        suite.Describe(r),
		At:          transcript.Positions(r.Sent),
	}
}

// hasAnsweredPing reports whether any ping was answered so far.
func hasAnsweredPing(c *client.Conversation) bool {
	return c.Record.HasRequest(func(r *transcript.Request) bool {
		return r.Message.Method == spec.MethodPing && r.Response() != nil
	})
}

// sharedConversation returns the shared conversation. It ends the case if the server ended the
// connection in an earlier case, because that shows nothing about pings.
func sharedConversation(ctx context.Context, t *suite.T) *client.Conversation {
	c := t.Conversation(ctx)
	if !c.Alive() {
		t.GiveUp("the server had ended the connection before the first ping")
	}
	return c
}

func pingWithShapes(ctx context.Context, t *suite.T) {
	c := sharedConversation(ctx, t)
	for _, ping := range []struct {
		id     wire.ID
		params map[string]any
	}{
		{c.NewID(), nil},
		{c.NewID(), map[string]any{}},
		{c.NewID(), map[string]any{"_meta": map[string]any{"com.example/ping": true}}},
		{wire.StringID("mcp-conform-ping"), nil},
	} {
		if !judgePing(ctx, t, c, c.Do(ctx, spec.MethodPing, ping.params, client.WithID(ping.id))) {
			return
		}
	}
}
