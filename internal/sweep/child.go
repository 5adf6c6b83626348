package sweep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/sdk"
	"github.com/mcp-conform/mcp-conform/internal/target"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/reporters"
)

const (
	// pollInterval is the time between two measurements of the memory and processes of a server.
	pollInterval = 500 * time.Millisecond
	// endTime is how long a run may take to end its servers after a signal or the end of its stdin.
	endTime = 10 * time.Second
	// diskInterval is the shortest time between two measurements of a folder. Measurements
	// take at most 1/diskShare of the time.
	diskInterval = 2 * time.Second
	diskShare    = 20
)

// reportFiles are the names of the reports in the folder of a server, by their format.
var reportFiles = map[string]string{
	"json": "report.json", "html": "report.html", "conformance": "conformance.yaml", "markdown": "report.md",
	"sarif": "report.sarif", "junit": "junit.xml", "tap": "report.tap",
}

// Formats returns the formats of reports that a sweep can keep.
func Formats() []string {
	var out []string
	for name := range reportFiles {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// judge judges one server in a process of its own. It returns nil if the context ended first.
func (s *supervisor) judge(ctx context.Context, e *Entry) (*Result, error) {
	work, err := os.MkdirTemp(workFolder(s.Out), "")
	if err != nil {
		return nil, err
	}
	defer func() { _ = removeAll(work) }() // leftovers are removed with the work folder
	partial, err := s.newPartialFolder(e)
	if err != nil {
		return nil, err
	}
	for _, folder := range []string{"home", "tmp"} {
		if err := os.Mkdir(filepath.Join(work, folder), 0o700); err != nil {
			return nil, err
		}
	}
	began := time.Now()
	service, err := stdio.StartService(stdio.Command{Argv: s.argv(e, partial), Dir: work, Env: s.environment(e, work)})
	if err != nil {
		return nil, fmt.Errorf("this program can't be started again: %w", err)
	}
	why := s.awaitEnd(ctx, service, s.maxTime(e), work)
	service.Stop(transport.Patience{AfterTerm: endTime})
	if ctx.Err() != nil {
		return nil, removeAll(partial)
	}
	r := &Result{Name: e.Name, Folder: e.Folder, Asked: e.asked, Package: e.Package, Published: e.Version, partial: partial}
	handed := readHandover(work)
	r.paused = handed.PauseEnd
	r.Seconds = time.Since(began).Round(time.Millisecond).Seconds()
	if err := s.conclude(r, service, why, partial); err != nil {
		if errors.Join(removeAll(work), removeAll(partial)) != nil {
			return nil, err
		}
		var other error
		if r.partial, other = s.newPartialFolder(e); other != nil || !hasRoom(r.partial) {
			return nil, err
		}
		r.Outcome, r.Problem = Stopped, "it filled the disk: its report could not be written"
	}
	if r.Outcome == Unreachable {
		r.Problem = explainUnreachable(r.Problem, handed.Quote, e.hintCwd(), work)
	}
	if used := sdk.FindInNpxCache(filepath.Join(work, "home")); used != nil && r.SDK == "" {
		r.SDK = used.String()
	}
	return r, nil
}

// argv returns the command that judges a server.
func (s *supervisor) argv(e *Entry, folder string) []string {
	argv := []string{s.Program, "run", "--no-config"}
	if slices.Contains(e.Args, "--config") { // the entry names a client's configuration file
		argv = argv[:2]
	}
	argv = append(argv, s.Flags...)
	argv = append(argv, e.Flags...)
	if d := s.maxTime(e); d > 0 {
		argv = append(argv, "--max-time", d.String())
	}
	if e.URL == "" {
		for _, variable := range slices.Concat(s.Env, e.Env) {
			if name, value, _ := strings.Cut(variable, "="); !strings.Contains(value, target.PortMark) {
				variable = name // its value is in the environment
			}
			argv = append(argv, "--env", variable)
		}
	}
	for _, format := range s.formats() {
		argv = append(argv, "--report", format+"="+filepath.Join(folder, reportFiles[format]))
	}
	return append(argv, e.Args...)
}

// formats returns the formats of the reports to write. They include json, from which the result is
// read.
func (s *supervisor) formats() []string {
	out := slices.Clone(s.Files)
	if !slices.Contains(out, "json") {
		out = append(out, "json")
	}
	return out
}

// EndVariable is the environment variable that tells a run to end when its stdin ends. The stdin
// of a run ends with the sweep, even if the sweep is killed. The run hides the variable from its
// server.
const EndVariable = "MCP_CONFORM_ENDS_WITH_STDIN"

// inherited are the variables that every server gets from this process, because it can't start
// without them. The key is whether the system is Windows.
var inherited = map[bool][]string{
	false: {"PATH", "LANG", "LC_ALL", "TZ"},
	true:  {"PATH", "PATHEXT", "SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "WINDIR", "PROGRAMFILES", "PROGRAMDATA", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE"},
}

// environment returns the environment of a server: a few inherited variables, a home and a folder
// for temporary files below work, and the variables that the user named.
func (s *supervisor) environment(e *Entry, work string) []string {
	home, tmp := filepath.Join(work, "home"), filepath.Join(work, "tmp")
	env := []string{"HOME=" + home, "TMPDIR=" + tmp}
	if runtime.GOOS == "windows" {
		env = []string{"USERPROFILE=" + home, "APPDATA=" + home, "LOCALAPPDATA=" + home, "TMP=" + tmp, "TEMP=" + tmp}
	}
	add := func(name string) {
		for _, one := range s.Environ {
			have, _, _ := strings.Cut(one, "=")
			if have == name || runtime.GOOS == "windows" && strings.EqualFold(have, name) {
				env = append(env, one)
			}
		}
	}
	for _, name := range inherited[runtime.GOOS == "windows"] {
		add(name)
	}
	for _, variable := range slices.Concat(s.Env, e.Env) { // the last value of a variable counts
		if strings.Contains(variable, "=") {
			env = append(env, variable)
		} else {
			add(variable)
		}
	}
	return append(env, HandoverVariable+"="+filepath.Join(work, handoverFile), EndVariable+"=1") // last, so that no entry can change them
}

// awaitEnd waits until the run or the context ends, or a limit is exceeded. It returns a sentence
// about the limit that was exceeded, or "" if none was. The argument most is the time limit of the
// run (0 for none), and work is the folder whose size is limited.
func (s *supervisor) awaitEnd(ctx context.Context, service *stdio.Service, most time.Duration, work string) string {
	look := time.NewTicker(pollInterval)
	defer look.Stop()
	var late <-chan time.Time
	if most > 0 {
		timer := time.NewTimer(most + s.Limits.Grace)
		defer timer.Stop()
		late = timer.C
	}
	measured, pause := time.Now(), diskInterval
	for {
		select {
		case <-service.Exited():
			return ""
		case <-ctx.Done():
			return ""
		case <-late:
			return fmt.Sprintf("the run did not end %v after its time limit of %v", s.Limits.Grace, most)
		case <-look.C:
		}
		if memory, processes, known := service.Usage(s.Limits.Memory); known {
			service.Track(service.PID())
			switch {
			case s.Limits.Memory > 0 && memory > s.Limits.Memory:
				return "it used more memory than its limit of " + Bytes(s.Limits.Memory)
			case s.Limits.Processes > 0 && processes > s.Limits.Processes:
				return fmt.Sprintf("it started more than its limit of %d processes", s.Limits.Processes)
			}
		}
		if s.Limits.Disk > 0 && time.Since(measured) >= pause {
			began := time.Now()
			if why := exceedsDisk(work, s.Limits.Disk, service); why != "" {
				return why
			}
			measured = time.Now()
			pause = max(diskInterval, diskShare*measured.Sub(began))
		}
	}
}

// hasRoom reports whether a file of 1 MiB can be written into a folder.
func hasRoom(folder string) bool {
	path := filepath.Join(folder, "room")
	err := os.WriteFile(path, make([]byte, 1<<20), 0o600)
	return errors.Join(err, os.Remove(path)) == nil
}

// Bytes returns a size as text, such as 512 KiB.
func Bytes(n int64) string {
	for _, unit := range []struct {
		name string
		size int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= unit.size && n%unit.size == 0 {
			return fmt.Sprintf("%d %s", n/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

// conclude sets the outcome of a run that has ended, and removes the reports that are not to be
// kept. The argument why says which limit the run exceeded; it is "" if none was exceeded.
func (s *supervisor) conclude(r *Result, service *stdio.Service, why, folder string) error {
	report := filepath.Join(folder, reportFiles["json"])
	detail, code := service.Ending()
	err := r.readReport(report)
	said := lastError(service.Output())
	if err != nil && !errors.Is(err, fs.ErrNotExist) && why == "" && code >= 0 { // as on a full disk
		if said != "" {
			return fmt.Errorf("the report of its run can't be read: %w; the run ended with: %s", err, said)
		}
		return fmt.Errorf("the report of its run can't be read: %w", err)
	}
	switch {
	case why != "":
		r.Outcome, r.Problem = Stopped, why
	case code == 0 && err == nil:
		r.Outcome, r.Problem = Kept, ""
	case code == 1 && err == nil:
		r.Outcome = Broken
	case code == 2:
		r.Outcome, r.Problem = Unusable, said
	case code == 3:
		r.Outcome, r.Problem = Unreachable, said
	default:
		r.Outcome = Incomplete
		switch {
		case r.Problem != "": // the report has the reason
		case said != "" && code > 0:
			r.Problem = said
		case err == nil && code == 4:
			r.Problem = r.describeUndecided()
		default:
			r.Problem = "mcp-conform run ended with " + detail
		}
	}
	if !slices.Contains(s.Files, "json") {
		if err := os.Remove(report); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, format := range s.Files {
		if exists(filepath.Join(folder, reportFiles[format])) {
			r.Reports = append(r.Reports, reportFiles[format])
		}
	}
	if r.Outcome != Kept && r.Outcome != Broken {
		const output = "output.txt"
		if err := os.WriteFile(filepath.Join(folder, output), []byte(visibleLines(service.Output())), 0o644); err != nil { //nolint:gosec // the results are for others to read
			return err
		}
		r.Reports = append(r.Reports, output)
	}
	return nil
}

// explainUnreachable returns problem, which says why a server is unreachable, followed by the run's
// quote of the server's output and by the hint; each of the two may be empty. It writes paths in
// the server's folder work relative to it, because the name of that folder differs from run to run.
func explainUnreachable(problem, quote, hint, work string) string {
	if quote != "" {
		problem += "; " + shorten(quote, maxCause)
	}
	folders := []string{work}
	if real, err := filepath.EvalSymlinks(work); err == nil && real != work {
		folders = append(folders, real)
	}
	for _, folder := range folders {
		problem = strings.ReplaceAll(strings.ReplaceAll(problem, folder+string(filepath.Separator), ""), folder, ".")
	}
	if hint != "" {
		hint = "; " + hint
	}
	return shorten(problem, maxProblem-len(hint)) + hint
}

// visibleLines returns text with the control characters in each line escaped, and with a newline
// after the last line.
func visibleLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(reporters.Visible(strings.TrimRight(line, "\r\n")) + "\n")
	}
	return b.String()
}

// describeUndecided returns why a complete run has no verdict.
func (r *Result) describeUndecided() string {
	for i := range r.Findings {
		switch r.Findings[i].Outcome {
		case verdict.HarnessError:
			return "a check of mcp-conform failed"
		case verdict.Unconfirmed:
			return "a finding could not be retried"
		}
	}
	return "nothing could be judged"
}

// lastError returns the last error message of mcp-conform in the output of a run, or "".
func lastError(output string) string {
	const mark = "mcp-conform: "
	said := ""
	for line := range bytes.Lines([]byte(output)) {
		if text, ok := bytes.CutPrefix(line, []byte(mark)); ok {
			said = string(bytes.TrimSpace(text))
		}
	}
	return shorten(said, maxProblem)
}
