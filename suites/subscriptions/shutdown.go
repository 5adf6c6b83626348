package subscriptions

import (
	"context"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// leastExit is the least time that a server is given to exit.
const leastExit = 3 * time.Second

// terminate sends SIGTERM to the server. Only a process that exits with 0 shows that the server
// ended the subscription by itself, because a signal that the process does not handle ends the
// subscription like a broken transport. The case does not close stdin, because then it is the
// client that ends everything.
func terminate(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	s, err := c.Subscribe(ctx, map[string]any{"toolsListChanged": true})
	if err != nil {
		t.GiveUp("mcp-conform could not send subscriptions/listen: " + err.Error())
	}
	if _, err := s.AwaitAcknowledgement(ctx); err != nil {
		t.GiveUp("the server did not acknowledge the subscription")
	}
	if !c.Signal("TERM") {
		t.GiveUp("mcp-conform can't send the server SIGTERM")
	}
	if !suite.AwaitExit(ctx, c, suite.ExitTime(c, leastExit)) {
		t.GiveUp("the server does not exit on SIGTERM")
	}
	end := endOf(c, s)
	d := verdict.Deviation{Seen: "the process exited with status 0, and sent no such message", At: transcript.Positions(s.Sent, end.exit)}
	switch {
	case end.responded:
		t.MarkKept(gracefulResponse)
	case end.exit == nil || end.exit.ExitCode != 0:
		t.MarkNotObserved(gracefulResponse, "the signal ended the process, or the process failed")
	default:
		d.Requirement = gracefulResponse
		d.Summary, d.Permitted = "The server exits without a response to subscriptions/listen.", "a result before the end"
		t.Report(c, d)
	}
	switch {
	case end.responded, end.announced:
		t.MarkKept(endAnnounced)
	case end.exit == nil || end.exit.ExitCode != 0:
		t.MarkNotObserved(endAnnounced, "the signal ended the process, or the process failed")
	default:
		d.Requirement = endAnnounced
		d.Summary, d.Permitted = "The server ends a subscription without announcing it.", spec.MethodCancelled+" with its id, or a result"
		t.Report(c, d)
	}
}

// subscriptionEnd describes how a subscription ended when the server exited.
type subscriptionEnd struct {
	responded bool // by a response to subscriptions/listen
	announced bool // by a cancellation
	exit      *transcript.Event
}

func endOf(c *client.Conversation, s *client.Subscription) subscriptionEnd {
	var out subscriptionEnd
	for _, e := range c.Record.From(s.Sent.Seq) {
		switch e.Kind {
		case transcript.Exited:
			out.exit = e
		case transcript.Received:
			out.responded = out.responded || e.ResponseTo(s.ID) != nil
			out.announced = out.announced || suite.HasMessage(e, func(m *wire.Message) bool {
				return m.Method == spec.MethodCancelled && wire.IDAt(m.Params(), "/requestId").Same(s.ID)
			})
		}
	}
	return out
}
