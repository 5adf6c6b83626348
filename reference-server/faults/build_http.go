package faults

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
	eventHeader   = "Last-Event-Id"
	jsonType      = "application/json"
	streamType    = "text/event-stream"
)

// An exchange is an HTTP request and the writer of its response.
type exchange struct {
	w     http.ResponseWriter
	r     *http.Request
	next  http.Handler
	frame *wire.Frame // of a POST's body; otherwise nil
}

// onExchange passes the requests that satisfy the condition to the function do, instead of to the
// server.
//
//go:noinline
func onExchange(when func(v *exchange) bool, do func(v *exchange)) *refserver.Seams {
	return &refserver.Seams{HTTP: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		v := &exchange{w: w, r: r, next: next}
		if r.Method == http.MethodPost {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			v.frame = wire.Parse(body)
		}
		if when(v) {
			do(v)
			return
		}
		next.ServeHTTP(w, r)
	}}
}

// serve lets the server handle the request.
func (v *exchange) serve() { v.next.ServeHTTP(v.w, v.r) }

// respond returns a handler that sends a fixed response, without body if media is "".
func respond(status int, media, body string) func(v *exchange) {
	return func(v *exchange) {
		if media == "" {
			v.w.WriteHeader(status)
			return
		}
		v.w.Header().Set("Content-Type", media)
		v.w.WriteHeader(status)
		_, _ = io.WriteString(v.w, body)
	}
}

func respondText(status int) func(v *exchange) { return respond(status, "text/plain", "No.\n") }

func anyExchange(*exchange) bool { return true }

func isPost(v *exchange) bool { return v.r.Method == http.MethodPost }

// opensListeningStream reports whether the request opens a listening stream.
func opensListeningStream(v *exchange) bool {
	return v.r.Method == http.MethodGet && v.r.Header.Get(eventHeader) == ""
}

func isResume(v *exchange) bool {
	return v.r.Method == http.MethodGet && v.r.Header.Get(eventHeader) != ""
}

func isDelete(v *exchange) bool { return v.r.Method == http.MethodDelete }

// has reports whether the body has a message of the kind. If methods are given, the message must
// have one of them.
func (v *exchange) has(kind wire.Kind, methods ...string) bool {
	return v.frame != nil && slices.ContainsFunc(v.frame.Messages, func(m wire.Message) bool {
		return m.Kind == kind && (len(methods) == 0 || slices.Contains(methods, m.Method))
	})
}

// hasRequestOf matches bodies with a request of one of the methods. If no method is given, it
// matches bodies with any request, but without initialize.
func hasRequestOf(methods ...string) func(v *exchange) bool {
	return func(v *exchange) bool {
		return v.has(wire.Request, methods...) && (len(methods) > 0 || !v.has(wire.Request, spec.MethodInitialize))
	}
}

// callsSlowTool reports whether the first message of the body calls the tool slow.
func callsSlowTool(v *exchange) bool {
	return v.has(wire.Request, spec.MethodToolsCall) && string(wire.At(v.frame.Messages[0].Params(), "/name")) == `"slow"`
}

func isInitialize(v *exchange) bool { return v.has(wire.Request, spec.MethodInitialize) }

// hasOnlyNotifications reports whether the body contains only notifications.
func hasOnlyNotifications(v *exchange) bool {
	return v.has(wire.Notification) && !v.has(wire.Request) && !v.has(wire.Response) && !v.has(wire.Invalid)
}

// hasOnlyResponses reports whether the body contains only responses.
func hasOnlyResponses(v *exchange) bool {
	return v.has(wire.Response) && !v.has(wire.Request) && !v.has(wire.Notification) && !v.has(wire.Invalid)
}

// isCrossOrigin reports whether the request has an Origin other than that of the host to which it
// is sent.
func isCrossOrigin(v *exchange) bool {
	origin := v.r.Header.Get("Origin")
	return origin != "" && origin != "http://"+v.r.Host
}

// A responseEditor is a ResponseWriter that lets a fault change the response.
type responseEditor struct {
	http.ResponseWriter
	// editHead edits the headers and returns the status. first is the first write of
	// the body, or nil. editBody edits each write, which is an event of a stream or a
	// whole body.
	editHead func(status int, h http.Header, first []byte) int
	editBody func(b []byte) []byte

	mu       sync.Mutex
	status   int
	headSent bool
	finished bool
}

// editResponses lets a fault change the responses to the matching requests; configure sets
// up the editor of one response.
//
//go:noinline
func editResponses(when func(v *exchange) bool, configure func(v *exchange, r *responseEditor)) *refserver.Seams {
	return onExchange(when, func(v *exchange) {
		r := &responseEditor{ResponseWriter: v.w}
		configure(v, r)
		v.next.ServeHTTP(r, v.r)
		r.finish()
	})
}

// WriteHeader implements http.ResponseWriter. The head is sent with the first write or
// the first flush.
func (r *responseEditor) WriteHeader(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.status == 0 {
		r.status = status
	}
}

func (r *responseEditor) sendHead(first []byte) {
	if r.headSent {
		return
	}
	r.headSent = true
	status := max(r.status, 0)
	if status == 0 {
		status = http.StatusOK
	}
	if r.editHead != nil {
		status = r.editHead(status, r.Header(), first)
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (r *responseEditor) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sendHead(b)
	out := b
	if r.editBody != nil {
		out = r.editBody(b)
	}
	if len(out) == 0 {
		return len(b), nil
	}
	_, err := r.ResponseWriter.Write(out)
	return len(b), err
}

// FlushError implements the interface that http.ResponseController uses.
func (r *responseEditor) FlushError() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sendHead(nil)
	return http.NewResponseController(r.ResponseWriter).Flush()
}

// writeRaw writes bytes that the fault has made, without passing them to editBody.
func (r *responseEditor) writeRaw(b []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.finished {
		return
	}
	r.sendHead(nil)
	_, _ = r.ResponseWriter.Write(b)
	_ = http.NewResponseController(r.ResponseWriter).Flush()
}

func (r *responseEditor) finish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sendHead(nil)
	r.finished = true
}

// isStream reports whether the response is an event stream.
func (r *responseEditor) isStream() bool {
	return strings.HasPrefix(r.Header().Get("Content-Type"), streamType)
}

// editStatus changes the statuses of the responses to the matching requests.
func editStatus(when func(v *exchange) bool, change func(status int) int) *refserver.Seams {
	return editResponses(when, func(_ *exchange, r *responseEditor) {
		r.editHead = func(status int, _ http.Header, _ []byte) int { return change(status) }
	})
}

// replaceStatus returns a function for editStatus that changes one status to another.
func replaceStatus(old, changed int) func(int) int {
	return func(status int) int {
		if status == old {
			return changed
		}
		return status
	}
}

// setContentType replaces the content type media with other in the responses to the matching
// requests.
func setContentType(when func(v *exchange) bool, media, other string) *refserver.Seams {
	return editResponses(when, func(_ *exchange, r *responseEditor) {
		r.editHead = func(status int, h http.Header, _ []byte) int {
			if h.Get("Content-Type") == media {
				h.Set("Content-Type", other)
			}
			return status
		}
	})
}

// editBodies edits the bodies of the responses to the matching requests, except streams.
func editBodies(when func(v *exchange) bool, edit func(b []byte) []byte) *refserver.Seams {
	return editResponses(when, func(_ *exchange, r *responseEditor) {
		r.editBody = func(b []byte) []byte {
			if r.isStream() {
				return b
			}
			return edit(b)
		}
	})
}

// editEvents edits each event of the streams that respond to the matching requests.
//
//go:noinline
func editEvents(when func(v *exchange) bool, edit func(b []byte) []byte) *refserver.Seams {
	return editResponses(when, func(_ *exchange, r *responseEditor) {
		r.editBody = func(b []byte) []byte {
			if !r.isStream() {
				return b
			}
			return edit(b)
		}
	})
}

// eventData returns the message in an event, or nil.
func eventData(event []byte) []byte {
	_, rest, found := bytes.Cut(event, []byte("data: "))
	if !found {
		return nil
	}
	message, _, _ := bytes.Cut(rest, []byte("\n"))
	return message
}

// eventCarries reports whether an event contains a message of the kind. If methods are given, the
// message must have one of them.
func eventCarries(event []byte, kind wire.Kind, methods ...string) bool {
	message := eventData(event)
	if len(message) == 0 {
		return false
	}
	return (&exchange{frame: wire.Parse(message)}).has(kind, methods...)
}

func eventHasResponse(event []byte) bool { return eventCarries(event, wire.Response) }

func eventHasProgress(event []byte) bool {
	return eventCarries(event, wire.Notification, spec.MethodProgress)
}

// dropEvents returns a function for editEvents that drops the events that match.
func dropEvents(when func(event []byte) bool) func([]byte) []byte {
	return func(event []byte) []byte {
		if when(event) {
			return nil
		}
		return event
	}
}

// removeEventID removes the id from an event. It drops priming events.
func removeEventID(event []byte) []byte {
	var out [][]byte
	for line := range bytes.Lines(event) {
		if !bytes.HasPrefix(line, []byte("id:")) {
			out = append(out, line)
		}
	}
	if b := bytes.Join(out, nil); len(bytes.TrimSpace(b)) > 0 && !bytes.Equal(bytes.TrimSpace(b), []byte("data:")) {
		return b
	}
	return nil
}

// chainEdits returns a function that applies several edits in order.
func chainEdits(edits ...func([]byte) []byte) func([]byte) []byte {
	return func(b []byte) []byte {
		for _, edit := range edits {
			if len(b) > 0 {
				b = edit(b)
			}
		}
		return b
	}
}
