package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
)

func (a *app) serveCommand() *cobra.Command {
	var fault string
	c := &cobra.Command{
		Use:   "serve [--fault ID | --fault list]",
		Short: "Be the reference server on stdio, right or wrong on demand",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			if fault == "list" {
				return a.listFaults()
			}
			return a.serve(fault)
		},
	}
	c.Flags().StringVar(&fault, "fault", "", "misbehave in this way; list shows all")
	return c
}

func (a *app) listFaults() error {
	l := &listing{}
	l.faults()
	printRows(a.Out, a.Columns, l.rows)
	return nil
}

func (a *app) serve(id string) error {
	var o refserver.Options
	if id != "" {
		f, ok := faults.Lookup(id)
		if !ok {
			return usagef("mcp-conform serve --fault list shows all", "there is no fault %q", id)
		}
		o.Seams = f.Seams()
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
