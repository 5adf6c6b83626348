// Package client implements conversations: one client's use of a server, in the handshake era and
// in the stateless one. A conversation sends requests and notifications, responds to the server's
// requests as the client's declared capabilities say, and proves silence with a fence: a further
// request, whose response shows that the server has read everything before it. The package judges
// nothing.
package client

import (
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Options configure a conversation. The zero value of a field means its default.
type Options struct {
	// Revision is the revision that the client requests.
	Revision spec.Revision
	// Version is the string sent as protocolVersion; default: Revision.
	Version string
	// Capabilities are the capabilities that the client declares; nil means those of
	// AllCapabilities.
	Capabilities map[string]any
	// FirstID is the first id that NewID returns; default 1.
	FirstID int64
	// Timeout bounds the wait for a response; default 10 s.
	Timeout time.Duration
	// StartTimeout bounds the wait for the first response of a fresh server, its
	// start included, and for the response to initialize; default 60 s.
	StartTimeout time.Duration
	// Starts, if set, shortens the wait for a first response: the conversation stops
	// waiting once another server has started in the same time and responded. Without
	// it, the conversation waits for the whole StartTimeout.
	Starts Starts
	// Thorough makes the client wait for the response to a fence as long as for the response to any
	// other request. It also gives several requests without a response the whole timeout, rather than
	// only the first. Retries set it.
	Thorough bool
	// NoteShortWaits makes the client also record that no response came if it waited for less than
	// the timeout (see transcript.Event.Short). It is for a caller that retries.
	NoteShortWaits bool
	// LeastGrace is the minimum that the method Grace returns; default 100 ms.
	LeastGrace time.Duration
	// Pace is shared by conversations with the same server; nil means a new one.
	Pace *Pace
	// Budget is the memory budget that all conversations of a run share; nil means
	// no limit.
	Budget *transcript.Budget
	// Patience limits the steps of the shutdown. By default the server has 2 s to
	// exit after its input was closed, and 1 s after SIGTERM.
	Patience transport.Patience
	// Answer returns the bytes to send in response to a request of the server, or nil to send none.
	// By default the response follows from Capabilities.
	Answer func(request *wire.Message) []byte
	// Idle releases the caller's slot, so that others may work. It is called when the conversation
	// begins to wait for silence, or has waited for the server for a moment (see BeginWait). The
	// function that Idle returns is called when the wait is over.
	Idle func() (resume func())
	// ShouldSkipQuiet, when set, is called when AwaitQuiet begins to wait for silence; if it
	// returns true, AwaitQuiet returns ErrQuietSkipped instead.
	ShouldSkipQuiet func() bool
}

// The defaults of Options.
const (
	DefaultTimeout      = 10 * time.Second
	DefaultStartTimeout = time.Minute
)

func (o Options) withDefaults() Options {
	if o.Version == "" {
		o.Version = string(o.Revision)
	}
	if o.Capabilities == nil {
		o.Capabilities = AllCapabilities(o.Revision)
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.StartTimeout <= 0 {
		o.StartTimeout = DefaultStartTimeout
	}
	if o.Patience == (transport.Patience{}) {
		o.Patience = transport.Patience{AfterClose: 2 * time.Second, AfterTerm: time.Second}
	}
	if o.LeastGrace <= 0 {
		o.LeastGrace = 100 * time.Millisecond
	}
	if o.Pace == nil {
		o.Pace = &Pace{}
	}
	if o.Idle == nil {
		o.Idle = func() func() { return func() {} }
	}
	return o
}

// AllCapabilities returns the capabilities roots, sampling and, if revision r has it, elicitation,
// with the modes form and url if r has modes.
func AllCapabilities(r spec.Revision) map[string]any {
	empty := map[string]any{}
	caps := map[string]any{"roots": map[string]any{"listChanged": true}, "sampling": empty}
	switch {
	case r.AtLeast(spec.V20260728):
		caps = map[string]any{"roots": empty, "sampling": empty, "elicitation": map[string]any{"form": empty, "url": empty}}
	case r.AtLeast(spec.V20251125):
		caps["elicitation"] = map[string]any{"form": empty, "url": empty}
	case r.AtLeast(spec.V20250618):
		caps["elicitation"] = empty
	}
	return caps
}

// ClientInfo returns the clientInfo of mcp-conform.
func ClientInfo() map[string]any {
	return map[string]any{"name": "mcp-conform", "version": "1"}
}
