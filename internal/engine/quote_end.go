package engine

import (
	"bytes"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/stderr"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// sentBeforeExit is how many of the client's frames are quoted to explain the exit of a server.
// These are the frames that the deviation names and, if they are fewer, the last ones before the
// exit.
const sentBeforeExit = 2

// lastSent returns the positions of the last frames that the client sent before the server exited
// at position end. The second argument holds the positions of the deviation. Frames at these
// positions are quoted anyway: lastSent does not return them, but they count towards
// sentBeforeExit.
func lastSent(events []*transcript.Event, at []int, end int) []int {
	var out []int
	named := 0
	for _, i := range at {
		if i >= 0 && i < end && events[i].Kind == transcript.Sent {
			named++
		}
	}
	for i := end - 1; i >= 0 && len(out) < sentBeforeExit-named; i-- {
		if events[i].Kind == transcript.Sent && !slices.Contains(at, i) {
			out = append(out, i)
		}
	}
	return out
}

// stderrQuoted limits the bytes of stderr that are quoted if no line says why the server ended.
const stderrQuoted = 70

// lastStderr returns the positions of the last chunks of stderr: those since the client sent the
// last frames that are quoted, and more if these do not have stderrQuoted bytes. It returns several
// because many servers write a line in several chunks, and say first why they end.
func lastStderr(events []*transcript.Event) []int {
	var out []int
	size, sent := 0, 0
	for i := len(events) - 1; i >= 0 && size < stderr.Searched && (sent < sentBeforeExit || size < stderrQuoted); i-- {
		switch e := events[i]; e.Kind {
		case transcript.Sent:
			sent++
		case transcript.Stderr:
			out = append(out, i)
			size += len(bytes.TrimSpace(e.Raw))
		}
	}
	slices.Reverse(out)
	return out
}

// joinStderr joins the given chunks of stderr in one event at the position of the last chunk. It
// keeps only the lines that say why the server ended. If no line does, it keeps as many of the last
// lines as fit in stderrQuoted, but at least one.
func joinStderr(clear map[int]*transcript.Event, pieces []int) *transcript.Event {
	var text []byte
	for _, i := range pieces {
		text = append(text, clear[i].Raw...)
	}
	text = bytes.TrimSpace(text)
	last := *clear[pieces[len(pieces)-1]]
	if cause := stderr.Cause(string(text)); cause != nil {
		last.Raw = []byte(strings.Join(cause, "\n"))
		return &last
	}
	for len(text) > stderrQuoted { // drop the first lines, but never the last one
		_, rest, found := bytes.Cut(text, []byte("\n"))
		if !found {
			break
		}
		text = rest
	}
	last.Raw = text
	return &last
}
