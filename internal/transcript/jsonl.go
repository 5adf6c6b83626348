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

	"github.com/mcp-conform/mcp-conform/internal/wire"
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
}

// kinds are all kinds of event.
var kinds = []Kind{Opened, Sent, Received, Stderr, InputClosed, Signalled, OutputClosed, Exited, Flooded, Remark, GaveUp}

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
	l := line{Seq: e.Seq, At: int64(e.At), Kind: e.Kind, Detail: e.Detail, Unterminated: e.Unterminated}
	switch text := string(e.Raw); {
	case len(e.Raw) == 0 && e.Kind != Sent && e.Kind != Received:
	case utf8.ValidString(text):
		l.Raw = &text
	default:
		text = base64.StdEncoding.EncodeToString(e.Raw)
		l.RawBase64 = &text
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
	e := &Event{Seq: l.Seq, At: time.Duration(l.At), Kind: l.Kind, Detail: l.Detail, Unterminated: l.Unterminated}
	switch {
	case l.Seq != seq:
		return nil, fmt.Errorf("seq is %d and must be %d; a line is missing, or is out of order", l.Seq, seq)
	case !slices.Contains(kinds, l.Kind):
		return nil, fmt.Errorf("kind %q is not known", l.Kind)
	case l.At < 0:
		return nil, fmt.Errorf("at is %d and must not be negative", l.At)
	case l.Raw != nil && l.RawBase64 != nil:
		return nil, errors.New("it has both raw and rawBase64")
	case (l.Kind == Sent || l.Kind == Received) && l.Raw == nil && l.RawBase64 == nil:
		return nil, fmt.Errorf("kind %s needs raw or rawBase64", l.Kind)
	case l.Kind == GaveUp && (l.Of == nil || *l.Of < 0 || *l.Of >= seq):
		return nil, errors.New("of must be the seq of an earlier line")
	case l.Kind == Exited && l.ExitCode == nil:
		return nil, errors.New("exitCode is missing")
	}
	if l.Raw != nil {
		e.Raw = []byte(*l.Raw)
	}
	if l.RawBase64 != nil {
		var err error
		if e.Raw, err = base64.StdEncoding.DecodeString(*l.RawBase64); err != nil {
			return nil, fmt.Errorf("rawBase64: %w", err)
		}
	}
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
	if e.Kind == Sent || e.Kind == Received {
		e.Frame = wire.Parse(e.Raw)
	}
	return e, nil
}
