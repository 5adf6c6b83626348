package cli

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/skip"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
)

// A hostileServer is a server that prevents a proper conversation, with the
// output that the user should see.
type hostileServer struct {
	name string
	// serve starts the server and returns the URL to judge. For a command it
	// adds the command to the run instead, and returns "". It may also add
	// flags and variables.
	serve  func(t *testing.T, r *hostileRun) string
	code   int           // the exit code, or a constant for several, such as startsOrNot
	says   []string      // regular expressions: all must match the output
	within time.Duration // default: 30 s. Most runs take at most five, but the machine may be busy
}

// hostileRun is a run of the tool against a hostile server.
type hostileRun struct {
	flags, environ []string
	command        []string
	ca             string // the file of the server's certificate
}

// hostileServers returns all hostile servers.
func hostileServers() []hostileServer {
	return slices.Concat(flooding(), misshaping(), turning(), deafening(), babbling(), unreached(), refusing())
}

// TestHostileServers runs the tool against all kinds of servers that misbehave. Each run must end
// in time, stay below the memory limit, say what was wrong, and exit with an expected code. If 0 is
// not one of these, it must not report that no requirement is broken.
func TestHostileServers(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers")
	}
	if suitetest.RaceDetector {
		t.Skip("is about time and memory")
	}
	buildPrograms(t)
	all := t
	// Most of the runs wait, so more of them run at once than t.Parallel
	// allows.
	waiting := make(chan struct{}, 8*runtime.GOMAXPROCS(0))
	working := make(chan struct{}, runtime.GOMAXPROCS(0))
	var runs []*hostileResult
	for _, b := range hostileServers() {
		if !isSampled(b.name) {
			continue
		}
		t.Run(b.name, func(t *testing.T) { // applies the -run pattern
			if os.Getenv("MCP_CONFORM_HOSTILE") == "" && slices.Contains(slowHostile, b.name) {
				skip.Slowest(t)
			}
			r := &hostileResult{hostileServer: b, done: make(chan struct{})}
			runs = append(runs, r)
			go func() {
				defer close(r.done)
				slots := waiting
				if b.within == hostileWithin || floods.MatchString(b.name) {
					slots = working
				}
				slots <- struct{}{}
				defer func() { <-slots }()
				r.check(all)
			}()
		})
	}
	for _, r := range runs {
		<-r.done
	}
	for _, r := range runs {
		if len(r.complaints) > 0 { // with so many concurrent runs, a response may take longer than its one second
			t.Logf("retrying %s alone: %s", r.name, strings.Join(r.complaints, "; "))
			r.complaints = nil
			r.check(t)
		}
		if len(r.complaints) > 0 {
			t.Errorf("%s:\n  %s\n%s", r.name, strings.Join(r.complaints, "\n  "), r.text)
		} else if os.Getenv("MCP_CONFORM_HOSTILE") != "" {
			t.Logf("%-40s %s", r.name, measured.Find(r.text))
		}
		if os.Getenv("MCP_CONFORM_ALOUD") != "" {
			t.Logf("%s:\n%s", r.name, r.text)
		}
	}
}

// measured matches the output of exits: the code, time and memory of a run.
var measured = regexp.MustCompile(`(?m)^exits: code .*$`)

// floods matches the names of servers that keep a whole core busy.
var floods = regexp.MustCompile(`flood|bomb|comments$|comments[, ]|without end|100 MB|bytes without`)

// green matches the conclusion of a run without findings.
var green = regexp.MustCompile(`no requirement broken in|no requirement broken, `)

// A hostileResult is the result of a run.
type hostileResult struct {
	hostileServer
	done       chan struct{}
	complaints []string
	text       []byte
}

func (r *hostileResult) check(t *testing.T) {
	run := &hostileRun{}
	url := r.serve(t, run)
	within := r.within
	if within == 0 {
		within = 30 * time.Second
	}
	args := slices.Concat([]string{"-within", within.String(), r.codes(), "mcp-conform", "run", "--timeout", "1s", "--start-timeout", "2s"}, run.flags)
	if url != "" {
		args = append(args, url)
	}
	args = slices.Concat(args, run.command)
	cmd := exec.Command("exits", args...) // checks code, time and memory
	cmd.Env = append(os.Environ(), run.environ...)
	var err error
	if r.text, err = cmd.CombinedOutput(); err != nil {
		r.complain("%s: %v", strings.Join(args, " "), err)
	}
	for _, words := range r.says {
		if !regexp.MustCompile(words).Match(r.text) {
			r.complain("it does not say %q", words)
		}
	}
	if !slices.Contains(strings.Split(r.codes(), "|"), "0") && green.Match(r.text) {
		r.complain("it is green")
	}
}

func (r *hostileResult) complain(format string, args ...any) {
	r.complaints = append(r.complaints, fmt.Sprintf(format, args...))
}
