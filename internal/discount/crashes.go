package discount

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/stderr"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// crashes counts the processes over stdio that exited by themselves with a failure after all
// requests had got their responses. That breaks no requirement (stdio.server-initiated-shutdown),
// but users see it as a crash, so there is a notice.
type crashes struct {
	count int
	// The following fields describe the newest crash: how the process exited, the methods of the
	// last requests before the exit, and the end of stderr.
	how      string
	requests []string
	output   string
}

// observe notes whether the server of an ended conversation crashed.
func (c *crashes) observe(conv Conversation) {
	events := conv.Events
	at := slices.IndexFunc(events, func(e *transcript.Event) bool {
		return e.Kind == transcript.Exited || e.Kind == transcript.InputClosed || e.Kind == transcript.Signalled
	})
	requests := conv.Dialogue.Requests()
	if !conv.OwnProcess || at < 0 || events[at].Kind != transcript.Exited || events[at].ExitCode == 0 || len(requests) == 0 {
		return
	}
	last := requests[len(requests)-1]
	if !isLastSent(events[:at], last.Event) || slices.ContainsFunc(requests, func(q *transcript.Request) bool { return !q.RespondedBefore(events[at].Seq) }) {
		return // rules judge an exit while requests are pending
	}
	c.count++
	c.how, c.output, c.requests = events[at].Detail, lastStderr(events, stderr.Searched), nil
	for _, q := range requests[max(0, len(requests)-requestsNamed):] {
		c.requests = append(c.requests, wire.Excerpt(q.Message.Method, widestMethod))
	}
}

// lastStderr returns the end of what the server wrote to stderr, at most n bytes.
func lastStderr(events []*transcript.Event, n int) string {
	var b []byte
	for _, e := range events {
		if e.Kind == transcript.Stderr {
			b = append(b, e.Raw...)
		}
	}
	return string(b[max(0, len(b)-n):])
}

// isLastSent reports whether request is the last event in events that the client sent.
func isLastSent(events []*transcript.Event, request *transcript.Event) bool {
	for _, e := range slices.Backward(events) {
		if e.Kind == transcript.Sent {
			return e == request
		}
	}
	return false
}

// Limits for a notice: how many requests it names, and how many bytes of each method it quotes.
const (
	requestsNamed = 3
	widestMethod  = 60
)

// notice returns a notice about the crashes, or "". redact removes secrets.
func (c *crashes) notice(redact func(string) string) string {
	if c.count == 0 {
		return ""
	}
	text := fmt.Sprintf("the server's process crashed %s while no request waited for a response: %s after responses to %s",
		countTimes(c.count), c.how, strings.Join(c.requests, ", "))
	return text + quoteOutput(redact(c.output))
}
