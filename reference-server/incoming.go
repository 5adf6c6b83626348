package refserver

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Deliver handles one frame from the client. Requests run in their own goroutines, except those
// of the methods in handledInOrder, so Deliver blocks only while it handles such a request, or
// while too many requests are in flight. It must be called by one goroutine at a time.
func (s *Session) Deliver(raw []byte) { s.deliver(raw, nil) }

// deliver is like Deliver, but does not parse raw again if f, the parsed frame, is not nil.
func (s *Session) deliver(raw []byte, f *wire.Frame) {
	if seam := s.options.Seams.Incoming; seam != nil {
		v := seam(s, raw)
		if v.exit {
			s.Exit(v.code)
			<-s.ctx.Done() // read no later frame
			return
		}
		if raw = v.raw; raw == nil {
			return
		}
		f = nil // the seam may have changed the frame
	}
	if len(raw) > s.options.MaxFrame {
		s.DeliverTooLong()
		return
	}
	if f == nil {
		f = wire.Parse(raw)
	}
	s.handleFrame(f)
}

// DeliverTooLong sends an error for a frame that exceeds Options.MaxFrame.
func (s *Session) DeliverTooLong() {
	s.sendError(invalidRequest("a message may have at most %d bytes", s.options.MaxFrame))
}

func (s *Session) handleFrame(f *wire.Frame) {
	for _, p := range f.Problems {
		switch p.Kind {
		case wire.Empty: // a blank line carries no message
			return
		case wire.ByteOrderMark, wire.DuplicateKey:
			// A byte order mark is harmless; checkMessage refuses duplicate keys.
		default:
			s.sendError(&Error{Code: spec.CodeParse, Message: fmt.Sprintf("Parse error: %s at byte %d", p.Kind, p.Offset)})
			return
		}
	}
	duplicates := f.Has(wire.DuplicateKey)
	switch {
	case !f.Batch:
		s.handleMessage(&f.Messages[0], duplicates, &responder{session: s})
	case !s.Revision().HasBatches():
		s.sendError(invalidRequest("batches exist only where revision %s was negotiated", spec.V20250326))
	case len(f.Messages) == 0:
		s.sendError(invalidRequest("the batch is empty"))
	default:
		r := &responder{session: s, batch: true}
		open := r.reserve() // the array must not be sent before all messages are handled
		for i := range f.Messages {
			s.handleMessage(&f.Messages[i], duplicates, r)
		}
		r.deliver(open, nil)
	}
}

// handleMessage handles one message by its kind. Member names are case-sensitive,
// as JSON-RPC requires.
func (s *Session) handleMessage(m *wire.Message, duplicates bool, a *responder) {
	switch m.Kind {
	case wire.Notification:
		// JSON-RPC forbids responses to notifications, even to invalid ones.
		if checkMessage(m, duplicates) == nil {
			s.handleNotification(m)
		}
	case wire.Response:
		if checkMessage(m, duplicates) == nil {
			s.handleResponse(m)
		}
	default:
		if err := checkMessage(m, duplicates); err != nil {
			a.deliver(a.reserve(), s.errorOut(s.revisionOf(m, a.batch), "", usableID(m), err))
			return
		}
		s.handleRequest(m, a)
	}
}

// checkMessage returns an error if m is not a valid JSON-RPC message. It does not check the id,
// the result and the error of a response. duplicates is true if an object in the frame has a
// member twice; in a batch that object may be in another message.
func checkMessage(m *wire.Message, duplicates bool) *Error {
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

// usableID returns the id of m if a response can carry it, otherwise an absent id.
func usableID(m *wire.Message) wire.ID {
	if m.ID.IsString() || m.ID.IsInteger() {
		return m.ID
	}
	return wire.ID{}
}

func (s *Session) handleNotification(m *wire.Message) {
	n := &Notification{Session: s, Method: m.Method, Params: m.Params(), Raw: m.Raw}
	if seam := s.options.Seams.HandleNotification; seam != nil {
		seam(n, s.applyNotification)
		return
	}
	s.applyNotification(n)
}

// applyNotification handles a notification. It ignores unknown ones.
func (s *Session) applyNotification(n *Notification) {
	switch n.Method {
	case spec.MethodInitialized:
		s.handleInitialized()
	case spec.MethodCancelled:
		s.handleCancelled(n.Params)
	case spec.MethodRootsChanged:
		s.refreshRoots()
	}
}

func (s *Session) handleCancelled(params jsontext.Value) {
	_, members := wire.Members(params)
	id := wire.RawID(string(members["requestId"]))
	s.mu.Lock()
	c := s.inFlight[id.Key()]
	s.mu.Unlock()
	if c != nil {
		c.cancelled.Store(true)
		c.cancel()
	}
}
