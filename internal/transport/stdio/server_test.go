package stdio

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
)

// behaviourVariable names the server that the test binary runs as.
const behaviourVariable = "STDIO_TEST_BEHAVIOUR"

func TestMain(m *testing.M) {
	name, ok := os.LookupEnv(behaviourVariable)
	if !ok {
		// The race detector delays the exit of each program by a second.
		_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
		os.Exit(m.Run())
	}
	if of, ok := strings.CutPrefix(name, measure); ok {
		measureMemory(of)
		return
	}
	caught := make(chan os.Signal, 8)
	signal.Notify(caught, syscall.SIGTERM, syscall.SIGINT)
	signals := make(chan string, 8)
	go func() {
		for s := range caught {
			signals <- map[os.Signal]string{syscall.SIGTERM: "TERM", syscall.SIGINT: "INT"}[s]
		}
	}()
	os.Exit(behaviours[name](context.Background(), os.Stdin, os.Stdout, os.Stderr, signals))
}

// flood returns a server that writes the line until the pipe is closed.
func flood(line string) Serve {
	return func(_ context.Context, _ io.Reader, out, _ io.Writer, _ <-chan string) int {
		for {
			if _, err := io.WriteString(out, line+"\n"); err != nil {
				return 1
			}
		}
	}
}

// behaviours are servers that can run as a process or as a function.
var behaviours = map[string]Serve{
	// echo returns each line, and exits at the end of its stdin.
	"echo": func(_ context.Context, in io.Reader, out, _ io.Writer, _ <-chan string) int {
		lines := bufio.NewReader(in)
		for {
			line, err := lines.ReadBytes('\n')
			if _, bad := out.Write(line); bad != nil || err != nil {
				return 0
			}
		}
	},
	"exits at once": func(_ context.Context, _ io.Reader, _, log io.Writer, _ <-chan string) int {
		_, _ = io.WriteString(log, "no configuration\n")
		return 3
	},
	// "reads when told" copies its stdin only after a signal.
	"reads when told": func(ctx context.Context, in io.Reader, out, _ io.Writer, signals <-chan string) int {
		_, _ = io.WriteString(out, "ready\n") // from here on it handles signals
		select {
		case <-signals:
		case <-ctx.Done():
			return 1
		}
		_, _ = io.Copy(out, in)
		return 0
	},
	"exits on TERM": func(ctx context.Context, _ io.Reader, out, _ io.Writer, signals <-chan string) int {
		_, _ = io.WriteString(out, "ready\n")
		for {
			select {
			case s := <-signals:
				_, _ = io.WriteString(out, s+"\n")
				if s == "TERM" {
					return 7
				}
			case <-ctx.Done():
				return 1
			}
		}
	},
	"never ends": func(ctx context.Context, _ io.Reader, out, _ io.Writer, _ <-chan string) int {
		_, _ = io.WriteString(out, "ready\n")
		<-ctx.Done()
		return 1
	},
	"floods": func(_ context.Context, _ io.Reader, out, _ io.Writer, _ <-chan string) int {
		for piece := bytes.Repeat([]byte("x"), 1<<16); ; {
			if _, err := out.Write(piece); err != nil {
				return 1
			}
		}
	},
	"floods lines": flood(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`),
	"floods kilobytes": flood(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"` +
		strings.Repeat("k", 1<<10) + `"}}`),
	"floods megabytes": flood(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"` +
		strings.Repeat("m", 8<<20) + `"}}`),
	"floods members": flood(`{"jsonrpc":"2.0","method":"notifications/message","params":{` + strings.Repeat(`"a":1,`, 50) + `"b":1}}`),
	// "100 MB" writes one line of that size and another line.
	"100 MB": func(_ context.Context, in io.Reader, out, _ io.Writer, _ <-chan string) int {
		piece := bytes.Repeat([]byte("y"), 1_000_000)
		for range 100 {
			if _, err := out.Write(piece); err != nil {
				return 1
			}
		}
		_, _ = io.WriteString(out, "\n{}\n")
		_, _ = io.Copy(io.Discard, in)
		return 0
	},
	"odd bytes": func(_ context.Context, _ io.Reader, out, _ io.Writer, _ <-chan string) int {
		_, _ = io.WriteString(out, "a\x00b\n\xff\xfe\r\n\n\u2028\u0085\n\r\n{\"cut\":")
		return 0
	},
	"closes stdout": func(_ context.Context, in io.Reader, out, _ io.Writer, _ <-chan string) int {
		_, _ = io.WriteString(out, "bye\n")
		_ = out.(io.Closer).Close()
		_, _ = io.Copy(io.Discard, in)
		return 4
	},
	"closes stdin": func(ctx context.Context, in io.Reader, out, _ io.Writer, signals <-chan string) int {
		_ = in.(io.Closer).Close()
		_, _ = io.WriteString(out, "deaf\n")
		select {
		case <-signals:
		case <-ctx.Done():
		}
		return 0
	},
	// "loud" writes a megabyte to stderr, in chunks of a kilobyte.
	"loud": func(_ context.Context, _ io.Reader, out, log io.Writer, _ <-chan string) int {
		piece := bytes.Repeat([]byte("z"), 1<<10)
		for range 1 << 10 {
			_, _ = log.Write(piece)
		}
		_, _ = fmt.Fprintln(out, "done")
		return 0
	},
}
