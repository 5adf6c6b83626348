// Command exits runs a command for the tests of the command line and checks how it ends. It is a
// program of its own because the tests run it hundreds of times, and the test binary takes ten
// times as long to start.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// most is the limit for the memory of a run, in MiB, whatever the server does.
const most = 256

// slowVariable is the environment variable that is set when the tests run with the race detector.
// The command then has more time, and its memory is not limited.
const slowVariable = "EXITS_SLOW"

func main() { os.Exit(exits(os.Args[1:])) }

// exits runs a command, as in
//
//	exits [-within 10s] [-interrupt TEXT] [-interrupt-at FILE] CODE COMMAND ARGUMENT...
//
// It fails unless the command ends in time with that exit code (3|4 allows two codes), stays below
// the memory limit, and leaves no process running, not even one in another process group. With
// -interrupt it interrupts the command when TEXT appears on stdout or stderr. If -interrupt is
// repeated, it interrupts the command again at each further TEXT, in the order of the flags. With
// -interrupt-at it interrupts the command when FILE exists.
func exits(args []string) int {
	slack := time.Duration(1)
	if isSlow() {
		slack = 5
	}
	flags := flag.NewFlagSet("exits", flag.ContinueOnError)
	within := flags.Duration("within", 2*time.Minute, "")
	var cues []string
	mark := flags.String("interrupt-at", "", "")
	flags.Func("interrupt", "", func(text string) error { cues = append(cues, text); return nil })
	if err := flags.Parse(args); err != nil || flags.NArg() < 2 {
		fmt.Fprintln(os.Stderr, "exits [-within 10s] [-interrupt TEXT] [-interrupt-at FILE] CODE COMMAND ARGUMENT...")
		return 120
	}
	adoptOrphans()
	cmd := exec.Command(flags.Arg(1), flags.Args()[2:]...)
	cmd.Stdin = os.Stdin
	signals := make(chan struct{}, len(cues)+1)
	done := make(chan struct{})
	watch := &cueWriter{cues: cues, cue: func() { signals <- struct{}{} }}
	outcome := make(chan ending, 1)
	started := time.Now()
	pipe, far, err := os.Pipe()
	if err == nil {
		cmd.Stdout, cmd.Stderr = far, far
		if len(cues) == 0 && *mark == "" {
			cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		}
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "exits:", err)
		return 121
	}
	_ = far.Close()
	go func() { defer close(done); _, _ = io.Copy(io.MultiWriter(os.Stdout, watch), pipe) }()
	go func() { outcome <- await(cmd) }()
	if *mark != "" {
		go func() {
			for {
				if _, err := os.Stat(*mark); err == nil {
					signals <- struct{}{}
					return
				}
				<-time.After(5 * time.Millisecond)
			}
		}()
	}
	timeout := time.After(*within * slack)
	for {
		select {
		case <-signals:
			_ = cmd.Process.Signal(os.Interrupt)
			continue
		case <-timeout:
			_ = cmd.Process.Kill()
			<-outcome
			fmt.Fprintf(os.Stderr, "exits: it has not ended within %v\n", *within*slack)
			return 122
		case end := <-outcome:
			<-done
			return end.judge(flags.Arg(0), time.Since(started))
		}
	}
}

func isSlow() bool { return os.Getenv(slowVariable) != "" }

// ending is how a command ended, as far as the operating system reports it.
type ending struct {
	code     int
	memory   int64    // maximum in MiB, if possible without the servers; 0 if unknown
	orphans  []string // descendants that are still running
	survived error    // why it is unknown whether descendants are still running, or nil
}

func (e ending) judge(want string, took time.Duration) int {
	fmt.Fprintf(os.Stderr, "exits: code %d, %v, %d MiB\n", e.code, took.Round(time.Millisecond), e.memory)
	switch {
	case !slices.Contains(strings.Split(want, "|"), fmt.Sprint(e.code)):
		fmt.Fprintf(os.Stderr, "exits: the exit code is not %s\n", want)
	case e.memory > most && !isSlow():
		fmt.Fprintf(os.Stderr, "exits: that is more memory than %d MiB\n", most)
	case len(e.orphans) > 0:
		fmt.Fprintf(os.Stderr, "exits: left behind: %s\n", strings.Join(e.orphans, "; "))
	case e.survived != nil:
		fmt.Fprintf(os.Stderr, "exits: looking for processes left behind: %v\n", e.survived)
	default:
		return 0
	}
	return 1
}

// cueWriter calls cue once for each of the strings in cues, in their order, as soon as the string
// has been written to it. A string counts only if it comes after the previous one in the output.
type cueWriter struct {
	cues []string
	cue  func()
	seen []byte
}

func (w *cueWriter) Write(p []byte) (int, error) {
	w.seen = append(w.seen, p...)
	for len(w.cues) > 0 {
		_, rest, found := bytes.Cut(w.seen, []byte(w.cues[0]))
		if !found {
			break
		}
		w.seen, w.cues = rest, w.cues[1:]
		w.cue()
	}
	return len(p), nil
}
