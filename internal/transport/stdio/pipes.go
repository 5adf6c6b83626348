package stdio

import (
	"fmt"
	"os"
)

// nearEnds are our ends of a server's three streams, farEnds the server's.
type (
	nearEnds struct{ in, out, err *os.File }
	farEnds  struct{ in, out, err *os.File }
)

// pipes makes the three pipes of a link. They are pipes of the system even
// for a server in our own process, so that both kinds buffer, block and break
// alike.
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

// closeAll closes the files; those that are nil or closed already are left be.
func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
