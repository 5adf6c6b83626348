package stdio

import (
	"fmt"
	"os"
)

// nearEnds are our ends of a server's three streams; farEnds are the server's.
type (
	nearEnds struct{ in, out, err *os.File }
	farEnds  struct{ in, out, err *os.File }
)

// pipes makes the three pipes of a link. Even a server in our own process gets
// operating system pipes, so that both kinds buffer, block and break in the
// same way.
func pipes() (near nearEnds, far farEnds, err error) {
	for _, p := range []struct{ r, w **os.File }{
		{&far.in, &near.in}, {&near.out, &far.out}, {&near.err, &far.err},
	} {
		if *p.r, *p.w, err = os.Pipe(); err != nil {
			near.close()
			far.close()
			return near, far, fmt.Errorf("making the pipes to the server: %w", err)
		}
	}
	return near, far, nil
}

func (e nearEnds) close() { closeAll(e.in, e.out, e.err) }
func (e farEnds) close()  { closeAll(e.in, e.out, e.err) }

// closeAll closes the files. Files that are nil or already closed are ignored.
func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
