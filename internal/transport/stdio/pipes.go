package stdio

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/pipes"
)

// nearEnds are our ends of a server's three streams; farEnds are the server's.
type (
	nearEnds struct {
		in       io.WriteCloser
		out, err outlet
	}
	farEnds struct {
		in       io.ReadCloser
		out, err io.WriteCloser
	}
	// An outlet is the end of a pipe from which we read.
	outlet interface {
		io.ReadCloser
		SetReadDeadline(time.Time) error
	}
)

// newSystemPipes makes the three pipes of a link to a process.
func newSystemPipes() (near nearEnds, far farEnds, err error) {
	var files []io.Closer
	pipe := func() (r, w *os.File) {
		if err != nil {
			return nil, nil
		}
		if r, w, err = os.Pipe(); err == nil {
			files = append(files, r, w)
		}
		return r, w
	}
	inR, inW := pipe()
	outR, outW := pipe()
	errR, errW := pipe()
	if err != nil {
		closeAll(files...)
		return nearEnds{}, farEnds{}, fmt.Errorf("making the pipes to the server: %w", err)
	}
	return nearEnds{in: inW, out: outR, err: errR}, farEnds{in: inR, out: outW, err: errW}, nil
}

// memoryPipes makes the three pipes of a link to a server in this process.
func memoryPipes() (near nearEnds, far farEnds, err error) {
	in, out, errOut := pipes.New(), pipes.New(), pipes.New()
	return nearEnds{in: in.WriteEnd(), out: out.ReadEnd(), err: errOut.ReadEnd()},
		farEnds{in: in.ReadEnd(), out: out.WriteEnd(), err: errOut.WriteEnd()}, nil
}

func (e nearEnds) close() { closeAll(e.in, e.out, e.err) }
func (e farEnds) close()  { closeAll(e.in, e.out, e.err) }

// closeAll closes the ends. Those that are already closed are ignored.
func closeAll(ends ...io.Closer) {
	for _, e := range ends {
		_ = e.Close()
	}
}
