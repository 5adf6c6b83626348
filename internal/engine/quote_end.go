package engine

import (
	"bytes"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// sentBeforeExit is how many of the last frames sent explain the exit of a server.
const sentBeforeExit = 2

// explainEnd returns the positions of the last frames sent before the server
// exited, and of its last stderr output.
func explainEnd(events []*transcript.Event, end int) []int {
	var out []int
	for i := end - 1; i >= 0 && len(out) < sentBeforeExit; i-- {
		if events[i].Kind == transcript.Sent {
			out = append(out, i)
		}
	}
	if said := lastStderr(events); len(said) > 0 { // stderr is read concurrently with stdout, so its last chunk may come later
		out = append(out, said[len(said)-1])
	}
	return out
}

// Limits of what is quoted of the end of stderr.
const (
	stderrChunks = 16
	stderrBytes  = 70
)

// lastStderr returns the positions of the last chunks of stderr. Many servers
// write a line in several chunks.
func lastStderr(events []*transcript.Event) []int {
	var out []int
	size := 0
	for i := len(events) - 1; i >= 0 && len(out) < stderrChunks && size < stderrBytes; i-- {
		if e := events[i]; e.Kind == transcript.Stderr {
			out = append(out, i)
			size += len(bytes.TrimSpace(e.Raw))
		}
	}
	slices.Reverse(out)
	return out
}

// joinStderr returns the chunks of stderr as one event at the position of the
// last, with as many of the last lines as are shown.
func joinStderr(clear map[int]*transcript.Event, pieces []int) *transcript.Event {
	var text []byte
	for _, i := range pieces {
		text = append(text, clear[i].Raw...)
	}
	text = bytes.TrimSpace(text)
	for len(text) > stderrBytes { // drop whole lines, but never the last
		_, rest, found := bytes.Cut(text, []byte("\n"))
		if !found {
			break
		}
		text = rest
	}
	last := *clear[pieces[len(pieces)-1]]
	last.Raw = text
	return &last
}
