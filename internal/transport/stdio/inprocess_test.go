package stdio

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

func TestPanicEndsTheFunctionAsItEndsAProcess(t *testing.T) {
	s := dial(t, InProcess("panics", func(context.Context, io.Reader, io.Writer, io.Writer, <-chan string) int {
		panic("out of order")
	}))
	s.await(transcript.Exited, "exit status 2")
	s.await(transcript.Stderr, "panic: out of order")
}

func TestShutdownDoesNotHangOnWhatCannotBeKilled(t *testing.T) {
	release := make(chan struct{})
	s := dial(t, InProcess("holds on", func(context.Context, io.Reader, io.Writer, io.Writer, <-chan string) int {
		<-release
		return 0
	}))
	s.Link.(*link).afterKill = time.Millisecond
	s.Shutdown(transport.Patience{})
	s.await(transcript.Remark, "left running")
	close(release)
	s.await(transcript.Exited, "signal: killed")
}
