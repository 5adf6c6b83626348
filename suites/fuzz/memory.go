package fuzz

import (
	"fmt"

	"github.com/mcp-conform/mcp-conform/internal/fuzz"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// growingMemory looks for servers whose memory keeps growing.
func growingMemory(execution *fuzz.Execution) []fuzz.Breach {
	var out []fuzz.Breach
	for n, t := range execution.Conversations {
		for _, g := range t.Growths {
			d := verdict.Deviation{At: []int{g.First, g.Last}, Weight: verdict.OnlyNote}
			if bytes, grows := g.PerCancellation(); grows {
				d.Requirement = freeResources
				d.Summary = "The server's memory grows with each cancelled request."
				d.Permitted = "memory that stays about constant"
				d.Seen = describeGrowth(bytes)
			} else if bytes, grows := g.PerRequest(); grows {
				d.Requirement = requestAnswered
				d.Summary = "The server's memory grows with each request."
				d.Permitted = "memory that stays about constant; the specification does not require it"
				d.Seen = describeGrowth(bytes)
			} else {
				continue
			}
			out = append(out, fuzz.Breach{Deviation: d, Conversation: n})
		}
	}
	return out
}

func describeGrowth(bytes int64) string { return fmt.Sprintf("%d MiB more", bytes>>20) }

// isMeasured reports whether the growth of the memory could be measured.
func isMeasured(execution *fuzz.Execution, _ string) bool {
	for _, t := range execution.Conversations {
		for _, g := range t.Growths {
			if g.Why == "" {
				return true
			}
		}
	}
	return false
}
