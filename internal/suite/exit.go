package suite

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// ExitTime returns how long a server may take to exit: eight times as long as it took to send its
// first message, rounded to seconds, but at least the argument least and at most 10 s. So a slow
// server or a busy machine gets more time. It is 10 s if the server sent no message.
func ExitTime(c *client.Conversation, least time.Duration) time.Duration {
	for _, e := range c.Record.From(0) {
		if e.Kind == transcript.Received {
			return min(max(8*e.At, least), 10*time.Second).Round(time.Second)
		}
	}
	return 10 * time.Second
}

// endTime bounds the wait for the end of the server's output after a failed write.
const endTime = 2 * time.Second

// HasEnded reports whether the server has ended. err is the error of the last operation. If that
// was a failed write, the server's output may end a little later; HasEnded waits for this end,
// because rules need it in the transcript.
func HasEnded(ctx context.Context, c *client.Conversation, err error) bool {
	if err == nil || errors.Is(err, client.ErrUnanswered) {
		return !c.Alive()
	}
	ctx, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	_, err = c.Await(ctx, 0, func(*transcript.Event) bool { return false })
	return errors.Is(err, client.ErrEnded)
}

// AwaitExit waits for the server's process to exit, and reports whether it exits before the time
// limit is over.
func AwaitExit(ctx context.Context, c *client.Conversation, within time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	resume := c.BeginIdle()
	defer resume()
	for pos := 0; ; {
		events, err := c.Record.Wait(ctx, pos)
		if err != nil {
			return false
		}
		for _, e := range events {
			if e.Kind == transcript.Exited {
				return true
			}
			pos = e.Seq + 1
		}
	}
}

// LastPosition returns the position of the last event of the kind, as a slice that can be added to
// the evidence of a deviation. It returns nil if there is no such event.
func LastPosition(c *client.Conversation, kind transcript.Kind) []int {
	events := c.Record.From(0)
	for _, e := range slices.Backward(events) {
		if e.Kind == kind {
			return []int{e.Seq}
		}
	}
	return nil
}
