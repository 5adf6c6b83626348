package suites

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
)

//go:embed rounds.txt
var roundsText string

// rounds returns how many rounds each case takes with the reference server: how often
// the client receives something after it has sent something. Tests write rounds.txt.
var rounds = sync.OnceValue(func() map[string]int {
	out := map[string]int{}
	for line := range strings.Lines(roundsText) {
		var id string
		var n int
		if _, err := fmt.Sscan(line, &id, &n); err != nil {
			panic(fmt.Sprintf("suites/rounds.txt: %q: %v", line, err))
		}
		out[id] = n
	}
	return out
})
