package selftest

import (
	"context"
	"os"
	"slices"
	"sync/atomic"

	"github.com/mcp-conform/mcp-conform/internal/inprocess"
	"github.com/mcp-conform/mcp-conform/internal/issuer"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	"github.com/mcp-conform/mcp-conform/internal/upstream"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
)

// helperServers are the servers that the reference server of a row needs in order to run.
type helperServers struct {
	issuer   *issuer.Issuer   // nil unless the server trusts one
	upstream *upstream.Double // nil unless the server calls one
}

// startHelperServers starts the servers that a reference server with this fault needs, and returns
// a function that stops them.
func startHelperServers(ctx context.Context, f faults.Fault) (s helperServers, end func(), err error) {
	end = func() {
		if s.issuer != nil {
			s.issuer.Close()
		}
		if s.upstream != nil {
			s.upstream.Close()
		}
	}
	if f.Issued {
		s.issuer, err = issuer.Start(ctx)
	}
	if f.Upstream && err == nil {
		s.upstream, err = upstream.Start(ctx, nil)
	}
	if err != nil {
		end()
	}
	return s, end, err
}

// dialer returns the dialer for the server of a row, and a function that stops
// the server.
func (o *Options) dialer(ctx context.Context, j job, around helperServers) (d transport.Dialer, end func()) {
	if f := j.fault; f.NeedsProcess && j.at.Transport == spec.Stdio {
		return countingDialer{stdio.NewDialer(stdio.Command{Argv: append(slices.Clone(o.Command), f.ID), Env: os.Environ()}), o.starts}, func() {}
	}
	return dialer(ctx, j.fault, j.at.Transport, o.starts, around)
}

// Dialer returns a dialer for reference servers with the fault f that run in this process, and a
// function that stops them. Over stdio it can't provide a fault that needs a separate process.
func Dialer(ctx context.Context, f faults.Fault, over spec.Transport) (d transport.Dialer, end func()) {
	return dialer(ctx, f, over, new(atomic.Int64), helperServers{})
}

func dialer(ctx context.Context, f faults.Fault, over spec.Transport, starts *atomic.Int64, around helperServers) (d transport.Dialer, end func()) {
	if over != spec.Stdio {
		h := &overHTTP{ctx: ctx, fault: f, over: over, lasting: f.Transports != nil && !f.OwnServer, starts: starts, helperServers: around}
		if h.lasting {
			return sharedServer{h}, h.stop
		}
		return h, h.stop
	}
	return countingDialer{inprocess.Dialer(func() refserver.Options { return serverOptions(f) }), starts}, func() {}
}

// countingDialer counts the servers that a stdio dialer starts.
type countingDialer struct {
	transport.Dialer
	starts *atomic.Int64
}

// Dial implements transport.Dialer.
func (c countingDialer) Dial(ctx context.Context, rec *transcript.Transcript) (transport.Link, error) {
	c.starts.Add(1)
	return c.Dialer.Dial(ctx, rec)
}

func serverOptions(f faults.Fault) refserver.Options {
	o := refserver.Options{JSONOnly: f.JSONOnly}
	if f.Protected {
		o.Token = faults.Token
	}
	if f.StatelessOnly {
		o.Revisions = spec.StatelessRevisions()
	}
	if f.Seams != nil {
		o.Seams = f.Seams()
	}
	return o
}
