package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/selftest"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
	"github.com/mcp-conform/mcp-conform/reporters"
)

const (
	// exampleTime limits the time for producing an example.
	exampleTime = 900 * time.Millisecond
	// maxTried limits the faults that are tried for one example.
	maxTried = 4
	// maxSeen limits the length of the quoted observation, in characters.
	maxSeen = 180
)

// printExample prints an example of how the reference server breaks the requirement with one of its
// faults, and what would be permitted instead. It omits the example if no fault that it tries
// produces a finding in time. After the example, it prints the id of the only fault, or the number
// of faults. It prints nothing if the requirement has no fault.
func (a *app) printExample(q *spec.Requirement) {
	var candidates []faults.Fault
	for _, f := range faults.All() {
		if f.Requirement == q.ID {
			candidates = append(candidates, f)
		}
	}
	if len(candidates) == 0 {
		return
	}
	if f, x := a.findExample(candidates[:min(maxTried, len(candidates))]); x != nil {
		a.printField("permitted", reporters.Visible(x.Permitted))
		a.printField("wrong", fmt.Sprintf("for example, in %s: %s", x.Revision, f.Title))
		a.printField("seen", cutLine(reporters.Visible(x.Seen), maxSeen))
		for _, line := range reporters.Exchange(x.Evidence, max(a.Columns-2, 78)) {
			fmt.Fprintf(a.Out, "  %s\n", line)
		}
	}
	if len(candidates) == 1 {
		a.printField("fault", candidates[0].ID)
		return
	}
	a.printField("faults", fmt.Sprintf("%s to break it: mcp-conform list faults %s", countWithNoun(len(candidates), "way", "ways"), q.ID))
}

// findExample tries all candidates concurrently, for at most exampleTime. It returns the first
// candidate, in the order of the slice, that produced a finding, and that finding. If no candidate
// produced one, the finding is nil.
func (a *app) findExample(candidates []faults.Fault) (faults.Fault, *verdict.Finding) {
	ctx, cancel := context.WithTimeout(a.ctx, exampleTime)
	defer cancel()
	found := make([]chan *verdict.Finding, len(candidates))
	for i, f := range candidates {
		found[i] = make(chan *verdict.Finding, 1)
		go func() {
			places := selftest.Places(f, false)
			if len(places) == 0 {
				found[i] <- nil
				return
			}
			found[i] <- selftest.JudgeFault(ctx, f, places[0])
		}()
	}
	var first faults.Fault
	var finding *verdict.Finding
	for i, f := range candidates {
		// The results are read in the order of the candidates, not in the order in which they
		// arrive, so that each run prints the same example.
		if x := <-found[i]; x != nil && finding == nil {
			first, finding = f, x
			cancel()
		}
	}
	return first, finding
}
