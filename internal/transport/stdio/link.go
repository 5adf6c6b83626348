package stdio

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/locks"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

const (
	// linger is how long the link waits for more output on stdout or stderr after the server has
	// exited. It does not wait for the end of the pipe, which another process may keep open
	// forever.
	linger = 500 * time.Millisecond
	// lingerTotal bounds that wait if output keeps arriving.
	lingerTotal = 3 * time.Second
	// killWithin bounds the wait for a killed server to end; only a process that hangs in a system
	// call, or an in-process server that does not return, takes longer.
	killWithin = 10 * time.Second
)

// A peer is the server at the other end of a link.
type peer interface {
	// name returns the text that identifies the server in the Opened event.
	name() string
	// awaitExit returns when the server has exited.
	awaitExit()
	// signal sends "TERM" or "INT", and reports whether the signal was sent. It calls before()
	// immediately before it sends the signal. If the server has exited, or if the system does not
	// have the signal, signal neither calls before() nor sends anything.
	signal(name string, before func()) bool
	// kill kills the server and all processes that it started, immediately. It
	// does nothing if the server has exited.
	kill()
	// clear kills the processes that an exited server left running, and
	// returns how the server exited. It is called once, after awaitExit.
	clear() (detail string, exitCode int)
}

// A link is one running server. Three goroutines read and write its streams
// (see output.go and input.go); a fourth executes run and ends after them.
type link struct {
	rec  *transcript.Transcript
	peer peer
	near nearEnds

	input     input
	afterKill time.Duration
	lingering atomic.Bool // the server has exited, so reads have a deadline

	ended     chan struct{} // closed when no more messages can arrive
	endOnce   sync.Once
	outDone   chan struct{} // closed when the reader of stdout has returned
	errDone   chan struct{} // closed when the reader of stderr has returned
	exited    chan struct{} // closed when the server has exited
	done      chan struct{} // closed when the server, its process group and its pipes are gone
	down      *locks.Once
	goroutine sync.WaitGroup // the writer, and the goroutine that closes stdin
}

// open makes the pipes, starts a server at their far ends and starts the
// link's goroutines.
func open(rec *transcript.Transcript, pipes func() (nearEnds, farEnds, error), start func(farEnds) (peer, error)) (transport.Link, error) {
	near, far, err := pipes()
	if err != nil {
		return nil, err
	}
	p, err := alive.add(func() (peer, error) { return start(far) })
	if err != nil {
		near.close()
		far.close()
		return nil, err
	}
	l := &link{
		rec: rec, peer: p, near: near,
		input:     newInput(),
		afterKill: killWithin,
		ended:     make(chan struct{}),
		outDone:   make(chan struct{}),
		errDone:   make(chan struct{}),
		exited:    make(chan struct{}),
		done:      make(chan struct{}),
		down:      locks.NewOnce(),
	}
	rec.Add(transcript.Event{Kind: transcript.Opened, Detail: p.name()})
	go l.readOutput()
	go l.readStderr()
	l.goroutine.Go(l.write)
	go l.run()
	return l, nil
}

// run waits for the server to exit and cleans up.
func (l *link) run() {
	defer close(l.done)
	defer alive.remove(l.peer)
	l.peer.awaitExit()
	close(l.exited)
	l.finishOutput()
	detail, code := l.peer.clear()
	l.near.close() // unblocks readers if a process outside the group holds a pipe open
	<-l.outDone
	<-l.errDone
	l.endInput(false)
	l.goroutine.Wait()
	l.rec.Add(transcript.Event{Kind: transcript.Exited, Detail: detail, ExitCode: code})
}

// finishOutput gives the readers time to read what the server wrote before it
// exited.
func (l *link) finishOutput() {
	l.lingering.Store(true) // before setting the deadlines, see read
	bound := lingerTotal
	deadline := time.Now().Add(linger)
	if l.near.out.SetReadDeadline(deadline) != nil || l.near.err.SetReadDeadline(deadline) != nil {
		bound = linger // the pipes have no deadlines, or are closed
	}
	timer := time.NewTimer(bound)
	defer timer.Stop()
	for _, done := range []chan struct{}{l.outDone, l.errDone} {
		select {
		case <-done:
		case <-timer.C:
			return
		}
	}
}

// Ended returns a channel that is closed at the end of the server's stdout, or
// when the server exceeds the limits on its output.
func (l *link) Ended() <-chan struct{} { return l.ended }

func (l *link) end() { l.endOnce.Do(func() { close(l.ended) }) }

// Signal sends "TERM" or "INT" to all processes in the server's group.
func (l *link) Signal(name string) bool {
	return l.peer.signal(name, func() { l.recordSignal(name) })
}

func (l *link) recordSignal(name string) {
	l.rec.Add(transcript.Event{Kind: transcript.Signalled, Detail: name})
}

// Shutdown closes the server's stdin, waits, sends SIGTERM where the system
// has it, waits, and kills the server. It returns when the server, all other
// processes in its process group and the link's goroutines have ended, or
// killWithin after it has killed a server that does not end.
func (l *link) Shutdown(patience transport.Patience) {
	l.down.Do(func() { l.shutdown(patience) })
}

func (l *link) shutdown(patience transport.Patience) {
	_ = l.CloseInput()
	gone := awaitWithin(l.exited, patience.AfterClose)
	if !gone && l.Signal("TERM") {
		gone = awaitWithin(l.exited, patience.AfterTerm)
	}
	if !gone && !awaitWithin(l.exited, 0) { // it may have exited just before the signal
		l.recordSignal("KILL")
		l.peer.kill()
	}
	if !awaitWithin(l.exited, l.afterKill) {
		l.rec.Remark("the server was killed, but has not exited; it is left running")
		return
	}
	<-l.done
}

// awaitWithin waits for c to be closed, at most for d, and reports whether it was.
func awaitWithin(c <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
	}
	select { // both may have been ready
	case <-c:
		return true
	default:
		return false
	}
}
