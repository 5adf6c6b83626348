package engine

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A server that the run started for a URL may exit without a case that causes
// it: after some number of requests, or at random. The run restarts it, repeats
// the disturbed cases and prints a notice. If the server keeps exiting while
// requests are pending, the run stops early.

// ends counts the exits of a shared process and those that are explained.
type ends struct {
	explained atomic.Int64 // those that a unit also caused on a process of its own

	mu      sync.Mutex
	pending map[*unit]*opener // units that may have caused an exit: running, or to be run again
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

// settle removes the unit: it is known which exits it caused.
func (e *ends) settle(u *unit) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.pending, u)
}

// countUndecided returns the number of ended conversations of units that were
// not run again yet: each may explain one exit, because a unit opens another
// conversation after each.
func (e *ends) countUndecided() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := 0
	for _, o := range e.pending {
		n += o.exits()
	}
	return n
}

// mostEnds is the number of unexplained exits after which a run stops.
const mostEnds = 5

// An endingError is the reason why the run ends.
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
	for _, e := range sharer.Endings() {
		if e.Cut {
			cut++
		}
	}
	if unexplained := cut - int(r.ends.explained.Load()) - r.ends.countUndecided(); unexplained >= mostEnds {
		r.stop(&endingError{unexplained})
	}
}

// endsNotice returns a notice about unexplained exits, or "".
func (r *session) endsNotice() string {
	sharer, ok := r.o.Dialer.(transport.Sharer)
	if !ok {
		return ""
	}
	all := sharer.Endings()
	n := len(all) - int(r.ends.explained.Load())
	if n <= 0 {
		return ""
	}
	last := all[len(all)-1]
	text := fmt.Sprintf("the server's process exited by itself %s, and no case causes that alone: %s", countTimes(n), last.Detail)
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
