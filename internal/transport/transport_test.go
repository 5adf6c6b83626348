package transport_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/sse"
	"github.com/mcp-conform/mcp-conform/internal/transport/started"
	"github.com/mcp-conform/mcp-conform/internal/transport/streamablehttp"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// Callers detect optional interfaces at run time, so a link that lost a method would lose
// the feature without an error.
var (
	_ transport.Sharer         = (*started.Dialer)(nil)
	_ transport.ExitNotifiable = (*streamablehttp.Link)(nil)
	_ transport.ExitNotifiable = (*sse.Link)(nil)
)

const (
	wait       = 20 * time.Second
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`
	ping       = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
)

// TestLinks checks that every transport implements the link interfaces.
func TestLinks(t *testing.T) {
	for _, c := range []struct {
		over spec.Transport
		web  bool
	}{
		{over: spec.Stdio},
		{over: spec.StreamableHTTP, web: true},
		{over: spec.SSE, web: true},
	} {
		t.Run(string(c.over), func(t *testing.T) {
			dialer, stop := suitetest.ReferenceOver(c.over, refserver.Options{})
			defer stop()
			if got := dialer.Transport(); got != c.over {
				t.Errorf("Transport() = %s", got)
			}
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			defer cancel()
			record := transcript.New()
			link, err := dialer.Dial(ctx, record)
			if err != nil {
				t.Fatal(err)
			}
			if err := link.Send(ctx, []byte(initialize)); err != nil {
				t.Fatal(err)
			}
			await(ctx, t, record, transcript.Received, `"protocolVersion"`)
			if err := link.SendBytes(ctx, []byte(ping+"\n")); err != nil {
				t.Fatal(err)
			}
			await(ctx, t, record, transcript.Received, `"id":2`)
			for _, frame := range []string{initialize, ping} {
				await(ctx, t, record, transcript.Sent, frame)
			}

			if _, ok := link.(transport.Web); ok != c.web {
				t.Errorf("implements transport.Web: %v", ok)
			}
			if _, ok := link.(transport.ExitNotifiable); ok != c.web {
				t.Errorf("implements transport.ExitNotifiable: %v", ok)
			}
			if _, ok := link.(transport.Local); ok {
				t.Error("implements transport.Local without having started the server")
			}
			if c.web && link.Signal("TERM") {
				t.Error("Signal succeeded over HTTP")
			}

			select {
			case <-link.Ended():
				t.Error("the link ended before it was shut down")
			default:
			}
			link.Shutdown(transport.Patience{AfterClose: wait, AfterTerm: wait})
			select {
			case <-link.Ended():
			case <-ctx.Done():
				t.Error("the link did not end after Shutdown")
			}
			if err := link.Send(ctx, []byte(ping)); err == nil {
				t.Error("Send succeeded after Shutdown")
			}
		})
	}
}

// await waits until the record has an event that contains text.
func await(ctx context.Context, t *testing.T, record *transcript.Transcript, kind transcript.Kind, text string) {
	t.Helper()
	for at := 0; ; {
		events, err := record.Wait(ctx, at)
		if err != nil {
			t.Fatalf("no event %v with %s came: %v", kind, text, err)
		}
		for _, e := range events {
			if e.Kind == kind && bytes.Contains(e.Raw, []byte(text)) {
				return
			}
		}
		at += len(events)
	}
}
