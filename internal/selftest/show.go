package selftest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
)

// showTime is what a server that is a function needs at most for an answer.
const showTime = 500 * time.Millisecond

// Show runs the judges of the requirement that the fault breaks against the
// reference server with that fault, in this process, and returns what they
// find: the most severe finding on the requirement. It is nil where there is
// none, as when the fault can only be shown with a process of its own.
func Show(ctx context.Context, f faults.Fault, at Place) *verdict.Finding {
	if f.NeedsProcess || f.Legal {
		return nil
	}
	o := Options{starts: new(atomic.Int64)}
	j := job{fault: f, at: at}
	d, end := o.dialer(ctx, j)
	defer end()
	options := o.options(j, d, engine.Selection{Focus: []string{f.Requirement}})
	options.Timeout, options.StartTimeout = showTime, showTime
	p, err := engine.Run(ctx, options)
	if err != nil {
		return nil
	}
	for i := range p.Findings {
		if p.Findings[i].Requirement == f.Requirement {
			return &p.Findings[i]
		}
	}
	return nil
}
