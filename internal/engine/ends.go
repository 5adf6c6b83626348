package engine

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A server that the run started for a URL may exit without a case that causes
// it: after some number of requests, or at random. The run restarts it, repeats
// the disturbed cases and prints a notice. If the server keeps exiting while
// requests are pending, the run stops early.

// ends records which exits of a shared process are explained. An exit is
// explained if it interrupted a unit that also makes its own process exit.
type ends struct {
	mu      sync.Mutex
	pending map[*unit]*opener // units that may have caused an exit: running, or to be run again
	// causes holds the records of the units that cause exits.
	causes map[*transcript.Transcript]bool
}

// begin registers the unit as one that may cause an exit.
func (e *ends) begin(u *unit, o *opener) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.pending == nil {
		e.pending = map[*unit]*opener{}
	}
	e.pending[u] = o
}

// settle removes the unit: it is known whether it causes exits.
func (e *ends) settle(u *unit, causesExits bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	o := e.pending[u]
	delete(e.pending, u)
	if o == nil || !causesExits {
		return
	}
	if e.causes == nil {
		e.causes = map[*transcript.Transcript]bool{}
	}
	for _, c := range o.conversations() {
		e.causes[c.Record] = true
	}
}

// unexplained returns the exits that no unit causes by itself. It leaves out
// exits that interrupted a unit that has not been repeated yet.
func (e *ends) unexplained(all []transport.Ending) []transport.Ending {
	e.mu.Lock()
	defer e.mu.Unlock()
	undecided := map[*transcript.Transcript]bool{}
	for _, o := range e.pending {
		for _, c := range o.conversations() {
			undecided[c.Record] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(ending transport.Ending) bool {
		return slices.ContainsFunc(ending.Records, func(record *transcript.Transcript) bool {
			return e.causes[record] || undecided[record]
		})
	})
}

// mostEnds is the number of unexplained exits after which a run stops.
const mostEnds = 5

// An endingError reports that the server exited too often, so the run ends.
type endingError struct{ ended int }

func (e *endingError) Error() string {
	return fmt.Sprintf("the server's process exited by itself %s while requests waited for a response", countTimes(e.ended))
}

// endEarly ends the run if the process exited too often with pending requests
// and no case alone causes that.
func (r *session) endEarly() {
	sharer, ok := r.o.Dialer.(transport.Sharer)
	if !ok || r.stop == nil {
		return
	}
	cut := 0
	for _, e := range r.ends.unexplained(sharer.Endings()) {
		if e.Cut {
			cut++
		}
	}
	if cut >= mostEnds {
		r.stop(&endingError{cut})
	}
}

// showsExit reports whether the candidate was reproduced and its evidence
// includes the end of a server.
func (c *candidate) showsExit() bool {
	if c.reproduced == 0 || c.record == nil {
		return false
	}
	events := c.record.From(0)
	at, _ := quotedPositions(events, c.At)
	return slices.ContainsFunc(at, func(i int) bool { return events[i].IsServerEnd() })
}

// endsNotice returns a notice about unexplained exits, or "". If no finding
// shows an exit, no exit counts as explained: a unit that sends more requests
// than the server can handle makes it exit, although no single request is at
// fault.
func (r *reporting) endsNotice() string {
	unexplained := r.endings
	if slices.ContainsFunc(r.selected(), (*candidate).showsExit) {
		unexplained = r.ends.unexplained(unexplained)
	}
	if len(unexplained) == 0 {
		return ""
	}
	last := unexplained[len(unexplained)-1]
	text := fmt.Sprintf("the server's process exited by itself %s, and no case causes that alone: %s", countTimes(len(unexplained)), last.Detail)
	if words := lastLines(r.o.Redactor.Known(last.Output)); words != "" {
		text += "; its last output: " + words
	}
	return text
}

func countTimes(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// Limits for quoting a server's output.
const (
	linesShown  = 3
	widestLines = 300
)

func lastLines(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	lines = lines[max(0, len(lines)-linesShown):]
	for i := range lines {
		lines[i] = wire.Excerpt(strings.TrimSpace(lines[i]), widestLines/linesShown)
	}
	return strings.Join(lines, " | ")
}
