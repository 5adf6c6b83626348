package refserver

import "time"

// Options sets up a server. The zero value is the server as it should be.
type Options struct {
	// Seams are the places where a fault reaches in.
	Seams Seams
	// AskTimeout bounds how long the server waits for the client's answer to
	// a request of its own; 2 s when zero.
	AskTimeout time.Duration
	// DrainTime bounds how long requests in flight may go on after the
	// client has closed its side; 500 ms when zero.
	DrainTime time.Duration
	// PageSize is the number of items on a page of a list; 3 when zero.
	PageSize int
	// MaxFrame is the longest frame in bytes that is read; 16 MiB when zero.
	MaxFrame int
	// JSONOnly: over Streamable HTTP requests are answered by JSON alone, and
	// what would precede the answer goes to the listening stream.
	JSONOnly bool
}

func (o Options) withDefaults() Options {
	if o.AskTimeout == 0 {
		o.AskTimeout = 2 * time.Second
	}
	if o.DrainTime == 0 {
		o.DrainTime = 500 * time.Millisecond
	}
	if o.PageSize == 0 {
		o.PageSize = 3
	}
	if o.MaxFrame == 0 {
		o.MaxFrame = 16 << 20
	}
	return o
}
