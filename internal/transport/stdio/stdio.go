// Package stdio reaches servers over stdin and stdout: it starts them as
// processes, each in a process group of its own, or runs them as Go functions
// over the same pipes, and sees to it that nothing of them is left behind.
package stdio

import (
	"cmp"
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

// The bounds of what is taken in from a server on one link.
const (
	// DefaultFrameBytes is the longest line that is kept whole.
	DefaultFrameBytes = 16 << 20
	// DefaultFrames is the number of lines that are recorded. A short message
	// takes about 1 KiB of memory in a transcript.
	DefaultFrames = 50_000
	// DefaultTotalBytes is how much of stdout is recorded.
	DefaultTotalBytes = 64 << 20
	// DefaultStderrBytes is how much of stderr is recorded.
	DefaultStderrBytes = 256 << 10
)

// Limits bounds what is taken in from a server on one link. A zero means the
// default.
type Limits struct {
	FrameBytes  int // the longest line that is kept whole; a longer one floods
	Frames      int // the number of lines that are recorded; one more floods
	TotalBytes  int // how much of stdout is recorded; one byte more floods
	StderrBytes int // how much of stderr is recorded
}

func (l Limits) orDefaults() Limits {
	return Limits{
		FrameBytes:  cmp.Or(l.FrameBytes, DefaultFrameBytes),
		Frames:      cmp.Or(l.Frames, DefaultFrames),
		TotalBytes:  cmp.Or(l.TotalBytes, DefaultTotalBytes),
		StderrBytes: cmp.Or(l.StderrBytes, DefaultStderrBytes),
	}
}

// Dialer starts a process for each link.
type Dialer struct {
	Limits  Limits
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
	return open(rec, d.Limits, func(far farEnds) (peer, error) { return startProcess(d.command, far) })
}
