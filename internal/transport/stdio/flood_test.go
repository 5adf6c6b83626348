package stdio

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/skip"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

func TestFloodWithoutNewline(t *testing.T) {
	eachKind(t, "floods", func(s *session) {
		s.expectEnded()
		e := s.await(transcript.Flooded, "more than 16777216 bytes without a newline")
		if len(e.Raw) != headKept || e.Size <= transcript.DefaultFrame || e.Size > transcript.DefaultFrame+readSize {
			s.t.Errorf("recorded %d of %d bytes", len(e.Raw), e.Size)
		}
		s.Shutdown(transport.Patience{})
		line := s.await(transcript.Received, "xxx")
		if !line.Unterminated || !line.IsCut() || line.Size < e.Size || len(line.Raw) != headKept {
			s.t.Errorf("the line: unterminated %t, %d of %d bytes", line.Unterminated, len(line.Raw), line.Size)
		}
		s.await(transcript.OutputClosed, "")
		s.await(transcript.Exited, "")
	})
}

func TestLongLineIsTheLast(t *testing.T) {
	eachKind(t, "100 MB", func(s *session) {
		s.await(transcript.Flooded, "")
		e := s.await(transcript.Received, "yyy")
		if e.Size != 100_000_000 || len(e.Raw) != headKept || e.Unterminated {
			s.t.Errorf("the line: %d of %d bytes, unterminated %t", len(e.Raw), e.Size, e.Unterminated)
		}
		s.Shutdown(patient)
		for _, e := range s.rec.From(0) {
			if e.Kind == transcript.Received && e.Size != 100_000_000 {
				s.t.Errorf("received %q after the flood", e.Raw)
			}
		}
	})
}

func TestLineAtTheLimit(t *testing.T) {
	for _, over := range []int{0, 1} {
		t.Run(fmt.Sprint(over, " over"), func(t *testing.T) {
			eachKindWithin(t, "echo", transcript.Limits{Frame: 100_000}, func(s *session) {
				s.send(strings.Repeat("l", 100_000+over))
				e := s.await(transcript.Received, "lll")
				if e.IsCut() != (over > 0) || e.Size != int64(100_000+over) {
					s.t.Errorf("%d of %d bytes", len(e.Raw), e.Size)
				}
				s.Shutdown(patient)
				if flooded := strings.Contains(strings.Join(s.story(), "\n"), "flooded"); flooded != (over > 0) {
					s.t.Errorf("flooded: %t", flooded)
				}
			})
		})
	}
}

func TestFloodOfLines(t *testing.T) {
	eachKindWithin(t, "floods lines", transcript.Limits{Frames: 1000}, func(s *session) {
		s.expectEnded()
		s.await(transcript.Flooded, "more than 1000 messages")
		s.Shutdown(transport.Patience{})
		count := 0
		for _, e := range s.rec.From(0) {
			if e.Kind == transcript.Received {
				count++
			}
		}
		if count != 1000 {
			s.t.Errorf("%d lines recorded", count)
		}
	})
}

func TestFloodOfBytes(t *testing.T) {
	eachKindWithin(t, "floods kilobytes", transcript.Limits{Bytes: 100_000}, func(s *session) {
		s.expectEnded()
		s.await(transcript.Flooded, "more than 100000 bytes in all")
	})
}

func TestStderrIsBounded(t *testing.T) {
	eachKind(t, "loud", func(s *session) {
		s.await(transcript.Exited, "exit status 0")
		kept := 0
		for _, e := range s.rec.From(0) {
			if e.Kind == transcript.Stderr {
				kept += len(e.Raw)
			}
		}
		if kept != transcript.DefaultStderr {
			s.t.Errorf("%d bytes of stderr recorded", kept)
		}
		s.await(transcript.Remark, fmt.Sprintf("%d more bytes on the server's stderr", 1<<20-transcript.DefaultStderr))
	})
}

// measure, as a prefix of a behaviour's name, makes the test binary a harness
// that dials that behaviour and prints its own memory usage.
const measure = "measure "

func measureMemory(behaviour string) {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	debug.SetMemoryLimit(160 << 20) // as the program does, so that the figure depends less on when garbage is collected
	rec := transcript.New()
	d := NewDialer(Command{Argv: []string{self}, Env: append(os.Environ(), behaviourVariable+"="+behaviour)})
	link, err := d.Dial(context.Background(), rec)
	if err != nil {
		panic(err)
	}
	<-link.Ended()
	link.Shutdown(transport.Patience{AfterClose: 50 * time.Millisecond})
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Print(m.Sys >> 20)
	runtime.KeepAlive(rec)
}

func TestFloodsTakeLittleMemory(t *testing.T) {
	skip.Slowest(t)
	const most = 288 // MiB; 246 were measured
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, behaviour := range []string{"100 MB", "floods", "floods lines", "floods kilobytes", "floods megabytes", "floods members"} {
		t.Run(behaviour, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), self)
			cmd.Env = append(os.Environ(), behaviourVariable+"="+measure+behaviour)
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			var got int
			if _, err := fmt.Sscan(string(out), &got); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d MiB", got)
			if got > most {
				t.Errorf("the harness took %d MiB, more than %d", got, most)
			}
		})
	}
}
