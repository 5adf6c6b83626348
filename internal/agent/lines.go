package agent

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLine limits a message of the client, in bytes.
const maxLine = 4 << 20

// lineTransport is the transport of a session over stdio. It responds with an error to a line that
// is not a message, as JSON-RPC says; the transport of the SDK would end the session.
type lineTransport struct {
	in  io.Reader
	out io.Writer
	end func() // is called when the input, or the connection, has ended
}

// Connect implements mcp.Transport.
func (t *lineTransport) Connect(context.Context) (mcp.Connection, error) {
	c := &lineConn{
		out: t.out, lines: make(chan []byte), failure: io.EOF, closed: make(chan struct{}),
		open: map[jsonrpc.ID]bool{}, cancelled: map[jsonrpc.ID]bool{}, settled: make(chan struct{}, 1),
	}
	go c.readLines(t.in, t.end)
	return c, nil
}

// lineConn implements mcp.Connection.
type lineConn struct {
	lines   chan []byte
	failure error // why lines was closed
	once    sync.Once
	closed  chan struct{}
	settled chan struct{} // receives a value when open becomes empty

	mu        sync.Mutex // guards the fields below
	out       io.Writer
	open      map[jsonrpc.ID]bool // the requests without a response so far; true if they can be cancelled
	cancelled map[jsonrpc.ID]bool // the requests that were cancelled; the SDK still responds to them
}

// readLines reads lines until the input ends, or until a line arrives after the connection has
// ended. It can't return earlier, because nothing can interrupt a read from stdin.
func (c *lineConn) readLines(in io.Reader, end func()) {
	defer end()
	defer close(c.lines)
	s := bufio.NewScanner(in)
	s.Buffer(nil, maxLine)
	for s.Scan() {
		select {
		case c.lines <- bytes.Clone(s.Bytes()):
		case <-c.closed:
			return
		}
	}
	if errors.Is(s.Err(), bufio.ErrTooLong) {
		c.failure = fmt.Errorf("a line has more than %d bytes", maxLine)
	}
}

// Read implements mcp.Connection.
func (c *lineConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.closed:
			return nil, io.EOF
		case line, ok := <-c.lines:
			if !ok {
				c.awaitResponses(ctx)
				return nil, c.failure
			}
			if line = bytes.TrimSpace(line); len(line) == 0 {
				continue
			}
			m, refusal := parse(line)
			if refusal == nil {
				c.noteRequest(m)
				return m, nil
			}
			if err := c.write(refusal); err != nil {
				return nil, err
			}
		}
	}
}

// awaitResponses waits until all requests have a response or are cancelled, because the SDK drops
// unsent responses when the input ends. It also returns when the connection or ctx ends.
func (c *lineConn) awaitResponses(ctx context.Context) {
	for {
		c.mu.Lock()
		n := len(c.open)
		c.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-c.settled:
		case <-c.closed:
			return
		case <-ctx.Done():
			return
		}
	}
}

// noteRequest keeps the id of a request until its response is sent or the client cancels it.
func (c *lineConn) noteRequest(m jsonrpc.Message) {
	r, ok := m.(*jsonrpc.Request)
	if !ok {
		return
	}
	if r.IsCall() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.open[r.ID] = r.Method != "initialize"
		delete(c.cancelled, r.ID)
		return
	}
	var p struct {
		RequestID any `json:"requestId"`
	}
	if r.Method == "notifications/cancelled" && json.Unmarshal(r.Params, &p) == nil {
		if id, err := jsonrpc.MakeID(p.RequestID); err == nil {
			c.cancel(id)
		}
	}
}

// cancel removes a request, so that its later response is dropped. It ignores initialize, which
// can't be cancelled, and requests that are not open.
func (c *lineConn) cancel(id jsonrpc.ID) {
	c.mu.Lock()
	can := c.open[id]
	if can {
		c.cancelled[id] = true
	}
	c.mu.Unlock()
	if can {
		c.markAnswered(id)
	}
}

// takeCancelled reports whether a request was cancelled, and removes it from cancelled.
func (c *lineConn) takeCancelled(id jsonrpc.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer delete(c.cancelled, id)
	return c.cancelled[id]
}

// markAnswered removes a request that needs no further response, and wakes awaitResponses if it was
// the last one.
func (c *lineConn) markAnswered(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if delete(c.open, id); len(c.open) == 0 {
		select {
		case c.settled <- struct{}{}:
		default: // settled already has a value
		}
	}
}

// parse returns the message of a line, or the response that refuses the line.
func parse(line []byte) (m jsonrpc.Message, refusal []byte) {
	refuse := func(id json.RawMessage, code int, text string) []byte {
		if id == nil {
			id = json.RawMessage("null")
		}
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, id, code, text)
	}
	if !json.Valid(line) {
		return nil, refuse(nil, jsonrpc.CodeParseError, "the line is not JSON")
	}
	if line[0] == '[' {
		return nil, refuse(nil, jsonrpc.CodeInvalidRequest, "batches are not part of this revision")
	}
	var head struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(line, &head) != nil || len(head.ID) > 0 && !isID(head.ID) {
		return nil, refuse(responseID(head.ID), jsonrpc.CodeInvalidRequest, "the id is neither a string nor an integer")
	}
	m, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		return nil, refuse(head.ID, jsonrpc.CodeInvalidRequest, "the line is not a JSON-RPC message")
	}
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() && r.Params == nil {
		r.Params = json.RawMessage("{}") // the SDK refuses requests without params as invalid, although only a parameter is missing
	}
	return m, nil
}

// isID reports whether an id is a string, or an integer that the SDK returns unchanged in its
// response.
func isID(raw json.RawMessage) bool {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return raw[0] == '"' || err == nil && -maxInteger < n && n < maxInteger
}

// maxInteger is the smallest positive integer that a float64 can't distinguish from the next one.
const maxInteger = 1 << 53

// responseID returns the id of the response to a request with an invalid id: the same id if it is a
// number, else nil.
func responseID(raw json.RawMessage) json.RawMessage {
	if len(raw) > 0 && (raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9') {
		return raw
	}
	return nil
}

// Write implements mcp.Connection.
func (c *lineConn) Write(_ context.Context, m jsonrpc.Message) error {
	line, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	if r, ok := m.(*jsonrpc.Response); ok {
		if c.takeCancelled(r.ID) {
			return nil
		}
		defer c.markAnswered(r.ID)
	}
	return c.write(line)
}

func (c *lineConn) write(line []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.out.Write(append(line, '\n'))
	return err
}

// Close implements mcp.Connection.
func (c *lineConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// SessionID implements mcp.Connection.
func (c *lineConn) SessionID() string { return "" }
