package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxFile is the maximum size in bytes of a file that ReadRecordings accepts.
const maxFile = 512 << 20

// formatsHelp describes the formats that ReadRecordings accepts.
const formatsHelp = `expected a transcript of mcp-conform, a log of messages with their directions such as {"direction":"client-to-server","message":{…}}, or a script of lines such as > {…} and < {…}`

// ReadRecordings reads the conversations in a file: a transcript of mcp-conform, a script, or a log
// of messages that another tool recorded. docs/transcripts.md describes these formats. Errors name
// the file and, if known, the line.
func ReadRecordings(name string, from io.Reader) ([]*Recording, error) {
	data, err := io.ReadAll(io.LimitReader(from, maxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot read %s: %w", name, err)
	case len(data) > maxFile:
		return nil, fmt.Errorf("%s: file is larger than %d MiB; split it", name, maxFile>>20)
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, fmt.Errorf("%s: file is empty; %s", name, formatsHelp)
	}
	if bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data) {
		return nil, fmt.Errorf("%s:%d: not UTF-8 text; %s", name, lineOfBinary(data), formatsHelp)
	}
	f := &file{name: name}
	for i, text := range bytes.Split(data, []byte("\n")) {
		if text = bytes.TrimSpace(text); len(text) > 0 {
			f.lines = append(f.lines, numberedLine{i + 1, text})
		}
	}
	recordings, err := f.readRecordings(string(data))
	if err != nil {
		return nil, err
	}
	for _, r := range recordings {
		r.Notices = append(f.notices, r.Notices...)
		f.notices = nil // report them once
	}
	return recordings, nil
}

// lineOfBinary returns the line of the first byte that is not UTF-8 text.
func lineOfBinary(data []byte) int {
	for at := 0; at < len(data); {
		c, n := utf8.DecodeRune(data[at:])
		if c == 0 || c == utf8.RuneError && n == 1 {
			return bytes.Count(data[:at], []byte("\n")) + 1
		}
		at += n
	}
	return 1
}

// file is a file being read.
type file struct {
	name    string
	lines   []numberedLine
	notices []string
}

// numberedLine is a non-blank line with its number.
type numberedLine struct {
	number int
	text   []byte
}

func (f *file) errorf(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", f.name, line, fmt.Errorf(format, args...))
}

// isTruncated reports whether l is the last line and ends inside a JSON value.
func (f *file) isTruncated(l numberedLine) bool {
	if l.number != f.lines[len(f.lines)-1].number {
		return false
	}
	_, err := jsontext.NewDecoder(bytes.NewReader(l.text), jsontext.AllowDuplicateNames(true)).ReadValue()
	return errors.Is(err, io.ErrUnexpectedEOF)
}

func (f *file) readRecordings(text string) ([]*Recording, error) {
	first := f.lines[0].text
	_, format := parseHeader(first)
	switch {
	case format != nil:
		return f.readTranscript(*format, f.lines[1:])
	case isEvent(first):
		return f.readTranscript(Format, f.lines)
	case first[0] == '{' || first[0] == '[' && !hostLine.Match(first):
		return f.readMessageLog()
	case f.isTextLog():
		return f.readTextLog()
	case looksLikeScript(first):
		r, err := ParseScript(text)
		if err != nil {
			return nil, fmt.Errorf("%s:%w", f.name, err)
		}
		if len(r.Events) == 1 {
			return nil, fmt.Errorf("%s: the script has no messages", f.name)
		}
		return []*Recording{r}, nil
	default:
		return nil, f.errorf(f.lines[0].number, "%q is not a recorded message; %s", clip(string(first)), formatsHelp)
	}
}

// looksLikeScript reports whether line may be the first line of a script.
func looksLikeScript(line []byte) bool {
	if strings.ContainsRune("#<>!", rune(line[0])) || httpMark.Match(line) {
		return true
	}
	name, _, ok := strings.Cut(string(line), ":")
	return ok && (name == "revision" || name == "transport" || name == "tool" || name == "case" || name == "expect")
}

// readTranscript reads the events of a transcript of mcp-conform.
func (f *file) readTranscript(format int, lines []numberedLine) ([]*Recording, error) {
	if format != Format {
		return nil, f.errorf(1, "the transcript has format version %d, but this version of mcp-conform reads version %d; update mcp-conform", format, Format)
	}
	r := &Recording{}
	if head, given := parseHeader(f.lines[0].text); given != nil {
		r.Transport, r.Revision, r.Tool, r.Case = head.Transport, head.Revision, head.Tool, head.Case
	}
	for i, l := range lines {
		e, err := parseLine(l.text, i)
		if err != nil && f.isTruncated(l) && len(r.Events) > 0 {
			f.notices = append(f.notices, fmt.Sprintf("%s:%d: the last line is incomplete; only the lines before it are judged", f.name, l.number))
			break
		}
		if err != nil {
			return nil, f.errorf(l.number, "%w", err)
		}
		r.Events = append(r.Events, e)
	}
	if len(r.Events) == 0 {
		return nil, fmt.Errorf("%s: the transcript has no events", f.name)
	}
	return []*Recording{r}, nil
}

var errNoMessages = errors.New("no recorded message found; " + formatsHelp)
