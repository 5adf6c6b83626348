package stdio

import (
	"context"
	"io"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

func TestPanicEndsTheFunctionAsItEndsAProcess(t *testing.T) {
	s := dial(t, InProcess("panics", func(context.Context, io.Reader, io.Writer, io.Writer, <-chan string) int {
		panic("out of order")
	}))
	s.await(transcript.Exited, "exit status 2")
	s.await(transcript.Stderr, "panic: out of order")
}
