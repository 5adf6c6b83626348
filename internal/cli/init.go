package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/config"
	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/stderr"
	"github.com/mcp-conform/mcp-conform/internal/target"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

// workflowFile is the path at which GitHub looks for the workflow.
var workflowFile = filepath.Join(".github", "workflows", "mcp-conform.yml")

// initTime limits the time for inspecting the server. The server's first start has a limit of its
// own.
const initTime = time.Minute

// initFlags are the flags of mcp-conform init.
type initFlags struct {
	server          serverFlags
	force, workflow bool
}

func (a *app) initCommand() *cobra.Command {
	f := &initFlags{server: serverFlags{timeout: client.DefaultTimeout, callTools: string(inventory.CallSafe)}}
	c := &cobra.Command{
		Use:   "init [flags] COMMAND | init [flags] -- COMMAND ARGUMENT...",
		Short: "Write an " + config.Name + " for a server",
		Long: `Start a server, look at what it offers, and write an ` + config.Name + ` that
says how to reach it, which tools a run may call, and what they do.
--workflow adds a workflow for GitHub Actions. No tool is called.

  mcp-conform init ./my-server
  mcp-conform init --workflow -- npx -y some-server
  mcp-conform init --start 'npm start' http://localhost:3000/mcp`,
		RunE: func(c *cobra.Command, args []string) error {
			f.server.command = "init"
			f.server.takeTarget(c, args)
			return a.init(c, f)
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.BoolVar(&f.force, "force", false, "overwrite existing files")
	fs.BoolVar(&f.workflow, "workflow", false, "write "+filepath.ToSlash(workflowFile)+", too")
	f.server.registerTarget(fs)
	fs.DurationVar(&f.server.start, "start-timeout", client.DefaultStartTimeout, startUsage)
	return c
}

// init writes the configuration and, with --workflow, the workflow. If a configuration exists, then
// --workflow without a server and without --force writes only the workflow, which judges the
// configured server.
func (a *app) init(c *cobra.Command, f *initFlags) error {
	files := []string{config.Name}
	if f.workflow {
		files = append(files, workflowFile)
		if fileExists(config.Name) && !f.force && len(f.server.target.Args) == 0 && f.server.target.ConfigFile == "" && f.server.target.ServerName == "" {
			files = files[1:]
		}
	}
	for _, name := range files {
		if fileExists(name) && !f.force {
			return usagef("--force overwrites it; --workflow without a server adds a workflow to a configuration", "%s exists already", filepath.ToSlash(name))
		}
	}
	if files[0] != config.Name || f.force {
		if err := a.configure(c.Flags(), &f.server); err != nil && (len(f.server.target.Args) == 0 || files[0] != config.Name) {
			return err
		}
	}
	t, err := a.resolve(&f.server)
	if err != nil {
		return err
	}
	texts := map[string]string{workflowFile: workflow(t)}
	if files[0] == config.Name {
		if texts[config.Name], err = a.draft(f, t); err != nil {
			return err
		}
	}
	for _, name := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return harnessError{err}
		}
		if err := a.writeFile(name, func(w io.Writer) error { _, err := io.WriteString(w, texts[name]); return err }); err != nil {
			return harnessError{err}
		}
		fmt.Fprintf(a.Out, "%s is written.\n", filepath.ToSlash(name))
	}
	fmt.Fprintln(a.Out, "Look through it, then: mcp-conform run")
	return nil
}

func fileExists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// draft connects to the server and returns a configuration for what the server offers. For each era
// (handshake or stateless), the configuration describes the first revision of probeOrder that the
// server speaks.
func (a *app) draft(f *initFlags, t target.Target) (string, error) {
	defer a.handleSignals(interruptMessage)()
	s, err := a.open(&f.server, nil)
	defer s.close()
	if err != nil {
		return "", err
	}
	o := s.options
	limit := o.FirstStart + initTime
	ctx, cancel := context.WithTimeoutCause(a.ctx, limit, fmt.Errorf("the server did not list what it offers within %s", formatDuration(limit)))
	defer cancel()
	d := &config.Draft{Target: t.Args()}
	var era spec.Era // of the revision that the draft describes
	refused := &engine.UnreachableError{Reason: "the server speaks no known revision", Advice: "mcp-conform doctor shows which step fails"}
	for _, rev := range probeOrder(o.Dialer.Transport()) {
		isOther, start := len(d.Offers) > 0, o.FirstStart
		if isOther {
			if rev.Era() == era {
				continue
			}
			start = min(start, client.DefaultTimeout) // the server is known to start, but may never respond in the other era
		}
		v, why, err := a.inspect(ctx, o.Dialer, rev, start)
		switch {
		case isOther && (v == nil || ctx.Err() != nil) && a.ctx.Err() == nil:
			continue
		case err != nil:
			return "", &engine.UnreachableError{Reason: err.Error(), Err: err}
		case ctx.Err() != nil:
			return "", &engine.UnreachableError{Reason: context.Cause(ctx).Error(), Err: ctx.Err()}
		case v == nil:
			if why != nil && refused.Err == nil {
				refused.Reason, refused.Stderr, refused.Err = why.Reason, why.Stderr, why.Err
			}
			continue
		}
		fmt.Fprintf(a.Out, "%s offers %s, %s, %s and %s in %s.\n", a.redactAndEscape(v.Server.Name), countOf(len(v.Tools), "tool"),
			countOf(len(v.Resources), "resource"), countOf(len(v.Templates), "template"), countOf(len(v.Prompts), "prompt"), rev)
		if !isOther {
			d.Server = strings.TrimSpace(v.Server.Name + " " + v.Server.Version)
		}
		era, d.Revisions, d.Offers = rev.Era(), append(d.Revisions, string(rev)), append(d.Offers, v)
	}
	if len(d.Offers) == 0 {
		return "", refused
	}
	return a.redact(d.Write()), nil
}

// inspect returns what the server offers in a revision. If the server does not speak it, the
// inventory is nil, and why is the failure of the handshake, or nil if the server chose another
// revision. err is set if no conversation can be opened.
func (a *app) inspect(ctx context.Context, dialer transport.Dialer, rev spec.Revision, start time.Duration) (v *inventory.Inventory, why *engine.UnreachableError, err error) {
	c, err := client.Open(ctx, dialer, client.Options{Revision: rev, StartTimeout: start})
	if err != nil {
		return nil, nil, err
	}
	defer c.Close()
	stop := engine.ReportWaiting("the server's first response", start, a.waitingPrinter())
	err = c.Handshake(ctx)
	stop()
	switch {
	case err != nil:
		c.Close() // what the server wrote to stderr may arrive after the end of its stdout
		return nil, &engine.UnreachableError{Reason: err.Error(), Stderr: c.Stderr(stderr.Searched), Err: err}, nil
	case c.Server().ProtocolVersion != string(rev):
		return nil, nil, nil
	}
	return inventory.Take(ctx, c, inventory.Config{Policy: inventory.CallSafe}), nil, nil
}

func countOf(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// workflow returns a workflow that judges the server.
func workflow(t target.Target) string {
	var with []string
	words := t.Args()
	addInput := func(input, text string) {
		with = append(with, fmt.Sprintf("          %s: %s", input, config.Quote(text)))
	}
	for i := 0; i+1 < len(words); i++ {
		if words[i] == "--start" {
			addInput("start", words[i+1])
		}
	}
	if t.URL != "" {
		addInput("url", words[len(words)-1])
	} else {
		addInput("command", t.Display())
	}
	return strings.Join([]string{
		"name: mcp-conform", "on: [push, pull_request]", "permissions:", "  contents: read", "jobs:", "  mcp-conform:",
		"    runs-on: ubuntu-latest", "    steps:", "      - uses: actions/checkout@v7",
		"      # Build your server here.",
		"      # If it needs a token, add env: {TOKEN: ${{ secrets.TOKEN }}} to the next step.",
		"      - uses: mcp-conform/mcp-conform@v1", "        with:",
	}, "\n") + "\n" + strings.Join(with, "\n") + "\n"
}
