package engine

import (
	"bytes"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// EchoReason and EchoAdvice describe a server that echoes what it receives.
const (
	EchoReason = "the server echoes every message, even initialize, instead of answering it"
	EchoAdvice = "is this an MCP server? check the command, and that nothing between here and the server echoes (a terminal, cat, tee)"
)

// Echoes reports whether the initialize request came back unchanged. A server that echoes it also
// echoes the client's response to this copy, and that echo must not be taken for a response of the
// server.
func Echoes(events []*transcript.Event) bool {
	var sent []byte
	for _, e := range events {
		switch {
		case e.Kind == transcript.Sent && sent == nil && isInitializeRequest(e):
			sent = bytes.TrimSpace(e.Raw)
		case e.Kind == transcript.Received && sent != nil && isInitializeRequest(e) && bytes.Equal(bytes.TrimSpace(e.Raw), sent):
			return true
		}
	}
	return false
}

func isInitializeRequest(e *transcript.Event) bool {
	return slices.ContainsFunc(e.Messages(), func(m wire.Message) bool { return m.Kind == wire.Request && m.Method == spec.MethodInitialize })
}

// isEcho reports whether the server echoes what it receives instead of responding.
func (p *probed) isEcho() bool {
	return p.conv != nil && !p.reply.Succeeded() && Echoes(p.conv.Record.From(0))
}
