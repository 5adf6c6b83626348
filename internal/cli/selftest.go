package cli

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-conform/mcp-conform/internal/cputime"
	"github.com/mcp-conform/mcp-conform/internal/selftest"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
)

const selftestHelp = `Prove that the checks find what they should, and nothing else, on the reference
server:
  - With each fault that the project knows, one after the other. A fault is killed
    if the checks report the requirement that it breaks, mis-attributed if they
    report only others, and survived if they report nothing.
  - In each legal variation, which is odd but permitted, and without any. The checks
    may report notes; any other finding is a false alarm.
A fault whose requirement no check judges yet is waiting (not yet).

By default each fault is tried in one place: over the transport and in the newest
revision that suit it. The checks of its requirement run first, and the whole suite
only if these do not find it. Each variation meets the whole suite, in every
revision of its era (the handshake revisions, or 2026-07-28) on stdio, and in one
over each other transport. That takes two or three minutes on two cores. With --full
every fault and every variation is tried in every revision over every transport that
it applies to, and each fault meets the whole suite in at least one place. That takes
many times as long.

A row with a wrong result is tried once more at the end, because a busy machine can
keep a check from seeing something. Rows that needed the second try are named.

  mcp-conform selftest                                     everything, once
  mcp-conform selftest --area tools                        the faults and variations of an area
  mcp-conform selftest --fault base.response-once/twice    a single one
  mcp-conform selftest --json matrix.json                  every row, for a program
  mcp-conform list faults                                  all faults

Exit codes:
  0  every fault is killed or waits, every variation is silent
  1  a fault survives or is mis-attributed, a variation gives a false alarm, or a
     listed exception no longer occurs
  4  the self-test was interrupted, or failed`

// selftestFlags are the flags of mcp-conform selftest.
type selftestFlags struct {
	full, verbose        bool
	ids                  []string
	area, json, markdown string
}

func (a *app) selftestCommand() *cobra.Command {
	f := &selftestFlags{}
	c := &cobra.Command{
		Use:   "selftest",
		Short: "Prove that every check finds its faults, and that none raises a false alarm",
		Long:  selftestHelp,
		Args:  noArgs,
		RunE:  func(*cobra.Command, []string) error { return a.selftest(f) },
	}
	c.Flags().BoolVar(&f.full, "full", false, "try everything over every transport and in every revision")
	c.Flags().StringArrayVar(&f.ids, "fault", nil, "try only this fault or variation (repeatable)")
	c.Flags().StringVar(&f.area, "area", "", "try only this area, such as tools; legal for all legal variations")
	c.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "show every row")
	c.Flags().StringVar(&f.json, "json", "", "write the kill matrix to this file")
	c.Flags().StringVar(&f.markdown, "markdown", "", "write the kill matrix to this file as a documentation page")
	return c
}

// check returns a usage error for flags that can't be combined, and for a file that can't be
// written, before any server is started.
func (f *selftestFlags) check() error {
	if f.markdown != "" && (f.full || f.area != "" || len(f.ids) > 0) {
		return usagef("leave out --full, --area and --fault", "--markdown is for the page of a whole self-test")
	}
	for _, file := range []struct{ flag, path string }{{"--json", f.json}, {"--markdown", f.markdown}} {
		if file.path == "" {
			continue
		}
		if err := checkWritable(file.path); err != nil {
			return usagef("name a file in a folder that can be written", "%s: %v", file.flag, err)
		}
	}
	return nil
}

func chooseFaults(ids []string, area string) ([]faults.Fault, error) {
	var out []faults.Fault
	for _, id := range ids {
		f, ok := faults.Lookup(id)
		if !ok {
			return nil, unknownFaultError(id)
		}
		out = append(out, f)
	}
	if len(ids) > 0 {
		return out, nil
	}
	for _, f := range faults.All() {
		if area == "" || f.Area == area || strings.HasPrefix(f.ID, area+".") || area == "legal" && f.Legal {
			out = append(out, f)
		}
	}
	if len(out) == 0 {
		return nil, usagef("mcp-conform list faults shows all", "no fault is in the area %q", area)
	}
	return out, nil
}

// checkPlaces returns a usage error for a fault that can't be tried, because its requirement does
// not exist or applies to none of its revisions and transports. Without the error, selftest.Matrix,
// which has the results, would silently lack the fault.
func checkPlaces(all []faults.Fault) error {
	for _, f := range all {
		switch {
		case len(selftest.Places(f, true)) > 0:
		case spec.Requirements().Lookup(f.Requirement) == nil:
			return usagef("mcp-conform list shows all", "the fault %s breaks the requirement %q, which does not exist", f.ID, f.Requirement)
		default:
			return usagef("mcp-conform explain "+f.Requirement+" shows where it applies", "the fault %s can be tried nowhere: its requirement applies to none of its transports and revisions", f.ID)
		}
	}
	return nil
}

// unknownFaultError returns a usage error for an unknown fault. If the id is that of a requirement,
// the error suggests the requirement's faults; if it is the name of a legal variation, its id.
func unknownFaultError(id string) error {
	var of []string
	for _, f := range faults.All() {
		if f.Requirement == id {
			of = append(of, "--fault "+f.ID)
		}
	}
	switch {
	case len(of) > 0:
		return usagef(strings.Join(of, " "), "%s is a requirement; these are its faults", id)
	case isVariation(id):
		return usagef("--fault legal/"+id, "%s is a legal variation; this is its id", id)
	case spec.Requirements().Lookup(id) != nil:
		return usagef("mcp-conform list --coverage explains why", "%s is a requirement without faults", id)
	default:
		return usagef("mcp-conform list faults shows all", "there is no fault %q", id)
	}
}

func isVariation(name string) bool {
	_, ok := faults.Lookup("legal/" + name)
	return ok
}

// workers is the number of rows of the kill matrix that run concurrently per core. It is
// high because a row mostly waits.
const workers = 28

func (a *app) selftest(f *selftestFlags) error {
	chosen, err := chooseFaults(f.ids, f.area)
	if err != nil {
		return err
	}
	if err := checkPlaces(chosen); err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	self, err := a.Executable()
	if err != nil {
		return harnessError{fmt.Errorf("finding this program to start its reference server: %w", err)}
	}
	defer a.handleSignals(interruptMessage)()
	defer allowMoreMemory()()
	started := time.Now()
	show := &selftestProgress{out: a.Out, live: a.Live, columns: a.Columns, started: started}
	m := selftest.Run(a.ctx, selftest.Options{
		Faults: chosen, Faultless: len(f.ids) == 0 && f.area == "", Full: f.full, Workers: workers * runtime.GOMAXPROCS(0),
		Command: []string{self, "serve", "--fault"}, Each: show.addResult, Again: show.showRetry,
	})
	show.end()
	a.printMatrix(m, f.verbose)
	if a.ctx.Err() != nil {
		return harnessError{fmt.Errorf("the self-test was interrupted after %d rows", len(m.Rows))}
	}
	took := &selftestTimes{Wall: time.Since(started).Round(100 * time.Millisecond).Seconds(), CPU: cputime.Used().Round(100 * time.Millisecond).Seconds()}
	fmt.Fprintf(a.Out, "%s, %s started, %s\n", countWithNoun(len(m.Rows), "row", "rows"), countWithNoun(m.Servers, "server", "servers"), took)
	if !m.Good() {
		a.code = ExitBroken
	}
	if f.json != "" {
		if err := a.writeFile(f.json, func(w io.Writer) error { return writeMatrix(w, m, took) }); err != nil {
			return harnessError{err}
		}
	}
	if f.markdown != "" {
		if err := a.writeFile(f.markdown, m.WritePage); err != nil {
			return harnessError{err}
		}
	}
	return nil
}

// allowMoreMemory raises the memory limit and the garbage collector's target, unless the user sets
// GOMEMLIMIT or GOGC. No server is hostile here, and frequent collections would take more time than
// everything else. The returned function restores the settings.
func allowMoreMemory() func() {
	if os.Getenv("GOMEMLIMIT") != "" || os.Getenv("GOGC") != "" {
		return func() {}
	}
	limit, percent := raiseMemoryLimit(), debug.SetGCPercent(400)
	return func() { limit(); debug.SetGCPercent(percent) }
}
