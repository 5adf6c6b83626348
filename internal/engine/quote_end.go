package engine

import (
	"bytes"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// sentBeforeExit is how many of the last frames that the client sent are quoted to explain the exit
// of a server.
const sentBeforeExit = 2

// explainEnd returns the positions of the last frames that the client sent before the server exited
// at position end, and that of the server's last output on stderr.
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

// Limits of what is quoted from the end of stderr.
const (
	stderrChunks = 16
	stderrBytes  = 70
)

// lastStderr returns the positions of the last chunks of stderr: as many as hold stderrBytes, but
// at most stderrChunks. It returns several because many servers write a line in several chunks.
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

// joinStderr joins the given chunks of stderr in one event at the position of the last chunk. It
// keeps only as many of the last lines as fit in stderrBytes, but at least one.
func joinStderr(clear map[int]*transcript.Event, pieces []int) *transcript.Event {
	var text []byte
	for _, i := range pieces {
		text = append(text, clear[i].Raw...)
	}
	text = bytes.TrimSpace(text)
	for len(text) > stderrBytes { // drop the first lines, but never the last one
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
