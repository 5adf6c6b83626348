package stdio

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

const (
	// linger is how long a silent stdout or stderr is still listened to once
	// the server has exited: another process may hold it open for ever.
	linger = 500 * time.Millisecond
	// lingerTotal bounds the same for one that is not silent.
	lingerTotal = 3 * time.Second
	// killWithin bounds the wait for the end of a server that was killed; only
	// one that hangs inside the system, or a Go function, outlives it.
	killWithin = 10 * time.Second
)

// peer is the server at the far side of a link.
type peer interface {
	// name says in an Opened event who this is.
	name() string
	// awaitExit returns when the server has ended.
	awaitExit()
	// signal sends "TERM" or "INT", calling before just before it does; it
	// does neither, and reports false, where that is impossible.
	signal(name string, before func()) bool
	// kill ends the server and all that it started, at once; it does nothing
	// to a server that is gone.
	kill()
	// clear kills what an ended server left behind, and returns how the
	// server ended. It is called once, after awaitExit.
	clear() (detail string, exitCode int)
}

// link is one running server. Three goroutines carry its streams (see
// output.go and input.go), a fourth, live, outlasts them.
type link struct {
	rec  *transcript.Transcript
	peer peer
	near nearEnds

	input     input
	afterKill time.Duration
	lingering atomic.Bool // the server has exited: reads are bounded

	ended     chan struct{} // nothing more can come
	endOnce   sync.Once
	outDone   chan struct{} // the reader of stdout has returned
	errDone   chan struct{} // the reader of stderr has returned
	exited    chan struct{} // the server has exited
	done      chan struct{} // nothing is left
	downOnce  sync.Once
	goroutine sync.WaitGroup // the writer, and who closes stdin
}

// open makes the pipes, starts a server at their far ends and sets the link
// going.
func open(rec *transcript.Transcript, start func(farEnds) (peer, error)) (transport.Link, error) {
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
	}
	rec.Add(transcript.Event{Kind: transcript.Opened, Detail: p.name()})
	go l.readOutput()
	go l.readStderr()
	l.goroutine.Go(l.write)
	go l.live()
	return l, nil
}

// live follows the server to its end and clears up after it.
func (l *link) live() {
	defer close(l.done)
	defer alive.remove(l.peer)
	l.peer.awaitExit()
	close(l.exited)
	l.finishOutput()
	detail, code := l.peer.clear()
	l.near.close() // ends readers that wait for a process outside the group
	<-l.outDone
	<-l.errDone
	l.endInput(false)
	l.goroutine.Wait()
	l.rec.Add(transcript.Event{Kind: transcript.Exited, Detail: detail, ExitCode: code})
}

// finishOutput gives the readers time to take in what the server wrote
// before it exited.
func (l *link) finishOutput() {
	l.lingering.Store(true) // before the deadlines, see read
	bound := lingerTotal
	deadline := time.Now().Add(linger)
	if l.near.out.SetReadDeadline(deadline) != nil || l.near.err.SetReadDeadline(deadline) != nil {
		bound = linger // pipes without deadlines, or closed
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

// Ended is closed at the end of the server's stdout, or when it floods us.
func (l *link) Ended() <-chan struct{} { return l.ended }

func (l *link) end() { l.endOnce.Do(func() { close(l.ended) }) }

// Signal sends "TERM" or "INT" to all processes of the server's group.
func (l *link) Signal(name string) bool {
	return l.peer.signal(name, func() { l.signalled(name) })
}

func (l *link) signalled(name string) {
	l.rec.Add(transcript.Event{Kind: transcript.Signalled, Detail: name})
}

// Shutdown closes the server's stdin, waits, sends SIGTERM where there is
// such a thing, waits, kills, and returns when the server, all that it left
// in its process group and the link's own goroutines are gone.
func (l *link) Shutdown(patience transport.Patience) {
	l.downOnce.Do(func() { l.shutdown(patience) })
}

func (l *link) shutdown(patience transport.Patience) {
	_ = l.CloseInput()
	gone := within(l.exited, patience.AfterClose)
	if !gone && l.Signal("TERM") {
		gone = within(l.exited, patience.AfterTerm)
	}
	if !gone && !within(l.exited, 0) { // it may have exited just before the signal
		l.signalled("KILL")
		l.peer.kill()
	}
	if !within(l.exited, l.afterKill) {
		l.rec.Remark("the server was killed, and yet has not ended; it is left behind")
		return
	}
	<-l.done
}

// within waits for c to be closed, for d at most, and reports whether it was.
func within(c <-chan struct{}, d time.Duration) bool {
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
