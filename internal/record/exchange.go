package record

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A liveExchange records one request and its response while they are passed on. It records bytes
// before it passes them on: otherwise a response could be recorded before its request.
type liveExchange struct {
	p      *Proxy
	method string
	head   []byte // of the request
	id     string // of the session, "" without one

	mu       sync.Mutex
	body     []byte // the request's body so far, or the beginning of a long one
	size     int64  // of the body so far
	left     int64  // bytes left of the Content-Length; negative without one
	complete bool   // the body is complete

	begun, ended bool
	session      *Session // nil if the exchange is not recorded
	number       int      // the exchange's number in the transcript
	isStream     bool     // it is the stream of a session over HTTP+SSE
}

// add adds an event of the exchange to the transcript, unless the exchange is not recorded or the
// recording of its session has stopped.
func (x *liveExchange) add(e transcript.Event) {
	if x.session != nil && !x.session.stopped.Load() {
		e.Exchange = x.number
		x.session.Add(e)
	}
}

// addRequestBody collects bytes of the request's body, and records the request once the body is
// complete.
func (x *liveExchange) addRequestBody(data []byte, end bool) {
	x.mu.Lock()
	x.size += int64(len(data))
	x.left -= int64(len(data))
	x.body = append(x.body, data[:min(len(data), transcript.DefaultFrame-len(x.body))]...)
	x.complete = x.complete || end || x.left == 0
	complete := x.complete
	x.mu.Unlock()
	if complete {
		x.begin()
	}
}

// begin records the request with the part of its body that was passed on. It does nothing when
// called again. The URL, the session id and the messages of the request determine its session.
func (x *liveExchange) begin() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.begun {
		return
	}
	x.begun = true
	var frame *wire.Frame
	if x.size > 0 {
		if x.size > int64(len(x.body)) {
			x.body = slices.Clone(x.body[:headKept])
		}
		frame = wire.Parse(x.body)
	}
	if x.session == nil { // not yet identified by the URL for messages
		x.session = x.p.assignSession(x.method, x.id, frame)
	}
	if x.session == nil || x.session.stopped.Load() {
		x.session = nil
		return
	}
	x.number = x.session.Add(transcript.Event{Kind: transcript.Requested, Raw: x.head}).Exchange
	if frame == nil {
		return
	}
	if why := x.session.Admit(len(x.body)); why != "" {
		x.session.stopRecording(why)
		return
	}
	x.add(transcript.Event{Kind: transcript.Sent, Raw: x.body, Frame: frame, Size: x.size, Unterminated: !x.complete})
	x.body = nil
}

// respond records the head of the response, and wraps its body so that it is recorded too.
func (x *liveExchange) respond(r *http.Response) {
	x.begin()
	raw := responseHead(r)
	x.add(transcript.Event{Kind: transcript.Responded, Raw: raw})
	head := transcript.ParseHead(raw)
	if x.session == nil {
		if o := newOpening(x, r, head); o != nil {
			r.Body = &receivedBody{ReadCloser: r.Body, x: x, left: -1, dropCause: r.Request.Context().Err, opening: o}
		}
		return
	}
	x.p.noteAccepted(x, r)
	switch coding := strings.ToLower(r.Header.Get("Content-Encoding")); {
	case r.StatusCode == http.StatusSwitchingProtocols:
	case coding != "" && coding != "identity":
		x.session.stopRecording("the server compresses its responses (" + coding + "), although the request permits only identity")
	case r.Body != nil:
		b := &receivedBody{ReadCloser: r.Body, x: x, left: r.ContentLength, dropCause: r.Request.Context().Err, opening: newOpening(x, r, head)}
		if r.Request.Method != http.MethodHead && r.ContentLength != 0 {
			b.sink = exchange.NewSink(x.session.Transcript, x.number, head)
		}
		r.Body = b
	}
}

// end records the end of the exchange. Further calls have no effect.
func (x *liveExchange) end(how transcript.How, detail string) {
	x.begin()
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.ended {
		x.ended = true
		x.add(transcript.Event{Kind: transcript.Over, How: how, Detail: detail})
		if x.session != nil && x.method == http.MethodGet && x.id == "" {
			x.p.noteStreamEnd(x, how, detail)
		}
	}
}

// sentBody is the body of a request. It collects the bytes that are read from it.
type sentBody struct {
	io.ReadCloser
	x *liveExchange
}

// Read implements io.Reader.
func (b *sentBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.x.addRequestBody(p[:n], errors.Is(err, io.EOF))
	return n, err
}

// receivedBody is the body of a response. It records the bytes that are read from it.
type receivedBody struct {
	io.ReadCloser
	x         *liveExchange
	sink      exchange.Sink // nil after recording has stopped
	left      int64         // bytes left of the Content-Length; negative without one
	dropCause func() error  // why the client ended the exchange, or nil

	opening *opening // nil if the stream can't be one of HTTP+SSE, or its first event has passed
	ready   []byte   // bytes of the opening to pass on
	err     error    // the error to return after ready
}

// Read implements io.Reader.
func (b *receivedBody) Read(p []byte) (int, error) {
	for len(b.ready) == 0 && b.err == nil {
		n, err := b.read(p)
		if b.opening == nil {
			return n, err
		}
		b.ready, b.err = b.opening.feed(p[:n]), err
		if err != nil && !b.opening.over {
			b.ready = append(b.ready, b.opening.finish()...)
		}
		if b.opening.over {
			b.opening = nil
		}
	}
	if len(b.ready) == 0 {
		return 0, b.err
	}
	n := copy(p, b.ready)
	b.ready = b.ready[n:]
	return n, nil
}

// read reads bytes and records them. A body with a Content-Length ends with its last byte, because
// the client may send its next message before EOF is read.
func (b *receivedBody) read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	if b.sink != nil && n > 0 {
		b.record(p[:n])
	}
	switch {
	case errors.Is(err, io.EOF) || err == nil && b.left == 0:
		b.end(transcript.Complete, "")
	case err != nil && b.dropCause() != nil:
		b.end(transcript.Dropped, "")
	case err != nil:
		b.end(transcript.Broken, err.Error())
	}
	return n, err
}

// Close implements io.Closer.
func (b *receivedBody) Close() error {
	b.end(transcript.Dropped, "")
	return b.ReadCloser.Close()
}

func (b *receivedBody) record(data []byte) {
	if b.x.session.stopped.Load() {
		b.sink = nil
		return
	}
	if _, err := b.sink.Write(data); err != nil {
		b.sink = nil
		b.x.session.stopRecording(err.Error())
	}
}

func (b *receivedBody) end(how transcript.How, detail string) {
	if b.sink != nil && !b.x.session.stopped.Load() {
		if err := b.sink.End(how != transcript.Complete); err != nil {
			b.x.session.stopRecording(err.Error())
		}
	}
	b.sink = nil
	b.x.end(how, detail)
}
