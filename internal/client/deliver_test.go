package client

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// unansweredPosts is a server over HTTP that leaves the POSTs of notifications unanswered. If unread
// is set, it does not even read them.
type unansweredPosts struct {
	scripted
	transport.Web // for the methods that are not called here
	unread        bool
}

func (p *unansweredPosts) Transport() spec.Transport                        { return spec.StreamableHTTP }
func (p *unansweredPosts) Ended() <-chan struct{}                           { return p.scripted.Ended() }
func (p *unansweredPosts) Shutdown(patience transport.Patience)             { p.scripted.Shutdown(patience) }
func (p *unansweredPosts) Signal(name string) bool                          { return p.scripted.Signal(name) }
func (p *unansweredPosts) CloseInput() error                                { return p.scripted.CloseInput() }
func (p *unansweredPosts) SendBytes(ctx context.Context, b ...[]byte) error { return p.Send(ctx, b...) }

func (p *unansweredPosts) Dial(ctx context.Context, rec *transcript.Transcript) (transport.Link, error) {
	_, err := p.scripted.Dial(ctx, rec)
	return p, err
}

func (p *unansweredPosts) Send(ctx context.Context, frames ...[]byte) error {
	for _, f := range frames {
		if wire.Parse(f).Messages[0].Kind == wire.Request {
			if err := p.scripted.Send(ctx, f); err != nil {
				return err
			}
			continue
		}
		if !p.unread {
			p.rec.Add(transcript.Event{Kind: transcript.Sent, Raw: f})
		}
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return nil
}

// TestUnansweredPosts checks that a notification whose POST is left unanswered counts as sent if the
// server read it, and that the client waits for the POST no longer than the timeout.
func TestUnansweredPosts(t *testing.T) {
	const timeout = 10 * time.Second
	for _, c := range []struct {
		name   string
		unread bool
		err    error
	}{
		{"read", false, nil},
		{"not read", true, ErrUnanswered},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &unansweredPosts{scripted: scripted{on: respondNormally}, unread: c.unread}
				conv, err := Open(t.Context(), p, Options{Revision: spec.V20251125, Timeout: timeout})
				if err != nil {
					t.Fatal(err)
				}
				defer conv.Close()
				conv.started.Store(true)
				began := time.Now()
				if err := conv.Notify(t.Context(), spec.MethodRootsChanged, nil); !errors.Is(err, c.err) || time.Since(began) != timeout {
					t.Errorf("after %v the error is %v", time.Since(began), err)
				}
				if err := conv.Fence(t.Context()); err != nil {
					t.Errorf("the fence: %v", err)
				}
				within, cancel := context.WithTimeoutCause(t.Context(), time.Second, context.Canceled)
				defer cancel()
				if err := conv.Notify(within, spec.MethodRootsChanged, nil); !errors.Is(err, context.Canceled) {
					t.Errorf("the error at the end of the caller's context is %v", err)
				}
			})
		})
	}
}

// latePosts is a server over HTTP+SSE that sends the response to a tool call on the stream after some
// time, and does not respond to the POST of the call.
type latePosts struct {
	unansweredPosts
	after time.Duration
}

func (p *latePosts) Transport() spec.Transport { return spec.SSE }

func (p *latePosts) Dial(ctx context.Context, rec *transcript.Transcript) (transport.Link, error) {
	_, err := p.scripted.Dial(ctx, rec)
	return p, err
}

func (p *latePosts) Send(ctx context.Context, frames ...[]byte) error {
	m := wire.Parse(frames[0]).Messages[0]
	if m.Method != spec.MethodToolsCall {
		return p.scripted.Send(ctx, frames...)
	}
	p.rec.Add(transcript.Event{Kind: transcript.Sent, Raw: frames[0]})
	p.runAfter(p.after, func() { p.write(normalResponse(&m)) })
	<-ctx.Done()
	return context.Cause(ctx)
}

// TestLatePost checks that a call whose response comes just after the limit has its sent event, even if
// its POST got no response.
func TestLatePost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 3 * time.Second
		p := &latePosts{unansweredPosts{scripted: scripted{on: respondNormally}}, limit + time.Millisecond}
		conv, err := Open(t.Context(), p, Options{Revision: spec.V20241105, Timeout: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer conv.Close()
		conv.started.Store(true)
		if r := conv.Do(t.Context(), spec.MethodToolsCall, nil, Within(limit)); !r.Answered() || r.Sent == nil {
			t.Errorf("sent %v, %v", r.Sent, r.Err)
		}
	})
}
