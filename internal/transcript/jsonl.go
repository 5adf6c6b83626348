package transcript

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
	"unicode/utf8"
)

// maxLine bounds, in bytes, a line that Read takes: a frame of 16 MiB in which
// each byte had to be escaped fits.
const maxLine = 100 << 20

// line is an event as it stands in a file. Members that say nothing are left
// out.
type line struct {
	Seq          int     `json:"seq"`
	At           int64   `json:"at"` // nanoseconds since the transcript began
	Kind         Kind    `json:"kind"`
	Raw          *string `json:"raw,omitempty"`       // bytes that are UTF-8
	RawBase64    *string `json:"rawBase64,omitempty"` // others
	Size         *int64  `json:"size,omitempty"`      // where it is not that of raw
	Detail       string  `json:"detail,omitempty"`
	ExitCode     *int    `json:"exitCode,omitempty"` // of exited
	Unterminated bool    `json:"unterminated,omitempty"`
	Of           *int    `json:"of,omitempty"` // of gave-up
	Exchange     int     `json:"exchange,omitempty"`
	Stream       *string `json:"stream,omitempty"`       // bytes that are UTF-8
	StreamBase64 *string `json:"streamBase64,omitempty"` // others
	How          How     `json:"how,omitempty"`          // of over
}

// kinds are all kinds of event.
var kinds = []Kind{Opened, Sent, Received, Stderr, InputClosed, Signalled, OutputClosed, Exited, Flooded, Remark, CaseBegan, GaveUp, Requested, Responded, Streamed, Over}

// ofHTTP are those that belong to an exchange.
var ofHTTP = []Kind{Requested, Responded, Streamed, Over}

// Write writes events, which begin with the first of their transcript, as JSON
// Lines: one object a line, with the members
//
//	seq           position, from 0
//	at            nanoseconds since the transcript began
//	kind          as the constants of Kind
//	raw           the bytes, where they are UTF-8
//	rawBase64     the bytes in base64, where they are not
//	size          bytes of the whole frame, where raw is only its head
//	detail        text, as in Event
//	exitCode      of exited
//	unterminated  true where the stream ended before the newline
//	of            of gave-up: the position of the request
//	exchange      number of the HTTP exchange, from 1
//	stream        the piece of an event stream, instead of raw; streamBase64
//	              where it is not UTF-8
//	how           of over: how the exchange ended
//
// Members that say nothing are left out. What Frame holds is not written, as
// Read finds it in the bytes again.
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

func lineOf(e *Event) line {
	l := line{Seq: e.Seq, At: int64(e.At), Kind: e.Kind, Detail: e.Detail, Unterminated: e.Unterminated, Exchange: e.Exchange, How: e.How}
	switch {
	case e.Stream != nil:
		l.Stream, l.StreamBase64 = encoded(e.Stream)
	case len(e.Raw) > 0 || needsRaw(e.Kind):
		l.Raw, l.RawBase64 = encoded(e.Raw)
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

// encoded returns b as it is, or in base64 where it is not UTF-8.
func encoded(b []byte) (plain, coded *string) {
	text := string(b)
	if utf8.ValidString(text) {
		return &text, nil
	}
	text = base64.StdEncoding.EncodeToString(b)
	return nil, &text
}

// decoded is the reverse; nil stands for nothing at all.
func decoded(plain, coded *string) ([]byte, error) {
	switch {
	case plain != nil:
		return []byte(*plain), nil
	case coded != nil:
		return base64.StdEncoding.DecodeString(*coded)
	}
	return nil, nil
}

// needsRaw reports whether an event of the kind has bytes, be it none.
func needsRaw(k Kind) bool { return slices.Contains([]Kind{Sent, Received, Requested, Responded}, k) }

// Read reads what Write wrote. Members that it does not know are skipped. The
// error names the line, from 1, and what is wrong with it; the events of the
// lines before come with it. A frame of which only the head was kept has no
// messages any more.
func Read(r io.Reader) ([]*Event, error) {
	return read(r, maxLine)
}

func read(r io.Reader, longest int) ([]*Event, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longest)
	var events []*Event
	for lines.Scan() {
		e, err := parseLine(lines.Bytes(), len(events))
		if err != nil {
			return events, fmt.Errorf("line %d of the transcript: %w", len(events)+1, err)
		}
		events = append(events, e)
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return events, fmt.Errorf("line %d of the transcript is longer than %d bytes", len(events)+1, longest)
	} else if err != nil {
		return events, fmt.Errorf("reading line %d of the transcript: %w", len(events)+1, err)
	}
	return events, nil
}

func parseLine(text []byte, seq int) (*Event, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New("it is empty; each line must be an event")
	}
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return nil, fmt.Errorf("it is no event: %w", err)
	}
	if err := l.check(seq); err != nil {
		return nil, err
	}
	e := &Event{
		Seq: l.Seq, At: time.Duration(l.At), Kind: l.Kind, Detail: l.Detail, Unterminated: l.Unterminated, Exchange: l.Exchange, How: l.How,
	}
	var err error
	if e.Raw, err = decoded(l.Raw, l.RawBase64); err != nil {
		return nil, fmt.Errorf("rawBase64: %w", err)
	}
	if e.Stream, err = decoded(l.Stream, l.StreamBase64); err != nil {
		return nil, fmt.Errorf("streamBase64: %w", err)
	}
	e.parse()
	e.Size = int64(len(e.Raw))
	if l.Size != nil {
		if *l.Size < e.Size {
			return nil, fmt.Errorf("size is %d, and there are %d bytes", *l.Size, e.Size)
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

// check says what is wrong with a line that should have this position.
func (l *line) check(seq int) error {
	whole := l.Raw != nil || l.RawBase64 != nil
	piece := l.Stream != nil || l.StreamBase64 != nil
	switch {
	case l.Seq != seq:
		return fmt.Errorf("seq is %d and must be %d; a line is missing, or is out of order", l.Seq, seq)
	case !slices.Contains(kinds, l.Kind):
		return fmt.Errorf("kind %q is not known", l.Kind)
	case l.At < 0:
		return fmt.Errorf("at is %d and must not be negative", l.At)
	case l.Raw != nil && l.RawBase64 != nil:
		return errors.New("it has both raw and rawBase64")
	case l.Stream != nil && l.StreamBase64 != nil:
		return errors.New("it has both stream and streamBase64")
	case piece && (whole || l.Kind != Received && l.Kind != Streamed):
		return errors.New("stream belongs to a streamed or received that has no raw")
	case needsRaw(l.Kind) && !whole && !piece:
		return fmt.Errorf("kind %s needs raw or rawBase64", l.Kind)
	case l.Kind == Streamed && !piece:
		return errors.New("kind streamed needs stream or streamBase64")
	case l.Exchange < 0 || l.Exchange == 0 && slices.Contains(ofHTTP, l.Kind):
		return fmt.Errorf("kind %s needs the number of its exchange, from 1", l.Kind)
	case l.Kind == Over && !slices.Contains(hows, l.How):
		return fmt.Errorf("how is %q; it must be one of %v", l.How, hows)
	case l.Kind == GaveUp && (l.Of == nil || *l.Of < 0 || *l.Of >= seq):
		return errors.New("of must be the seq of an earlier line")
	case l.Kind == Exited && l.ExitCode == nil:
		return errors.New("exitCode is missing")
	}
	return nil
}
