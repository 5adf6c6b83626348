package client

import (
	"bufio"
	"context"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// scripted is a server without process and pipes, so that the clock of a
// synctest bubble stands still while it works. It answers while it is sent to.
type scripted struct {
	on     func(s *scripted, m *wire.Message) // what it does on each message
	before func()                             // done before a frame is sent, nil for nothing

	rec       *transcript.Transcript
	ended     chan struct{}
	endOnce   sync.Once
	shutdowns int
}

func (s *scripted) Transport() spec.Transport { return spec.Stdio }

func (s *scripted) Dial(_ context.Context, rec *transcript.Transcript) (transport.Link, error) {
	s.rec, s.ended = rec, make(chan struct{})
	rec.Add(transcript.Event{Kind: transcript.Opened})
	return s, nil
}

func (s *scripted) Send(ctx context.Context, frames ...[]byte) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case <-s.ended:
		return stdio.ErrInputClosed
	default:
	}
	if s.before != nil {
		s.before()
	}
	for _, f := range frames {
		s.rec.Add(transcript.Event{Kind: transcript.Sent, Raw: f})
	}
	for _, f := range frames {
		for _, m := range wire.Parse(f).Messages {
			s.on(s, &m)
		}
	}
	return nil
}

func (s *scripted) SendBytes(ctx context.Context, chunks ...[]byte) error {
	return s.Send(ctx, slices.Concat(chunks...))
}

func (s *scripted) Ended() <-chan struct{} { return s.ended }

func (s *scripted) Shutdown(transport.Patience) {
	s.shutdowns++
	s.end()
}

func (s *scripted) Signal(string) bool { return false }

func (s *scripted) CloseInput() error { return nil }

// say sends a frame to the client.
func (s *scripted) say(frame []byte) {
	s.rec.Add(transcript.Event{Kind: transcript.Received, Raw: frame})
}

// later does something once d has passed.
func (s *scripted) later(d time.Duration, do func()) {
	go func() {
		select {
		case <-time.After(d):
			do()
		case <-s.ended:
		}
	}()
}

// end ends the server's output.
func (s *scripted) end() {
	s.endOnce.Do(func() {
		s.rec.Add(transcript.Event{Kind: transcript.OutputClosed})
		close(s.ended)
	})
}

// behave answers as a sound server does.
func behave(s *scripted, m *wire.Message) {
	if m.Kind == wire.Request {
		s.say(sound(m))
	}
}

// sound returns the answer of a sound server.
func sound(m *wire.Message) []byte {
	switch m.Method {
	case spec.MethodInitialize:
		version, _ := wire.Text(wire.At(m.Params(), "/protocolVersion"))
		return wire.NewResult(m.ID, map[string]any{
			"protocolVersion": version,
			"serverInfo":      map[string]any{"name": "scripted", "version": "7"},
			"capabilities":    map[string]any{"tools": map[string]any{"listChanged": true}, "logging": nil},
		})
	case spec.MethodPing, spec.MethodDiscover:
		return wire.NewResult(m.ID, map[string]any{})
	default:
		return wire.NewError(m.ID, int64(spec.CodeMethodNotFound), "unknown method", nil)
	}
}

// inBubble holds a conversation with a scripted server that was seen to run, on
// a clock of its own.
func inBubble(t *testing.T, o Options, on func(*scripted, *wire.Message), hold func(t *testing.T, c *Conversation, s *scripted)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{on: on}
		if o.Revision == "" {
			o.Revision = spec.V20251125
		}
		c, err := Open(t.Context(), s, o)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.started.Store(true)
		hold(t, c, s)
	})
}

// overPipes opens a conversation with a server that is a function behind real
// pipes; on returns what to answer, and whether the server goes on.
func overPipes(t *testing.T, o Options, on func(m *wire.Message) (answers [][]byte, goOn bool)) *Conversation {
	t.Helper()
	d := stdio.InProcess("scripted", func(_ context.Context, in io.Reader, out, errOut io.Writer, _ <-chan string) int {
		_, _ = io.WriteString(errOut, "I listen\n")
		for lines := bufio.NewScanner(in); lines.Scan(); {
			for _, m := range wire.Parse(slices.Clone(lines.Bytes())).Messages {
				answers, goOn := on(&m)
				for _, a := range answers {
					_, _ = out.Write(append(a, '\n'))
				}
				if !goOn {
					return 3
				}
			}
		}
		return 0
	})
	if o.Revision == "" {
		o.Revision = spec.V20251125
	}
	c, err := Open(t.Context(), d, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// gaveUpOn returns the positions of the requests that were given up.
func gaveUpOn(c *Conversation) []int {
	var of []int
	for _, e := range c.Record.From(0) {
		if e.Kind == transcript.GaveUp {
			of = append(of, e.Of)
		}
	}
	return of
}
