// Package stdio connects to servers over stdin and stdout. It starts each
// server as a process in its own process group, or runs it as a Go function
// over the same kind of pipes, and makes sure that no process is left running.
package stdio

import (
	"context"
	"errors"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

// ErrInputClosed is returned when nothing more can be sent: the server exited
// or closed its stdin, or CloseInput was called.
var ErrInputClosed = errors.New("the server's stdin is closed")

// A Command describes how to start a server.
type Command struct {
	Argv []string // the program and its arguments
	Dir  string   // the working directory; empty for our own
	// Env is the complete environment, as NAME=value; nil for our own. The
	// program is looked up in its PATH, or in ours if Env has no PATH.
	Env []string
}

// A Dialer starts a process for each link.
type Dialer struct {
	command Command
}

// NewDialer returns a dialer that runs c for each link.
func NewDialer(c Command) *Dialer { return &Dialer{command: c} }

// Transport returns spec.Stdio.
func (d *Dialer) Transport() spec.Transport { return spec.Stdio }

// Dial starts the server. The error is a *StartError if the server could not be started. A server
// that starts and exits immediately is not an error; in that case rec has an Exited event.
func (d *Dialer) Dial(ctx context.Context, rec *transcript.Transcript) (transport.Link, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	return open(rec, newSystemPipes, func(far farEnds) (peer, error) { return startProcess(d.command, far) })
}
