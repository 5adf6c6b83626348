package faults

import (
	"time"

	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// legalProcess is how the process may live and end.
func legalProcess() []Fault {
	return []Fault{
		legal("stderr-chatter", "stderr gets fifty lines that sound bad, with bytes that are no text", refserver.Seams{Start: func(p *refserver.Process) {
			for range 50 {
				_, _ = p.Err.Write([]byte("ERROR: all is well \xff\x00\x1b[31m\n"))
			}
		}}),
		legal("hasty-exit", "requests in flight are forgotten when the input ends", ends(func(p *refserver.Process, _ refserver.EndReason) (int, bool) {
			p.Session.Exit(0)
			return 0, false
		})),
		legal("blanks-at-the-end", "the output ends in two blanks, where a message would have been indented", ends(func(p *refserver.Process, _ refserver.EndReason) (int, bool) {
			_, _ = p.Out.Write([]byte("  "))
			return 0, true
		})),
		legal("slow-exit", "the exit takes 200 ms", ends(func(p *refserver.Process, _ refserver.EndReason) (int, bool) {
			pause(p.Session.Context(), 200*time.Millisecond)
			return 0, true
		})),
	}
}
