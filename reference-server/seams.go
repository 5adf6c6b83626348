package refserver

import (
	"io"
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Seams are hooks through which a fault changes the server's behaviour. Every
// function is optional; with the zero value the server conforms. Functions are
// called concurrently, so a fault guards its own state.
type Seams struct {
	// Start is called before the server reads stdin (stdio only).
	Start func(p *Process)
	// End decides whether the process exits, and with which code, when the
	// client closes stdin or sends a signal (stdio only). By default it exits
	// with 0.
	End func(p *Process, why EndReason) (code int, exit bool)
	// Input wraps stdin, or the input of a TCP connection.
	Input func(r io.Reader) io.Reader
	// Incoming decides what happens to every frame, before the session parses it.
	Incoming func(s *Session, raw []byte) FrameAction
	// BeforeHandle is called for every well-formed request whose id is not in use, before
	// Handle and before the server reads the next message. The server may still refuse the
	// request because too many are in progress.
	BeforeHandle func(c *Call)
	// Handle wraps the handling of every well-formed request, including those
	// with an unknown method. It returns NoResponse to suppress the response.
	Handle func(c *Call, next func(*Call) (any, *Error)) (any, *Error)
	// HandleNotification wraps the handling of every notification.
	HandleNotification func(n *Notification, next func(*Notification))
	// Outgoing may change, drop, repeat or delay every message before it is sent, except
	// those of SendRaw.
	Outgoing func(o *Out)
	// HTTP wraps the handling of every HTTP request that reaches the MCP endpoint.
	HTTP func(w http.ResponseWriter, r *http.Request, next http.Handler)
	// Event returns the bytes of an event of Streamable HTTP.
	Event func(e *Event) []byte
	// NextID returns the id of the nth request to the client; n counts from 1.
	NextID func(n int64) wire.ID
	// RequestTimeout returns how long to wait for the client's response to a request; zero or less
	// means no limit.
	RequestTimeout func(method string) time.Duration
	// Protection changes how a protected server protects itself, see Options.Token and
	// Options.AuthServer.
	Protection ProtectionSeams
}

// A Process gives a fault access to a server on stdio.
type Process struct {
	Session *Session
	Out     io.Writer // stdout; no message interleaves with a Write
	Err     io.Writer // stderr
}

// An EndReason is the reason why a server on stdio should exit.
type EndReason string

// The reasons: the client closed stdin, or sent SIGTERM or SIGINT.
const (
	InputClosed EndReason = "EOF"
	Terminated  EndReason = "TERM"
	Interrupted EndReason = "INT"
)

// A FrameAction is what a fault does with an incoming frame.
type FrameAction struct {
	raw  []byte
	exit bool
	code int
}

// Pass delivers the frame, which the fault may have changed.
func Pass(raw []byte) FrameAction { return FrameAction{raw: raw} }

// Drop discards the frame.
func Drop() FrameAction { return FrameAction{} }

// ExitWith ends the process at once with the exit code.
func ExitWith(code int) FrameAction { return FrameAction{exit: true, code: code} }

// A Notification is a notification from the client.
type Notification struct {
	Session *Session
	Method  string
	Params  jsontext.Value // raw; nil when absent
	Raw     []byte
}

// serveHTTP passes an HTTP request to the seam if there is one, otherwise to next.
func (s *Seams) serveHTTP(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
	if s.HTTP != nil {
		s.HTTP(w, r, next)
		return
	}
	next(w, r)
}
