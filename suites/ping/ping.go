// Package ping checks that a server answers pings: in every shape that a ping
// can have, many at once, beside a slow tool, and while the handshake is
// still under way.
package ping

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	responds          = "ping.responds"
	emptyResult       = "ping.empty-result"
	beforeInitialized = "ping.before-initialized"
)

// Cases returns the cases of this area.
func Cases() []suite.Case {
	return []suite.Case{
		{
			ID:           "ping.shapes",
			Title:        "ping without params, with empty params and with metadata, by integer and by string id",
			Requirements: []string{responds, emptyResult},
			Asks:         true,
			Run:          shapes,
		},
		{
			ID:           "ping.burst",
			Title:        "twenty pings in one write are each answered by their id",
			Requirements: []string{responds, emptyResult},
			Asks:         true,
			Run:          burst,
		},
		{
			ID:           "ping.while-busy",
			Title:        "ping while a slow tool runs",
			Requirements: []string{responds, emptyResult},
			Needs:        []string{"tools"},
			Asks:         true,
			Run:          whileBusy,
		},
		{
			ID:    "ping.during-handshake",
			Title: "ping before initialize, and between its answer and initialized, listening for what the server says unasked",
			Requirements: []string{
				beforeInitialized,
				// Judged by rules; this is the case in which there is time
				// for a server to break them.
				"lifecycle.initialize-first", "lifecycle.no-requests-before-initialized",
			},
			Run: duringHandshake,
		},
	}
}

// judge says what the answer to one ping shows, and whether it makes sense to
// ask on. That no answer came is judged here and not only by the rule on
// requests, since to be answered is all that the page asks of a ping.
func judge(ctx context.Context, t *suite.T, c *client.Conversation, r *client.Reply) bool {
	if !r.Answered() {
		if ctx.Err() != nil || r.Sent == nil {
			t.GiveUp("the ping could not be sent and waited for")
		}
		t.Deviates(c, verdict.Deviation{
			Requirement: responds,
			Summary:     "a ping is not answered",
			Permitted:   "a result",
			Seen:        suite.Describe(r),
			At:          positions(r.Sent),
		})
		t.NotObserved(emptyResult, "the ping was not answered")
		return false
	}
	if t.Expect(c, r).Keeps(responds, "a ping is answered with an error", suite.BeResult()) {
		t.Expect(c, r).Keeps(emptyResult, "the result of a ping is not empty", beEmptyResult)
	} else {
		t.NotObserved(emptyResult, "the ping was refused")
	}
	return true
}

var beEmptyResult = suite.Satisfy("the result {}, or one that holds _meta alone", func(r *client.Reply) bool {
	return isEmptyResult(r.Message)
})

func isEmptyResult(m *wire.Message) bool {
	if m.Result().Kind() != '{' {
		return false
	}
	names, _ := wire.Members(m.Result())
	for _, name := range names {
		if name != "_meta" {
			return false
		}
	}
	return true
}

// listening returns the shared conversation. A server that an earlier case
// lost says nothing about pings.
func listening(ctx context.Context, t *suite.T) *client.Conversation {
	c := t.Conversation(ctx)
	if !c.Alive() {
		t.GiveUp("the server had ended the connection before the first ping")
	}
	return c
}

func shapes(ctx context.Context, t *suite.T) {
	c := listening(ctx, t)
	for _, ping := range []struct {
		id     wire.ID
		params map[string]any
	}{
		{c.NewID(), nil},
		{c.NewID(), map[string]any{}},
		{c.NewID(), map[string]any{"_meta": map[string]any{"com.example/ping": true}}},
		{wire.StringID("mcp-conform-ping"), nil},
	} {
		if !judge(ctx, t, c, c.AskID(ctx, ping.id, spec.MethodPing, ping.params)) {
			return
		}
	}
}

func positions(events ...*transcript.Event) []int {
	var at []int
	for _, e := range events {
		if e != nil {
			at = append(at, e.Seq)
		}
	}
	return at
}
