package suites

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/suite"
)

//go:embed rounds.txt
var roundsText string

// rounds returns how many rounds each case takes with the reference server: how often
// the client receives something after it has sent something. Tests write rounds.txt.
var rounds = sync.OnceValue(func() map[string]suite.Rounds {
	out := map[string]suite.Rounds{}
	for line := range strings.Lines(roundsText) {
		var id string
		var n suite.Rounds
		if _, err := fmt.Sscan(line, &id, &n.Stdio, &n.HTTP); err != nil {
			panic(fmt.Sprintf("suites/rounds.txt: %q: %v", line, err))
		}
		out[id] = n
	}
	return out
})
