package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func (a *app) manCommand() *cobra.Command {
	dir := ""
	c := &cobra.Command{
		Use:   "man --dir DIR",
		Short: "Write the manual pages",
		Long: `Write a manual page for each command into a folder, for man to show:

  mcp-conform man --dir ~/.local/share/man/man1
  man mcp-conform-run

Exit codes: 0 written, 2 usage, or a folder that can't be written.`,
		Args: noArgs,
		RunE: func(_ *cobra.Command, _ []string) error {
			if dir == "" {
				return usagef("as in mcp-conform man --dir ~/.local/share/man/man1", "--dir names no folder")
			}
			return a.writeManual(dir)
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "folder for the pages; it is created if missing")
	return c
}

// writeManual writes the pages. They have the date of SOURCE_DATE_EPOCH, if that is set, so that
// the build of a release is reproducible.
func (a *app) writeManual(dir string) error {
	month, err := manualDate(a.environmentVariable("SOURCE_DATE_EPOCH"))
	if err != nil {
		return err
	}
	root := a.rootCommand()
	root.InitDefaultCompletionCmd()
	err = os.MkdirAll(dir, 0o755) //nolint:gosec // the pages are public
	for _, c := range withSubcommands(root) {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, pageName(c)+".1"), manualPage(c, month), 0o644) //nolint:gosec // the pages are public
		}
	}
	if err != nil {
		return usagef("name a folder that can be written", "--dir: %v", err)
	}
	fmt.Fprintf(a.Out, "%s: the manual pages; man -l %s/mcp-conform.1 shows the first\n", dir, strings.TrimSuffix(dir, "/"))
	return nil
}

// manualDate returns the month and year of the pages: those of epoch, in seconds since 1970, or
// the current ones if epoch is empty.
func manualDate(epoch string) (string, error) {
	at := time.Now()
	if epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return "", usagef("give seconds since 1970", "SOURCE_DATE_EPOCH is %q", epoch)
		}
		at = time.Unix(seconds, 0).UTC()
	}
	return at.Format("Jan 2006"), nil
}

// withSubcommands returns a command and all available commands below it.
func withSubcommands(c *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			all = append(all, withSubcommands(sub)...)
		}
	}
	return all
}

// pageName returns the name of a command's page, such as mcp-conform-run.
func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manualPage returns the page of a command in the macros of man(7).
func manualPage(c *cobra.Command, month string) []byte {
	c.InitDefaultHelpFlag()
	var out bytes.Buffer
	fmt.Fprintf(&out, ".nh\n.TH \"MCP-CONFORM\" \"1\" %q \"mcp-conform %s\" \"mcp-conform\"\n", month, version())
	fmt.Fprintf(&out, ".SH NAME\n%s - %s\n", pageName(c), escapeRoff(c.Short))
	fmt.Fprintf(&out, ".SH SYNOPSIS\n.B %s\n", escapeRoff(c.UseLine()))
	fmt.Fprintf(&out, ".SH DESCRIPTION\n%s\n", roffLines(cmp.Or(c.Long, c.Short)))
	fmt.Fprintf(&out, ".SH OPTIONS\n")
	c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			fmt.Fprintf(&out, ".TP\n.B %s\n%s\n", escapeRoff(flagForms(f)), escapeRoff(f.Usage))
		}
	})
	var related []string
	for _, other := range append([]*cobra.Command{c.Parent()}, c.Commands()...) {
		if other != nil && (other == c.Parent() || other.IsAvailableCommand()) {
			related = append(related, `\fB`+escapeRoff(pageName(other))+`\fP(1)`)
		}
	}
	if len(related) > 0 {
		fmt.Fprintf(&out, ".SH SEE ALSO\n%s\n", strings.Join(related, ", "))
	}
	return out.Bytes()
}

// flagForms returns the flag as the page shows it, with its default value unless that is empty or
// the flag is a switch.
func flagForms(f *pflag.Flag) string {
	text := "--" + f.Name
	if f.Shorthand != "" {
		text = "-" + f.Shorthand + ", " + text
	}
	if isSwitch := f.NoOptDefVal != ""; !isSwitch && f.DefValue != "" && f.DefValue != "[]" {
		text += "=" + f.DefValue
	}
	return text
}

// roffLines converts a help text to roff, so that man shows indented lines as they are, and fills
// the others.
func roffLines(text string) string {
	var out []string
	verbatim := false
	for line := range strings.Lines(text) {
		line = escapeRoff(strings.TrimSuffix(line, "\n"))
		indented := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
		switch {
		case indented && !verbatim:
			out = append(out, ".EX")
		case !indented && verbatim && line != "":
			out = append(out, ".EE")
		}
		verbatim = indented || verbatim && line == ""
		if line == "" && !verbatim {
			line = ".PP"
		}
		out = append(out, line)
	}
	if verbatim {
		out = append(out, ".EE")
	}
	return strings.Join(out, "\n")
}

// escapeRoff escapes a line of text for roff.
func escapeRoff(line string) string {
	line = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(line)
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		line = `\&` + line
	}
	return line
}
