package stdio

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

const (
	// headKept is how many bytes of a line that exceeds the limit are kept.
	headKept = 4 << 10
	// readSize is the size of one read: the size of a pipe's buffer on Linux.
	readSize = 64 << 10
	// pieceCost is the minimum that one chunk of stderr counts towards the
	// limit, so that a server that writes single bytes can't make the
	// transcript grow without bound.
	pieceCost = 64
)

// readOutput records stdout until it ends. It keeps reading after recording
// has stopped, because a server must not block on a full pipe.
func (l *link) readOutput() {
	defer close(l.outDone)
	o := output{link: l}
	err := l.read(l.near.out, o.take)
	o.finish()
	closed := transcript.Event{Kind: transcript.OutputClosed}
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, os.ErrClosed) {
		closed.Detail = "the server exited, but a process that it left behind kept its stdout open"
	}
	l.rec.Add(closed)
	l.end()
}

// read passes all data from f to take until the end of the file. Once the server has exited, it
// also stops when no data has arrived for the duration linger.
func (l *link) read(f outlet, take func([]byte)) error {
	buf := make([]byte, readSize)
	for {
		if l.lingering.Load() {
			_ = f.SetReadDeadline(time.Now().Add(linger))
		}
		n, err := f.Read(buf)
		take(buf[:n])
		if err != nil {
			return err
		}
	}
}

// An output splits stdout into lines and records them.
type output struct {
	link    *link
	line    []byte // the line so far, or its head if the line is cut
	size    int64  // the length of the line so far, in bytes
	cut     bool   // the line is longer than the limit
	stopped bool   // nothing more is recorded
}

func (o *output) take(p []byte) {
	for len(p) > 0 && !o.stopped {
		line, rest, found := bytes.Cut(p, newline)
		o.add(line)
		if found {
			o.record(false)
		}
		p = rest
	}
}

// add appends p to the current line.
func (o *output) add(p []byte) {
	o.size += int64(len(p))
	if o.cut {
		return
	}
	limit := o.link.rec.Limits().Frame
	if o.size <= int64(limit) {
		o.line = append(o.line, p...)
		return
	}
	o.cut = true
	most := min(headKept, limit)
	kept := o.line[:min(len(o.line), most)]
	o.line = slices.Concat(kept, p[:min(len(p), most-len(kept))])
	// Report it now: the line may never end.
	o.recordFlood(fmt.Sprintf("more than %d bytes without a newline", limit))
}

// record records the current line and starts the next one. If the line was cut, it is the last one
// that is recorded.
func (o *output) record(unterminated bool) {
	if flood := o.link.rec.Admit(len(o.line)); flood != "" && !o.cut {
		o.stopped = true
		o.recordFlood(flood)
		return
	}
	o.stopped = o.cut
	o.link.rec.Add(transcript.Event{Kind: transcript.Received, Raw: o.line, Size: o.size, Unterminated: unterminated})
	o.line, o.size = nil, 0
}

func (o *output) recordFlood(what string) {
	head := bytes.Clone(o.line[:min(len(o.line), headKept)])
	o.link.rec.Add(transcript.Event{Kind: transcript.Flooded, Detail: what, Raw: head, Size: o.size})
	o.link.end()
}

// finish records the unterminated line after the last newline, if any.
func (o *output) finish() {
	if o.size > 0 && !o.stopped {
		o.record(true)
	}
}

// readStderr records the beginning of stderr, and how many bytes followed.
func (l *link) readStderr() {
	defer close(l.errDone)
	left, dropped := l.rec.Limits().Stderr, int64(0)
	_ = l.read(l.near.err, func(p []byte) {
		kept := p[:min(len(p), left)]
		dropped += int64(len(p) - len(kept))
		if len(kept) == 0 {
			return
		}
		left -= min(left, max(len(kept), pieceCost))
		l.rec.Add(transcript.Event{Kind: transcript.Stderr, Raw: bytes.Clone(kept)})
	})
	if dropped > 0 {
		l.rec.Remark(fmt.Sprintf("%d more bytes on the server's stderr were not recorded", dropped))
	}
}
