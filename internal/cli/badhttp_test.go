package cli

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// badHTTP is something at a URL with which no good conversation can be held,
// and what the user gets to see of it.
type badHTTP struct {
	name string
	// serve starts it and returns the URL that is judged; where that needs more
	// flags or variables, it adds them to the run.
	serve  func(t *testing.T, r *badRun) string
	code   int
	says   []string      // regular expressions: all must match what is written
	within time.Duration // default: 30 s; a run takes five at most, and the machine may be busy
}

// badRun is a run of the tool against such a thing.
type badRun struct {
	flags, environ []string
	ca             string // the file of the server's certificate
}

// TestBadHTTP holds the tool against everything that may sit at a URL instead
// of a server that behaves. Whatever it is, the run ends in time, takes no more
// memory than it may, says what was wrong, and is never green.
func TestBadHTTP(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers")
	}
	if raceDetector {
		t.Skip("is about time and memory")
	}
	// Most of the runs wait, so there are more of them than t.Parallel allows.
	waiting := make(chan struct{}, 8*runtime.GOMAXPROCS(0))
	working := make(chan struct{}, runtime.GOMAXPROCS(0))
	var runs []*badResult
	for _, b := range slices.Concat(turning(), deafening(), babbling(), unreached(), refusing()) {
		t.Run(b.name, func(*testing.T) { // selects what -run wants
			r := &badResult{badHTTP: b, done: make(chan struct{})}
			runs = append(runs, r)
			go func() {
				defer close(r.done)
				slots := waiting
				if floods.MatchString(b.name) {
					slots = working
				}
				slots <- struct{}{}
				defer func() { <-slots }()
				r.check(t)
			}()
		})
	}
	for _, r := range runs {
		<-r.done
	}
	for _, r := range runs {
		if len(r.complaints) > 0 { // beside so many others an answer may take longer than the second it has
			t.Logf("%s is tried again alone: %s", r.name, strings.Join(r.complaints, "; "))
			r.complaints = nil
			r.check(t)
		}
		if len(r.complaints) > 0 {
			t.Errorf("%s:\n  %s\n%s", r.name, strings.Join(r.complaints, "\n  "), r.text)
		} else if os.Getenv("MCP_CONFORM_ALOUD") != "" {
			t.Logf("%s:\n%s", r.name, r.text)
		}
	}
}

// floods matches the names of what takes a core for itself.
var floods = regexp.MustCompile(`flood|bomb|comments$|comments[, ]|without end|100 MB|bytes without`)

// green is what a run says that found nothing to complain of.
var green = regexp.MustCompile(`no requirement broken in|no requirement broken, `)

// badResult is what came of a run.
type badResult struct {
	badHTTP
	done       chan struct{}
	complaints []string
	text       []byte
}

func (r *badResult) check(t *testing.T) {
	run := &badRun{}
	url := r.serve(t, run)
	within := r.within
	if within == 0 {
		within = 30 * time.Second
	}
	args := slices.Concat([]string{"-within", within.String(), strconv.Itoa(r.code), "mcp-conform", "run", "--timeout", "1s", "--start-timeout", "2s"}, run.flags, []string{url})
	cmd := exec.Command("exits", args...) // it minds code, time and memory
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
	if r.code != ExitKept && green.Match(r.text) {
		r.complain("it is green")
	}
}

func (r *badResult) complain(format string, args ...any) {
	r.complaints = append(r.complaints, fmt.Sprintf(format, args...))
}
