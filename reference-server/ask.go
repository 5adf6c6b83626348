package refserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Why a request of the server got no result.
var (
	ErrNoAnswer   = errors.New("the client did not answer in time")
	ErrClientLeft = errors.New("the client has left")
	ErrNotReady   = errors.New("the client has not said initialized yet")
	ErrNoStream   = errors.New("a call that is answered by JSON alone has no stream for a question")
)

// Ask sends a request to the client on behalf of the call and waits for the
// result; the client's error, a late answer and an end of the call are
// errors. It does not ask before the client has said initialized.
func (c *Call) Ask(method string, params any) (jsontext.Value, error) {
	c.Session.mu.Lock()
	ready := c.Session.ready
	c.Session.mu.Unlock()
	switch {
	case !ready:
		return nil, ErrNotReady
	case c.task != nil:
		return c.task.ask(c.ctx, method, params)
	case c.Session.o.JSONOnly:
		return nil, ErrNoStream
	}
	return c.Session.Ask(c.ctx, c.ID, method, params)
}

// Ask sends a request to the client, at any time, and waits for the result.
// A request that is not answered within the session's patience, or whose
// context ends, is cancelled at the client.
func (s *Session) Ask(ctx context.Context, related wire.ID, method string, params any) (jsontext.Value, error) {
	return s.ask(ctx, related, "", method, params)
}

// ask asks as Ask does, and names the task that it asks for, if any.
func (s *Session) ask(ctx context.Context, related wire.ID, task, method string, params any) (jsontext.Value, error) {
	id, answer := s.expect()
	defer s.forget(id)
	o := s.out(OutRequest, method, id, wire.NewRequest(id, method, withTask(params, task)))
	o.Related = related
	s.send(o)

	patience := s.o.AskTimeout
	if seam := s.o.Seams.Patience; seam != nil {
		patience = seam(method)
	}
	var late <-chan time.Time
	if patience > 0 {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case m := <-answer:
		if e, failed := m.Error(); failed {
			text, _ := wire.Text(e.Message)
			return nil, fmt.Errorf("the client answered %s with error %s: %s", method, e.Code, text)
		}
		return m.Result(), nil
	case <-late:
		s.cancelAsk(related, task, id, "no answer in time")
		return nil, ErrNoAnswer
	case <-ctx.Done():
		s.cancelAsk(related, task, id, "no longer needed")
		return nil, context.Cause(ctx)
	case <-s.left:
		return nil, ErrClientLeft
	}
}

func (s *Session) cancelAsk(related wire.ID, task string, id wire.ID, reason string) {
	if s.ctx.Err() == nil {
		s.notify(related, spec.MethodCancelled, withTask(object{"requestId": jsontext.Value(id.Raw()), "reason": reason}, task))
	}
}

// expect makes an id for a request of the server and a place for its answer.
func (s *Session) expect() (wire.ID, <-chan *wire.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asks++
	id := wire.IntID(s.asks)
	if seam := s.o.Seams.NextID; seam != nil {
		id = seam(s.asks)
	}
	answer := make(chan *wire.Message, 1)
	s.asked[id.Key()] = answer
	return id, answer
}

func (s *Session) forget(id wire.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.asked, id.Key())
}

// answered takes a response from the client. One that nobody waits for, be
// it late, repeated or made up, is ignored.
func (s *Session) answered(m *wire.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if answer := s.asked[m.ID.Key()]; answer != nil {
		answer <- m
		delete(s.asked, m.ID.Key())
	}
}
