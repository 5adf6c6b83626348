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

// visit is an HTTP request on its way to the server, or back.
type visit struct {
	w     http.ResponseWriter
	r     *http.Request
	next  http.Handler
	frame *wire.Frame // of the body; nil where there is none
}

// visits handles the requests for which when holds by do, the others as ever.
func visits(when func(v *visit) bool, do func(v *visit)) refserver.Seams {
	return refserver.Seams{HTTP: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		v := &visit{w: w, r: r, next: next}
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
func (v *visit) serve() { v.next.ServeHTTP(v.w, v.r) }

// answers refuses or answers with a fixed response; without a type there is
// no body.
func answers(status int, media, body string) func(v *visit) {
	return func(v *visit) {
		if media == "" {
			v.w.WriteHeader(status)
			return
		}
		v.w.Header().Set("Content-Type", media)
		v.w.WriteHeader(status)
		_, _ = io.WriteString(v.w, body)
	}
}

func says(status int) func(v *visit) { return answers(status, "text/plain", "No.\n") }

func anyVisit(*visit) bool { return true }

func posts(v *visit) bool { return v.r.Method == http.MethodPost }

// listens reports whether a GET opens a stream anew.
func listens(v *visit) bool {
	return v.r.Method == http.MethodGet && v.r.Header.Get(eventHeader) == ""
}

func resumes(v *visit) bool {
	return v.r.Method == http.MethodGet && v.r.Header.Get(eventHeader) != ""
}

func deletes(v *visit) bool { return v.r.Method == http.MethodDelete }

// has reports whether the body has a message of the kind, and, if methods are
// given, one of them.
func (v *visit) has(kind wire.Kind, methods ...string) bool {
	return v.frame != nil && slices.ContainsFunc(v.frame.Messages, func(m wire.Message) bool {
		return m.Kind == kind && (len(methods) == 0 || slices.Contains(methods, m.Method))
	})
}

// asking picks the requests of the methods, or all but initialize.
func asking(methods ...string) func(v *visit) bool {
	return func(v *visit) bool {
		return v.has(wire.Request, methods...) && (len(methods) > 0 || !v.has(wire.Request, spec.MethodInitialize))
	}
}

// callsSlow picks the calls of the slow tool.
func callsSlow(v *visit) bool {
	return v.has(wire.Request, spec.MethodToolsCall) && string(wire.At(v.frame.Messages[0].Params(), "/name")) == `"slow"`
}

func initializes(v *visit) bool { return v.has(wire.Request, spec.MethodInitialize) }

// telling reports whether the body holds notifications alone.
func telling(v *visit) bool {
	return v.has(wire.Notification) && !v.has(wire.Request) && !v.has(wire.Response) && !v.has(wire.Invalid)
}

// replying reports whether the body holds a response alone.
func replying(v *visit) bool {
	return v.has(wire.Response) && !v.has(wire.Request) && !v.has(wire.Notification) && !v.has(wire.Invalid)
}

// abroad reports whether a page of another host seems to send the request.
func abroad(v *visit) bool {
	origin := v.r.Header.Get("Origin")
	return origin != "" && origin != "http://"+v.r.Host
}

// reply is a response on its way out, which a fault alters.
type reply struct {
	http.ResponseWriter
	// head may change the status and the headers, knowing what follows at
	// once, if anything does; edit changes each write, an event of a stream
	// or a whole body.
	head func(status int, h http.Header, first []byte) int
	edit func(b []byte) []byte

	mu     sync.Mutex
	status int
	wrote  bool
	over   bool
}

// alters makes the seams that alter the responses to some requests. What make
// returns is used for one response.
func alters(when func(v *visit) bool, make func(v *visit, r *reply)) refserver.Seams {
	return visits(when, func(v *visit) {
		r := &reply{ResponseWriter: v.w}
		make(v, r)
		v.next.ServeHTTP(r, v.r)
		r.finish()
	})
}

// WriteHeader implements http.ResponseWriter. The head goes out with the first
// write, or with the first flush.
func (r *reply) WriteHeader(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.status == 0 {
		r.status = status
	}
}

func (r *reply) begin(first []byte) {
	if r.wrote {
		return
	}
	r.wrote = true
	status := max(r.status, 0)
	if status == 0 {
		status = http.StatusOK
	}
	if r.head != nil {
		status = r.head(status, r.Header(), first)
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (r *reply) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begin(b)
	out := b
	if r.edit != nil {
		out = r.edit(b)
	}
	if len(out) == 0 {
		return len(b), nil
	}
	_, err := r.ResponseWriter.Write(out)
	return len(b), err
}

// FlushError is what http.ResponseController calls.
func (r *reply) FlushError() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begin(nil)
	return http.NewResponseController(r.ResponseWriter).Flush()
}

// put writes what the server did not say, unaltered.
func (r *reply) put(b []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	r.begin(nil)
	_, _ = r.ResponseWriter.Write(b)
	_ = http.NewResponseController(r.ResponseWriter).Flush()
}

func (r *reply) finish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begin(nil)
	r.over = true
}

// streams reports whether the response is an event stream.
func (r *reply) streams() bool { return strings.HasPrefix(r.Header().Get("Content-Type"), streamType) }

// restatus changes the statuses of responses.
func restatus(when func(v *visit) bool, change func(status int) int) refserver.Seams {
	return alters(when, func(_ *visit, r *reply) {
		r.head = func(status int, _ http.Header, _ []byte) int { return change(status) }
	})
}

// instead changes one status to another.
func instead(old, changed int) func(int) int {
	return func(status int) int {
		if status == old {
			return changed
		}
		return status
	}
}

// retyped sets the content type of responses of one type.
func retyped(when func(v *visit) bool, media, other string) refserver.Seams {
	return alters(when, func(_ *visit, r *reply) {
		r.head = func(status int, h http.Header, _ []byte) int {
			if h.Get("Content-Type") == media {
				h.Set("Content-Type", other)
			}
			return status
		}
	})
}

// bodies edits the bodies of JSON.
func bodies(when func(v *visit) bool, edit func(b []byte) []byte) refserver.Seams {
	return alters(when, func(_ *visit, r *reply) {
		r.edit = func(b []byte) []byte {
			if r.streams() {
				return b
			}
			return edit(b)
		}
	})
}

// events edits each event of the streams.
func events(when func(v *visit) bool, edit func(b []byte) []byte) refserver.Seams {
	return alters(when, func(_ *visit, r *reply) {
		r.edit = func(b []byte) []byte {
			if !r.streams() {
				return b
			}
			return edit(b)
		}
	})
}

// data returns the message in an event, nil where it has none.
func data(event []byte) []byte {
	_, rest, found := bytes.Cut(event, []byte("data: "))
	if !found {
		return nil
	}
	message, _, _ := bytes.Cut(rest, []byte("\n"))
	return message
}

// carries reports whether an event has a message of the kind.
func carries(event []byte, kind wire.Kind, methods ...string) bool {
	message := data(event)
	if len(message) == 0 {
		return false
	}
	return (&visit{frame: wire.Parse(message)}).has(kind, methods...)
}

func bringsResponse(event []byte) bool { return carries(event, wire.Response) }

func bringsProgress(event []byte) bool { return carries(event, wire.Notification, spec.MethodProgress) }

// without drops the events for which when holds.
func without(when func(event []byte) bool) func([]byte) []byte {
	return func(event []byte) []byte {
		if when(event) {
			return nil
		}
		return event
	}
}

// withoutID takes the id out of an event, and leaves nothing of a priming one.
func withoutID(event []byte) []byte {
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

// inOrder applies edits one behind the other.
func inOrder(edits ...func([]byte) []byte) func([]byte) []byte {
	return func(b []byte) []byte {
		for _, edit := range edits {
			if len(b) > 0 {
				b = edit(b)
			}
		}
		return b
	}
}
