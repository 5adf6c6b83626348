package exchange

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http/httputil"
	"strconv"
	"strings"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

const (
	maxHead  = 64 << 10 // bytes of a head
	maxLeads = 10       // interim (1xx) responses before the final one
	headKept = 4 << 10  // bytes kept of a body that exceeds the limit
	readSize = 4 << 10  // buffer size; an exchange has two buffers, and most bodies are short
)

// stickyReader repeats the final error of its reader, because a connection reports a reset only
// once.
type stickyReader struct {
	r   io.Reader
	err error
}

func (s *stickyReader) Read(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.r.Read(p)
	s.err = err
	return n, err
}

var errLongHead = fmt.Errorf("the head is longer than %d bytes", maxHead)

// readHead reads the lines of a head and the blank line that ends it. The result does not include
// the blank line.
func readHead(in *bufio.Reader, limit int) ([]byte, error) {
	var room [1 << 10]byte // for most heads
	head, err := appendHead(in, limit, room[:0])
	return bytes.Clone(head), err
}

// appendHead is like readHead, but appends to head.
func appendHead(in *bufio.Reader, limit int, head []byte) ([]byte, error) {
	for {
		line, err := in.ReadSlice('\n')
		head = append(head, line...)
		switch {
		case len(head) > limit:
			return head, errLongHead
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return head, err
		}
		if end, ok := trailingBlankLine(head); ok {
			return head[:end], nil
		}
	}
}

// trailingBlankLine reports whether head ends with a blank line, and returns the length of the head
// without it.
func trailingBlankLine(head []byte) (int, bool) {
	for _, end := range []string{"\r\n\r\n", "\n\r\n", "\n\n"} {
		if bytes.HasSuffix(head, []byte(end)) {
			return len(head) - len(end), true
		}
	}
	return 0, false
}

// readResponse reads and records the response.
func (c *Client) readResponse(p *Pending, r Request, in *bufio.Reader) ending {
	if what, obstacle := foreignResponse(in); what != "" {
		return ending{how: transcript.Unreadable, detail: what, obstacle: obstacle}
	}
	for range maxLeads {
		raw, err := readHead(in, maxHead)
		if end := badHeadEnding(raw, err); end.how != "" {
			return end
		}
		if why, ok := c.prepareRepeat(p, r, transcript.ParseHead(raw)); ok {
			return ending{refused: why}
		}
		head := c.Record.Add(transcript.Event{Kind: transcript.Responded, Exchange: p.number, Raw: raw}).Head
		if head.Status() >= 200 {
			if r.OnHead != nil {
				r.OnHead(head)
			}
			p.markResponded(head)
			return c.readBody(p, r, head, in)
		}
	}
	return ending{how: transcript.Unreadable, detail: "too many interim responses"}
}

// beforeResponse is the stage of an exchange without a response.
const beforeResponse = "before a response came"

// badHeadEnding describes why raw, read with the error err, is not the head of a response. It
// returns the zero value if raw is a head.
func badHeadEnding(raw []byte, err error) ending {
	const inside = "within the head of the response"
	switch {
	case err != nil && len(raw) == 0:
		return ending{how: transcript.Broken, detail: describeLoss(err) + " " + beforeResponse, stage: beforeResponse}
	case errors.Is(err, errLongHead):
		return ending{how: transcript.Unreadable, detail: err.Error()}
	case err != nil && bytes.HasPrefix([]byte(http1), raw[:min(len(raw), len(http1))]):
		return ending{how: transcript.Broken, detail: describeLoss(err) + " " + inside, stage: inside, obstacle: transcript.CutHead}
	case !bytes.HasPrefix(raw, []byte(http1)):
		what, obstacle := describeForeign(raw)
		return ending{how: transcript.Unreadable, detail: what, obstacle: obstacle}
	case statusOf(raw) < 100:
		return ending{how: transcript.Unreadable, detail: fmt.Sprintf("the response begins with %q, where the status belongs", raw[:min(len(raw), maxQuoted)])}
	}
	return ending{}
}

// statusOf returns the status code in the first line of a head.
func statusOf(raw []byte) int {
	line, _, _ := bytes.Cut(raw, []byte("\n"))
	return transcript.ParseHead(line).Status()
}

// readBody reads and records the body up to the end that HTTP defines.
func (c *Client) readBody(p *Pending, r Request, head *transcript.Head, in *bufio.Reader) ending {
	if s := head.Status(); s == 204 || s == 304 || r.Method == "HEAD" {
		return ending{how: transcript.Complete}
	}
	framed, err := unframedReader(head, in)
	if err != nil {
		return ending{how: transcript.Unreadable, detail: err.Error()}
	}
	body := &countingReader{r: framed}
	decoded, err := decodedReader(head, body)
	if err == nil {
		sink := c.newSink(p, head)
		if err = copyBody(sink, decoded); !errors.Is(err, errFlood) {
			err = cmp.Or(sink.End(err != nil), err)
		}
	}
	switch {
	case err == nil:
		return ending{how: transcript.Complete}
	case errors.Is(err, errFlood):
		return ending{how: transcript.Dropped, detail: "the server sent more than the limits permit"}
	case body.err == nil:
		return ending{how: transcript.Unreadable, detail: "the body does not match its Content-Encoding: " + err.Error()}
	case !isConnectionError(err):
		return ending{how: transcript.Unreadable, detail: fmt.Sprintf("the body can't be read after %d bytes: %v", body.n, err)}
	}
	return ending{how: transcript.Broken, detail: fmt.Sprintf("%s after %d bytes of the body%s", describeLoss(err), body.n, describePromisedLength(framed))}
}

// buffers pools the buffers for bodies.
var buffers = sync.Pool{New: func() any { return new([readSize]byte) }}

// copyBody copies the body to the sink.
func copyBody(to Sink, body io.Reader) error {
	buffer, _ := buffers.Get().(*[readSize]byte)
	defer buffers.Put(buffer)
	_, err := io.CopyBuffer(to, body, buffer[:])
	return err
}

// describePromisedLength returns a phrase with the Content-Length of a body, or "" if the body has
// none.
func describePromisedLength(body io.Reader) string {
	if x, ok := body.(*fixedLengthReader); ok {
		return fmt.Sprintf(", of the %d that its Content-Length promises", x.length)
	}
	return ""
}

// countingReader counts the bytes read, and keeps the error of the connection.
type countingReader struct {
	r   io.Reader
	n   int64
	err error
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
	}
	return n, err
}

// unframedReader returns a reader of the body without its framing.
func unframedReader(head *transcript.Head, in *bufio.Reader) (io.Reader, error) {
	if coding := strings.ToLower(head.Get("Transfer-Encoding")); coding != "" {
		if coding != "chunked" {
			return nil, fmt.Errorf("the transfer encoding %q was not requested", coding)
		}
		return httputil.NewChunkedReader(in), nil
	}
	if !head.Has("Content-Length") {
		return in, nil // the body ends with the connection
	}
	values := head.Values("Content-Length")
	n, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil || n < 0 {
		return nil, fmt.Errorf("the Content-Length is %q", values[0])
	}
	for _, v := range values[1:] {
		if v != values[0] {
			return nil, fmt.Errorf("there are two different Content-Lengths, %q and %q", values[0], v)
		}
	}
	return &fixedLengthReader{r: in, left: n, length: n}, nil
}

// fixedLengthReader reads a body with a Content-Length; fewer bytes are an error.
type fixedLengthReader struct {
	r            io.Reader
	left, length int64
}

func (x *fixedLengthReader) Read(p []byte) (int, error) {
	if x.left == 0 {
		return 0, io.EOF
	}
	n, err := x.r.Read(p[:min(int64(len(p)), x.left)])
	x.left -= int64(n)
	if errors.Is(err, io.EOF) && x.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// decodedReader returns a reader that decodes a gzip body, because some servers send one although
// the client accepts only identity. It returns bodies with other codings as they are.
func decodedReader(head *transcript.Head, body io.Reader) (io.Reader, error) {
	switch strings.ToLower(head.Get("Content-Encoding")) {
	case "gzip", "x-gzip":
		return gzip.NewReader(body)
	default:
		return body, nil
	}
}
