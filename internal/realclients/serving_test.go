package realclients

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/skip"
)

// patience limits the time that a server or a client may take. Only a failure
// uses it up.
const patience = 2 * time.Minute

// clients is the folder of the real clients.
const clients = "../../fixtures/clients"

// program builds the command mcp-conform, once for all tests, and returns its
// path.
var program = sync.OnceValues(func() (string, error) {
	path := filepath.Join(folder, "mcp-conform.exe") // this name works on every system
	out, err := exec.Command("go", "build", "-o", path, "../../cmd/mcp-conform").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, err
})

// folder is for files of the tests.
var folder string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if folder, err = os.MkdirTemp("", "realclients"); err != nil {
			panic(err)
		}
		defer func() { _ = os.RemoveAll(folder) }()
		return m.Run()
	}())
}

func built(t *testing.T) string {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// installed returns the path of a client's file, or skips the test if it does
// not exist.
func installed(t *testing.T, file string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(clients, file))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		skip.Missing(t, "real client", "it is not installed; fixtures/clients/install.sh does that")
	}
	return path
}

func needNode(t *testing.T) string {
	t.Helper()
	skip.UnlessRequired(t, "real client")
	node, err := exec.LookPath("node")
	if err != nil {
		skip.Missing(t, "real client", err.Error())
	}
	return node
}

// serve starts the reference server over HTTP and returns its URL. At the end
// of the test it interrupts the server, which must exit successfully.
func serve(t *testing.T, arguments ...string) string {
	t.Helper()
	url, stop := start(t, append([]string{"serve"}, arguments...)...)
	t.Cleanup(func() { stop() })
	return url
}

// start starts mcp-conform and returns the first URL that it prints on stderr, and a function that
// interrupts it and returns the rest. It must exit successfully.
func start(t *testing.T, arguments ...string) (url string, stop func() string) {
	t.Helper()
	c := exec.Command(built(t), arguments...)
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stderr)
	first, err := lines.ReadString('\n')
	url = regexp.MustCompile(`http://[^\s,]+`).FindString(first)
	stop = sync.OnceValue(func() string {
		if err := c.Process.Signal(os.Interrupt); err != nil { // Windows has no such signal
			_ = c.Process.Kill()
		}
		kill := time.AfterFunc(patience, func() { _ = c.Process.Kill() })
		defer kill.Stop()
		rest, _ := io.ReadAll(lines)
		if err := c.Wait(); err != nil {
			t.Errorf("%v ended with %v: %s", arguments, err, rest)
		}
		return string(rest)
	})
	if err != nil || url == "" {
		stop()
		t.Fatalf("%v printed %q: %v", arguments, first, err)
	}
	return url, stop
}

// line is a connection between client and server that can be cut.
type line struct {
	mu    sync.Mutex
	open  map[net.Conn]bool
	cuts  int
	to    string
	owned sync.WaitGroup
}

// newLine connects clients to a server through a line. It returns the address
// of the line, and a URL that cuts its connections.
func newLine(t *testing.T, to string) (l *line, at, cut string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l = &line{open: map[net.Conn]bool{}, to: to}
	l.owned.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			l.owned.Go(func() { l.carry(c) })
		}
	})
	control := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { l.cut() }))
	t.Cleanup(func() {
		control.Close()
		_ = listener.Close()
		l.cut()
		l.owned.Wait()
	})
	return l, listener.Addr().String(), control.URL
}

// carry relays bytes in both directions until one side ends.
func (l *line) carry(client net.Conn) {
	server, err := net.Dial("tcp", l.to)
	if err != nil {
		_ = client.Close()
		return
	}
	l.mu.Lock()
	l.open[client], l.open[server] = true, true
	l.mu.Unlock()
	ctx, end := context.WithCancel(context.Background())
	move := func(to io.Writer, from io.Reader) {
		defer end()
		_, _ = io.Copy(to, from)
	}
	go move(server, client)
	go move(client, server)
	<-ctx.Done()
	_, _ = client.Close(), server.Close()
	l.mu.Lock()
	delete(l.open, client)
	delete(l.open, server)
	l.mu.Unlock()
}

// cut closes all connections at once, like a network failure.
func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cuts++
	for c := range l.open {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
	}
}

// said runs a client and returns its output, with an error if it did not exit
// with 0.
func said(t *testing.T, env []string, name string, arguments ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, name, arguments...)
	c.Env = append(os.Environ(), env...)
	c.WaitDelay = time.Second
	out, err := c.CombinedOutput()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = errors.Join(err, ctx.Err())
	}
	return string(out), err
}
