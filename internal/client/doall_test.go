package client

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

func TestDoAllWithin(t *testing.T) {
	answersEven := func(s *scripted, m *wire.Message) {
		if n, _ := wire.Integer([]byte(m.ID.Raw())); m.Kind == wire.Request && n%2 == 0 {
			s.write(wire.NewResult(m.ID, nil))
		}
	}
	inBubble(t, Options{}, answersEven, func(t *testing.T, c *Conversation, _ *scripted) {
		var frames [][]byte
		for id := range int64(4) {
			frames = append(frames, c.Request(wire.IntID(id+100), spec.MethodToolsCall, nil))
		}
		began := time.Now()
		replies := c.DoAll(t.Context(), frames, Within(time.Second))
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %v: all share one timeout", took)
		}
		for i, r := range replies {
			if r.Succeeded() != (i%2 == 0) || r.Sent == nil || !r.Succeeded() && !errors.Is(r.Err, ErrUnanswered) {
				t.Errorf("reply %d is %+v", i, r)
			}
		}
		if diff := cmp.Diff([]string{"101", "103"}, cancelled(c)); diff != "" || len(givenUpRequests(c)) > 0 {
			t.Errorf("given up on %v; cancelled (-want +got):\n%s", givenUpRequests(c), diff)
		}
	})
}

func TestDoAllAfterEnd(t *testing.T) {
	inBubble(t, Options{}, neverRespond, func(t *testing.T, c *Conversation, s *scripted) {
		s.end()
		replies := c.DoAll(t.Context(), [][]byte{c.Request(wire.IntID(1), "x", nil), c.Request(wire.IntID(2), "x", nil)}, Within(0))
		for _, r := range replies {
			if !errors.Is(r.Err, ErrEnded) || r.Sent != nil {
				t.Errorf("the reply is %+v", r)
			}
		}
		if len(replies) != 2 || len(cancelled(c)) > 0 {
			t.Errorf("%d replies, cancelled %v", len(replies), cancelled(c))
		}
	})
}

// cancelled returns the ids of the requests that the client cancelled.
func cancelled(c *Conversation) []string {
	var ids []string
	for _, e := range c.Record.From(0) {
		if e.Kind != transcript.Sent {
			continue
		}
		for _, m := range e.Messages() {
			if m.Method == spec.MethodCancelled {
				ids = append(ids, string(wire.At(m.Params(), "/requestId")))
			}
		}
	}
	return ids
}
