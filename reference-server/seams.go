package refserver

import (
	"io"
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Seams are the places where a fault reaches into the server. Every function
// is optional; the zero value is a server that behaves. Functions are called
// from several goroutines at once, so a fault guards its own state.
type Seams struct {
	// Start is called before anything is read (stdio only).
	Start func(p *Process)
	// End decides what follows when the client closes stdin or a signal
	// comes (stdio only): exit with code, or stay. Without it: exit with 0.
	End func(p *Process, why Ending) (code int, exit bool)
	// Input wraps stdin, or what comes over a connection.
	Input func(r io.Reader) io.Reader
	// Incoming sees every frame before it is parsed.
	Incoming func(s *Session, raw []byte) Verdict
	// Begins sees every request that Handle will see, before the next message is
	// looked at.
	Begins func(c *Call)
	// Handle wraps the handling of every request that is well formed, be its
	// method known or not. Returning Unanswered leaves it without an answer.
	Handle func(c *Call, next func(*Call) (any, *Error)) (any, *Error)
	// Notified wraps the handling of every notification.
	Notified func(n *Note, next func(*Note))
	// Outgoing sees every message before it leaves and may change, drop,
	// repeat or hold it.
	Outgoing func(o *Out)
	// HTTP wraps the handling of every HTTP request.
	HTTP func(w http.ResponseWriter, r *http.Request, next http.Handler)
	// Event writes an event of a stream of Streamable HTTP.
	Event func(e *Event) []byte
	// NextID makes the id of the nth request (from 1) of the server's own.
	NextID func(n int64) wire.ID
	// Patience says how long to wait for the client's answer to a request
	// of the server; zero or less means for ever.
	Patience func(method string) time.Duration
}

// Process is what a fault may touch of a server on stdio.
type Process struct {
	Session *Session
	Out     io.Writer // stdout; each Write is kept whole among the messages
	Err     io.Writer // stderr
}

// Ending says why a server on stdio is to end.
type Ending string

// The reasons.
const (
	InputClosed Ending = "EOF"
	Terminated  Ending = "TERM"
	Interrupted Ending = "INT"
)

// Verdict is what a fault decides about an incoming frame.
type Verdict struct {
	raw  []byte
	exit bool
	code int
}

// Pass lets the frame go on, as it is or altered.
func Pass(raw []byte) Verdict { return Verdict{raw: raw} }

// Swallow drops the frame.
func Swallow() Verdict { return Verdict{} }

// Die ends the process at once with the given exit code.
func Die(code int) Verdict { return Verdict{exit: true, code: code} }

// Note is a notification from the client.
type Note struct {
	Session *Session
	Method  string
	Params  jsontext.Value // raw; nil when absent
	Raw     []byte
}

// serve hands an HTTP request to the seam, if there is one.
func (s *Seams) serve(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
	if s.HTTP != nil {
		s.HTTP(w, r, next)
		return
	}
	next(w, r)
}
