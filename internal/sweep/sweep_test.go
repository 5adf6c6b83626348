package sweep

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// stubEntries returns entries that the stub understands: a name is the command, and what
// follows a - makes it unique.
func stubEntries(names ...string) []Entry {
	var out []Entry
	for _, name := range names {
		kind, _, _ := strings.Cut(name, "-")
		out = append(out, Entry{Name: name, Folder: name, Args: []string{"--", kind, "0"}, text: []byte(kind)})
	}
	return out
}

// stubOptions returns options for the stub.
func stubOptions(t *testing.T, names ...string) Options {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Options{
		Program: self, Version: "1.0.0", Environ: os.Environ(), Out: t.TempDir(), Whole: stubEntries(names...),
		Files: []string{"html", "json"}, Jobs: 4, Limits: Limits{Time: time.Minute, Grace: time.Minute},
	}
}

func run(t *testing.T, o Options) *Sweep {
	t.Helper()
	w, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// outcomesOf returns the outcome of each server.
func outcomesOf(w *Sweep) map[string]Outcome {
	out := map[string]Outcome{}
	for _, r := range w.Servers {
		out[r.Name] = r.Outcome
	}
	return out
}

// TestOutcomes checks the outcome of each way in which a run ends, and the files that are kept.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	o := stubOptions(t, "kept", "broken", "unreachable", "crash", "unusable", "optedout", "cuts")
	o.Whole[4].Unusable = "the registry names neither a package nor a remote"
	o.OptOut = &OptOut{rules: []string{"optedout"}}
	w := run(t, o)
	want := map[string]Outcome{"kept": Kept, "broken": Broken, "unreachable": Unreachable, "crash": Incomplete, "unusable": Unusable, "optedout": OptedOut, "cuts": Stopped}
	if diff := cmp.Diff(want, outcomesOf(w)); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	problems, files := map[string]string{}, map[string][]string{}
	for _, r := range w.Servers {
		if r.Problem != "" {
			problems[r.Name] = r.Problem
		}
		entries, err := os.ReadDir(filepath.Join(o.Out, "servers", r.Folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			files[r.Name] = append(files[r.Name], e.Name())
		}
	}
	if diff := cmp.Diff(map[string]string{
		"unreachable": "it has exited", "crash": "mcp-conform run ended with exit status 7",
		"unusable": "the registry names neither a package nor a remote", "optedout": "the opt-out list has optedout",
		"cuts": "it filled the disk: its report could not be written",
	}, problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string][]string{
		"kept": {"report.html", "report.json", "result.json"}, "broken": {"report.html", "report.json", "result.json"},
		"unreachable": {"output.txt", "result.json"}, "crash": {"output.txt", "result.json"}, "unusable": {"result.json"}, "optedout": {"result.json"}, "cuts": {"result.json"},
	}, files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	broken := w.Servers[slices.IndexFunc(w.Servers, func(r *Result) bool { return r.Name == "broken" })]
	if diff := cmp.Diff(Counts{Broken: 1, Warnings: 1}, broken.Counts); diff != "" {
		t.Errorf("a requirement counts by its most severe finding (-want +got):\n%s", diff)
	}
	if len(w.Shared) != 2 || w.Shared[0].Requirement != "ping.responds" || w.Shared[0].SDKs["some-sdk 1.2.3"] != 1 || w.Shared[0].OfSDK != 1 || w.Shared[1].OfSDK != 0 {
		t.Errorf("shared findings: %+v", w.Shared)
	}
	if entries, err := os.ReadDir(o.Out); err != nil || len(entries) != 3 {
		t.Errorf("the folder has more than index.html, servers and sweep.json: %v, %v", entries, err)
	}
}

// countingSupervisor returns a supervisor that judges without a process, and a function that returns how
// often each server was judged.
func countingSupervisor(o Options, outcome func(name string) Outcome) (*supervisor, func() map[string]int) {
	var mu sync.Mutex
	judged := map[string]int{}
	s := &supervisor{Options: o}
	s.judgeServer = func(_ context.Context, e *Entry) (*Result, error) {
		mu.Lock()
		defer mu.Unlock()
		judged[e.Name]++
		return &Result{Name: e.Name, Folder: e.Folder, Asked: e.asked, Outcome: outcome(e.Name), Seconds: float64(len(judged))}, nil
	}
	return s, func() map[string]int { return judged }
}

// TestSweepContinues checks which servers a second sweep judges again.
func TestSweepContinues(t *testing.T) {
	t.Parallel()
	const partialFolder = "servers/" + partialPrefix + "b-1/deep"
	first := func(name string) Outcome {
		if name == "fails" {
			return Unreachable
		}
		return Kept
	}
	for name, c := range map[string]struct {
		change func(o *Options)
		want   map[string]int
	}{
		"nothing changed": {func(*Options) {}, map[string]int{}},
		"retry":           {func(o *Options) { o.RetryFailed = true }, map[string]int{"fails": 1}},
		"another server":  {func(o *Options) { o.Whole = stubEntries("a", "b", "c", "fails") }, map[string]int{"c": 1}},
		"another command": {func(o *Options) { o.Whole[0].text = []byte("other") }, map[string]int{"a": 1}},
		"another flag":    {func(o *Options) { o.Flags = []string{"--quick"} }, map[string]int{"a": 1, "b": 1, "fails": 1}},
		"another version": {func(o *Options) { o.Version = "1.0.1" }, map[string]int{"a": 1, "b": 1, "fails": 1}},
		"no longer opted out": {func(o *Options) {
			r := &Result{Name: "a", Folder: "a", Outcome: OptedOut, Asked: entryDigest(&o.Whole[0], nil, "")}
			if err := writeJSON(filepath.Join(o.Out, "servers", "a", resultFile), r); err != nil {
				t.Fatal(err)
			}
		}, map[string]int{"a": 1}},
		"a result of another server": {func(o *Options) {
			if err := replaceInFile(filepath.Join(o.Out, "servers", "a", resultFile), `"folder": "a"`, `"folder": "../b"`); err != nil {
				t.Fatal(err)
			}
		}, map[string]int{"a": 1}},
		"an unknown outcome": {func(o *Options) {
			if err := replaceInFile(filepath.Join(o.Out, "servers", "b", resultFile), `"kept"`, `"great"`); err != nil {
				t.Fatal(err)
			}
		}, map[string]int{"b": 1}},
		"a partial folder and files in work": {func(o *Options) {
			for _, path := range []string{partialFolder, "work/1/home"} {
				if err := os.MkdirAll(filepath.Join(o.Out, path), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.RemoveAll(filepath.Join(o.Out, "servers", "b")); err != nil {
				t.Fatal(err)
			}
		}, map[string]int{"b": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := stubOptions(t, "a", "b", "fails")
			s, _ := countingSupervisor(o, first)
			if _, err := s.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			c.change(&o)
			s, judged := countingSupervisor(o, first)
			w, err := s.run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, judged()); diff != "" {
				t.Errorf("judged again (-want +got):\n%s", diff)
			}
			if n := w.Counts[Pending]; n != 0 || len(w.Servers) != len(o.Whole) {
				t.Errorf("%d of %d servers have no result", n, len(w.Servers))
			}
			if left, _ := filepath.Glob(filepath.Join(o.Out, "servers", ".*")); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// TestSweepFileFollowsTheResults checks that sweep.json holds the results of servers while a sweep
// runs: each entry is what result.json of the server has.
func TestSweepFileFollowsTheResults(t *testing.T) {
	t.Parallel()
	o := stubOptions(t, "a", "b", "c", "fails")
	o.Jobs = 1
	synctest.Test(t, func(t *testing.T) {
		judged := 0
		compare := func(want int) {
			t.Helper()
			w, err := Read(o.Out)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range w.Servers {
				if r.Outcome == Pending {
					continue
				}
				want--
				own, err := readResult(filepath.Join(o.Out, "servers", r.Folder))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(own, r, cmpopts.IgnoreUnexported(Result{})); diff != "" {
					t.Errorf("-result.json +sweep.json:\n%s", diff)
				}
			}
			if want != 0 {
				t.Errorf("sweep.json lacks %d results", want)
			}
		}
		o.Done = func(*Result, Progress) { judged++; compare(judged) }
		s, _ := countingSupervisor(o, func(name string) Outcome {
			time.Sleep(time.Minute)
			if name == "fails" {
				return Incomplete
			}
			return Kept
		})
		if _, err := s.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		// A result without a verdict is kept until there is another one.
		o.RetryFailed = true
		ctx, cancel := context.WithCancel(t.Context())
		o.Done = nil
		s, _ = countingSupervisor(o, nil)
		s.judgeServer = func(context.Context, *Entry) (*Result, error) { compare(4); cancel(); return nil, nil }
		if w, err := s.run(ctx); err != nil || w.Unfinished != 1 || w.Counts[Pending] != 0 || w.Counts[Incomplete] != 1 {
			t.Error(w, err)
		}
		compare(4)
	})
}

// TestInterruptedSweepKeepsResults checks the results of a sweep that ends after its first result.
func TestInterruptedSweepKeepsResults(t *testing.T) {
	t.Parallel()
	o := stubOptions(t, "kept", "hang-1", "hang-2")
	ctx, cancel := context.WithCancel(t.Context())
	o.Done = func(r *Result, p Progress) {
		if r.Name != "kept" || p.Done != 1 || p.All != 3 {
			t.Errorf("%s is done: %+v", r.Name, p)
		}
		cancel()
	}
	w, err := Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]Outcome{"kept": Kept, "hang-1": Pending, "hang-2": Pending}, outcomesOf(w)); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if len(w.Interrupted) != 2 || w.Unfinished != 2 {
		t.Errorf("unfinished: %d, interrupted: %v", w.Unfinished, w.Interrupted)
	}
	again, err := Read(o.Out)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w.Servers, again.Servers, cmpopts.IgnoreUnexported(Result{})); diff != "" {
		t.Errorf("sweep.json (-returned +read):\n%s", diff)
	}
}

// TestLimits checks that a server is stopped when it exceeds a limit, with the limit as the
// reason, and that it leaves no process and no file.
func TestLimits(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows the memory and the processes of a tree of processes")
	}
	seconds := fmt.Sprintf("1%07d", os.Getpid()) // identifies the processes
	o := stubOptions(t, "hang", "forks", "fills", "kept", "eats", "deletes", "nests")
	o.Whole[0].MaxTime, o.Limits.Grace = time.Second, time.Second
	o.Whole[1].Args = []string{"--", "forks", seconds}
	o.Limits.Processes, o.Limits.Disk, o.Limits.Memory = 10, 1<<19, 200<<20
	w := run(t, o)
	got := map[string]string{}
	for _, r := range w.Servers {
		got[r.Name] = string(r.Outcome) + ": " + r.Problem
	}
	if diff := cmp.Diff(map[string]string{
		"hang":    "stopped: the run did not end 1s after its time limit of 1s",
		"forks":   "stopped: it started more than its limit of 10 processes",
		"fills":   "stopped: it wrote more files than its limit of 512 KiB",
		"deletes": "stopped: it wrote more files than its limit of 512 KiB",
		"nests":   "stopped: it made a path that is too long to be measured",
		"eats":    "stopped: it used more memory than its limit of 200 MiB",
		"kept":    "kept: ",
	}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if out, err := exec.Command("pgrep", "-f", "sleep "+seconds).Output(); err == nil {
		t.Errorf("processes are left: %s", out)
	}
	if left, err := os.ReadDir(filepath.Join(o.Out, "work")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left in work: %v", left)
	}
}

// TestEachServerHasItsOwnEnvironment checks that only named variables reach a server.
func TestEachServerHasItsOwnEnvironment(t *testing.T) {
	t.Parallel()
	o := stubOptions(t, "environment")
	o.Environ = []string{"PATH=/bin", "TOKEN=secret", "OTHER=x", "NAMED=n"}
	o.Env = []string{"NAMED"}
	o.Whole[0].Env = []string{"GIVEN=g", "OTHER", EndVariable + "="}
	w := run(t, o)
	var got []string
	for line := range strings.SplitSeq(w.Servers[0].SDK, "\n") {
		if name, _, _ := strings.Cut(line, "="); name != "MCP_CONFORM_SERVER" {
			got = append(got, regexp.MustCompile(`/work/\d+/`).ReplaceAllString(strings.ReplaceAll(line, o.Out, "OUT"), "/work/N/"))
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"GIVEN=g", "HOME=OUT/work/N/home", EndVariable + "=1", HandoverVariable + "=OUT/work/N/handover.json", "NAMED=n", "OTHER=x", "PATH=/bin", "TMPDIR=OUT/work/N/tmp"}, got); diff != "" && runtime.GOOS != "windows" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOneRunPerHost checks that a host never has two runs at once, while several hosts have.
func TestOneRunPerHost(t *testing.T) {
	t.Parallel()
	o := stubOptions(t)
	for i := range 12 {
		name := fmt.Sprintf("s%d", i)
		o.Whole = append(o.Whole, Entry{Name: name, Folder: name, URL: fmt.Sprintf("https://Host%d.example:1%d/mcp", i%3, i)})
	}
	var mu sync.Mutex
	running, most := map[string]int{}, 0
	s := &supervisor{Options: o}
	s.judgeServer = func(_ context.Context, e *Entry) (*Result, error) {
		mu.Lock()
		running[e.host()]++
		if running[e.host()] > 1 {
			t.Errorf("two runs at once on %s", e.host())
		}
		sum := 0
		for _, n := range running {
			sum += n
		}
		most = max(most, sum)
		mu.Unlock()
		<-time.After(5 * time.Millisecond)
		mu.Lock()
		running[e.host()]--
		mu.Unlock()
		return &Result{Name: e.Name, Folder: e.Folder, Outcome: Kept}, nil
	}
	if w, err := s.run(t.Context()); err != nil || w.Counts[Kept] != 12 {
		t.Fatal(w, err)
	}
	if most < 2 {
		t.Errorf("at most %d ran at once", most)
	}
}

// TestSweepFailureEndsRun checks that a failure of the sweep itself, such as a full disk, ends it, and that
// the remaining servers stay pending.
func TestSweepFailureEndsRun(t *testing.T) {
	t.Parallel()
	o := stubOptions(t, "a", "b", "c")
	o.Jobs = 1
	s := &supervisor{Options: o}
	full := errors.New("no space left on device")
	s.judgeServer = func(_ context.Context, e *Entry) (*Result, error) {
		if e.Name == "b" {
			return nil, full
		}
		return &Result{Name: e.Name, Folder: e.Folder, Outcome: Kept}, nil
	}
	w, err := s.run(t.Context())
	if !errors.Is(err, full) || !strings.Contains(err.Error(), "server b") {
		t.Errorf("the error is %v", err)
	}
	if diff := cmp.Diff(map[string]Outcome{"a": Kept, "b": Pending, "c": Pending}, outcomesOf(w)); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

// TestEmptyFilesHaveASize checks that many empty files and folders exceed a limit.
func TestEmptyFilesHaveASize(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 9 {
		if err := os.Mkdir(filepath.Join(dir, fmt.Sprint(i)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := sizeOf(dir, 1<<20); got != 10*minSize || err != nil {
		t.Errorf("10 folders have %d bytes, %v", got, err)
	}
}

// TestExplainUnreachable checks that the problem of an unreachable server has the line that says why,
// without the folder of this run, and the hint.
func TestExplainUnreachable(t *testing.T) {
	t.Parallel()
	const said = "it has exited"
	long := strings.Repeat("x", 500)
	for name, c := range map[string]struct{ quote, hint, want string }{
		"nothing":     {"", "", said},
		"a cause":     {"the server's stderr says: Error: Cannot find module '/out/work/1/server.js'", "set cwd", said + "; the server's stderr says: Error: Cannot find module 'server.js'; set cwd"},
		"last lines":  {"the server's stderr ends with: no key in /out/work/1", "", said + "; the server's stderr ends with: no key in ."},
		"a long line": {"the server's output says: " + long, "set cwd", said + "; the server's output says: " + long[:maxCause-26] + "…; set cwd"},
	} {
		if got := explainUnreachable(said, c.quote, c.hint, "/out/work/1"); got != c.want {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
	if got := explainUnreachable(long, "", "set cwd", "/out"); len(got) > maxProblem+len("…") || !strings.HasSuffix(got, "…; set cwd") {
		t.Errorf("a hint after a long problem: %q", got)
	}
}

// TestVisibleLines checks that the output of a run keeps its lines, without control characters.
func TestVisibleLines(t *testing.T) {
	t.Parallel()
	if got, want := visibleLines("a\r\nb\x1b[31m\n\nc"), "a\nb\\u001b[31m\n\nc\n"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
}
