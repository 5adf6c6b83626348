package discount

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/stderr"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A process that the conversations of a run share may exit although no single case causes that:
// after some number of requests, or at random. The observations of the cases that the exit
// interrupted do not count, and those cases run again, each on its own process. If that process
// exits too, the case causes the exit. A notice counts the exits that no case causes.

// An Exit is the unprompted exit of a process that the conversations of a run share.
type Exit struct {
	Detail string // such as the exit status
	Output string // the end of the process's output; untrusted
	// Records are the transcripts of the conversations that the exit interrupted.
	Records []*transcript.Transcript
}

// sharedExit voids what was observed while a shared process exited, because another case may have
// caused the exit.
type sharedExit struct{}

func (sharedExit) discount(c *Claim) (Effect, string) {
	if c.Disturbed {
		return Void, "another case may have made the server exit"
	}
	return Counts, ""
}

// exits voids a deviation that is the exit of a shared process (see Claim.Exit) if one of the cases
// that the exit interrupted has not run again yet, or made its own process exit when it ran again.
type exits struct {
	mu        sync.Mutex
	unsettled map[any]func() []*transcript.Transcript // the conversations of cases that may have caused an exit
	causes    map[*transcript.Transcript]bool         // the conversations of cases that caused their own processes to exit
}

func (e *exits) discount(c *Claim) (Effect, string) {
	if !c.Exit {
		return Counts, ""
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, records := range e.unsettled {
		if slices.ContainsFunc(records(), func(record *transcript.Transcript) bool { return slices.Contains(c.Records, record) }) {
			return Void, "a case that it interrupted has not run again yet"
		}
	}
	if slices.ContainsFunc(c.Records, func(record *transcript.Transcript) bool { return e.causes[record] }) {
		return Void, "a case that it interrupted also makes its own process exit"
	}
	return Counts, ""
}

// BeginShared notes that cases begin to run on the shared process, and may cause its exit. key
// identifies the cases; records returns their conversations so far.
func (r *Run) BeginShared(key any, records func() []*transcript.Transcript) {
	r.exits.mu.Lock()
	defer r.exits.mu.Unlock()
	if r.exits.unsettled == nil {
		r.exits.unsettled = map[any]func() []*transcript.Transcript{}
	}
	r.exits.unsettled[key] = records
}

// SettleShared records whether the cases that key identifies caused their own process to exit when
// they ran again. It must be called once after each BeginShared.
func (r *Run) SettleShared(key any, causesExits bool) {
	r.exits.mu.Lock()
	defer r.exits.mu.Unlock()
	records := r.exits.unsettled[key]
	delete(r.exits.unsettled, key)
	if records == nil || !causesExits {
		return
	}
	if r.exits.causes == nil {
		r.exits.causes = map[*transcript.Transcript]bool{}
	}
	for _, record := range records() {
		r.exits.causes[record] = true
	}
}

// ExitNotices returns notices about processes that exited by themselves: shared processes, and
// other processes that crashed. isFinding is set if a finding shows an exit. Otherwise the notice
// counts all exits of shared processes, even those that a case causes, because nothing else reports
// them. redact removes secrets.
func (r *Run) ExitNotices(shared []Exit, isFinding bool, redact func(string) string) []string {
	var out []string
	if isFinding {
		shared = slices.DeleteFunc(slices.Clone(shared), func(e Exit) bool { return r.Voids(&Claim{Exit: true, Records: e.Records}) })
	}
	if len(shared) > 0 {
		last := shared[len(shared)-1]
		text := fmt.Sprintf("the server's process exited by itself %s, and no case causes that alone: %s", countTimes(len(shared)), last.Detail)
		out = append(out, text+quoteOutput(redact(last.Output)))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if text := r.crashes.notice(redact); text != "" {
		out = append(out, text)
	}
	return out
}

func countTimes(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// Limits for quoting a server's output: the number of lines, and the number of bytes of all lines
// together.
const (
	linesShown  = 3
	widestLines = 300
)

// quoteOutput returns the clause with which a notice quotes the lines of a server's output that say
// why it ended, or the last ones if no line says why. It returns "" if there was no output.
func quoteOutput(output string) string {
	lines, what := stderr.Cause(output), "its output says"
	if lines == nil {
		lines, what = strings.Split(strings.TrimSpace(output), "\n"), "its last output"
	}
	lines = lines[max(0, len(lines)-linesShown):]
	for i := range lines {
		lines[i] = wire.Excerpt(strings.TrimSpace(lines[i]), widestLines/linesShown)
	}
	if words := strings.Join(lines, " | "); words != "" {
		return "; " + what + ": " + words
	}
	return ""
}
