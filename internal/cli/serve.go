package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
)

func (a *app) serveCommand() *cobra.Command {
	f := &serveFlags{}
	c := &cobra.Command{
		Use:   "serve [--http HOST:PORT | --sse HOST:PORT] [--fault ID | --fault list]",
		Short: "Be the reference server, right or wrong on demand",
		Long: `Be the reference server: on stdio, over Streamable HTTP at /mcp, or over HTTP+SSE
at /sse. Port 0 takes a free one; the URL is written to stderr.`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			if f.fault == "list" {
				return a.listFaults()
			}
			return a.serve(f)
		},
	}
	c.Flags().StringVar(&f.fault, "fault", "", "misbehave in this way; list shows all")
	c.Flags().StringVar(&f.http, "http", "", "serve Streamable HTTP at this address, as 127.0.0.1:3000")
	c.Flags().StringVar(&f.sse, "sse", "", "serve HTTP+SSE at this address")
	c.Flags().BoolVar(&f.jsonOnly, "json-only", false, "with --http: answer by JSON alone, never by a stream")
	return c
}

// serveFlags are the flags of mcp-conform serve.
type serveFlags struct {
	fault, http, sse string
	jsonOnly         bool
}

func (a *app) listFaults() error {
	l := &listing{}
	l.faults()
	printRows(a.Out, a.Columns, l.rows)
	return nil
}

func (a *app) serve(f *serveFlags) error {
	o := refserver.Options{JSONOnly: f.jsonOnly}
	if f.fault != "" {
		fault, ok := faults.Lookup(f.fault)
		if !ok {
			return usagef("mcp-conform serve --fault list shows all", "there is no fault %q", f.fault)
		}
		o.Seams = fault.Seams()
	}
	switch {
	case f.http != "" && f.sse != "":
		return usagef("give one of them", "both --http and --sse are given")
	case f.jsonOnly && f.http == "":
		return usagef("add --http, or leave it out", "--json-only is for Streamable HTTP")
	case f.http != "":
		return a.serveHTTP(f.http, spec.StreamableHTTP, o)
	case f.sse != "":
		return a.serveHTTP(f.sse, spec.SSE, o)
	}
	raw := make(chan os.Signal, 4)
	signal.Notify(raw, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(raw)
	ctx, cancel := context.WithCancel(a.ctx)
	defer cancel()
	names := make(chan string, 4)
	go func() {
		for {
			select {
			case s := <-raw:
				name := "TERM"
				if s == os.Interrupt {
					name = "INT"
				}
				select {
				case names <- name:
				default: // the server was told often enough
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	a.code = refserver.ServeStdio(ctx, a.In, a.Out, a.Err, names, o)
	return nil
}
