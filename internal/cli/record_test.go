package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/redact"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// A recordRun is a running mcp-conform record.
type recordRun struct {
	t       *testing.T
	folder  string // of the transcripts
	lines   chan string
	said    []string // the lines on stderr so far
	signals chan os.Signal
	code    chan int
}

// startRecord starts mcp-conform record for a client that writes to in and reads from out. FOLDER
// in the arguments becomes the folder of the transcripts.
func startRecord(t *testing.T, in io.Reader, out io.Writer, args ...string) *recordRun {
	t.Helper()
	r := &recordRun{t: t, folder: t.TempDir(), lines: make(chan string, 1000), signals: make(chan os.Signal, 1), code: make(chan int, 1)}
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "FOLDER", r.folder)
	}
	from, to := io.Pipe()
	go func() {
		defer close(r.lines)
		for s := bufio.NewScanner(from); s.Scan(); {
			r.lines <- s.Text()
		}
	}()
	go func() {
		code := invoke(append([]string{"record"}, args...), World{In: in, Out: out, Err: to, Environ: os.Environ(), Signals: func() (<-chan os.Signal, func()) { return r.signals, func() {} }})
		_ = to.Close()
		r.code <- code
	}()
	return r
}

// await waits for a line on stderr that matches, and returns the match.
func (r *recordRun) await(pattern string) string {
	r.t.Helper()
	wanted := regexp.MustCompile(pattern)
	overdue := time.After(time.Minute)
	for {
		select {
		case line, ok := <-r.lines:
			if !ok {
				r.t.Fatalf("it ended without %q: %s", pattern, strings.Join(r.said, "\n"))
			}
			r.said = append(r.said, line)
			if found := wanted.FindString(line); found != "" {
				return found
			}
		case <-overdue:
			r.t.Fatalf("no line is %q: %s", pattern, strings.Join(r.said, "\n"))
		}
	}
}

// end waits until the command ends, and checks its exit code, and that the summary names a file.
func (r *recordRun) end(code int) {
	r.t.Helper()
	r.await("^recorded in ")
	for line := range r.lines {
		r.said = append(r.said, line)
	}
	if got := <-r.code; got != code {
		r.t.Errorf("the exit code is %d", got)
	}
}

// live returns the lines about server and client before the summary.
func (r *recordRun) live() []string {
	var out []string
	for _, line := range r.said {
		if line == "" {
			break
		}
		if strings.HasPrefix(line, "mcp-conform: server: ") || strings.HasPrefix(line, "mcp-conform: client: ") {
			out = append(out, strings.TrimPrefix(line, "mcp-conform: "))
		}
	}
	return out
}

// endings returns in which ways the exchanges of the recorded sessions ended, and where the
// server's output was closed, in the order of the events.
func (r *recordRun) endings() []string {
	r.t.Helper()
	files, err := filepath.Glob(filepath.Join(r.folder, "*.jsonl"))
	if err != nil {
		r.t.Fatal(err)
	}
	var out []string
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			r.t.Fatal(err)
		}
		recordings, err := transcript.ReadRecordings(file, f)
		_ = f.Close() // it was only read
		if err != nil {
			r.t.Fatal(err)
		}
		for _, recording := range recordings {
			if len(recording.Notices) > 0 {
				r.t.Errorf("%s: %q", file, recording.Notices)
			}
			requests := map[int]string{}
			for _, e := range recording.Events {
				switch e.Kind {
				case transcript.Requested:
					requests[e.Exchange] = e.Head.Method()
				case transcript.Over:
					out = append(out, requests[e.Exchange]+" "+string(e.How))
					delete(requests, e.Exchange)
				case transcript.OutputClosed:
					out = append(out, string(e.Kind))
				}
			}
			for _, method := range requests {
				out = append(out, method+" has no end")
			}
		}
	}
	return out
}

const (
	initializeLine = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	nullPing       = `{"jsonrpc":"2.0","id":null,"method":"ping"}`
	mistake        = "client: The client sends a request with the id null."
)

// TestLiveLines checks which findings and mistakes are printed on stderr while a session over stdio
// is open, and that each is printed once.
func TestLiveLines(t *testing.T) {
	t.Parallel()
	tool := linkedTool(t)
	in, client := io.Pipe()
	r := startRecord(t, in, io.Discard, "--transcript", "FOLDER/session.jsonl", "--", tool, "serve", "--fault", "stdio.stdout-only-messages/banner")
	write := func(line string) {
		t.Helper()
		if _, err := io.WriteString(client, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	write(initializeLine)
	r.await("server: broken stdio.stdout-only-messages: ")
	write(nullPing)
	r.await(mistake)
	write(nullPing)
	_ = client.Close()
	r.end(0)
	live := r.live()
	if len(live) != 2 || !strings.HasPrefix(live[0], "server: broken stdio.stdout-only-messages: The server ") || live[1] != mistake {
		t.Errorf("stderr says %q", live)
	}
}

// TestLiveLinesOverHTTP is TestLiveLines for --listen. It also checks how the exchanges ended.
func TestLiveLinesOverHTTP(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		switch text := string(body); {
		case strings.Contains(text, "initialize"):
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}`)
		case strings.Contains(text, `"id":2`):
			_, _ = io.WriteString(w, `{"jsonrpc":"1.0","id":2,"result":{}}`)
		default:
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	defer server.Close()
	r := startRecord(t, nil, io.Discard, "--transcript", "FOLDER", "--listen", "127.0.0.1:0", server.URL+"/mcp")
	at := r.await(`http://[^ ,]*`)
	post(t, at, initializeLine)
	post(t, at, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	r.await("server: broken base.jsonrpc-2-0: ")
	post(t, at, nullPing)
	r.await(mistake)
	post(t, at, nullPing)
	r.signals <- os.Interrupt
	r.end(0)
	said := map[string]int{}
	for _, line := range r.live() {
		if said[line]++; said[line] > 1 {
			t.Errorf("stderr says twice: %s", line)
		}
	}
	if diff := cmp.Diff([]string{"POST complete", "POST complete", "POST complete", "POST complete"}, r.endings()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestSecretsOfTheClient checks that what clients send as a secret, in headers or in a URL, is
// neither in the transcript nor on stderr where the server repeats it.
func TestSecretsOfTheClient(t *testing.T) {
	t.Parallel()
	const cookie, token, key, query = "a1B2c3-cookie-D4e5F6", "Zk4-vN7q.Lw2Rx9Td+/p", "hJ8mQ3wYs6Ub1Pk0", "bq81ndk2Lcm4Vx0P"
	all := []string{cookie, token, key, query}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Echo", r.Header.Get("Cookie"))
		_, _ = io.WriteString(w, `{"jsonrpc":"1.0","id":1,"error":{"code":1,"message":"`+strings.Join(all, " ")+`"}}`)
	}))
	defer server.Close()
	r := startRecord(t, nil, io.Discard, "--transcript", "FOLDER", "--listen", "127.0.0.1:0", server.URL)
	at := r.await(`http://[^ ,]*`)
	post(t, at+"?token="+query, initializeLine, "Cookie: session="+cookie, "Authorization: Bearer "+token, "X-Api-Key: "+key)
	r.await("server: broken base.jsonrpc-2-0: ")
	r.signals <- os.Interrupt
	r.end(0)
	files, err := filepath.Glob(filepath.Join(r.folder, "*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	file, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range all {
		for where, text := range map[string]string{"stderr": strings.Join(r.said, "\n"), "the transcript": string(file)} {
			if strings.Contains(text, secret) || !strings.Contains(text, redact.Mark) {
				t.Errorf("%s has %q:\n%s", where, secret, text)
			}
		}
	}
}

// post posts a message with these headers, and reads the response, if one comes.
func post(t *testing.T, at, message string, headers ...string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at, strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
}

// TestTransportInTheFile checks that a file is written again if its session turns out to use
// another transport.
func TestTransportInTheFile(t *testing.T) {
	t.Parallel()
	a := &app{World: World{Err: io.Discard}, secrets: redact.New()}
	over := spec.StreamableHTTP
	s := &recordedSession{rec: transcript.New(), transport: func() spec.Transport { return over }, path: filepath.Join(t.TempDir(), "session.jsonl")}
	r := a.sessionRecorder("x")
	if err := r.create(s); err != nil {
		t.Fatal(err)
	}
	for _, over = range []spec.Transport{spec.StreamableHTTP, spec.SSE, spec.SSE} {
		s.rec.Remark("x")
		r.write(s)
	}
	if err := s.file.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(s.path)
	if lines := strings.Count(string(got), "\n"); err != nil || lines != 4 || !strings.Contains(string(got), `"transport":"sse"`) {
		t.Errorf("%v: %s", err, got)
	}
}

// TestAnySideEndsFirst checks that summary and transcript are complete if the server, the client or
// the proxy ends in the middle of a stream.
func TestAnySideEndsFirst(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, first, dies string // the first event of the stream
		want              []string
	}{
		{"Streamable HTTP", `data: {"jsonrpc":"2.0","method":"notifications/message"}`, "server", []string{"GET broken"}},
		{"Streamable HTTP", `data: {"jsonrpc":"2.0","method":"notifications/message"}`, "client", []string{"GET dropped"}},
		{"Streamable HTTP", `data: {"jsonrpc":"2.0","method":"notifications/message"}`, "proxy", []string{"GET dropped"}},
		{"HTTP+SSE", "event: endpoint\ndata: /messages?id=1", "server", []string{"GET broken", "output-closed"}},
		{"HTTP+SSE", "event: endpoint\ndata: /messages?id=1", "client", []string{"GET dropped"}},
		{"HTTP+SSE", "event: endpoint\ndata: /messages?id=1", "proxy", []string{"GET dropped"}},
	} {
		t.Run(c.name+"/"+c.dies, func(t *testing.T) {
			t.Parallel()
			die, left := make(chan struct{}), make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", transcript.EventStream)
				_, _ = fmt.Fprintf(w, "%s\n\n", c.first)
				_ = http.NewResponseController(w).Flush()
				select {
				case <-die:
					panic(http.ErrAbortHandler)
				case <-r.Context().Done():
					close(left)
				}
			}))
			defer server.Close()
			r := startRecord(t, nil, io.Discard, "--transcript", "FOLDER", "--listen", "127.0.0.1:0", server.URL+"/mcp")
			at := r.await(`http://[^ ,]*`)
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Accept", transcript.EventStream)
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			if line, err := bufio.NewReader(response.Body).ReadString('\n'); !strings.HasPrefix(c.first, strings.TrimSpace(line)) || err != nil {
				t.Fatalf("the stream begins with %q: %v", line, err)
			}
			switch c.dies {
			case "server":
				close(die)
				_, _ = io.Copy(io.Discard, response.Body) // until the proxy has noticed
			case "client":
				leave()
				<-left
			}
			r.signals <- os.Interrupt
			r.end(0)
			if diff := cmp.Diff(c.want, r.endings()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
