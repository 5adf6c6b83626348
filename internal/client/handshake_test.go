package client

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// sentMethods returns the methods of what was sent, in order.
func sentMethods(c *Conversation) []string {
	var out []string
	for _, e := range c.Record.From(0) {
		if e.Kind == transcript.Sent {
			for _, m := range e.Messages() {
				out = append(out, m.Method)
			}
		}
	}
	return out
}

func TestHandshake(t *testing.T) {
	inBubble(t, Options{}, respondNormally, func(t *testing.T, c *Conversation, _ *scripted) {
		if c.Server().Result != nil {
			t.Error("the server is known before it said anything")
		}
		if err := c.Handshake(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"initialize", "notifications/initialized"}, sentMethods(c)); diff != "" {
			t.Errorf("sent (-want +got):\n%s", diff)
		}
		s := c.Server()
		if s.Name != "scripted" || s.Version != "7" || s.ProtocolVersion != "2025-11-25" || wire.At(s.Result, "/serverInfo") == nil {
			t.Errorf("the server is %+v", s)
		}
		params := c.Record.From(0)[1].Messages()[0].Params()
		want := `{"capabilities":{"elicitation":{"form":{},"url":{}},"roots":{"listChanged":true},"sampling":{}},"clientInfo":{"name":"mcp-conform","version":"1"},"protocolVersion":"2025-11-25"}`
		if string(params) != want {
			t.Errorf("initialize has the params %s", params)
		}
		if c.slowest != 0 {
			t.Error("the server's start counts for the grace")
		}
	})
}

func TestHandshakeFails(t *testing.T) {
	for _, c := range []struct {
		name   string
		on     func(*scripted, *wire.Message)
		reason string
		err    error
		took   time.Duration
	}{
		{"refused", func(s *scripted, m *wire.Message) { s.write(wire.NewError(m.ID, -32602, "no", nil)) }, "the server refused", nil, 0},
		{"another version", func(s *scripted, m *wire.Message) {
			s.write(wire.NewResult(m.ID, map[string]any{"protocolVersion": "2024-11-05"}))
		}, "asked for version 2025-11-25, the server chose 2024-11-05", nil, 0},
		{"no version", func(s *scripted, m *wire.Message) { s.write(wire.NewResult(m.ID, "x")) }, "the server chose ", nil, 0},
		{"mute", func(*scripted, *wire.Message) {}, "no response came in time", ErrUnanswered, DefaultStartTimeout},
		{"another id", func(s *scripted, m *wire.Message) { s.write(wire.NewResult(wire.StringID(m.ID.Raw()), nil)) }, "no response came in time", ErrUnanswered, 100 * time.Millisecond},
		{"ended", func(s *scripted, _ *wire.Message) { s.runAfter(time.Second, s.end) }, "the server ended the connection", ErrEnded, time.Second},
		{"flooded", func(s *scripted, _ *wire.Message) { s.rec.Add(transcript.Event{Kind: transcript.Flooded}) }, "the server ended the connection", ErrEnded, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, Options{Timeout: time.Second}, c.on, func(t *testing.T, conv *Conversation, _ *scripted) {
				began := time.Now()
				var failure *HandshakeError
				if err := conv.Handshake(t.Context()); !errors.As(err, &failure) {
					t.Fatalf("the error is %v", err)
				}
				if !strings.HasSuffix(failure.Reason, c.reason) || !errors.Is(failure.Err, c.err) || failure.Reply == nil || failure.Reply.Sent == nil {
					t.Errorf("got %+v", failure)
				}
				if took := time.Since(began); took != c.took {
					t.Errorf("it took %v, not %v", took, c.took)
				}
				if n := len(sentMethods(conv)); n != 1 || len(givenUpRequests(conv)) > 0 {
					t.Errorf("%d messages were sent, given up on %v", n, givenUpRequests(conv))
				}
			})
		})
	}
}

func TestHandshakeCancelledByCaller(t *testing.T) {
	inBubble(t, Options{}, func(*scripted, *wire.Message) {}, func(t *testing.T, c *Conversation, _ *scripted) {
		enough := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, enough)
		defer cancel()
		err := c.Handshake(ctx)
		if !errors.Is(err, enough) || errors.Is(err, ErrUnanswered) {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestStatelessHandshake(t *testing.T) {
	slow := func(s *scripted, m *wire.Message) {
		s.runAfter(5*time.Second, func() {
			s.write(wire.NewResult(m.ID, map[string]any{"capabilities": map[string]any{"tools": map[string]any{}}}))
		})
	}
	inBubble(t, Options{Revision: spec.V20260728, Timeout: time.Second}, slow, func(t *testing.T, c *Conversation, _ *scripted) {
		c.started.Store(false)
		if err := c.Handshake(t.Context()); err != nil {
			t.Fatal(err) // the start may take longer than an answer
		}
		if diff := cmp.Diff([]string{"server/discover"}, sentMethods(c)); diff != "" {
			t.Errorf("sent (-want +got):\n%s", diff)
		}
		if !c.Server().Declares("tools") || c.HarmlessMethod() != "server/discover" {
			t.Error("the server is not known")
		}
		if c.Grace() != 100*time.Millisecond {
			t.Errorf("the server's start counts for the grace: %v", c.Grace())
		}
	})
}

func TestMetadataOfTheStatelessEra(t *testing.T) {
	inBubble(t, Options{Revision: spec.V20260728, Version: "x", Capabilities: map[string]any{"roots": true}}, respondNormally, func(t *testing.T, c *Conversation, _ *scripted) {
		own := map[string]any{"progressToken": 1, "io.modelcontextprotocol/protocolVersion": "y"}
		in := map[string]any{"a": 1, "_meta": own}
		meta := func(version string, more map[string]any) map[string]any {
			m := map[string]any{
				"io.modelcontextprotocol/protocolVersion":    version,
				"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "mcp-conform", "version": "1"},
				"io.modelcontextprotocol/clientCapabilities": map[string]any{"roots": true},
			}
			for k, v := range more {
				m[k] = v
			}
			return m
		}
		for _, x := range []struct{ in, want map[string]any }{
			{nil, map[string]any{"_meta": meta("x", nil)}},
			{in, map[string]any{"a": 1, "_meta": meta("y", map[string]any{"progressToken": 1})}},
			{map[string]any{"_meta": 5}, map[string]any{"_meta": 5}},
			{map[string]any{"_meta": nil}, map[string]any{"_meta": nil}},
		} {
			if diff := cmp.Diff(x.want, c.withMeta(x.in)); diff != "" {
				t.Errorf("params of %v (-want +got):\n%s", x.in, diff)
			}
		}
		if len(in) != 2 || len(own) != 2 {
			t.Error("the caller's params were altered")
		}
		frame := string(c.Request(wire.IntID(1), "m", nil))
		if !strings.Contains(frame, `"io.modelcontextprotocol/protocolVersion":"x"`) {
			t.Errorf("a request is %s", frame)
		}
	})
	inBubble(t, Options{Revision: spec.V20251125}, respondNormally, func(t *testing.T, c *Conversation, _ *scripted) {
		if got := string(c.Request(wire.IntID(1), "m", nil)); got != `{"jsonrpc":"2.0","id":1,"method":"m"}` {
			t.Errorf("a request of the handshake era is %s", got)
		}
	})
}

func TestDeclares(t *testing.T) {
	_, caps := wire.Members([]byte(`{"tools":{"listChanged":true,"x":false},"resources":{"subscribe":null},"logging":null,"prompts":{},"odd":true}`))
	s := Server{Capabilities: caps}
	for capability, want := range map[string]bool{
		"tools": true, "tools.listChanged": true, "tools.x": false, "tools.y": false, "tools.listChanged.z": false,
		"resources": true, "resources.subscribe": false, "logging": false, "prompts": true, "odd": true, "odd.x": false, "": false, "absent": false,
	} {
		if got := s.Declares(capability); got != want {
			t.Errorf("Declares(%q) = %v", capability, got)
		}
	}
	if (Server{}).Declares("tools") {
		t.Error("a server of which nothing is known declares something")
	}
}

func TestCapabilitiesOfEachRevision(t *testing.T) {
	want := map[spec.Revision]string{
		spec.V20241105: `{"roots":{"listChanged":true},"sampling":{}}`,
		spec.V20250326: `{"roots":{"listChanged":true},"sampling":{}}`,
		spec.V20250618: `{"elicitation":{},"roots":{"listChanged":true},"sampling":{}}`,
		spec.V20251125: `{"elicitation":{"form":{},"url":{}},"roots":{"listChanged":true},"sampling":{}}`,
		spec.V20260728: `{"elicitation":{"form":{},"url":{}},"roots":{},"sampling":{}}`,
	}
	for _, r := range spec.Revisions() {
		if got := string(wire.JSON(AllCapabilities(r))); got != want[r] {
			t.Errorf("%s: %s", r, got)
		}
	}
}
