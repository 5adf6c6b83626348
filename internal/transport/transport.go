// Package transport names what every way of reaching a server has in common.
// A link carries raw bytes and writes all it sees into a transcript. Of the
// messages it knows no more than its transport makes it know: over HTTP which
// are requests, and which of them opens the session.
package transport

import (
	"context"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// Dialer opens links to one server.
type Dialer interface {
	// Dial opens a link and records everything on it in rec. The context
	// bounds the opening only. An error says why the server could not be
	// started or reached, and what to do about it.
	Dial(ctx context.Context, rec *transcript.Transcript) (Link, error)
	// Transport names the transport that the links use.
	Transport() spec.Transport
}

// Link is one open connection to a server.
type Link interface {
	// Send writes each frame with the transport's own framing, all in one
	// write where the transport has such a thing.
	Send(ctx context.Context, frames ...[]byte) error
	// SendBytes writes exactly these bytes, one write a chunk, framing and
	// all; what they hold is recorded as frames.
	SendBytes(ctx context.Context, chunks ...[]byte) error
	// Ended is closed when no more can come from the server.
	Ended() <-chan struct{}
	// Shutdown ends the link in the way that the specification orders for
	// the transport, each step bounded by patience, and returns when nothing
	// of the server is left.
	Shutdown(patience Patience)
	// Signal asks the server's process to end, where there is one: "TERM"
	// or "INT". It reports whether that could be done.
	Signal(name string) bool
	// CloseInput tells the server that nothing more will be sent.
	CloseInput() error
}

// Sharer is a dialer whose links lead to one process, which it starts itself.
type Sharer interface {
	Dialer
	// Fresh returns a dialer whose links lead to a process of its own, which is
	// started with the first link; stop ends it.
	Fresh() (d Dialer, stop func())
	// Single reports whether only one process can live at a time.
	Single() bool
	// Endings tells of the processes that its links led to and that ended by
	// themselves, in their order; not of those of a Fresh one.
	Endings() []Ending
}

// Ending is how a process ended by itself.
type Ending struct {
	Detail string // the exit status, or the like
	Output string // the end of what it had written; may be hostile
	Cut    bool   // a POST was left without its response
}

// Mortal is a link over HTTP, which can't see by itself that the server's
// process has ended.
type Mortal interface {
	Web
	// ServerEnded says that nothing more can come, and why.
	ServerEnded(detail string)
}

// Weighed is a link to a server whose memory can be told.
type Weighed interface {
	Link
	// Resident returns how many bytes of memory all processes of the server hold
	// for themselves; false where that can't be told.
	Resident() (bytes int64, ok bool)
}

// Patience bounds the steps of a shutdown.
type Patience struct {
	AfterClose time.Duration // for the exit after its input was closed
	AfterTerm  time.Duration // for the exit after SIGTERM
}

// Web is a link over HTTP, for who has exchanges of his own to hold beside
// those that carry messages.
type Web interface {
	Link
	// Headers returns those that a request of the session has by this method.
	Headers(method string) []transcript.Field
	// Begin sends a request as it is, no header of the session added, and
	// returns at once. A relative target is looked up from where messages are
	// posted to; an empty one is that place.
	Begin(r Request, target string) (Exchange, error)
}

// Request is one HTTP request, without its target.
type Request struct {
	Method string
	// Fields are the headers in the order in which they are sent. Host,
	// Accept-Encoding and Content-Length are added where they are missing.
	Fields []transcript.Field
	// Body is sent as it is; nil for none.
	Body []byte
	// Chunks sends the body in chunks that end at these places, a write each,
	// with Transfer-Encoding: chunked.
	Chunks []int
	// Pieces sends the body in pieces that end at these places, a write each,
	// with a Content-Length, and Pause ahead of each piece.
	Pieces []int
	Pause  time.Duration
	// Keep sends the request over the connection that the last one with Keep
	// left open, where there is one, and leaves it open for the next.
	Keep bool
}

// Exchange is an HTTP exchange under way.
type Exchange interface {
	// Number is that in the transcript, 0 before Written is closed.
	Number() int
	// Written is closed when the request was sent, or could not be.
	Written() <-chan struct{}
	// Responded is closed when the head of the response is there, or none
	// will come.
	Responded() <-chan struct{}
	// Over is closed when nothing more comes.
	Over() <-chan struct{}
	// Drop closes the connection.
	Drop()
}
