package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/issuer"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/target"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/sse"
	"github.com/mcp-conform/mcp-conform/internal/transport/started"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	"github.com/mcp-conform/mcp-conform/internal/transport/streamablehttp"
)

// startServer starts the server that serves the URL of a target. It returns the dialer, a sentence
// that says why the transport was chosen ("" if the user named it), and a function that stops the
// server.
func (a *app) startServer(t target.Target, s *remoteServer, timeout time.Duration) (dialer transport.Dialer, why string, stop func(), err error) {
	a.outputName = "output"
	starter := started.NewStarter(started.Options{
		Command: func(port string) stdio.Command {
			argv, dir, env := t.Start.Command(port)
			if s.issuer != nil {
				env = append(slices.Clone(env), issuer.URLVariable+"="+s.issuer.URL)
			}
			if s.upstream != nil {
				env = append(slices.Clone(env), s.flags.upstreamEnv+"="+s.upstream.URL)
			}
			return stdio.Command{Argv: argv, Dir: dir, Env: env}
		},
		URL:           func(port string) (*url.URL, error) { return url.Parse(t.URLAt(port)) },
		NeedsFreePort: t.NeedsFreePort(), Ready: t.Start.Ready,
	})
	reach, err := s.flags.reach(t, s.pacer)
	if err != nil {
		return nil, "", nil, err
	}
	done := engine.ReportWaiting("the server to listen", t.Start.Ready, s.waiting)
	server, err := starter.Start(a.ctx)
	if done(); err != nil {
		return nil, "", nil, a.explainUnstarted(err)
	}
	over := t.Transport
	if over == "" {
		if over, why, err = chooseTransport(a.ctx, server.URL(), reach, timeout, s.waiting); err != nil {
			err = a.explainUnserved(err, server)
			server.Stop()
			return nil, "", nil, err
		}
	}
	first, err := a.addToken(s, server.URL(), reach)
	if err != nil {
		server.Stop()
		return nil, "", nil, err
	}
	s.recordAccess(first, server.URL())
	d := starter.Dialer(server, over, func(u *url.URL) transport.Dialer {
		reach, err := a.addToken(s, u, reach)
		if err != nil {
			reach = first // without a new token, use the first one: only the port has changed
		}
		if over == spec.SSE {
			return sse.NewDialer(u, reach)
		}
		return streamablehttp.NewDialer(u, reach)
	})
	return d, why, d.Close, nil
}

// explainUnstarted converts an error from starting the server into one that ends the
// run.
func (a *app) explainUnstarted(err error) error {
	if a.ctx.Err() != nil {
		return &engine.NothingJudgedError{Reason: context.Cause(a.ctx).Error() + " while the server started"}
	}
	e := &engine.UnreachableError{Reason: err.Error(), Err: err}
	var why *started.Error
	if errors.As(err, &why) {
		e.Advice, e.Stderr = why.Advice, why.Output
	}
	return e
}

// explainUnserved adds the server's output and exit to the error of a failed transport detection,
// if the server can't be reached.
func (a *app) explainUnserved(err error, s *started.Server) error {
	var unreachable *engine.UnreachableError
	if a.ctx.Err() != nil || !errors.As(err, &unreachable) {
		return err
	}
	if how, ended := s.HowEnded(); ended {
		unreachable.Reason = "the server ended before it answered initialize: " + how
		unreachable.Advice = "read what it wrote"
	}
	unreachable.Stderr = s.Output() // all of it, if the server has ended
	return unreachable
}

// referenceTarget returns the reference server as a target: a command over stdio, or
// a command that serves a URL.
func (a *app) referenceTarget(o target.Options) (target.Target, error) {
	self, err := a.Executable()
	if err != nil {
		return target.Target{}, harnessError{fmt.Errorf("finding this program to start its reference server: %w", err)}
	}
	if o.Start != nil || o.Ready != nil {
		return target.Target{}, usagef("leave it out", "--start and --ready do not apply to the reference server, which is always started")
	}
	path := map[string]string{"http": "mcp", "sse": "sse"}[o.Transport]
	switch {
	case o.Transport == "":
		// With this variable, all processes of the reference server accept each other's
		// requestState.
		env := append(slices.Clone(a.Environ), "MCP_CONFORM_STATE_KEY="+rand.Text())
		return target.Target{Argv: []string{self, "serve"}, Env: env, Name: "reference"}, nil
	case path == "":
		return target.Target{}, usagef("give http or sse, or leave it out for stdio", "--transport is %q, which the reference server does not have", o.Transport)
	}
	start := "'" + strings.ReplaceAll(self, "'", `'\''`) + "' serve --" + o.Transport + " 127.0.0.1:" + target.PortMark
	return target.Resolve(target.Options{
		Args: []string{"http://127.0.0.1:" + target.PortMark + "/" + path}, Dash: -1,
		Start: &start, Transport: o.Transport, Environ: a.Environ,
	})
}

// referenceFlags returns the flags that select the reference server in a replay
// command.
func referenceFlags(o target.Options) []string {
	if o.Transport == "" {
		return []string{"--reference"}
	}
	return []string{"--reference", "--transport", o.Transport}
}
