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

// silentPosts is a server over HTTP that reads notifications and leaves their
// POSTs unanswered; unread: it does not even read them.
type silentPosts struct {
	scripted
	transport.Web // for the methods that are not called here
	unread        bool
}

func (p *silentPosts) Transport() spec.Transport                        { return spec.StreamableHTTP }
func (p *silentPosts) Ended() <-chan struct{}                           { return p.scripted.Ended() }
func (p *silentPosts) Shutdown(patience transport.Patience)             { p.scripted.Shutdown(patience) }
func (p *silentPosts) Signal(name string) bool                          { return p.scripted.Signal(name) }
func (p *silentPosts) CloseInput() error                                { return p.scripted.CloseInput() }
func (p *silentPosts) SendBytes(ctx context.Context, b ...[]byte) error { return p.Send(ctx, b...) }

func (p *silentPosts) Dial(ctx context.Context, rec *transcript.Transcript) (transport.Link, error) {
	_, err := p.scripted.Dial(ctx, rec)
	return p, err
}

func (p *silentPosts) Send(ctx context.Context, frames ...[]byte) error {
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

// A notification whose POST is left unanswered was sent, and is waited for no
// longer than a response is awaited.
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
				p := &silentPosts{scripted: scripted{on: behave}, unread: c.unread}
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
