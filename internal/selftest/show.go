package selftest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
)

// showTime limits the response time of a server in this process.
const showTime = 500 * time.Millisecond

// JudgeFault runs the checks of the requirement that the fault breaks against the reference server
// with that fault, in this process. It returns the most severe finding on the requirement, or nil
// if there is none, for example because only a separate process can have the fault.
func JudgeFault(ctx context.Context, f faults.Fault, at Place) *verdict.Finding {
	if f.NeedsProcess || f.Legal {
		return nil
	}
	o := Options{starts: new(atomic.Int64)}
	j := job{fault: f, at: at}
	p, err := o.run(ctx, j, engine.Selection{Focus: []string{f.Requirement}}, func(e *engine.Options) { e.Timeout, e.StartTimeout = showTime, showTime })
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
