// Package transport names what every way of reaching a server has in common.
// A link carries raw bytes and writes all it sees into a transcript; it knows
// nothing of JSON-RPC.
package transport

import (
	"context"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// Dialer opens links to one server.
type Dialer interface {
	// Dial opens a link and records everything on it in rec. The context
	// bounds the opening only. An error says why the server could not be
	// started or reached, and what to do about it.
	Dial(ctx context.Context, rec *transcript.Transcript) (Link, error)
	// Transport names the transport that the links use.
	Transport() spec.Transport
}

// Link is one open connection to a server.
type Link interface {
	// Send writes each frame with the transport's own framing, all in one
	// write where the transport has such a thing.
	Send(ctx context.Context, frames ...[]byte) error
	// SendBytes writes exactly these bytes, one write a chunk, framing and
	// all; what they hold is recorded as frames.
	SendBytes(ctx context.Context, chunks ...[]byte) error
	// Ended is closed when no more can come from the server.
	Ended() <-chan struct{}
	// Shutdown ends the link in the way that the specification orders for
	// the transport, each step bounded by patience, and returns when nothing
	// of the server is left.
	Shutdown(patience Patience)
	// Signal asks the server's process to end, where there is one: "TERM"
	// or "INT". It reports whether that could be done.
	Signal(name string) bool
	// CloseInput tells the server that nothing more will be sent.
	CloseInput() error
}

// Patience bounds the steps of a shutdown.
type Patience struct {
	AfterClose time.Duration // for the exit after its input was closed
	AfterTerm  time.Duration // for the exit after SIGTERM
}
