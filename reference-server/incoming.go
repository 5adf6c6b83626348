package refserver

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Deliver takes one frame from the client. Requests are handled in
// goroutines of their own, so it returns soon; it blocks while too many are
// in flight. It must be called by one goroutine at a time.
func (s *Session) Deliver(raw []byte) { s.deliver(raw, nil) }

// deliver is Deliver for who may have read the frame; f is nil where nobody has.
func (s *Session) deliver(raw []byte, f *wire.Frame) {
	if seam := s.o.Seams.Incoming; seam != nil {
		v := seam(s, raw)
		if v.exit {
			s.Exit(v.code)
			<-s.ctx.Done() // at once: what follows the frame is not read any more
			return
		}
		if raw = v.raw; raw == nil {
			return
		}
		f = nil // it may be another one now
	}
	if len(raw) > s.o.MaxFrame {
		s.DeliverTooLong()
		return
	}
	if f == nil {
		f = wire.Parse(raw)
	}
	s.frame(f)
}

// DeliverTooLong takes note of a frame that was too long to be read.
func (s *Session) DeliverTooLong() {
	s.refuse(invalidRequest("a message may have at most %d bytes", s.o.MaxFrame))
}

func (s *Session) frame(f *wire.Frame) {
	for _, p := range f.Problems {
		switch p.Kind {
		case wire.Empty: // a blank line is nobody's message
			return
		case wire.ByteOrderMark, wire.DuplicateKey:
			// the first is harmless, the second is judged message by message
		default:
			s.refuse(&Error{Code: spec.CodeParse, Message: fmt.Sprintf("Parse error: %s at byte %d", p.Kind, p.Offset)})
			return
		}
	}
	duplicates := f.Has(wire.DuplicateKey)
	switch {
	case !f.Batch:
		s.message(&f.Messages[0], duplicates, &answers{s: s})
	case !s.Revision().Batches():
		s.refuse(invalidRequest("batches exist only where revision %s was negotiated", spec.V20250326))
	case len(f.Messages) == 0:
		s.refuse(invalidRequest("the batch is empty"))
	default:
		a := &answers{s: s, batch: true}
		whole := a.begin()
		for i := range f.Messages {
			s.message(&f.Messages[i], duplicates, a)
		}
		a.end(whole, nil)
	}
}

// message sorts one message. Member names are compared exactly, as JSON-RPC
// has it: "Method" is not "method".
func (s *Session) message(m *wire.Message, duplicates bool, a *answers) {
	switch m.Kind {
	case wire.Notification:
		// Nothing is ever said to a notification, not even that it is bad.
		if check(m, duplicates) == nil {
			s.notified(m)
		}
	case wire.Response:
		if check(m, duplicates) == nil {
			s.answered(m)
		}
	default:
		if err := check(m, duplicates); err != nil {
			a.end(a.begin(), s.failure("", usableID(m), err))
			return
		}
		s.request(m, a)
	}
}

// check says what keeps m from being a JSON-RPC message, if anything does.
func check(m *wire.Message, duplicates bool) *Error {
	if m.Members == nil {
		return invalidRequest("a message is an object")
	}
	if duplicates && wire.Parse(m.Raw).Has(wire.DuplicateKey) {
		return invalidRequest("an object has a member twice")
	}
	if version, ok := wire.Text(m.Member("jsonrpc")); !ok || version != "2.0" {
		return invalidRequest(`the member jsonrpc must be "2.0"`)
	}
	if m.Kind == wire.Response {
		return nil
	}
	if m.Has("id") && !(m.ID.IsString() || m.ID.IsInteger()) {
		return invalidRequest("the id must be a string or an integer")
	}
	if m.Member("method").Kind() != '"' {
		return invalidRequest("the member method must be a string")
	}
	if m.Has("result") || m.Has("error") {
		return invalidRequest("a request has neither result nor error")
	}
	if m.Has("params") && m.Params().Kind() != '{' && m.Params().Kind() != '[' {
		return invalidRequest("the member params must be an object")
	}
	return nil
}

// usableID returns the id of m where an answer can carry it, else none.
func usableID(m *wire.Message) wire.ID {
	if m.ID.IsString() || m.ID.IsInteger() {
		return m.ID
	}
	return wire.ID{}
}

func (s *Session) notified(m *wire.Message) {
	n := &Note{Session: s, Method: m.Method, Params: m.Params(), Raw: m.Raw}
	if seam := s.o.Seams.Notified; seam != nil {
		seam(n, s.heed)
		return
	}
	s.heed(n)
}

// heed acts on a notification; unknown and misplaced ones are ignored.
func (s *Session) heed(n *Note) {
	switch n.Method {
	case spec.MethodInitialized:
		s.initialized()
	case spec.MethodCancelled:
		s.cancelled(n.Params)
	case spec.MethodRootsChanged:
		s.rootsChanged()
	}
}

func (s *Session) cancelled(params jsontext.Value) {
	_, members := wire.Members(params)
	id := wire.RawID(string(members["requestId"]))
	s.mu.Lock()
	c := s.running[id.Key()]
	s.mu.Unlock()
	if c != nil {
		c.cancel()
	}
}
