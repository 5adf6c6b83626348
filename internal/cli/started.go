package cli

import (
	"errors"
	"net/url"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/target"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/sse"
	"github.com/mcp-conform/mcp-conform/internal/transport/started"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	"github.com/mcp-conform/mcp-conform/internal/transport/streamablehttp"
)

// started starts the server that serves the URL of a target, and returns the
// dialer for it and what ends it; like remote otherwise.
func (a *app) started(t target.Target, f remoteFlags, timeout time.Duration) (dialer transport.Dialer, why string, stop func(), err error) {
	stdio.Adopt()
	starter := started.NewStarter(started.Options{
		Command: func(port string) stdio.Command {
			argv, dir, env := t.Start.Command(port)
			return stdio.Command{Argv: argv, Dir: dir, Env: env}
		},
		URL:    func(port string) (*url.URL, error) { return url.Parse(t.URLAt(port)) },
		Ported: t.Ported(), Ready: t.Start.Ready,
	})
	reach, err := f.reach(t)
	if err != nil {
		return nil, "", nil, err
	}
	server, err := starter.Start(a.ctx)
	if err != nil {
		return nil, "", nil, unstarted(err)
	}
	over := t.Transport
	if over == "" {
		if over, why, err = choose(a.ctx, server.URL(), reach, timeout); err != nil {
			output := server.Output()
			server.Stop()
			return nil, "", nil, withOutput(err, output)
		}
	}
	d := starter.Dialer(server, over, func(u *url.URL) transport.Dialer {
		if over == spec.SSE {
			return sse.NewDialer(u, reach)
		}
		return streamablehttp.NewDialer(u, reach)
	})
	return d, why, d.Close, nil
}

// unstarted turns the error of a start into one that ends the run.
func unstarted(err error) error {
	e := &engine.UnreachableError{Reason: err.Error(), Err: err}
	var why *started.Error
	if errors.As(err, &why) {
		e.Advice, e.Stderr = why.Advice, why.Output
	}
	return e
}

// withOutput adds what a started server wrote to why it is not reached.
func withOutput(err error, output string) error {
	var unreachable *engine.UnreachableError
	if errors.As(err, &unreachable) && unreachable.Stderr == "" {
		unreachable.Stderr = output
	}
	return err
}
