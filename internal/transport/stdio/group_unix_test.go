//go:build unix

package stdio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

// shell dials a shell script, as npx and similar launchers run servers.
func shell(t *testing.T, script string) *session {
	t.Helper()
	return dial(t, NewDialer(Command{Argv: []string{"sh", "-c", script}}))
}

// pid returns the process id that the server printed.
func (s *session) pid() int {
	s.t.Helper()
	text := s.await(transcript.Received, "pid ").Raw
	pid, err := strconv.Atoi(strings.TrimPrefix(string(text), "pid "))
	if err != nil {
		s.t.Fatal(err)
	}
	return pid
}

// runs reports whether the process exists and is not a zombie: in a container
// it may never be reaped.
func runs(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !bytes.Contains(stat, []byte(") Z "))
}

func TestNothingIsLeft(t *testing.T) {
	const ready = `; echo pid $!; echo ready; `
	for name, script := range map[string]string{
		"lingers with stdout after a normal exit":    `sleep 1000 & : ` + ready + `exit 0`,
		"lingers without stdout after a normal exit": `sleep 1000 >/dev/null 2>&1 & : ` + ready + `exit 0`,
		"outlives the leader on TERM":                `sh -c 'trap "" TERM; sleep 1000; sleep 1000' & : ` + ready + `wait`,
		"all ignore TERM":                            `trap "" TERM; sleep 1000 & : ` + ready + `while :; do wait; sleep 1000; done`,
		"keeps talking after a normal exit":          `(while echo x; do sleep 0.1; done) & : ` + ready + `exit 0`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := shell(t, script)
			pid := s.pid()
			s.await(transcript.Received, "ready")
			s.Shutdown(transport.Patience{AfterTerm: 50 * time.Millisecond})
			if runs(pid) {
				t.Errorf("process %d is left", pid)
			}
			s.await(transcript.Exited, "")
			s.expectEnded()
		})
	}
}

func TestLeftBehindIsKilledWithoutShutdown(t *testing.T) {
	s := shell(t, `sleep 1000 & echo pid $!; exit 5`)
	pid := s.pid()
	s.await(transcript.Exited, "exit status 5")
	s.await(transcript.OutputClosed, "left behind kept its stdout open")
	if runs(pid) {
		t.Errorf("process %d is left", pid)
	}
}

// outOfTheGroup is the behaviour of a process that leaves the server's process group.
const outOfTheGroup = "out of the group"

func init() {
	behaviours[outOfTheGroup] = func(_ context.Context, _ io.Reader, _, log io.Writer, _ <-chan string) int {
		_, err := syscall.Setsid()
		if err == nil {
			err = syscall.Exec("/bin/sh", []string{"sh", "-c", "echo pid $$; exec sleep 1000"}, os.Environ())
		}
		_, _ = fmt.Fprintln(log, err)
		return 1
	}
}

func TestOutOfTheGroup(t *testing.T) {
	s := shell(t, fmt.Sprintf(`%s=%q '%s' & wait`, behaviourVariable, outOfTheGroup, os.Args[0]))
	pid := s.pid()
	defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }()
	s.Shutdown(transport.Patience{})
	s.await(transcript.OutputClosed, "left behind kept its stdout open")
	s.await(transcript.Exited, "signal: ")
}

func TestAllThatWasWrittenBeforeTheExitIsReceived(t *testing.T) {
	s := shell(t, `sleep 1000 & i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done; printf end; exit 0`)
	s.await(transcript.Exited, "exit status 0")
	count := 0
	for _, e := range s.rec.From(0) {
		if e.Kind == transcript.Received {
			count++
		}
	}
	if count != 2001 {
		t.Errorf("%d lines received", count)
	}
}

func TestKillAll(t *testing.T) {
	defer func() { alive.closed = false }()
	s := shell(t, `trap "" TERM; sleep 1000 & echo pid $!; wait; sleep 1000`)
	f := dial(t, InProcess("never ends", behaviours["never ends"]))
	pid := s.pid()
	KillAll()
	s.await(transcript.Exited, "signal: killed")
	f.await(transcript.Exited, "signal: killed")
	if runs(pid) {
		t.Errorf("process %d is left", pid)
	}
	if _, err := InProcess("late", behaviours["echo"]).Dial(t.Context(), transcript.New()); err == nil {
		t.Error("a server was started after KillAll")
	}
}

func TestDiesOfASignal(t *testing.T) {
	s := shell(t, `kill -SEGV $$`)
	e := s.await(transcript.Exited, "signal: segmentation fault")
	if e.ExitCode != -1 {
		t.Errorf("exit code %d", e.ExitCode)
	}
}

// TestStreamsBlock checks that a server gets blocking streams: with non-blocking
// ones, a program could see EAGAIN.
func TestStreamsBlock(t *testing.T) {
	s := dial(t, kinds["process"](t, "tells flags"))
	s.await(transcript.Received, "nonblocking false false false")
}

func init() {
	behaviours["tells flags"] = func(_ context.Context, _ io.Reader, out, _ io.Writer, _ <-chan string) int {
		_, _ = fmt.Fprintln(out, "nonblocking", nonblocking(0), nonblocking(1), nonblocking(2))
		return 0
	}
}

func nonblocking(fd uintptr) bool {
	flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
	return err != nil || flags&unix.O_NONBLOCK != 0
}
