package client

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// refusingServer is a server over HTTP that refuses all requests except pings. It answers pings after
// pingTime, or never if pingTime is 0.
type refusingServer struct {
	scripted
	listens  bool // the client has a stream open
	pingTime time.Duration
	fresh    bool          // the handshake is not done
	breaks   bool          // the connection breaks after a refusal
	late     time.Duration // when it answers a refused request after all, on the open stream; 0 for never
}

func (r *refusingServer) Transport() spec.Transport { return spec.StreamableHTTP }

func (r *refusingServer) Dial(ctx context.Context, rec *transcript.Transcript) (transport.Link, error) {
	_, err := r.scripted.Dial(ctx, rec)
	if r.listens {
		r.add(r.begin("GET"), transcript.Event{Kind: transcript.Responded, Raw: []byte("HTTP/1.1 200 OK\nContent-Type: text/event-stream")})
	}
	return r, err
}

func (r *refusingServer) begin(method string) int {
	return r.rec.Add(transcript.Event{Kind: transcript.Requested, Raw: []byte(method + " /m HTTP/1.1\nHost: h")}).Exchange
}

func (r *refusingServer) add(n int, e transcript.Event) {
	e.Exchange = n
	r.rec.Add(e)
}

func (r *refusingServer) Send(_ context.Context, frames ...[]byte) error {
	for _, f := range frames {
		n := r.begin("POST")
		r.add(n, transcript.Event{Kind: transcript.Sent, Raw: f})
		m := wire.Parse(f).Messages[0]
		if m.Method != spec.MethodPing {
			r.add(n, transcript.Event{Kind: transcript.Responded, Raw: []byte("HTTP/1.1 400 Bad Request")})
			how := transcript.Complete
			if r.breaks {
				how = transcript.Broken
			}
			r.add(n, transcript.Event{Kind: transcript.Over, How: how})
			if r.late > 0 {
				r.runAfter(r.late, func() { r.write(normalResponse(&m)) })
			}
			continue
		}
		if r.pingTime > 0 {
			r.runAfter(r.pingTime, func() {
				r.add(n, transcript.Event{Kind: transcript.Responded, Raw: []byte("HTTP/1.1 200 OK")})
				r.add(n, transcript.Event{Kind: transcript.Received, Raw: normalResponse(&m)})
				r.add(n, transcript.Event{Kind: transcript.Over, How: transcript.Complete})
			})
		}
	}
	return nil
}

// TestRefusedRequests checks how long the client waits after the POST of a request was refused: not
// at all if no other stream is open, else until a fence has its response, and never longer than the
// grace.
func TestRefusedRequests(t *testing.T) {
	const grace = 100 * time.Millisecond
	for _, c := range []struct {
		name   string
		server *refusingServer
		took   time.Duration
		err    error
	}{
		{"no other stream", &refusingServer{pingTime: time.Millisecond}, 0, ErrUnanswered},
		{"a fence", &refusingServer{listens: true, pingTime: 7 * time.Millisecond}, 7 * time.Millisecond, ErrUnanswered},
		{"a fence that is answered late", &refusingServer{listens: true, pingTime: time.Second}, grace, ErrUnanswered},
		{"no fence", &refusingServer{listens: true}, grace, ErrUnanswered},
		{"before the handshake", &refusingServer{listens: true, pingTime: 7 * time.Millisecond, fresh: true}, grace, ErrUnanswered},
		{"a broken connection", &refusingServer{pingTime: time.Millisecond, breaks: true}, grace, ErrUnanswered},
		{"answered elsewhere", &refusingServer{listens: true, pingTime: 7 * time.Millisecond, late: 5 * time.Millisecond}, 5 * time.Millisecond, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conv, err := Open(t.Context(), c.server, Options{Revision: spec.V20251125, Timeout: time.Hour})
				if err != nil {
					t.Fatal(err)
				}
				defer conv.Close()
				if !c.server.fresh {
					conv.server.Result = []byte("{}")
				}
				began := time.Now()
				r := conv.Do(t.Context(), spec.MethodToolsList, nil)
				if took := time.Since(began); took != c.took || !errors.Is(r.Err, c.err) || r.Answered() != (c.err == nil) {
					t.Errorf("it took %v, and ended with %v", took, r.Err)
				}
				if of := givenUpRequests(conv); len(of) != 0 == r.Answered() {
					t.Errorf("given up on %v", of)
				}
			})
		})
	}
}

// floodingServer is a server over HTTP that begins a response which the client does not read to its
// end, in a stream that could be resumed.
type floodingServer struct {
	refusingServer
	size int64 // of the part that was not read
}

func (f *floodingServer) Dial(ctx context.Context, rec *transcript.Transcript) (transport.Link, error) {
	_, err := f.refusingServer.Dial(ctx, rec)
	return f, err
}

func (f *floodingServer) Send(_ context.Context, frames ...[]byte) error {
	for _, frame := range frames {
		n := f.begin("POST")
		f.add(n, transcript.Event{Kind: transcript.Sent, Raw: frame})
		f.add(n, transcript.Event{Kind: transcript.Responded, Raw: []byte("HTTP/1.1 200 OK\nContent-Type: text/event-stream")})
		f.add(n, transcript.Event{Kind: transcript.Received, Stream: []byte("id: 1\ndata:\n\n")})
		f.add(n, transcript.Event{Kind: transcript.Flooded, Raw: []byte(`data: {"jsonrpc"`), Size: f.size})
		f.add(n, transcript.Event{Kind: transcript.Over, How: transcript.Dropped})
	}
	return nil
}

// TestResponseBeyondTheLimit checks that the client stops waiting for a response that it does not
// read to its end, because the response or everything that the server sent is too long, and does not
// count it as missing.
func TestResponseBeyondTheLimit(t *testing.T) {
	for name, size := range map[string]int64{"a long response": 17 << 20, "a short one after a flood": 16} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conv, err := Open(t.Context(), &floodingServer{size: size}, Options{Revision: spec.V20251125, Timeout: time.Hour})
				if err != nil {
					t.Fatal(err)
				}
				defer conv.Close()
				began := time.Now()
				r := conv.Do(t.Context(), spec.MethodToolsList, nil)
				if took := time.Since(began); took != 0 || !errors.Is(r.Err, ErrTooLong) || r.Answered() {
					t.Errorf("it took %v, and ended with %v", took, r.Err)
				}
				if of := givenUpRequests(conv); len(of) != 0 {
					t.Errorf("given up on %v", of)
				}
			})
		})
	}
}
