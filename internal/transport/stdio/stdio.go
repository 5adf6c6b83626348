// Package stdio reaches servers over stdin and stdout: it starts them as
// processes, each in a process group of its own, or runs them as Go functions
// over the same pipes, and sees to it that nothing of them is left behind.
package stdio

import (
	"context"
	"errors"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

// ErrInputClosed says that nothing can be sent any more: the server exited
// or closed its stdin, or CloseInput was called.
var ErrInputClosed = errors.New("the server's stdin is closed")

// Command says how a server is started.
type Command struct {
	Argv []string // the program and its arguments
	Dir  string   // the working directory; empty for our own
	// Env is the complete environment, as NAME=value; nil for our own. The
	// program is looked for in its PATH, or in ours where it has none.
	Env []string
}

// Dialer starts a process for each link.
type Dialer struct {
	command Command
}

// NewDialer returns a dialer that runs c anew for each link.
func NewDialer(c Command) *Dialer { return &Dialer{command: c} }

// Transport returns spec.Stdio.
func (d *Dialer) Transport() spec.Transport { return spec.Stdio }

// Dial starts the server. The error is a *StartError when it could not be
// started; a server that starts and exits at once is no error here, but an
// Exited event in rec.
func (d *Dialer) Dial(ctx context.Context, rec *transcript.Transcript) (transport.Link, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	return open(rec, func(far farEnds) (peer, error) { return startProcess(d.command, far) })
}
