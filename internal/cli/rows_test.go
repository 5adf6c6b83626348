package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/redact"
	"github.com/mcp-conform/mcp-conform/internal/sweep"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

func TestRowsFitTheScreen(t *testing.T) {
	rows := []row{
		{"area.short", "MUST", "2024-11-05 2025-11-25", "A sentence that is too long for a narrow screen."},
		{"area.an-id-that-is-much-longer-than-any-other-of-them", "SHOULD", "2025-11-25", "Short."},
	}
	const long = "area.an-id-that-is-much-longer-than-any-other-of-them"
	for _, c := range []struct {
		columns int
		want    []string
	}{
		{0, []string{
			"area.short\tMUST\t2024-11-05 2025-11-25\tA sentence that is too long for a narrow screen.",
			long + "\tSHOULD\t2025-11-25\tShort.",
		}},
		{80, []string{
			"area.short" + strings.Repeat(" ", widestID-len("area.short")) + "  MUST    A sentence that is too …",
			long + "  SHOULD  Short.",
		}},
		{20, []string{"area.short         …", "area.an-id-that-is-…"}},
	} {
		var out strings.Builder
		printRows(&out, c.columns, rows)
		if diff := cmp.Diff(c.want, strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")); diff != "" {
			t.Errorf("%d columns (-want +got):\n%s", c.columns, diff)
		}
	}
}

// TestSweepTableOnATerminal checks that a long row of a sweep is wrapped, so that its hint is read, and
// that the table says how many requirements it leaves out.
func TestSweepTableOnATerminal(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	a := &app{World: World{Out: &out, Columns: 50}, secrets: redact.New()}
	w := &sweep.Sweep{Servers: []*sweep.Result{{Name: "one", Outcome: sweep.Unreachable, Problem: "the server ended before it answered; set cwd: ."}}}
	for range maxShared + 1 {
		w.Shared = append(w.Shared, sweep.SharedFinding{Requirement: "ping.responds", Outcome: verdict.Broken, Summary: "It is silent.", Servers: 2, Alike: 1, OfSDK: 1})
	}
	a.printSweep(w, "results")
	for _, want := range []string{
		"\none  unreachable  the server ended before it\n    answered; set cwd: .\n",
		"\nping.responds  2 servers  broken: It is silent.\n    The finding of 1 other server differs. Known\n    of the SDK of 1 server.\n",
		"\nand findings for 1 more requirement, in sweep.json\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// TestSweepTableInAFile checks that the table of a sweep is aligned in a file, too, and has each
// cell once.
func TestSweepTableInAFile(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	a := &app{World: World{Out: &out}, secrets: redact.New()}
	a.printSweep(&sweep.Sweep{Servers: []*sweep.Result{
		{Name: "one", Outcome: sweep.Broken, Counts: sweep.Counts{Broken: 2}},
		{Name: "another", Outcome: sweep.Unreachable, Problem: "it exits"},
	}}, "results")
	want := "\nservers with findings or without a verdict:\none      broken       2 broken\nanother  unreachable  it exits\n\n2 servers: "
	if got := out.String(); !strings.HasPrefix(got, want) {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
	}
}

// TestEmptyShard checks that a sweep says that its shard is empty, and what would balance the shards.
func TestEmptyShard(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		names   []string
		weights map[string]float64
		want    string
	}{
		{[]string{"a", "c", "e"}, nil, ""},
		{[]string{"b"}, nil, "this shard is empty: the list has fewer servers than shards\n"},
		{[]string{"b", "d"}, nil, "this shard is empty; --weights FILE, the sweep.json of an earlier sweep, balances the shards\n"},
		{[]string{"b", "d"}, map[string]float64{"b": 1, "d": 1}, ""},
	} {
		var out strings.Builder
		a := &app{World: World{Out: &out}, secrets: redact.New()}
		o := &sweep.Options{Shard: sweep.Shard{Index: 1, Count: 2}, Jobs: 1, Out: "one", Weights: c.weights}
		for _, name := range c.names {
			o.Whole = append(o.Whole, sweep.Entry{Name: name})
		}
		a.printSweepStart(o, "")
		if _, got, _ := strings.Cut(out.String(), "\n"); got != c.want {
			t.Errorf("%v: %q in\n%s", c.names, got, out.String())
		}
	}
}

// TestMergedShards checks that a merge says what it merged.
func TestMergedShards(t *testing.T) {
	t.Parallel()
	for want, w := range map[string]*sweep.Sweep{
		"merged 3 shards, 2 servers, into all\n":                 {Merged: 3, Servers: make([]*sweep.Result, 2)},
		"copied a sweep of the whole list, 1 server, into all\n": {Servers: make([]*sweep.Result, 1)},
	} {
		var out strings.Builder
		a := &app{World: World{Out: &out}, secrets: redact.New()}
		a.printMerged(w, "all")
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// TestRunningServers checks that a sweep says which servers are being judged and for how long.
func TestRunningServers(t *testing.T) {
	t.Parallel()
	a := &app{secrets: redact.New()}
	running := []sweep.Running{{Name: "a", For: 72400 * time.Millisecond}}
	if got := a.runningText(running); got != "a (72 s)" {
		t.Error(got)
	}
	running = append(running, make([]sweep.Running, maxRunning+1)...)
	if got := a.runningText(running); !strings.HasPrefix(got, "a (72 s),  (0 s), ") || !strings.HasSuffix(got, " (0 s) and 2 more") {
		t.Error(got)
	}
}
