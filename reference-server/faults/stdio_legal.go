package faults

import (
	"time"

	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// legalProcess returns the legal variations in how the process behaves and exits.
func legalProcess() []*Fault {
	return []*Fault{
		newVariation("stderr-chatter", "stderr gets fifty lines that look like errors, with bytes that are not UTF-8", &refserver.Seams{Start: func(p *refserver.Process) {
			for range 50 {
				_, _ = p.Err.Write([]byte("ERROR: all is well \xff\x00\x1b[31m\n"))
			}
		}}),
		newVariation("hasty-exit", "the server drops requests in flight when stdin is closed", onEnd(func(p *refserver.Process, _ refserver.EndReason) (int, bool) {
			p.Session.Exit(0)
			return 0, false
		})),
		newVariation("blanks-at-the-end", "the output ends in two spaces", onEnd(func(p *refserver.Process, _ refserver.EndReason) (int, bool) {
			_, _ = p.Out.Write([]byte("  "))
			return 0, true
		})),
		newVariation("slow-exit", "the exit takes 200 ms", onEnd(func(p *refserver.Process, _ refserver.EndReason) (int, bool) {
			sleep(p.Session.Context(), 200*time.Millisecond)
			return 0, true
		})),
	}
}
