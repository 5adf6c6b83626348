package refserver

import (
	"slices"
	"time"
)

// Options sets up a server. The zero value is the server as it should be.
type Options struct {
	// Seams are the places where a fault reaches in.
	Seams Seams
	// AskTimeout bounds how long the server waits for the client's answer to
	// a request of its own; 2 s when zero.
	AskTimeout time.Duration
	// DrainTime bounds how long requests in flight may go on after the
	// client has closed its side, or a server over HTTP was told to end;
	// 500 ms when zero.
	DrainTime time.Duration
	// PageSizes are the numbers of items on the pages of a list, in turn; 3 and
	// 2 when empty.
	PageSizes []int
	// LongList is how many numbered resources are listed behind the others.
	LongList int
	// RateLimit is how many tool calls and completions each client may ask for
	// in a second; 0 is no limit.
	RateLimit int
	// MaxFrame is the longest frame in bytes that is read; 16 MiB when zero.
	MaxFrame int
	// JSONOnly: over Streamable HTTP requests are answered by JSON alone. Calls
	// report no progress and ask nothing then, as the listening stream is not
	// for what belongs to a request.
	JSONOnly bool
	// Fixtures: the server also offers what the official conformance suite
	// asks for by name.
	Fixtures bool
	// NoSessions: over Streamable HTTP every message stands by itself and is
	// answered by JSON; what needs a session is not offered.
	NoSessions bool
	// Origins are those of the web pages that may use the server beside its
	// own, such as https://example.com.
	Origins []string
	// Hosts are the names by which the server may be called over HTTP; when
	// empty, any on a public interface and the loopback's on the loopback.
	Hosts []string
}

func (o Options) withDefaults() Options {
	if o.AskTimeout == 0 {
		o.AskTimeout = 2 * time.Second
	}
	if o.DrainTime == 0 {
		o.DrainTime = 500 * time.Millisecond
	}
	o.PageSizes = slices.DeleteFunc(slices.Clone(o.PageSizes), func(n int) bool { return n < 1 })
	if len(o.PageSizes) == 0 {
		o.PageSizes = []int{3, 2}
	}
	if o.NoSessions {
		o.JSONOnly = true // nothing is kept by which a stream could be taken up again
	}
	if o.MaxFrame == 0 {
		o.MaxFrame = 16 << 20
	}
	return o
}

// pageEnd returns where the page ends that holds the item at a place. Pages
// begin at the same places whoever asks, so a cursor means the same each time.
func (o *Options) pageEnd(at int) int {
	end := 0
	for i := 0; end <= at; i++ {
		end += o.PageSizes[i%len(o.PageSizes)]
	}
	return end
}
