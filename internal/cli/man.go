package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
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

// writeManual writes the pages. Their date is SOURCE_DATE_EPOCH if that is set,
// so that the build of a release is reproducible.
func (a *app) writeManual(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // the pages are public
		return usagef("name a folder that can be written", "--dir: %v", err)
	}
	root := a.root() // a separate tree, because the next steps modify its texts
	root.DisableAutoGenTag = true
	root.InitDefaultCompletionCmd()
	asMarkdown(root)
	header := &doc.GenManHeader{Title: "MCP-CONFORM", Section: "1", Source: "mcp-conform " + version(), Manual: "mcp-conform"}
	if err := doc.GenManTree(root, header, dir); err != nil {
		return usagef("name a folder that can be written", "the manual can't be written: %v", err)
	}
	fmt.Fprintf(a.Out, "%s: the manual pages; man -l %s/mcp-conform.1 shows the first\n", dir, strings.TrimSuffix(dir, "/"))
	return nil
}

// asMarkdown converts the help texts to Markdown, which cobra expects.
func asMarkdown(c *cobra.Command) {
	c.Long, c.Example = markdownOf(c.Long), markdownOf(c.Example)
	for _, sub := range c.Commands() {
		asMarkdown(sub)
	}
}

// markdownOf marks indented lines as code blocks, and escapes the Markdown
// characters in all other lines.
func markdownOf(text string) string {
	var out []string
	shown := false
	for line := range strings.SplitSeq(text, "\n") {
		indented := strings.HasPrefix(line, " ") || shown && line == ""
		if indented && !shown || !indented && shown {
			out = append(out, "")
		}
		shown = indented
		if indented {
			line = "    " + line
		} else {
			line = escaper.Replace(line)
		}
		out = append(out, line)
	}
	return strings.Join(slices.CompactFunc(out, func(a, b string) bool { return a == "" && b == "" }), "\n")
}

var escaper = strings.NewReplacer("*", `\*`, "_", `\_`, "<", `\<`, "`", "\\`", "[", `\[`, "{", `\{`)
