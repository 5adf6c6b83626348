package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-conform/mcp-conform/internal/selftest"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
	"github.com/mcp-conform/mcp-conform/reporters"
)

func (a *app) selftestCommand() *cobra.Command {
	var full, verbose bool
	var ids []string
	var area, file string
	c := &cobra.Command{
		Use:   "selftest",
		Short: "Prove that every check can fail, and that none cries wolf",
		Long: `Run the checks against the reference server: wrong in every way that the table
of faults names (each must be caught on the requirement that it breaks), varied
within the law and faultless (no finding may come). Exit code 1 otherwise.`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			chosen, err := chooseFaults(ids, area)
			if err != nil {
				return err
			}
			if file != "" {
				if err := writable(file); err != nil {
					return usagef("name a file in a folder that can be written", "--json: %v", err)
				}
			}
			return a.selftest(chosen, len(ids) == 0 && area == "", full, verbose, file)
		},
	}
	c.Flags().BoolVar(&full, "full", false, "the whole suite against each fault, over every transport and in every revision that it applies to")
	c.Flags().StringArrayVar(&ids, "fault", nil, "only this fault (repeatable)")
	c.Flags().StringVar(&area, "area", "", "only the faults of this area, as lifecycle; legal for the legal variations")
	c.Flags().BoolVarP(&verbose, "verbose", "v", false, "show every row")
	c.Flags().StringVar(&file, "json", "", "write the kill matrix to this file")
	return c
}

func chooseFaults(ids []string, area string) ([]faults.Fault, error) {
	var out []faults.Fault
	for _, id := range ids {
		f, ok := faults.Lookup(id)
		if !ok {
			return nil, usagef("mcp-conform list faults shows all", "there is no fault %q", id)
		}
		out = append(out, f)
	}
	if len(ids) > 0 {
		return out, nil
	}
	for _, f := range faults.All() {
		if area == "" || strings.HasPrefix(f.ID, area+".") || area == "legal" && f.Legal {
			out = append(out, f)
		}
	}
	if len(out) == 0 {
		return nil, usagef("mcp-conform list faults shows all", "no fault is in the area %q", area)
	}
	return out, nil
}

func (a *app) selftest(chosen []faults.Fault, faultless, full, verbose bool, file string) error {
	self, err := a.Executable()
	if err != nil {
		return harnessError{fmt.Errorf("finding this program to start its reference server: %w", err)}
	}
	defer a.watch()()
	started := time.Now()
	n := 0
	results := selftest.Run(a.ctx, selftest.Options{
		Faults: chosen, Faultless: faultless, Full: full, Workers: 24 * runtime.GOMAXPROCS(0),
		Command: []string{self, "serve", "--fault"},
		Each: func(r selftest.Result) {
			n++
			if a.Live {
				fmt.Fprintf(a.Out, "\r%d tried, now %-60.60s", n, reporters.Visible(r.Fault))
			}
		},
	})
	if a.Live {
		fmt.Fprintf(a.Out, "\r%-80s\r", "")
	}
	if a.ctx.Err() != nil {
		return harnessError{fmt.Errorf("the self-test was interrupted after %d rows", n)}
	}
	bad := a.printMatrix(results, verbose)
	fmt.Fprintf(a.Out, "%d rows in %v\n", len(results), time.Since(started).Round(100*time.Millisecond))
	if bad > 0 {
		a.code = ExitBroken
	}
	if file == "" {
		return nil
	}
	return writeFile(file, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(results)
	})
}

// printMatrix prints what is not as it should be, or every row, and the sums.
func (a *app) printMatrix(results []selftest.Result, verbose bool) (bad int) {
	w := tabwriter.NewWriter(a.Out, 0, 4, 2, ' ', 0)
	sums := map[selftest.Outcome]int{}
	for _, r := range results {
		sums[r.Outcome]++
		if !r.Outcome.Good() {
			bad++
		}
		if !r.Outcome.Good() || verbose {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%v\n", r.Outcome, r.Fault, r.Transport, r.Revision, r.Took.Round(time.Millisecond))
			for _, by := range r.By {
				fmt.Fprintf(w, "\t  %s\n", reporters.Visible(by))
			}
		}
	}
	_ = w.Flush()
	for _, o := range []selftest.Outcome{selftest.Killed, selftest.MisAttributed, selftest.Survived, selftest.Silent, selftest.FalseAlarm, selftest.NotYet, selftest.Failed} {
		if sums[o] > 0 {
			fmt.Fprintf(a.Out, "%s %d  ", o, sums[o])
		}
	}
	fmt.Fprintln(a.Out)
	if sums[selftest.NotYet] > 0 {
		fmt.Fprintln(a.Out, "not yet: no check judges these requirements so far; mcp-conform list --coverage tells why")
	}
	return bad
}
