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

// patience bounds every wait of these tests; only a failure uses it up.
const patience = 10 * time.Second

// running is a server that a test talks to.
type running struct {
	t       *testing.T
	in      io.WriteCloser
	lines   <-chan string // closed when the server has closed its output
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

// start runs a server on pipes until the test ends.
func start(t *testing.T, o refserver.Options) *running {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{t: t, in: inW, signals: make(chan string, 1), kill: cancel, stderr: &lockedBuffer{}}
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
func (r *running) send(lines ...string) {
	r.t.Helper()
	r.write(strings.Join(lines, "\n") + "\n")
}

func (r *running) write(text string) {
	r.t.Helper()
	if _, err := io.WriteString(r.in, text); err != nil {
		r.t.Fatalf("writing to the server: %v", err)
	}
}

// line returns the next line of the server.
func (r *running) line() string {
	r.t.Helper()
	select {
	case line, open := <-r.lines:
		if !open {
			r.t.Fatal("the server has closed its output")
		}
		return line
	case <-time.After(patience):
		r.t.Fatal("the server says nothing")
	}
	return ""
}

// exited returns the exit code.
func (r *running) exited() int {
	r.t.Helper()
	select {
	case code := <-r.code:
		return code
	case <-time.After(patience):
		r.t.Fatal("the server does not exit")
	}
	return -1
}

// rest returns all lines until the server closes its output.
func (r *running) rest() []string {
	r.t.Helper()
	var out []string
	for deadline := time.After(patience); ; {
		select {
		case line, open := <-r.lines:
			if !open {
				return out
			}
			out = append(out, line)
		case <-deadline:
			r.t.Fatal("the server does not close its output")
		}
	}
}

func TestEndings(t *testing.T) {
	const slow = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"slow","arguments":{"durationMs":60000}}}`
	for _, c := range []struct {
		name string
		end  func(r *running)
		code int
	}{
		{"end of input", func(r *running) { r.in.Close() }, 0},
		{"TERM", func(r *running) { r.signals <- "TERM" }, 0},
		{"INT", func(r *running) { r.signals <- "INT" }, 0},
		{"killed", func(r *running) { r.kill() }, refserver.Killed},
	} {
		for _, busy := range []bool{false, true} {
			t.Run(c.name+map[bool]string{true: ", busy"}[busy], func(t *testing.T) {
				r := start(t, refserver.Options{DrainTime: time.Millisecond})
				r.open("2025-11-25", `{}`)
				if busy {
					r.send(slow, `{"jsonrpc":"2.0","id":8,"method":"ping"}`)
					r.line()
				}
				c.end(r)
				if got := r.exited(); got != c.code {
					t.Errorf("exit code %d; want %d", got, c.code)
				}
				if got := r.rest(); len(got) > 0 {
					t.Errorf("after the end came %q", got)
				}
			})
		}
	}
}

func TestAnswersWhatItHasReadBeforeInputEnded(t *testing.T) {
	r := start(t, refserver.Options{})
	r.open("2025-11-25", `{}`)
	r.write(`{"jsonrpc":"2.0","id":"slow","method":"tools/call","params":{"name":"slow","arguments":{"durationMs":5}}}` + "\n" +
		`{"jsonrpc":"2.0","id":"last","method":"ping"}`) // without a newline
	r.in.Close()
	got := strings.Join(r.rest(), "\n")
	for _, id := range []string{`"id":"slow"`, `"id":"last"`} {
		if !strings.Contains(got, id) {
			t.Errorf("no answer with %s in %s", id, got)
		}
	}
	if lines := strings.Count(r.stderr.String(), "\n"); lines > 1 {
		t.Errorf("stderr has %d lines; want at most one:\n%s", lines, r.stderr)
	}
}

func TestLineLengthIsBounded(t *testing.T) {
	const limit = 200_000 // more than one buffer
	r := start(t, refserver.Options{MaxFrame: limit})
	r.open("2025-06-18", `{}`)
	head, tail := `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo","arguments":{"text":"`, `"}}}`
	fits := head + strings.Repeat("x", limit-len(head)-len(tail)) + tail
	r.send(fits)
	if got := r.line(); !strings.Contains(got, `"id":5`) || !strings.Contains(got, "xxx") {
		t.Errorf("a line of exactly the limit got %.200s", got)
	}
	r.send(fits + " ")
	if got := r.line(); !strings.Contains(got, `"id":null,"error":{"code":-32600`) {
		t.Errorf("a line beyond the limit got %.200s", got)
	}
	r.send(`{"jsonrpc":"2.0","id":6,"method":"ping"}`)
	if got, want := r.line(), `{"jsonrpc":"2.0","id":6,"result":{}}`; got != want {
		t.Errorf("afterwards ping got %s; want %s", got, want)
	}
}

func TestInputInAnyPieces(t *testing.T) {
	r := start(t, refserver.Options{})
	r.open("2025-11-25", `{}`)
	const text = "Grüße, 世界 🙂 \u2028 end"
	line := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"` + text + `"}}}` + "\r\n"
	for i := range len(line) {
		r.write(line[i : i+1])
	}
	if got, want := r.line(), `{"jsonrpc":"2.0","id":1,"result":{"content":[{"text":"`+text+`","type":"text"}]}}`; strings.ReplaceAll(got, `\u2028`, "\u2028") != want {
		t.Errorf("got %s; want %s", got, want)
	}
}

func TestManyRequestsAtOnce(t *testing.T) {
	const n = 2000
	r := start(t, refserver.Options{})
	r.open("2025-11-25", `{}`)
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
		line := r.line()
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
		t.Errorf("%d different answers to %d requests", len(ids), n)
	}
}
