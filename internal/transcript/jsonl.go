package transcript

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// jsonLine is the JSON form of an event in a file.
type jsonLine struct {
	Seq          int     `json:"seq"`
	At           int64   `json:"at"` // nanoseconds since the transcript began
	Kind         Kind    `json:"kind"`
	Raw          *string `json:"raw,omitempty"`       // bytes if they are UTF-8
	RawBase64    *string `json:"rawBase64,omitempty"` // bytes if they are not UTF-8
	Size         *int64  `json:"size,omitempty"`      // if it differs from the length of raw
	Detail       string  `json:"detail,omitempty"`
	ExitCode     *int    `json:"exitCode,omitempty"` // only for exited
	Unterminated bool    `json:"unterminated,omitempty"`
	Of           *int    `json:"of,omitempty"` // only for gave-up
	Exchange     int     `json:"exchange,omitempty"`
	Stream       *string `json:"stream,omitempty"`       // bytes if they are UTF-8
	StreamBase64 *string `json:"streamBase64,omitempty"` // bytes if they are not UTF-8
	How          How     `json:"how,omitempty"`          // only for over
}

// kinds are all kinds of events.
var kinds = []Kind{Opened, Sent, Received, Stderr, InputClosed, Signalled, OutputClosed, Exited, Flooded, Remark, CaseBegan, GaveUp, Requested, Responded, Streamed, Over}

// httpKinds are the kinds that only occur in an HTTP exchange.
var httpKinds = []Kind{Requested, Responded, Streamed, Over}

// Write writes events as JSON Lines, beginning with the first event of the transcript. Each line is
// an object with the members
//
//	seq           position, from 0
//	at            nanoseconds since the transcript began
//	kind          a constant of type Kind
//	raw           the bytes, if they are UTF-8
//	rawBase64     the bytes in base64, if they are not UTF-8
//	size          number of bytes of the whole frame, if raw is only its head
//	detail        text, see Event
//	exitCode      the exit code, for exited
//	unterminated  true if the stream ended before the newline
//	of            the position of the request, for gave-up
//	exchange      number of the HTTP exchange, from 1
//	stream        the chunk of an event stream, instead of raw; streamBase64
//	              if it is not UTF-8
//	how           how the exchange ended, for over
//
// Empty members are left out, except raw for the kinds that need it. Frame is not written, because
// ReadRecordings parses the bytes again.
func Write(w io.Writer, events []*Event) error {
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for _, e := range events {
		if err := enc.Encode(lineOf(e)); err != nil {
			return fmt.Errorf("writing event %d of the transcript: %w", e.Seq, err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing the transcript: %w", err)
	}
	return nil
}

func lineOf(e *Event) jsonLine {
	if e.Kind == GaveUp && e.Short { // no retry follows when a file is judged
		return jsonLine{Seq: e.Seq, At: int64(e.At), Kind: Remark, Detail: fmt.Sprintf("no response to %d came in less than the timeout", e.Of)}
	}
	l := jsonLine{Seq: e.Seq, At: int64(e.At), Kind: e.Kind, Detail: e.Detail, Unterminated: e.Unterminated, Exchange: e.Exchange, How: e.How}
	switch {
	case e.Stream != nil:
		l.Stream, l.StreamBase64 = encode(e.Stream)
	case len(e.Raw) > 0 || needsRaw(e.Kind):
		l.Raw, l.RawBase64 = encode(e.Raw)
	}
	if e.Size != int64(len(e.Raw)) {
		l.Size = &e.Size
	}
	if e.Kind == Exited {
		l.ExitCode = &e.ExitCode
	}
	if e.Kind == GaveUp {
		l.Of = &e.Of
	}
	return l
}

// encode returns b in plain if it is UTF-8, and otherwise in base64 in coded. The other result is
// nil.
func encode(b []byte) (plain, coded *string) {
	text := string(b)
	if utf8.ValidString(text) {
		return &text, nil
	}
	text = base64.StdEncoding.EncodeToString(b)
	return nil, &text
}

// decode is the inverse of encode. It returns nil if both arguments are nil.
func decode(plain, coded *string) ([]byte, error) {
	switch {
	case plain != nil:
		return []byte(*plain), nil
	case coded != nil:
		return base64.StdEncoding.DecodeString(*coded)
	}
	return nil, nil
}

// needsRaw reports whether a line of this kind must have a raw or rawBase64 member if it has no
// stream chunk. The member may be empty.
func needsRaw(k Kind) bool { return slices.Contains([]Kind{Sent, Received, Requested, Responded}, k) }

// asEncodingJSON makes encoding/json/v2 read a line as encoding/json does, but faster.
var asEncodingJSON = jsonv2.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsonv2.MatchCaseInsensitiveNames(true))

func parseLine(text []byte, seq int) (*Event, error) {
	var l jsonLine
	if jsonv2.Unmarshal(text, &l, asEncodingJSON) != nil {
		l = jsonLine{}
		if err := json.Unmarshal(text, &l); err != nil { // its errors are easier to read
			return nil, fmt.Errorf("not an event: %w", err)
		}
	}
	if err := l.check(seq); err != nil {
		return nil, err
	}
	e := &Event{
		Seq: l.Seq, At: time.Duration(l.At), Kind: l.Kind, Detail: l.Detail, Unterminated: l.Unterminated, Exchange: l.Exchange, How: l.How,
	}
	var err error
	if e.Raw, err = decode(l.Raw, l.RawBase64); err != nil {
		return nil, fmt.Errorf("rawBase64: %w", err)
	}
	if e.Stream, err = decode(l.Stream, l.StreamBase64); err != nil {
		return nil, fmt.Errorf("streamBase64: %w", err)
	}
	e.parse()
	e.Size = int64(len(e.Raw))
	if l.Size != nil {
		if *l.Size < e.Size {
			return nil, fmt.Errorf("size is %d, but raw has %d bytes", *l.Size, e.Size)
		}
		e.Size = *l.Size
	}
	if l.Of != nil {
		e.Of = *l.Of
	}
	if l.ExitCode != nil {
		e.ExitCode = *l.ExitCode
	}
	return e, nil
}

// check validates a line that is expected at position seq.
func (l *jsonLine) check(seq int) error {
	whole := l.Raw != nil || l.RawBase64 != nil
	piece := l.Stream != nil || l.StreamBase64 != nil
	switch {
	case l.Seq != seq:
		return fmt.Errorf("seq is %d, want %d; a line is missing or out of order", l.Seq, seq)
	case !slices.Contains(kinds, l.Kind):
		return fmt.Errorf("unknown kind %q", l.Kind)
	case l.At < 0:
		return fmt.Errorf("at is %d, but must not be negative", l.At)
	case l.Raw != nil && l.RawBase64 != nil:
		return errors.New("both raw and rawBase64 are set; use one")
	case l.Stream != nil && l.StreamBase64 != nil:
		return errors.New("both stream and streamBase64 are set; use one")
	case piece && (whole || l.Kind != Received && l.Kind != Streamed):
		return errors.New("stream is allowed only on kinds streamed and received, without raw")
	case needsRaw(l.Kind) && !whole && !piece:
		return fmt.Errorf("kind %s needs raw or rawBase64", l.Kind)
	case l.Kind == Streamed && !piece:
		return errors.New("kind streamed needs stream or streamBase64")
	case l.Exchange < 0 || l.Exchange == 0 && slices.Contains(httpKinds, l.Kind):
		return fmt.Errorf("kind %s needs the number of its exchange, 1 or more", l.Kind)
	case l.Kind == Over && !slices.Contains(endings, l.How):
		return fmt.Errorf("how is %q; it must be one of %v", l.How, endings)
	case l.Kind == GaveUp && (l.Of == nil || *l.Of < 0 || *l.Of >= seq):
		return errors.New("of must be the seq of an earlier line")
	case l.Kind == Exited && l.ExitCode == nil:
		return errors.New("exitCode is missing")
	}
	return nil
}
