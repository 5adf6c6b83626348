// Package transport defines the interfaces that all transports implement. A link carries raw bytes
// and records everything in a transcript. It interprets messages only as far as the transport
// requires: over HTTP, it distinguishes requests from other messages, and recognizes the request
// that opens the session.
package transport

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Dialer opens links to one server.
type Dialer interface {
	// Dial opens a link and records everything on it in rec. The context bounds only the opening.
	// The error says why the server could not be started or reached, and what to do.
	Dial(ctx context.Context, rec *transcript.Transcript) (Link, error)
	// Transport returns the transport of the links.
	Transport() spec.Transport
}

// Link is one open connection to a server.
type Link interface {
	// Send writes each frame with the transport's framing, all frames in one write if the transport
	// allows it.
	Send(ctx context.Context, frames ...[]byte) error
	// SendBytes writes exactly these bytes, which include the framing, with one write for each
	// chunk. It records the frames in them.
	SendBytes(ctx context.Context, chunks ...[]byte) error
	// Ended is closed when nothing more can arrive from the server.
	Ended() <-chan struct{}
	// Shutdown ends the link in the way that the specification defines for the transport. patience
	// limits the time of each step. Shutdown returns when no process or connection of the link is
	// left.
	Shutdown(patience Patience)
	// Signal sends a signal to the server's process; name is "TERM" or "INT". It reports whether
	// that was possible.
	Signal(name string) bool
	// CloseInput closes the server's input.
	CloseInput() error
}

// Sharer is a dialer that starts one process, which all its links use.
type Sharer interface {
	Dialer
	// FreshDialer returns a dialer with a process of its own, which starts with the first link;
	// stop ends it.
	FreshDialer() (d Dialer, stop func())
	// IsLimitedToOne reports whether only one process can run at a time.
	IsLimitedToOne() bool
	// Endings describes, in order, the dialer's processes that exited although the client had not
	// ended them. It leaves out those of dialers that FreshDialer returned.
	Endings() []Ending
}

// Ending describes a process that exited by itself.
type Ending struct {
	Detail string // such as the exit status
	Output string // the end of its output; untrusted
	Cut    bool   // a POST had no complete response
	// Records are the transcripts of the links that the exit cut short.
	Records []*transcript.Transcript
}

// ExitNotifiable is an HTTP link to a server whose process can exit. The link can't detect that by
// itself, so it is notified.
type ExitNotifiable interface {
	Web
	// NotifyExit notifies the link that the process exited and nothing more can arrive.
	NotifyExit(detail string)
}

// Canceller is a link on which a client cancels a request by closing the stream of
// its response (2026-07-28, basic/transports/streamable-http#cancellation).
type Canceller interface {
	Link
	// CloseResponse closes the connection that carries the response to the request with this id,
	// and records the reason. It returns false if there is no such connection.
	CloseResponse(id wire.ID, reason string) bool
}

// MemoryMeter is a link to a server whose memory use can be measured.
type MemoryMeter interface {
	Link
	// ResidentMemory returns the private memory of all processes of the server, in bytes. ok
	// reports whether it is known.
	ResidentMemory() (bytes int64, ok bool)
}

// Patience bounds the steps of a shutdown.
type Patience struct {
	AfterClose time.Duration // how long to wait for the exit after the server's input was closed, or for the end of a DELETE
	AfterTerm  time.Duration // how long to wait for the exit after SIGTERM was sent
}

// Web is a link over HTTP, for callers that send their own HTTP requests in addition to messages.
type Web interface {
	Link
	// Headers returns the headers of a request of the session with this method and body. body may
	// be nil.
	Headers(method string, body []byte) []transcript.Field
	// Begin sends a request without adding headers of the session, and does not wait. A relative
	// target is resolved against the URL to which messages are posted; an empty target is that URL.
	Begin(r Request, target string) (Exchange, error)
	// Access returns how to reach the server outside of the link.
	Access() Access
}

// Access is how to reach a server for requests that do not belong to the conversation, such as
// one for a metadata document. They are not recorded.
type Access struct {
	URL *url.URL // the MCP endpoint; over HTTP+SSE that of the stream
	// Client uses the TLS configuration and the proxies of the link, but sends none of the link's
	// headers, keeps no cookies and follows no redirect.
	Client *http.Client
	// Fields are the headers that the user wants on every request, such as Authorization.
	Fields []transcript.Field
}

// Request is one HTTP request, without its target.
type Request struct {
	Method string
	// Fields are the headers in order. Host, Accept-Encoding and, for a body or a POST,
	// Content-Length are added if they are missing, and so are the headers that the user wants on
	// every request.
	Fields []transcript.Field
	// Body is sent unchanged; nil means no body.
	Body []byte
	// Chunks are the end offsets of the chunks of a body with Transfer-Encoding: chunked, one write
	// each.
	Chunks []int
	// Pieces are the end offsets of the parts of a body with Content-Length, one write each, with
	// Pause before each write.
	Pieces []int
	Pause  time.Duration
	// Keep uses the connection that the last request with Keep left open, if any, and leaves it
	// open for the next. Without it the request has a connection of its own.
	Keep bool
}

// Exchange is an HTTP exchange that has begun.
type Exchange interface {
	// Number is the number of the exchange in the transcript. It is 0 until the exchange is
	// recorded. That happens before Written is closed.
	Number() int
	// Written is closed when the request has been sent, when sending it failed, or when the
	// response began before that.
	Written() <-chan struct{}
	// Responded is closed when the head of the response has arrived, or when it is certain that no
	// response will arrive.
	Responded() <-chan struct{}
	// Over is closed when the exchange has ended.
	Over() <-chan struct{}
	// Drop closes the connection.
	Drop()
}
