package cli

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/mcp-conform/mcp-conform/internal/fuzz"
	"github.com/mcp-conform/mcp-conform/internal/sweep"
)

// parseShard returns the shard of --shard. Without the flag it returns the zero value, which stands
// for the whole search.
func (f *fuzzFlags) parseShard() (fuzz.Shard, error) {
	if f.shard == "" {
		return fuzz.Shard{}, nil
	}
	s, err := sweep.ParseShard(f.shard)
	return fuzz.Shard{Index: uint64(s.Index) - 1, Count: uint64(s.Count)}, err //nolint:gosec // both are positive
}

func (a *app) fuzzMergeCommand() *cobra.Command {
	out := ""
	c := &cobra.Command{
		Use:   "merge --out DIR DIR...",
		Short: "Merge the folders of several searches",
		Long: `Merge the folders of several searches (--corpus and --out) into one: a single corpus,
and for each finding the replay file with the shortest sequence. The original
folders stay unchanged.

  mcp-conform fuzz merge --out all found-1 found-2 corpus

Exit codes: 0 merged, 2 usage, or a folder can't be read or written.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("as in mcp-conform fuzz merge --out all found-1 found-2", "merge takes the folders of searches")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if out == "" {
				return usagef("as in mcp-conform fuzz merge --out all found-1 found-2", "--out names no folder")
			}
			m, err := fuzz.Merge(out, args)
			if path := (*fs.PathError)(nil); errors.As(err, &path) {
				return usagef("name folders that can be read, and one that can be written", "%v", err)
			}
			if errors.Is(err, fuzz.ErrOtherFindings) {
				return usagef("name that folder among those to merge, too, or another one with --out", "%v", err)
			}
			if err != nil {
				return usagef("merge only folders that searches wrote", "%v", err)
			}
			fmt.Fprintf(a.Out, "%s of %d, %s of %d, in %s\n", countWithNoun(m.Sequences, "sequence", "sequences"), m.ReadSequences, countWithNoun(m.Findings, "finding", "findings"), m.ReadFindings, a.redactAndEscape(out))
			return nil
		},
	}
	c.Flags().StringVar(&out, "out", "", "folder for the result; it is created if missing")
	return c
}
