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

// Reasons why a request to the client got no result.
var (
	ErrNoResponse     = errors.New("the client did not answer in time")
	ErrClientGone     = errors.New("the client has left")
	ErrNotInitialized = errors.New("the client has not sent notifications/initialized yet")
	ErrNoStream       = errors.New("a call that gets a JSON response has no stream for a request to the client")
)

// SendRequests sends requests to the client, one after the other, and returns their results. If a
// request fails, SendRequests returns the error of SendRequest and sends no further request. In a
// stateless revision one input_required result carries all requests.
func (c *Call) SendRequests(requests ...ClientRequest) ([]jsontext.Value, error) {
	if c.isStateless() {
		return c.requestInput(requests)
	}
	out := make([]jsontext.Value, len(requests))
	for i, r := range requests {
		var params any
		if r.Params != nil {
			params = r.Params
		}
		var err error
		if out[i], err = c.SendRequest(r.Method, params); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// SendRequest sends a request to the client on behalf of the call and waits for the result. It
// returns an error if the client responds with an error, or does not respond in time or before
// the call ends. It returns ErrNotInitialized without sending the request if the client has not
// sent notifications/initialized, and ErrNoStream if Options.JSONOnly is set and the call does
// not run as a task.
//
// In a stateless revision SendRequest sends nothing. If the request of the call carries the
// client's response, SendRequest returns it. Otherwise SendRequest returns an error, and the call
// ends with an input_required result or a JSON-RPC error, whatever its handler returns.
func (c *Call) SendRequest(method string, params any) (jsontext.Value, error) {
	if c.isStateless() {
		given, _ := params.(object)
		results, err := c.requestInput([]ClientRequest{{Method: method, Params: given}})
		if err != nil {
			return nil, err
		}
		return results[0], nil
	}
	c.Session.mu.Lock()
	ready := c.Session.initialized
	c.Session.mu.Unlock()
	switch {
	case !ready:
		return nil, ErrNotInitialized
	case c.task != nil:
		return c.task.sendRequest(c.ctx, method, params)
	case c.Session.options.JSONOnly:
		return nil, ErrNoStream
	}
	return c.Session.SendRequest(c.ctx, c.ID, method, params)
}

// SendRequest sends a request to the client, whether or not the client has sent
// notifications/initialized, and waits for the result. It sends notifications/cancelled if the
// request times out, or if ctx ends while the session continues. related is the id of the
// client's request that this one belongs to, if any.
func (s *Session) SendRequest(ctx context.Context, related wire.ID, method string, params any) (jsontext.Value, error) {
	return s.sendRequest(ctx, related, "", method, params)
}

// sendRequest is like SendRequest, but also adds related-task metadata with the given task id,
// unless that id is empty.
func (s *Session) sendRequest(ctx context.Context, related wire.ID, task, method string, params any) (jsontext.Value, error) {
	id, response := s.registerRequest()
	defer s.unregisterRequest(id)
	o := s.newOut(s.relatedRevision(related), OutRequest, method, id, wire.NewRequest(id, method, withTask(params, task)))
	o.Related = related
	s.send(o)

	timeout := s.options.RequestTimeout
	if seam := s.options.Seams.RequestTimeout; seam != nil {
		timeout = seam(method)
	}
	var expired <-chan time.Time
	if timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case m := <-response:
		if e, failed := m.Error(); failed {
			text, _ := wire.Text(e.Message)
			return nil, fmt.Errorf("the client answered %s with error %s: %s", method, e.Code, text)
		}
		return m.Result(), nil
	case <-expired:
		s.cancelRequest(related, task, id, "no answer in time")
		return nil, ErrNoResponse
	case <-ctx.Done():
		s.cancelRequest(related, task, id, "no longer needed")
		return nil, context.Cause(ctx)
	case <-s.clientGone:
		return nil, ErrClientGone
	}
}

func (s *Session) cancelRequest(related wire.ID, task string, id wire.ID, reason string) {
	if s.ctx.Err() == nil {
		s.notify(related, spec.MethodCancelled, withTask(object{"requestId": jsontext.Value(id.Raw()), "reason": reason}, task))
	}
}

// registerRequest returns an id for a request to the client, and the channel that
// receives its response.
func (s *Session) registerRequest() (wire.ID, <-chan *wire.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requestsSent++
	id := wire.IntID(s.requestsSent)
	if seam := s.options.Seams.NextID; seam != nil {
		id = seam(s.requestsSent)
	}
	response := make(chan *wire.Message, 1)
	s.awaiting[id.Key()] = response
	return id, response
}

func (s *Session) unregisterRequest(id wire.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.awaiting, id.Key())
}

// handleResponse passes a response to the goroutine that waits for it. It ignores
// late, repeated and unsolicited responses.
func (s *Session) handleResponse(m *wire.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if response := s.awaiting[m.ID.Key()]; response != nil {
		response <- m
		delete(s.awaiting, m.ID.Key())
	}
}
