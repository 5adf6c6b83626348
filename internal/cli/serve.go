package cli

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mcp-conform/mcp-conform/internal/issuer"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/target"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
)

func (a *app) serveCommand() *cobra.Command {
	f := &serveFlags{}
	c := &cobra.Command{
		Use:   "serve [--http HOST:PORT | --sse HOST:PORT | --auth HOST:PORT] [--fault ID | --fault list]",
		Short: "Run the reference server, with faults on demand",
		Long: `Run the reference server on stdio, over Streamable HTTP at /mcp, or over HTTP+SSE
at /sse. Port 0 selects a free port; the URL is written to stderr.

Processes that have the same MCP_CONFORM_STATE_KEY in their environment accept each
other's requestState of revision 2026-07-28.`,
		Args: noArgs,
		// Serving does not need the catalogue. Reading it would take almost half of a server's
		// start time, and a run starts many servers.
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE: func(*cobra.Command, []string) error {
			if f.fault == "list" {
				if err := checkCatalogue(); err != nil {
					return err
				}
				return a.listFaults()
			}
			return a.serve(f)
		},
	}
	c.Flags().StringVar(&f.fault, "fault", "", "misbehave in this way; list prints all")
	c.Flags().StringVar(&f.http, "http", "", "serve Streamable HTTP at this address, such as 127.0.0.1:3000")
	c.Flags().StringVar(&f.connect, "connect", "", "serve the upstream of run --through at this address over stdio")
	_ = c.Flags().MarkHidden("connect")
	c.Flags().StringVar(&f.sse, "sse", "", "serve HTTP+SSE at this address")
	c.Flags().StringSliceVar(&f.revisions, "revision", nil, "serve only these revisions, such as 2025-11-25 (default: all)")
	o := &f.options
	c.Flags().BoolVar(&o.Fixtures, "fixtures", false, "also offer the fixtures of the official conformance suite")
	c.Flags().BoolVar(&o.JSONOnly, "json-only", false, "with --http: respond with JSON, never with a stream")
	c.Flags().BoolVar(&o.NoSessions, "no-sessions", false, "with --http: serve without sessions, respond with JSON, and offer nothing that needs a session")
	c.Flags().StringSliceVar(&o.Origins, "allow-origin", nil, "with --http or --sse: accept web pages of this origin, such as https://example.com")
	c.Flags().StringSliceVar(&o.Hosts, "allow-host", nil, "with --http or --sse: accept only this host name")
	c.Flags().StringVar(&f.bearerEnv, "bearer-env", "", "with --http: serve only requests with the token in this variable, as a protected resource")
	c.Flags().StringVar(&f.auth, "auth", "", "serve an authorization server for tests at this address, and no MCP")
	c.Flags().BoolVar(&f.authServer, "trust-auth-server", false, "with --http: serve only requests with a token of the authorization server in MCP_CONFORM_AUTH_SERVER_URL")
	c.Flags().StringVar(&f.upstreamEnv, "upstream-env", "", "offer a tool that calls the service whose URL is in this variable")
	c.Flags().IntSliceVar(&o.PageSizes, "page-sizes", nil, "items on the pages of a list, in turn (default 3,2)")
	c.Flags().IntVar(&o.LongList, "long-list", 0, "list this many more resources")
	c.Flags().IntVar(&o.MoreTools, "more-tools", 0, "list this many more tools")
	c.Flags().IntVar(&o.RateLimit, "rate-limit", 0, "most tool calls and completions a second for each client")
	return c
}

// serveFlags are the flags of mcp-conform serve.
type serveFlags struct {
	fault, http, sse string
	connect          string // the address of an upstream, see gateway.Upstream
	auth             string // the address of a test authorization server, instead of an MCP server
	bearerEnv        string // the variable with the token of a protected server
	upstreamEnv      string // the variable with the URL of a service that the server calls
	authServer       bool   // trust the authorization server in issuer.URLVariable
	revisions        []string
	options          refserver.Options
}

// check parses --revision, and returns a usage error for flags that can't be combined, or for
// numbers out of range.
func (f *serveFlags) check() error {
	o := &f.options
	revisions, err := parseRevisions(f.revisions)
	if o.Revisions = revisions; err != nil {
		return err
	}
	handshake := func(r spec.Revision) bool { return r.Era() == spec.Handshake }
	switch {
	case f.sse != "" && len(revisions) > 0 && !slices.ContainsFunc(revisions, handshake):
		return usagef("add a revision that has a handshake", "the revisions of --revision have no HTTP+SSE")
	case f.http != "" && f.sse != "":
		return usagef("give one of them", "both --http and --sse are given")
	case f.http == "" && o.JSONOnly:
		return usagef("add --http, or leave it out", "--json-only is for Streamable HTTP")
	case f.auth != "" && (f.http != "" || f.sse != "" || f.fault != ""):
		return usagef("start the MCP server by another command", "--auth is given with a flag for an MCP server")
	case f.http == "" && f.authServer:
		return usagef("add --http, or leave it out", "--trust-auth-server is for Streamable HTTP")
	case f.authServer && f.bearerEnv != "":
		return usagef("give one of them", "both --trust-auth-server and --bearer-env are given")
	case f.http == "" && f.bearerEnv != "":
		return usagef("add --http, or leave it out", "--bearer-env is for Streamable HTTP")
	case f.http == "" && o.NoSessions:
		return usagef("add --http, or leave it out", "--no-sessions is for Streamable HTTP")
	case f.http == "" && f.sse == "" && len(o.Origins)+len(o.Hosts) > 0:
		return usagef("add --http or --sse", "--allow-origin and --allow-host are for HTTP")
	case o.LongList < 0 || o.MoreTools < 0 || o.RateLimit < 0 || slices.ContainsFunc(o.PageSizes, func(n int) bool { return n < 1 }):
		return usagef("give numbers from 1 on", "--page-sizes, --long-list, --more-tools and --rate-limit count something")
	}
	return nil
}

func (a *app) listFaults() error {
	l := &listing{}
	l.addFaults()
	printRows(a.Out, a.Columns, l.rows)
	return nil
}

func (a *app) serve(f *serveFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	if f.connect != "" {
		return a.relayStdio(f.connect)
	}
	if f.auth != "" {
		return a.serveIssuer(f.auth)
	}
	o := f.options
	o.StateKey = os.Getenv("MCP_CONFORM_STATE_KEY")
	if f.fault != "" {
		fault, ok := faults.Lookup(f.fault)
		if !ok {
			return usagef("mcp-conform serve --fault list shows all", "there is no fault %q", f.fault)
		}
		o.Seams = fault.Seams()
		if fault.Issued {
			o.AuthServer = a.environmentVariable(issuer.URLVariable)
			if o.AuthServer == "" {
				return usagef("set it to the issuer URL, or start the server by mcp-conform run --auth-server --start", "this fault needs a server that trusts the authorization server in %s, and that variable is not set", issuer.URLVariable)
			}
		}
		if fault.Protected {
			o.Token = faults.Token
		}
	}
	if f.authServer {
		if o.AuthServer = a.environmentVariable(issuer.URLVariable); o.AuthServer == "" {
			return usagef("set it to the issuer URL, or start the server by mcp-conform run --auth-server --start", "--trust-auth-server is given, and %s is not set", issuer.URLVariable)
		}
	}
	if f.bearerEnv != "" {
		var err error
		if o.Token, err = a.secretOf(target.Credential{What: "--bearer-env", Variable: f.bearerEnv, Token: true}); err != nil {
			return err
		}
	}
	if f.upstreamEnv != "" {
		if o.Upstream = a.environmentVariable(f.upstreamEnv); o.Upstream == "" {
			return usagef("set it to the URL of the service", "--upstream-env names %q, and that variable is not set, or empty", f.upstreamEnv)
		}
	}
	switch {
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
				default: // further signals are ignored
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	a.code = refserver.ServeStdio(ctx, a.In, a.Out, a.Err, names, o)
	return nil
}
