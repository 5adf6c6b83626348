// Package realservers tests the harness on servers of other projects. The
// findings on them are committed, and were checked by hand against the
// specification (docs/field-notes.md).
package realservers

import (
	order "cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/ruleset"
	"github.com/mcp-conform/mcp-conform/internal/sdk"
	"github.com/mcp-conform/mcp-conform/internal/skip"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/reporters"
	"github.com/mcp-conform/mcp-conform/suites"
)

var update = flag.Bool("update", false, "rewrite the goldens")

// command returns the command that starts the server. It skips the test if the server is not
// installed, or is not one that this run judges.
func (s server) command(t *testing.T) stdio.Command {
	t.Helper()
	if slices.Contains(nightly, s.name) {
		skip.UnlessNightly(t, s.name)
	}
	if !slices.Contains(everyday, s.name) {
		skip.UnlessRequired(t, "real server "+s.name)
	}
	root, err := filepath.Abs("../../fixtures/servers")
	if err != nil {
		t.Fatal(err)
	}
	own := t.TempDir()
	var c stdio.Command
	for _, word := range s.argv {
		word = strings.ReplaceAll(word, folder, own)
		if strings.HasPrefix(word, "./") {
			word = filepath.Join(root, word)
			if _, err := os.Stat(word); err != nil {
				skip.Missing(t, "real server", "it is not installed; fixtures/servers/install.sh does that")
			}
		}
		c.Argv = append(c.Argv, word)
	}
	if s.argv[0] == "node" {
		if _, err := os.Stat(filepath.Join(root, "node_modules")); err != nil {
			skip.Missing(t, "real server", "its packages are not installed; fixtures/servers/install.sh does that")
		}
	}
	if _, err := exec.LookPath(c.Argv[0]); err != nil {
		skip.Missing(t, "real server", err.Error())
	}
	c.Env = os.Environ()
	for _, kv := range s.env {
		c.Env = append(c.Env, strings.ReplaceAll(kv, folder, own))
	}
	return c
}

// judge judges the server that d reaches, with changed options. c records how long cases waited.
func (s server) judge(t *testing.T, d transport.Dialer, c *cost, change ...func(o *engine.Options)) (*verdict.Report, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	o := engine.Options{
		Dialer: d, Cases: suites.Cases(), Rules: ruleset.All(), Target: "the server",
		Revisions: s.revisions, Policy: inventory.Config{Policy: s.tools},
		StartTimeout: 60 * time.Second, Timeout: 30 * time.Second, Record: c.record,
	}
	for _, change := range change {
		change(&o)
	}
	return engine.Run(ctx, o)
}

// raced reports whether the verdict on a requirement depends on a race in the
// server, or on one with a cancellation, so that it differs between runs. Over HTTP
// mcp-go ends a subscription to nothing at once, sometimes before it acknowledges it.
func raced(requirement string) bool {
	return slices.Contains([]string{"stdio.responses-before-exit", "stdio.exit-on-sigterm", "progress.stops-after-cancel", "cancellation.stop-processing", "subscriptions.acknowledged"}, requirement)
}

// ending reports whether a note on a requirement may result from the end of a
// stream, which a run does not always see in time. supergateway closes the
// stream of a client that sends a batch.
func ending(requirement string) bool { return requirement == "base.batch-refused-when-undefined" }

// timed reports whether the observations depend on the load of the machine.
// Over HTTP, bursts are smaller and streams are resumed less often if the
// server is slow, and an observation that is not reproduced is flaky.
func timed(p *verdict.Report) bool { return p.Transport != spec.Stdio }

// digest formats verdicts and findings so that they do not change between runs.
// It omits flaky findings, and the number of kept requirements, for which there
// is a minimum.
func digest(p *verdict.Report) string {
	p.Verdicts = slices.DeleteFunc(p.Verdicts, func(v verdict.Verdict) bool { return raced(v.Requirement) })
	p.Findings = slices.DeleteFunc(p.Findings, func(f verdict.Finding) bool {
		return raced(f.Requirement) || f.Outcome == verdict.Flaky || timed(p) && f.Outcome == verdict.Note && ending(f.Requirement)
	})
	oldestFirst(p)
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", reporters.Visible(p.Server.Name), reporters.Visible(p.Server.Version))
	for _, r := range p.Revisions {
		fmt.Fprintf(&b, "%s:", r)
		for _, o := range verdict.Outcomes() {
			if n := p.Count(r, o); n > 0 && (o == verdict.Broken || o == verdict.Warning && !timed(p)) {
				fmt.Fprintf(&b, " %d %v;", n, o)
			}
		}
		b.WriteString("\n")
	}
	for _, n := range p.NotSpoken {
		fmt.Fprintf(&b, "%s: not spoken: %s\n", n.Revision, n.Reason)
	}
	type entry struct {
		text      string
		revisions []spec.Revision
	}
	var entries []*entry
	for _, f := range p.Findings {
		text := fmt.Sprintf("%s %s (%s)\n  %s\n", f.Outcome, f.Requirement, f.Judge, f.Summary)
		if f.SDK != nil {
			text += "  sdk: " + f.SDK.Note + "\n"
		}
		i := slices.IndexFunc(entries, func(e *entry) bool { return e.text == text })
		if i < 0 {
			i = len(entries)
			entries = append(entries, &entry{text: text})
		}
		entries[i].revisions = append(entries[i].revisions, f.Revision)
	}
	for _, e := range entries {
		fmt.Fprintf(&b, "\n%s  %v\n", e.text, e.revisions)
	}
	return b.String()
}

// oldestFirst sorts a report in the order of the goldens, which were written
// when reports began with the oldest revision.
func oldestFirst(p *verdict.Report) {
	slices.Sort(p.Revisions)
	slices.SortFunc(p.NotSpoken, func(a, b verdict.NotSpoken) int { return order.Compare(a.Revision, b.Revision) })
	slices.SortStableFunc(p.Findings, func(a, b verdict.Finding) int {
		return order.Or(
			order.Compare(b.Outcome, a.Outcome), order.Compare(a.Requirement, b.Requirement), order.Compare(a.Revision, b.Revision),
			order.Compare(a.Judge, b.Judge), order.Compare(a.Summary, b.Summary),
		)
	})
}

// hold compares the digest of a server's report with its golden, or updates the
// golden.
func hold(t *testing.T, name string, p *verdict.Report) {
	t.Helper()
	sdkOf(name).MarkReport(p)
	got := digest(p)
	golden := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("the findings on %s changed (-want +got); check each change by hand, then run with -update:\n%s", name, diff)
	}
	t.Logf("%d servers started, %d messages", p.Stats.Servers, p.Stats.Messages)
}

// sdkOf returns the SDK of the server whose golden has this name, or nil if it is not one of those
// that show what is known of an SDK.
func sdkOf(name string) *sdk.Used {
	for i, s := range sdk.All() {
		if version, ok := s.Goldens[name]; ok {
			return &sdk.Used{SDK: &sdk.All()[i], Version: version}
		}
	}
	return nil
}

func TestVerdictsOnRealServers(t *testing.T) {
	for _, s := range servers() {
		t.Run(s.name, func(t *testing.T) {
			measured := measure()
			p, err := s.judge(t, stdio.NewDialer(s.command(t)), measured)
			if err != nil {
				t.Fatal(err)
			}
			measured.note(s.name, p)
			keeps(t, p)
			s.judgeQuickly(t, stdio.NewDialer(s.command(t)), p)
			hold(t, s.name, p)
		})
	}
}

// leastKept is well below the number of requirements that each server keeps in
// a handshake revision, leastKeptStateless below that in 2026-07-28, of which
// fewer are judged.
const (
	leastKept          = 50
	leastKeptStateless = 30
)

// keeps checks that the report reaches leastKept in every revision.
func keeps(t *testing.T, p *verdict.Report) {
	t.Helper()
	for _, r := range p.Revisions {
		least := leastKept
		if r.Era() == spec.Stateless {
			least = leastKeptStateless
		}
		if n := p.Count(r, verdict.Kept); n < least {
			t.Errorf("only %d requirements were seen kept in %s", n, r)
		}
	}
}
