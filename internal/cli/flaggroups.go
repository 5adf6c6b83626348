package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagGroup is a titled group of flags in a help text.
type flagGroup struct {
	title string
	flags []string
}

// runGroups are the flags of run, in the order in which its help lists them.
var runGroups = []flagGroup{
	{"The server", []string{"reference", "env", "clean-env", "cwd", "config", "server", "input", "no-config", "call-tools"}},
	{"A server with a URL", []string{"transport", "header", "bearer-env", "ca-file", "insecure", "as", "other-user", "client-id", "client-secret-env", "foreign-token-env", "auth-server", "upstream-env", "upstream-url", "start", "ready"}},
	{"A gateway", []string{"through", "upstream-listen", "expect-change"}},
	{"What is judged", []string{"profile", "quick", "revision", "label-filter", "focus", "rerun-failed", "baseline", "accept-sdk-findings", "fail-on"}},
	{"Time and work", []string{"jobs", "timeout", "start-timeout", "max-time", "seed"}},
	{"Search", []string{"fuzz", "law"}},
	{"Output", []string{"verbose", "quiet", "report", "out", "replay-files", "transcript", "help"}},
	{"Watch", []string{"watch", "watch-build", "watch-path"}},
}

// groupedUsage returns a usage function that lists the flags in groups.
func groupedUsage(a *app, groups []flagGroup) func(c *cobra.Command) error {
	return func(c *cobra.Command) error {
		var b strings.Builder
		fmt.Fprintf(&b, "Usage:\n  %s\n", c.UseLine())
		for _, g := range groups {
			fs := pflag.NewFlagSet(g.title, pflag.ContinueOnError)
			fs.SortFlags = false
			for _, name := range g.flags {
				if f := c.Flags().Lookup(name); f != nil {
					fs.AddFlag(f)
				}
			}
			if !fs.HasFlags() {
				continue // a subcommand, which inherits this usage function, has none of these flags
			}
			fmt.Fprintf(&b, "\n%s:\n%s", g.title, fs.FlagUsagesWrapped(min(a.Columns, widest)))
		}
		_, err := fmt.Fprint(c.OutOrStderr(), b.String())
		return err
	}
}
