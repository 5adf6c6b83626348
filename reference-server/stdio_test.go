package refserver_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// testTimeout limits every wait of these tests; only a failing test reaches it.
const testTimeout = 10 * time.Second

// A stdioServer is a reference server on pipes, with the test as its client.
type stdioServer struct {
	t       *testing.T
	in      io.WriteCloser
	lines   <-chan string // closed when the server closes stdout
	signals chan string
	kill    context.CancelFunc
	stderr  *lockedBuffer
	code    <-chan int
}

type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// startStdio starts a server on pipes, which runs until the test ends.
func startStdio(t *testing.T, o refserver.Options) *stdioServer {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	r := &stdioServer{t: t, in: inW, signals: make(chan string, 1), kill: cancel, stderr: &lockedBuffer{}}
	code, lines := make(chan int, 1), make(chan string, 10_000)
	r.code, r.lines = code, lines
	var owned sync.WaitGroup
	owned.Go(func() {
		code <- refserver.ServeStdio(ctx, inR, outW, r.stderr, r.signals, o)
		inR.Close()
		outW.Close()
	})
	owned.Go(func() {
		defer close(lines)
		scan := bufio.NewScanner(outR)
		scan.Buffer(nil, 64<<20)
		for scan.Scan() {
			lines <- scan.Text()
		}
	})
	t.Cleanup(func() {
		cancel()
		inW.Close()
		outR.Close()
		owned.Wait()
	})
	return r
}

// send writes each line with a newline, all in one write.
func (r *stdioServer) send(lines ...string) {
	r.t.Helper()
	r.write(strings.Join(lines, "\n") + "\n")
}

func (r *stdioServer) write(text string) {
	r.t.Helper()
	if _, err := io.WriteString(r.in, text); err != nil {
		r.t.Fatalf("writing to the server: %v", err)
	}
}

// nextLine returns the next line that the server writes.
func (r *stdioServer) nextLine() string {
	r.t.Helper()
	select {
	case line, open := <-r.lines:
		if !open {
			r.t.Fatal("the server closed stdout")
		}
		return line
	case <-time.After(testTimeout):
		r.t.Fatal("the server sends nothing")
	}
	return ""
}

// exitCode waits for the server to exit and returns its exit code.
func (r *stdioServer) exitCode() int {
	r.t.Helper()
	select {
	case code := <-r.code:
		return code
	case <-time.After(testTimeout):
		r.t.Fatal("the server does not exit")
	}
	return -1
}

// remainingLines returns all lines until the server closes stdout.
func (r *stdioServer) remainingLines() []string {
	r.t.Helper()
	var out []string
	for deadline := time.After(testTimeout); ; {
		select {
		case line, open := <-r.lines:
			if !open {
				return out
			}
			out = append(out, line)
		case <-deadline:
			r.t.Fatal("the server does not close stdout")
		}
	}
}

func TestExitCodes(t *testing.T) {
	const slow = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"slow","arguments":{"durationMs":60000}}}`
	for _, c := range []struct {
		name string
		end  func(r *stdioServer)
		code int
	}{
		{"end of input", func(r *stdioServer) { r.in.Close() }, 0},
		{"TERM", func(r *stdioServer) { r.signals <- "TERM" }, 0},
		{"INT", func(r *stdioServer) { r.signals <- "INT" }, 0},
		{"killed", func(r *stdioServer) { r.kill() }, refserver.ExitKilled},
	} {
		for _, busy := range []bool{false, true} {
			t.Run(c.name+map[bool]string{true: ", busy"}[busy], func(t *testing.T) {
				r := startStdio(t, refserver.Options{DrainTimeout: time.Millisecond})
				r.initialize("2025-11-25", `{}`)
				if busy {
					r.send(slow, `{"jsonrpc":"2.0","id":8,"method":"ping"}`)
					r.nextLine()
				}
				c.end(r)
				if got := r.exitCode(); got != c.code {
					t.Errorf("exit code %d; want %d", got, c.code)
				}
				if got := r.remainingLines(); len(got) > 0 {
					t.Errorf("the server sent %q after it should exit", got)
				}
			})
		}
	}
}

func TestRespondsToRequestsReadBeforeEOF(t *testing.T) {
	r := startStdio(t, refserver.Options{})
	r.initialize("2025-11-25", `{}`)
	r.write(`{"jsonrpc":"2.0","id":"slow","method":"tools/call","params":{"name":"slow","arguments":{"durationMs":5}}}` + "\n" +
		`{"jsonrpc":"2.0","id":"last","method":"ping"}`) // without a newline
	r.in.Close()
	got := strings.Join(r.remainingLines(), "\n")
	for _, id := range []string{`"id":"slow"`, `"id":"last"`} {
		if !strings.Contains(got, id) {
			t.Errorf("no response with %s in %s", id, got)
		}
	}
	if lines := strings.Count(r.stderr.String(), "\n"); lines > 1 {
		t.Errorf("stderr has %d lines; want at most one:\n%s", lines, r.stderr)
	}
}

func TestLineLengthIsBounded(t *testing.T) {
	const limit = 200_000 // more than one buffer
	r := startStdio(t, refserver.Options{MaxFrame: limit})
	r.initialize("2025-06-18", `{}`)
	head, tail := `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo","arguments":{"text":"`, `"}}}`
	fits := head + strings.Repeat("x", limit-len(head)-len(tail)) + tail
	r.send(fits)
	if got := r.nextLine(); !strings.Contains(got, `"id":5`) || !strings.Contains(got, "xxx") {
		t.Errorf("a line of exactly the limit got %.200s", got)
	}
	r.send(fits + " ")
	if got := r.nextLine(); !strings.Contains(got, `"id":null,"error":{"code":-32600`) {
		t.Errorf("a line beyond the limit got %.200s", got)
	}
	r.send(`{"jsonrpc":"2.0","id":6,"method":"ping"}`)
	if got, want := r.nextLine(), `{"jsonrpc":"2.0","id":6,"result":{}}`; got != want {
		t.Errorf("afterwards ping got %s; want %s", got, want)
	}
}

func TestInputByteByByte(t *testing.T) {
	r := startStdio(t, refserver.Options{})
	r.initialize("2025-11-25", `{}`)
	const text = "Grüße, 世界 🙂 \u2028 end"
	line := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"` + text + `"}}}` + "\r\n"
	for i := range len(line) {
		r.write(line[i : i+1])
	}
	if got, want := r.nextLine(), `{"jsonrpc":"2.0","id":1,"result":{"content":[{"text":"`+text+`","type":"text"}]}}`; strings.ReplaceAll(got, `\u2028`, "\u2028") != want {
		t.Errorf("got %s; want %s", got, want)
	}
}

func TestManyRequestsAtOnce(t *testing.T) {
	const n = 2000
	r := startStdio(t, refserver.Options{})
	r.initialize("2025-11-25", `{}`)
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, `{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`+"\n", i)
	}
	wrote := make(chan error, 1)
	go func() {
		_, err := io.WriteString(r.in, text.String())
		wrote <- err
	}()
	ids := map[string]bool{}
	for range n {
		line := r.nextLine()
		id, _, found := strings.Cut(line, `,"result"`)
		if !found {
			t.Fatalf("refused: %s", line)
		}
		ids[id] = true
	}
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
	if len(ids) != n {
		t.Errorf("%d different responses to %d requests", len(ids), n)
	}
}
