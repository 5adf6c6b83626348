// Package inprocess runs reference servers as goroutines of this process and
// connects to them over pipes, because starting a process for each conversation
// would cost more than judging it.
package inprocess

import (
	"context"
	"io"

	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// Dialer returns a dialer for reference servers. options is called for each
// server; nil means default options.
func Dialer(options func() refserver.Options) transport.Dialer {
	return stdio.InProcess("reference", func(ctx context.Context, in io.Reader, out, errOut io.Writer, signals <-chan string) int {
		var o refserver.Options
		if options != nil {
			o = options()
		}
		return refserver.ServeStdio(ctx, in, out, errOut, signals, o)
	})
}

// MisbehavingDialer returns a dialer for reference servers that misbehave. seams returns the hooks
// that make a server misbehave. It is called for each server; nil means servers that conform.
func MisbehavingDialer(seams func() refserver.Seams) transport.Dialer {
	return Dialer(func() refserver.Options {
		if seams == nil {
			return refserver.Options{}
		}
		return refserver.Options{Seams: seams()}
	})
}
