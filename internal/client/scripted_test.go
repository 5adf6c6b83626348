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

// scripted is a server without a process and pipes, so that the clock of a synctest bubble stands
// still while it works. It handles each message within the call of Send.
type scripted struct {
	on     func(s *scripted, m *wire.Message) // called for each message from the client
	before func()                             // called before a frame is sent; may be nil

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

// write writes a frame to the client.
func (s *scripted) write(frame []byte) {
	s.rec.Add(transcript.Event{Kind: transcript.Received, Raw: frame})
}

// runAfter calls do after d, unless the server has ended by then.
func (s *scripted) runAfter(d time.Duration, do func()) {
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

// respondNormally answers requests as a conforming server does.
func respondNormally(s *scripted, m *wire.Message) {
	if m.Kind == wire.Request {
		s.write(normalResponse(m))
	}
}

// normalResponse returns the response of a conforming server without features.
func normalResponse(m *wire.Message) []byte {
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

// inBubble runs hold with a conversation in a synctest bubble. The scripted server counts as started.
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

// overPipes opens a conversation over pipes with a server that calls on for each message. on returns
// the messages to send, and whether the server continues.
func overPipes(t *testing.T, o Options, on func(m *wire.Message) (answers [][]byte, continues bool)) *Conversation {
	t.Helper()
	d := stdio.InProcess("scripted", func(_ context.Context, in io.Reader, out, errOut io.Writer, _ <-chan string) int {
		_, _ = io.WriteString(errOut, "I listen\n")
		for lines := bufio.NewScanner(in); lines.Scan(); {
			for _, m := range wire.Parse(slices.Clone(lines.Bytes())).Messages {
				answers, continues := on(&m)
				for _, a := range answers {
					_, _ = out.Write(append(a, '\n'))
				}
				if !continues {
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

// givenUpRequests returns the positions of the requests whose missing response was recorded.
func givenUpRequests(c *Conversation) []int {
	var of []int
	for _, e := range c.Record.From(0) {
		if e.Kind == transcript.GaveUp {
			of = append(of, e.Of)
		}
	}
	return of
}
