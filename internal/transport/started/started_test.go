package started_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
	"github.com/mcp-conform/mcp-conform/internal/transport/started"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	"github.com/mcp-conform/mcp-conform/internal/transport/streamablehttp"
)

// addressVariable makes the test binary a server that responds with its pid.
const addressVariable = "MCP_CONFORM_TEST_ADDRESS"

func TestMain(m *testing.M) {
	if address := os.Getenv(addressVariable); address != "" {
		os.Exit(serve(address))
	}
	os.Exit(m.Run())
}

func serve(address string) int {
	l, err := net.Listen("tcp", address)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { //nolint:gosec // it lives for a test
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte("exit")) {
			fmt.Println("told to exit")
			os.Exit(7)
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":{"pid":%d}}`, os.Getpid())
	}))
	return 1
}

// dialer returns a dialer for servers on the given port, or on a free one if
// port is "".
func dialer(t *testing.T, port string) *started.Dialer {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	at := func(picked string) string {
		if port != "" {
			picked = port
		}
		return "127.0.0.1:" + picked
	}
	d := started.NewStarter(started.Options{
		Command: func(picked string) stdio.Command {
			return stdio.Command{Argv: []string{self}, Env: append(os.Environ(), addressVariable+"="+at(picked))}
		},
		URL:           func(picked string) (*url.URL, error) { return url.Parse("http://" + at(picked) + "/mcp") },
		NeedsFreePort: port == "", Ready: time.Minute,
	}).Dialer(nil, spec.StreamableHTTP, func(u *url.URL) transport.Dialer { return streamablehttp.NewDialer(u, exchange.Reach{}) })
	t.Cleanup(d.Close)
	return d
}

func freePort(t *testing.T) string {
	t.Helper()
	port, err := started.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

type session struct {
	transport.Link
	t   *testing.T
	ctx context.Context
	rec *transcript.Transcript
}

func dial(t *testing.T, d transport.Dialer) *session {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("the test waits too long"))
	t.Cleanup(cancel)
	s := &session{t: t, ctx: ctx, rec: transcript.New()}
	link, err := d.Dial(ctx, s.rec)
	if err != nil {
		t.Fatal(err)
	}
	s.Link = link
	t.Cleanup(func() { link.Shutdown(transport.Patience{}) })
	return s
}

func (s *session) await(match func(*transcript.Event) bool) *transcript.Event {
	s.t.Helper()
	for pos := 0; ; {
		events, err := s.rec.Wait(s.ctx, pos)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, e := range events {
			pos = e.Seq + 1
			if match(e) {
				return e
			}
		}
	}
}

func is(k transcript.Kind) func(*transcript.Event) bool {
	return func(e *transcript.Event) bool { return e.Kind == k }
}

// pid returns the server's response, which contains its process id.
func (s *session) pid() string {
	s.t.Helper()
	if err := s.Send(s.ctx, []byte(`{"jsonrpc":"2.0","id":1,"method":"who"}`)); err != nil {
		s.t.Fatal(err)
	}
	return string(s.await(is(transcript.Received)).Raw)
}

func (s *session) exit() {
	s.t.Helper()
	if err := s.Send(s.ctx, []byte(`{"jsonrpc":"2.0","id":2,"method":"exit"}`)); err != nil {
		s.t.Fatal(err)
	}
}

func TestEnd(t *testing.T) {
	for _, port := range []string{"", freePort(t)} {
		t.Run("port "+port, func(t *testing.T) {
			d := dialer(t, port)
			first, idle := dial(t, d), dial(t, d)
			who := first.pid()
			if idle.pid() != who {
				t.Error("two links lead to two processes")
			}
			first.exit()
			for _, s := range []*session{first, idle} {
				if e := s.await(is(transcript.Exited)); e.Detail != "exit status 7" || e.ExitCode != 7 {
					t.Errorf("it ended with %q, code %d", e.Detail, e.ExitCode)
				}
				<-s.Ended()
				var last []transcript.Kind
				for _, e := range s.rec.From(s.await(is(transcript.OutputClosed)).Seq) {
					last = append(last, e.Kind)
				}
				if diff := cmp.Diff([]transcript.Kind{transcript.OutputClosed, transcript.Stderr, transcript.Exited}, last); diff != "" {
					t.Errorf("the end of the record (-want +got):\n%s", diff)
				}
			}
			if said := string(first.await(is(transcript.Stderr)).Raw); said != "told to exit\n" {
				t.Errorf("it said %q", said)
			}
			first.await(func(e *transcript.Event) bool { return e.Kind == transcript.Over && e.How == transcript.Broken })
			if again := dial(t, d).pid(); again == who {
				t.Errorf("the server that ended answers: %s", again)
			}
		})
	}
}

// TestEndOfWhoGoesAtOnce checks that a link that is shut down as soon as its connection
// breaks still records the server's exit, which becomes known slightly later.
func TestEndOfWhoGoesAtOnce(t *testing.T) {
	d := dialer(t, "")
	for i := range 20 {
		s := dial(t, d)
		s.exit()
		s.await(func(e *transcript.Event) bool { return e.Kind == transcript.Over && e.How == transcript.Broken })
		s.Shutdown(transport.Patience{})
		if !slices.ContainsFunc(s.rec.From(0), is(transcript.Exited)) {
			t.Fatalf("nothing is known of end %d", i+1)
		}
	}
}

func TestFresh(t *testing.T) {
	for _, port := range []string{"", freePort(t)} {
		t.Run("port "+port, func(t *testing.T) {
			d := dialer(t, port)
			if d.IsLimitedToOne() != (port != "") {
				t.Errorf("single: %t", d.IsLimitedToOne())
			}
			shared := dial(t, d)
			who := shared.pid()
			if port != "" {
				shared.Shutdown(transport.Patience{})
			}
			fresh, stop := d.FreshDialer()
			other := dial(t, fresh)
			if other.pid() == who {
				t.Error("a fresh server is the one that all share")
			}
			other.Shutdown(transport.Patience{})
			stop()
			again := dial(t, d).pid()
			if same := again == who; same == (port != "") {
				t.Errorf("the shared server is the same: %t", same)
			}
			if slices.ContainsFunc(shared.rec.From(0), is(transcript.Exited)) {
				t.Error("an end that we brought about is recorded")
			}
		})
	}
}

// TestFreePort checks that no port is picked twice, or while another program listens on it.
func TestFreePort(t *testing.T) {
	seen, last := map[string]bool{}, ""
	for range 100 {
		last = freePort(t)
		if seen[last] {
			t.Fatalf("port %s was picked twice", last)
		}
		seen[last] = true
	}
	n, err := strconv.Atoi(last)
	if err != nil {
		t.Fatal(err)
	}
	next := net.JoinHostPort("", strconv.Itoa(n+1))    // the next to be tried, unless the numbers wrap around
	if l, err := net.Listen("tcp", next); err == nil { // otherwise another program listens there
		defer func() { _ = l.Close() }()
	}
	if port := freePort(t); net.JoinHostPort("", port) == next {
		t.Errorf("port %s was picked, but it is not free", port)
	}
}

func TestCloseDuringUse(t *testing.T) {
	d := dialer(t, "")
	var all sync.WaitGroup
	for range 4 {
		s := dial(t, d)
		all.Go(func() { s.Shutdown(transport.Patience{}) })
	}
	d.Close()
	all.Wait()
}

func TestErrors(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	port := freePort(t)
	for _, c := range []struct {
		name, argv0, serves, at string
		ready                   time.Duration
		want                    string
	}{
		{"no such command", "no-such-command", "", port, time.Minute, `can't start the server "no-such-command": command not found`},
		{"it ends", self, "nonsense", port, time.Minute, "the server ended before it listened at 127.0.0.1:" + port + ": exit status 1"},
		{"not in time", self, "127.0.0.1:0", port, time.Nanosecond, "the server did not listen at 127.0.0.1:" + port + " within 1ns"},
		{"taken", self, "", taken.Addr().String()[len("127.0.0.1:"):], time.Minute, "listens at " + taken.Addr().String() + " already"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := started.NewStarter(started.Options{
				Command: func(string) stdio.Command {
					return stdio.Command{Argv: []string{c.argv0}, Env: append(os.Environ(), addressVariable+"="+c.serves)}
				},
				URL:   func(string) (*url.URL, error) { return url.Parse("http://127.0.0.1:" + c.at) },
				Ready: c.ready,
			})
			for range 3 {
				if _, err := s.Start(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("the error is %v, want %s", err, c.want)
				}
			}
			if _, err := s.Start(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "it is not started again, because 3 starts in a row failed: ") {
				t.Errorf("the fourth time it says %v", err)
			}
			if n := stdio.LiveCount(); n != 0 {
				t.Errorf("%d processes live", n)
			}
		})
	}
}

func TestCancelled(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	s := started.NewStarter(started.Options{
		Command: func(string) stdio.Command {
			cancel(cause)
			return stdio.Command{Argv: []string{"sleep", "1000"}}
		},
		URL:   func(string) (*url.URL, error) { return url.Parse("http://127.0.0.1:" + freePort(t)) },
		Ready: time.Minute,
	})
	if _, err := s.Start(ctx); !errors.Is(err, cause) {
		t.Errorf("the error is %v", err)
	}
	if n := stdio.LiveCount(); n != 0 {
		t.Errorf("%d processes live", n)
	}
}

// TestPortTakenMeanwhile has another process listen on the picked port before the server
// does: once with a server that exits because of that, and once with one that listens
// elsewhere. Start must then pick another port.
func TestPortTakenMeanwhile(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, serves := range map[string]func(port string) string{
		"the server ends":      func(port string) string { return "127.0.0.1:" + port },
		"it listens elsewhere": func(string) string { return "127.0.0.1:0" },
	} {
		t.Run(name, func(t *testing.T) {
			starts := 0
			s := started.NewStarter(started.Options{
				Command: func(port string) stdio.Command {
					starts++
					at := "127.0.0.1:" + port
					if starts == 1 {
						l, err := net.Listen("tcp", at)
						if err != nil {
							t.Error(err)
						}
						t.Cleanup(func() { _ = l.Close() })
						at = serves(port)
					}
					return stdio.Command{Argv: []string{self}, Env: append(os.Environ(), addressVariable+"="+at)}
				},
				URL:           func(port string) (*url.URL, error) { return url.Parse("http://127.0.0.1:" + port) },
				NeedsFreePort: true, Ready: time.Minute,
			})
			server, err := s.Start(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			server.Stop()
			if starts != 2 {
				t.Errorf("%d starts, want 2", starts)
			}
		})
	}
}

// TestCanceller checks that a client can cancel a request by closing the stream of its response, as
// with a server that was not started.
func TestCanceller(t *testing.T) {
	s := dial(t, dialer(t, ""))
	if _, ok := s.Link.(transport.Canceller); !ok {
		t.Errorf("%T is not a transport.Canceller", s.Link)
	}
}
