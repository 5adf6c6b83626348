package engine

import (
	"fmt"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/discount"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

// A server that the run started for a URL may exit although no case caused that: after some number
// of requests, or at random. The run restarts it, repeats the disturbed cases and prints a notice.
// If the server keeps exiting while requests are pending, the run stops early.

// maxUnexplainedExits is the number of exits that end a run. Only exits while requests were pending
// count, and not those that a single case causes by itself.
const maxUnexplainedExits = 5

// An exitsError is the cause of the end of a run in which the server exited too often.
type exitsError struct{ ended int }

func (e *exitsError) Error() string {
	return fmt.Sprintf("the server's process exited by itself %d times while requests waited for a response", e.ended)
}

// stopAfterExits ends the run if the process exited too often while requests were pending. Exits
// that a single case causes by itself do not count.
func (r *session) stopAfterExits() {
	sharer, ok := r.dialer.(transport.Sharer)
	if !ok {
		return
	}
	cut := 0
	for _, e := range sharer.Endings() {
		if e.Cut && !r.discounts.Voids(&discount.Claim{Exit: true, Records: e.Records}) {
			cut++
		}
	}
	if cut >= maxUnexplainedExits {
		r.limit.stop(&exitsError{cut})
	}
}

// showsExit reports whether the candidate was reproduced and its evidence
// includes the end of a server.
func (c *candidate) showsExit() bool {
	if c.retries.Reproduced == 0 || c.record == nil {
		return false
	}
	events := c.record.From(0)
	at, _ := quotedPositions(events, c.At)
	return slices.ContainsFunc(at, func(i int) bool { return events[i].IsServerEnd() })
}
