package stdio

import (
	"bytes"
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

// kinds are the ways to run a behaviour; all of them have the same contract.
var kinds = map[string]func(t *testing.T, behaviour string) transport.Dialer{
	"process": func(t *testing.T, behaviour string) transport.Dialer {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		return NewDialer(Command{Argv: []string{self}, Env: append(os.Environ(), behaviourVariable+"="+behaviour)})
	},
	"function": func(_ *testing.T, behaviour string) transport.Dialer {
		return InProcess(behaviour, behaviours[behaviour])
	},
}

// A session is one link under test.
type session struct {
	transport.Link
	t   *testing.T
	rec *transcript.Transcript
	ctx context.Context
}

// eachKind runs test with a server of the given behaviour, once for each kind.
func eachKind(t *testing.T, behaviour string, test func(*session)) {
	t.Helper()
	eachKindWithin(t, behaviour, transcript.Limits{}, test)
}

func eachKindWithin(t *testing.T, behaviour string, limits transcript.Limits, test func(*session)) {
	t.Helper()
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(dialWithin(t, kind(t, behaviour), limits))
		})
	}
}

func dial(t *testing.T, d transport.Dialer) *session {
	t.Helper()
	return dialWithin(t, d, transcript.Limits{})
}

func dialWithin(t *testing.T, d transport.Dialer, limits transcript.Limits) *session {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("the test waits too long"))
	t.Cleanup(cancel)
	s := &session{t: t, rec: transcript.NewWithin(nil, limits), ctx: ctx}
	link, err := d.Dial(ctx, s.rec)
	if err != nil {
		t.Fatal(err)
	}
	s.Link = link
	t.Cleanup(func() { link.Shutdown(transport.Patience{}) })
	return s
}

// await returns the first event of the kind that contains text in its bytes or
// its detail.
func (s *session) await(kind transcript.Kind, text string) *transcript.Event {
	s.t.Helper()
	for pos := 0; ; {
		events, err := s.rec.Wait(s.ctx, pos)
		for _, e := range events {
			if e.Kind == kind && (strings.Contains(e.Detail, text) || bytes.Contains(e.Raw, []byte(text))) {
				return e
			}
			if e.Kind == transcript.Exited {
				err = errors.New("the server has ended")
			}
		}
		if err != nil {
			s.t.Fatalf("no event %s with %q: %v\n%s", kind, text, err, strings.Join(s.story(), "\n"))
		}
		pos += len(events)
	}
}

func (s *session) send(frames ...string) {
	s.t.Helper()
	var raw [][]byte
	for _, f := range frames {
		raw = append(raw, []byte(f))
	}
	if err := s.Send(s.ctx, raw...); err != nil {
		s.t.Fatal(err)
	}
}

// story lists the events, except those whose details or chunking vary.
func (s *session) story() []string {
	var out []string
	for _, e := range s.rec.From(0) {
		line := string(e.Kind)
		switch e.Kind {
		case transcript.Opened, transcript.Stderr:
			continue
		case transcript.Sent, transcript.Received:
			line += " " + string(e.Raw)
		}
		if e.Detail != "" {
			line += ": " + e.Detail
		}
		if e.Unterminated {
			line += " (unterminated)"
		}
		out = append(out, line)
	}
	return out
}

func (s *session) expectStory(want ...string) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.story()); diff != "" {
		s.t.Errorf("events (-want +got):\n%s", diff)
	}
}

func (s *session) expectEnded() {
	s.t.Helper()
	select {
	case <-s.Ended():
	case <-s.ctx.Done():
		s.t.Error("Ended is not closed")
	}
}

var patient = transport.Patience{AfterClose: time.Minute, AfterTerm: time.Minute}

func TestEchoesAndShutsDownInOrder(t *testing.T) {
	eachKind(t, "echo", func(s *session) {
		s.send("one", "two")
		s.await(transcript.Received, "two")
		s.Shutdown(patient)
		s.expectStory("sent one", "sent two", "received one", "received two",
			"input-closed", "output-closed", "exited: exit status 0")
		s.expectEnded()
	})
}

func TestOpenedSaysWho(t *testing.T) {
	eachKind(t, "echo", func(s *session) {
		first := s.rec.From(0)[0]
		if first.Kind != transcript.Opened || !strings.HasPrefix(first.Detail, "pid ") && first.Detail != "in process: echo" {
			t.Errorf("first event: %s %q", first.Kind, first.Detail)
		}
	})
}

func TestExitAtOnceIsAnEvent(t *testing.T) {
	eachKind(t, "exits at once", func(s *session) {
		e := s.await(transcript.Exited, "exit status 3")
		if e.ExitCode != 3 {
			s.t.Errorf("exit code %d", e.ExitCode)
		}
		s.await(transcript.Stderr, "no configuration")
		s.expectStory("output-closed", "exited: exit status 3")
		s.expectEnded()
		if err := s.Send(s.ctx, []byte("late")); !errors.Is(err, ErrInputClosed) {
			s.t.Errorf("Send after the exit: %v", err)
		}
		if s.Signal("TERM") {
			s.t.Error("a signal reached a server that is gone")
		}
		s.Shutdown(patient)
		s.expectStory("output-closed", "exited: exit status 3")
	})
}

func TestSendBytesRecordsLines(t *testing.T) {
	eachKind(t, "echo", func(s *session) {
		chunks := [][]byte{[]byte("{\"a\""), []byte(":1}\r\n{\"b\":2}\n\n{"), []byte("\"c\"")}
		if err := s.SendBytes(s.ctx, chunks...); err != nil {
			s.t.Fatal(err)
		}
		s.await(transcript.Received, "b")
		s.send(":3}", "next")
		if err := s.SendBytes(s.ctx, []byte("rest")); err != nil {
			s.t.Fatal(err)
		}
		s.await(transcript.Received, "next")
		s.Shutdown(patient)
		var sent, received []string
		for _, e := range s.rec.From(0) {
			text := string(e.Raw)
			if e.Unterminated {
				text += "…"
			}
			switch e.Kind {
			case transcript.Sent:
				sent = append(sent, text)
			case transcript.Received:
				received = append(received, text)
			}
		}
		want := []string{"{\"a\":1}\r", `{"b":2}`, "", `{"c":3}`, "next", "rest…"}
		if diff := cmp.Diff(want, sent); diff != "" {
			s.t.Errorf("sent (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, received); diff != "" {
			s.t.Errorf("received (-want +got):\n%s", diff)
		}
	})
}

func TestServerThatDoesNotReadBlocksNoCaller(t *testing.T) {
	eachKind(t, "reads when told", func(s *session) {
		s.await(transcript.Received, "ready")
		big := bytes.Repeat([]byte("b"), 4<<20)
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(s.ctx)
		sent := make(chan error)
		for _, frame := range [][]byte{big, []byte("after it")} {
			go func() { sent <- s.Send(ctx, frame) }()
			s.await(transcript.Sent, "bbb")
			cancel(cause)
			if err := <-sent; !errors.Is(err, cause) {
				s.t.Fatalf("Send to a server that does not read: %v", err)
			}
			ctx, cancel = context.WithCancelCause(s.ctx)
		}
		cancel(nil)
		if !s.Signal("INT") {
			if runtime.GOOS == "windows" && strings.HasPrefix(s.rec.From(0)[0].Detail, "pid ") {
				return // processes get no signals on Windows
			}
			s.t.Fatal("no signal")
		}
		if e := s.await(transcript.Received, "bbb"); e.Size != int64(len(big)) {
			s.t.Errorf("a write that outlasted its context arrived with %d of %d bytes", e.Size, len(big))
		}
		s.send("after")
		s.await(transcript.Received, "after")
		for _, line := range s.story() {
			if strings.Contains(line, "after it") {
				s.t.Error("a frame that was never written is recorded")
			}
		}
	})
}

func TestShutdownOfServerThatDoesNotRead(t *testing.T) {
	eachKind(t, "reads when told", func(s *session) {
		s.await(transcript.Received, "ready")
		var wg sync.WaitGroup
		wg.Go(func() { _ = s.Send(s.ctx, bytes.Repeat([]byte("b"), 1<<20)) })
		s.await(transcript.Sent, "bbb")
		s.Shutdown(transport.Patience{})
		s.await(transcript.Exited, "")
		wg.Wait()
	})
}

func TestShutdownTerminates(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no SIGTERM")
	}
	eachKind(t, "exits on TERM", func(s *session) {
		s.await(transcript.Received, "ready")
		if !s.Signal("INT") {
			s.t.Error("no INT")
		}
		s.await(transcript.Received, "INT")
		s.Shutdown(transport.Patience{AfterTerm: time.Minute})
		s.expectStory("received ready", "signalled: INT", "received INT", "input-closed", "signalled: TERM",
			"received TERM", "output-closed", "exited: exit status 7")
		if s.Signal("KILL") {
			s.t.Error("Signal takes TERM and INT only")
		}
	})
}

func TestShutdownKills(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no SIGTERM")
	}
	eachKind(t, "never ends", func(s *session) {
		s.await(transcript.Received, "ready")
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { s.Shutdown(transport.Patience{}) })
		}
		wg.Wait()
		s.expectStory("received ready", "input-closed", "signalled: TERM", "signalled: KILL",
			"output-closed", "exited: signal: killed")
		if e := s.await(transcript.Exited, ""); e.ExitCode != -1 {
			s.t.Errorf("exit code %d of a killed server", e.ExitCode)
		}
	})
}

func TestCloseInputTwice(t *testing.T) {
	eachKind(t, "echo", func(s *session) {
		for range 2 {
			if err := s.CloseInput(); err != nil {
				s.t.Error(err)
			}
		}
		if err := s.Send(s.ctx, []byte("x")); !errors.Is(err, ErrInputClosed) {
			s.t.Errorf("Send: %v", err)
		}
		s.await(transcript.Exited, "")
		s.expectStory("input-closed", "output-closed", "exited: exit status 0")
	})
}

func TestServerClosesItsStdout(t *testing.T) {
	eachKind(t, "closes stdout", func(s *session) {
		s.expectEnded()
		s.expectStory("received bye", "output-closed")
		s.Shutdown(patient)
		s.expectStory("received bye", "output-closed", "input-closed", "exited: exit status 4")
	})
}

func TestServerClosesItsStdin(t *testing.T) {
	eachKind(t, "closes stdin", func(s *session) {
		s.await(transcript.Received, "deaf")
		// A process that another test is starting may hold the other end for a
		// moment: between fork and exec it has all of our file descriptors.
		var err error
		for err == nil {
			err = s.Send(s.ctx, []byte("x"))
		}
		if !errors.Is(err, ErrInputClosed) {
			s.t.Errorf("Send: %v", err)
		}
	})
}

func TestBytesAreBytes(t *testing.T) {
	eachKind(t, "odd bytes", func(s *session) {
		s.await(transcript.Exited, "")
		s.expectStory("received a\x00b", "received \xff\xfe\r", "received ", "received \u2028\u0085", "received \r",
			"received {\"cut\": (unterminated)", "output-closed", "exited: exit status 0")
	})
}

func TestLive(t *testing.T) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) { // not parallel: it counts all running servers
			before := LiveCount()
			s := dial(t, kind(t, "echo"))
			if got := LiveCount() - before; got != 1 {
				t.Errorf("%d servers alive after one was started", got)
			}
			s.Shutdown(patient)
			if got := LiveCount() - before; got != 0 {
				t.Errorf("%d servers alive after the shutdown", got)
			}
		})
	}
}
