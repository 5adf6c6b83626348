// Sidebyside runs the official suite and mcp-conform alternately on the
// conformance server of the Go SDK, each time on a new server. It prints the
// time that each tool took, the requests that it sent, and what it judged. The
// script fixtures/official-suite/side-by-side builds and starts it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/officialsuite"
)

func main() {
	program := flag.String("mcp-conform", "mcp-conform", "the program")
	folder := flag.String("suite", "fixtures/official-suite", "where the official suite is installed")
	runs := flag.Int("runs", 5, "how often each suite is timed")
	ids := flag.Bool("ids", false, "list the checks and requirements that were judged")
	revision := flag.String("revision", officialsuite.Revision, "the revision in which the server is judged")
	flag.Parse()
	if err := compare(*program, *folder, *revision, *runs, *ids); err != nil {
		fmt.Fprintln(os.Stderr, "side-by-side:", err)
		os.Exit(1)
	}
}

// contestant is one of the tools that judge the server.
type contestant struct {
	name string
	// command judges the server at a URL and writes the results to a folder.
	command func(ctx context.Context, url, results string) *exec.Cmd
	// read returns the checks or requirements that were judged, sorted, with
	// their outcomes.
	read func(results string) ([]judgement, error)

	wall, cpu, served []time.Duration // of the timed runs; served is the CPU time of the server
	requests          int
	found             []judgement
}

// judgement is a check or a requirement that was judged.
type judgement struct{ id, outcome string }

func compare(program, folder, revision string, runs int, ids bool) error {
	suite, err := officialsuite.Find(folder)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "side-by-side")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	ours := func(more ...string) func(context.Context, string, string) *exec.Cmd {
		return func(ctx context.Context, url, results string) *exec.Cmd {
			args := append([]string{"run", url, "--quiet", "--out", results, "--report", "json"}, more...)
			return exec.CommandContext(ctx, program, args...)
		}
	}
	contestants := []*contestant{
		{
			name: "official suite, --requirements " + revision,
			command: func(ctx context.Context, url, results string) *exec.Cmd {
				return suite.Command(ctx, url, results, "--requirements", revision)
			},
			read: readChecks,
		},
		{name: "mcp-conform, --revision " + revision, command: ours("--revision", revision), read: readReport},
		{name: "mcp-conform, every revision", command: ours(), read: readReport},
	}
	sessions := revision != officialsuite.Current // Current has no sessions
	for round := range runs + 1 {
		for _, c := range contestants {
			results := filepath.Join(work, fmt.Sprint(round, "-", slices.Index(contestants, c)))
			if err := c.run(suite, results, sessions, round == 0); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	printTable(os.Stdout, contestants, runs)
	if ids {
		printIDs(os.Stdout, contestants)
	}
	return nil
}

// run lets the tool judge a new server. If count is set, the tool connects through a relay that
// counts its requests, and run reads its results. Otherwise the tool connects directly, and run
// measures the times.
func (c *contestant) run(suite *officialsuite.Suite, results string, sessions, count bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	server, address, err := start(ctx, suite, sessions)
	if err != nil {
		return err
	}
	defer func() { stop(server) }()
	var n *counter
	if count {
		if n, err = newCounter(ctx, address); err != nil {
			return err
		}
		defer n.close()
		address = n.address()
	}
	began := time.Now()
	cmd := c.command(ctx, "http://"+address, results)
	out, err := cmd.CombinedOutput()
	took := time.Since(began)
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) { // exit code 1 means that there are findings
		return fmt.Errorf("%w\n%s", err, out)
	}
	if count {
		c.requests = n.requests()
		c.found, err = c.read(results)
		return err
	}
	c.wall = append(c.wall, took)
	c.cpu = append(c.cpu, cpuTime(cmd))
	stop(server)
	c.served = append(c.served, cpuTime(server))
	return nil
}

// cpuTime returns the CPU time of an ended process and its children.
func cpuTime(c *exec.Cmd) time.Duration {
	return c.ProcessState.UserTime() + c.ProcessState.SystemTime()
}
